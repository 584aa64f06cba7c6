# SPDX-License-Identifier: Apache-2.0
"""Whom a reboot would hurt, and what has to run again after it."""

import errno
import json
from typing import Any

import pytest
from charmkit.containers import LXC, autostarting, busy
from hostnic.system import CommandError
from hypothesis import example, given
from hypothesis import strategies as st
from lab.modelled import FakeHost

QUERY = (LXC, "query", "/1.0/instances?recursion=1")
CONTAINER = "juju-3f1a2b-0-lxd-1"
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "status", "config", "boot.autostart"]), inner)
    ),
    max_leaves=12,
)


@pytest.fixture
def host() -> FakeHost:
    host = FakeHost()
    host.disk.install(LXC, b"", 0o755)
    return host


def instance(name: str, status: str = "Running", autostart: str | None = "true") -> dict[str, object]:
    """An instance as LXD 5's API answers it."""
    config = {"image.os": "ubuntu"} if autostart is None else {"boot.autostart": autostart}
    return {"name": name, "status": status, "type": "container", "config": config}


def answer(host: FakeHost, *instances: object) -> None:
    host.answers[QUERY] = json.dumps(instances)


# After a reboot.


def test_without_lxd_there_is_nothing_to_wait_for():
    host = FakeHost()

    assert autostarting(host).stopped == ""
    assert host.spawned == []


def test_all_containers_run(host: FakeHost):
    answer(host, instance("juju-0-lxd-0"), instance("juju-0-lxd-1"))

    assert autostarting(host).stopped == ""


def test_containers_that_start_at_boot_and_do_not_run_are_named(host: FakeHost):
    answer(
        host,
        instance("juju-0-lxd-2", "Stopped"),
        instance("juju-0-lxd-1", "Error"),
        instance("mine", "Stopped", autostart=None),
        instance("yours", "Stopped", autostart="false"),
    )

    assert autostarting(host).stopped == "juju-0-lxd-1, juju-0-lxd-2 stopped"


def test_many_are_counted(host: FakeHost):
    answer(host, *(instance(f"c{n}", "Stopped") for n in range(5)))

    assert autostarting(host).stopped == "c0, c1, c2 and 2 more stopped"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (CommandError(QUERY, "lxc failed (1): not ready"), "LXD does not answer: lxc failed (1): not ready"),
        (OSError(errno.EIO, "Input/output error"), "LXD does not answer: Input/output error"),
        ("", "LXD's answer cannot be read"),
        ('{"error": "not found"}', "LXD's answer cannot be read"),
        ("[1]", "LXD's answer cannot be read"),
        ('[{"name": "a"}]', "LXD's answer cannot be read"),
        ('[{"name": "a", "status": "Running", "config": null}]', "LXD's answer cannot be read"),
    ],
)
def test_an_lxd_that_does_not_tell_counts_as_not_running(host: FakeHost, said: str | OSError, reason: str):
    host.answers[QUERY] = said

    assert autostarting(host).stopped == reason


@given(st.text() | JSON.map(json.dumps))
@example("[" * 100_000)
@example('[{"name": "a\\nb", "status": "Stopped", "config": {"boot.autostart": "true"}}]')
def test_whatever_lxd_answers_is_read_or_said_in_one_line(said: str):
    host = FakeHost()
    host.disk.install(LXC, b"", 0o755)
    host.answers[QUERY] = said

    assert "\n" not in autostarting(host).stopped


# Before one.


def process(
    host: FakeHost, pid: int, *, cgroup: str, environ: str = "", parent: int = 1, comm: str = "bash"
) -> None:
    files = {
        "cgroup": f"0::{cgroup}\n",
        "environ": environ,
        "status": f"Name:\t{comm}\nPid:\t{pid}\nPPid:\t{parent}\n",
        "comm": f"{comm}\n",
    }
    for name, text in files.items():
        host.disk.install(f"/proc/{pid}/{name}", text.encode(), 0o444)


def agent(host: FakeHost, pid: int, container: str = CONTAINER, comm: str = "jujud") -> None:
    process(host, pid, cgroup=f"/lxc.payload.{container}/system.slice/jujud-machine.service", comm=comm)


HOOK = "PATH=/bin\0JUJU_CONTEXT_ID=mysql/0-run\0JUJU_UNIT_NAME=mysql/0\0"
IN_CONTAINER = f"/lxc.payload.{CONTAINER}/system.slice/jujud-machine.service"


def test_an_idle_host(host: FakeHost):
    agent(host, 100)
    process(host, 200, cgroup="/system.slice/ssh.service", comm="sshd")

    assert busy(host) == ""
    assert host.spawned == []


def test_a_running_instance_makes_it_busy(host: FakeHost):
    host.disk.install("/run/libvirt/qemu/instance-0000002a.xml", b"<domstatus/>", 0o600)
    host.disk.install("/run/libvirt/qemu/instance-0000002a.pid", b"1", 0o600)

    assert busy(host) == "instance-0000002a running"


def test_a_hook_in_a_container_makes_it_busy(host: FakeHost):
    agent(host, 100)
    process(host, 101, cgroup=IN_CONTAINER, environ=HOOK, parent=100)
    process(host, 102, cgroup=IN_CONTAINER, environ=HOOK, parent=101)

    assert busy(host) == f"mysql/0 in {CONTAINER} running a hook"


def test_this_hosts_own_hook_does_not_count(host: FakeHost):
    process(host, 100, cgroup="/system.slice/jujud-machine-0.service", comm="jujud")
    process(host, 101, cgroup="/system.slice/jujud-machine-0.service", environ=HOOK, parent=100)

    assert busy(host) == ""


def test_a_daemon_that_a_hook_left_behind_does_not_count(host: FakeHost):
    agent(host, 100, comm="systemd")
    process(host, 101, cgroup=IN_CONTAINER, environ=HOOK, parent=100)

    assert busy(host) == ""


def test_a_process_that_ends_while_it_is_looked_at_does_not_matter(host: FakeHost):
    agent(host, 100)
    process(host, 101, cgroup=IN_CONTAINER, environ=HOOK, parent=100)
    host.fail("read", "/proc/101/environ", ProcessLookupError(errno.ESRCH, "No such process"))

    assert busy(host) == ""
