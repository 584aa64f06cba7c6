# SPDX-License-Identifier: Apache-2.0
"""The exporter as a real process that is scraped over HTTP; its unit runs the copy of one of the charms."""

import socket
import subprocess
import sys
import urllib.error
from pathlib import Path

import pytest
from converge import Severity
from converge.shape import InvalidValue
from exporter import install
from hostnic.boot import bootcopy, units
from lab.modelled import FakeHost
from lib.scrapes import SERVING, process, served_at


def test_a_real_process_answers_a_real_scrape_on_loopback() -> None:
    port = "19570"
    with process(port) as (served, _):
        text = served_at("127.0.0.1", port)
        with pytest.raises(urllib.error.URLError):
            served_at("127.0.0.2", port)
        status = Path(f"/proc/{served.pid}/status").read_text()
    assert 'ovn_offload_charm_look_age_seconds{charm="roce-qos",unit="roce-qos/0"}' in text
    assert "# HELP ovn_offload_threshold What rules compare with, by name." in text
    kilobytes = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
    assert kilobytes < 64 * 1024


def test_a_real_process_also_serves_the_address_that_it_is_given() -> None:
    port = "19571"
    with process(port, "127.0.0.2"):
        for address in "127.0.0.1", "127.0.0.2":
            assert "ovn_offload_threshold" in served_at(address, port)
        with pytest.raises(urllib.error.URLError):
            served_at("127.0.0.3", port)


STUCK = "threading.Thread(target=threading.Event().wait).start()"
"""A thread that nothing ends, such as one that waits for a driver, keeps the process."""


def test_a_stopped_exporter_leaves_its_port_to_the_next_although_a_thread_keeps_its_process() -> None:
    port = 19572
    code = SERVING.replace("lambda: host", f"lambda: {STUCK} or host")
    with process(str(port), code=f"import threading{code}print('stopped', flush=True)") as (served, prints):
        served.terminate()
        assert prints.readline() == "stopped\n"
        assert served.poll() is None
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_the_archive_runs_on_the_systems_python_alone(tmp_path: Path) -> None:
    path = tmp_path / "exporter.pyz"
    path.write_bytes(bootcopy.archive(install.copy_of("roce-qos")))
    isolated = [sys.executable, "-I", "-S"]
    done = subprocess.run([*isolated, str(path), "nonsense"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (5, "usage: exporter.pyz [ADDRESS ...]\n")
    script = "import sys; sys.path.insert(0, sys.argv[1]); import prometheus_client, exporter.sources"
    done = subprocess.run([*isolated, "-c", script, str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


UNIT = install.UNIT


def runs(host: FakeHost) -> str:
    """The charm whose copy the unit would start now."""
    return next(charm for charm in install.CHARMS if host.files.exists(install.copy_of(charm).path))


@pytest.mark.parametrize("first", install.CHARMS)
@pytest.mark.parametrize("second", install.CHARMS)
def test_the_preferred_copy_runs_whatever_came_first(first: str, second: str) -> None:
    if first == second:
        return
    host = FakeHost()
    install.install(host, first)
    install.install(host, second)
    preferred = min(first, second, key=install.CHARMS.index)
    assert runs(host) == preferred
    host.trace.clear()
    host.spawned.clear()
    for charm in (first, second):
        install.install(host, charm)
    assert (host.trace, host.spawned) == ([], [])
    install.remove(host, preferred)
    other = second if preferred == first else first
    assert runs(host) == other
    assert host.trace[-1] == f"run systemctl restart {UNIT}"
    assert units.enabled(host, UNIT)
    install.remove(host, other)
    assert not units.installed(host, ("ovn-offload",))
    assert not units.enabled(host, UNIT)
    assert not [path for path in host.disk.content if "exporter" in path]


@pytest.mark.parametrize("name", ["exporter.pyz", "exporter.stamp"])
def test_a_copy_that_another_user_could_change_is_replaced(name: str) -> None:
    host = FakeHost()
    install.install(host, "roce-qos")
    path = f"{install.copy_of('roce-qos').directory}/{name}"
    host.disk.give(path, 1000)
    install.install(host, "roce-qos")
    host.files.check_own(path)
    assert host.trace[-1] == f"run systemctl restart {UNIT}"


UNSAFE = (
    b"",
    b"10.0.0.7 10.0.0.9",
    b"10.0.0.7\n10.0.0.9\n",
    b"10.0.0.7; done'; reboot; '",
    b"fe80::1%; reboot",
    b"$(reboot)",
    b"\\g<9>",
    b"\xff\xfe",
    b"1" * 5000,
)
"""Addresses that a shell, systemd or a pattern would read as more, or that are none."""


def served(host: FakeHost) -> list[str]:
    """The addresses that the unit gives the exporter."""
    text = host.files.read(units.path(UNIT))
    return text.partition("; done'")[0].rpartition("exporter.pyz")[2].split()


@pytest.mark.parametrize("charm", install.CHARMS)
def test_the_unit_serves_another_address_only_while_a_charm_is_given_one(charm: str) -> None:
    host = FakeHost()
    install.install(host, charm, "10.0.0.7")
    assert served(host) == ["10.0.0.7"]
    host.trace.clear()
    install.install(host, charm, "10.0.0.7")
    assert host.trace == []
    install.install(host, charm, "10.0.0.8")
    assert served(host) == ["10.0.0.8"]
    install.install(host, charm)
    assert served(host) == []
    assert host.trace[-1] == f"run systemctl restart {UNIT}"


@pytest.mark.parametrize("first", install.CHARMS)
@pytest.mark.parametrize("second", install.CHARMS)
def test_the_hook_of_another_charm_keeps_the_address(first: str, second: str) -> None:
    """In whatever order they come, and whichever copy runs."""
    if first == second:
        return
    host = FakeHost()
    install.install(host, first, "10.0.0.7")
    install.install(host, second)
    assert served(host) == ["10.0.0.7"]
    host.trace.clear()
    for charm, address in ((first, "10.0.0.7"), (second, "")):
        install.install(host, charm, address)
    assert host.trace == []
    install.install(host, second, "10.0.0.7")  # the same unit's address, in another application's relation
    assert served(host) == ["10.0.0.7"]
    install.remove(host, first)
    assert served(host) == ["10.0.0.7"]
    install.install(host, second)
    assert served(host) == []


def test_only_the_addresses_of_another_revisions_unit_are_changed() -> None:
    host = FakeHost()
    install.install(host, "sriov-switchdev")
    path = units.path(UNIT)
    text = host.files.read(path).replace("RestartSec=30", "RestartSec=7")
    host.disk.install(path, text.encode(), 0o644)
    install.install(host, "cumulus-fabric", "10.0.0.7")
    assert served(host) == ["10.0.0.7"]
    assert "\nRestartSec=7\n" in host.files.read(path)


@pytest.mark.parametrize("content", UNSAFE)
def test_what_is_no_address_stays_out_of_the_units_command_and_its_charm_mends_it(content: bytes) -> None:
    host = FakeHost()
    install.install(host, "nic-firmware", "10.0.0.7")
    install.install(host, "roce-qos", "10.0.0.8")
    path = "/usr/lib/ovn-offload/nic-firmware/exporter.address"
    host.disk.install(path, content, 0o644)

    (finding,) = install.install(host, "roce-qos", "10.0.0.8")

    assert (finding.severity, finding.subject) == (Severity.WARNING, "exporter.address of nic-firmware")
    assert finding.what.startswith("is not served: exporter.address: ")
    assert finding.what.endswith(f" is not allowed; expected an IP address without a scope ({path})")
    assert served(host) == ["10.0.0.8"]
    assert install.install(host, "nic-firmware", "10.0.0.7") == ()
    assert served(host) == ["10.0.0.7", "10.0.0.8"]


def test_an_address_that_others_could_have_written_is_not_served() -> None:
    host = FakeHost()
    install.install(host, "nic-firmware", "10.0.0.7")
    host.disk.give("/usr/lib/ovn-offload/nic-firmware/exporter.address", owner=1000)

    (finding,) = install.install(host, "roce-qos", "10.0.0.8")

    assert "belongs to" in finding.what
    assert served(host) == ["10.0.0.8"]
    assert install.install(host, "nic-firmware", "10.0.0.7") == ()
    assert served(host) == ["10.0.0.7", "10.0.0.8"]


@pytest.mark.parametrize("address", ["fe80::1%eth0", "10.0.0.7; reboot", "node-1"])
def test_no_address_is_written_that_could_not_be_read_again(address: str) -> None:
    host = FakeHost()
    with pytest.raises(InvalidValue, match="expected an IP address without a scope"):
        install.install(host, "roce-qos", address)
    assert not host.files.exists("/usr/lib/ovn-offload/roce-qos/exporter.address")


def test_the_unit_is_limited() -> None:
    text = install.unit_text()
    for line in ("DynamicUser=yes", "MemoryMax=64M", "CapabilityBoundingSet=CAP_NET_ADMIN"):
        assert f"\n{line}\n" in text
    assert "ReadWritePaths" not in text
    assert "\nRuntimeDirectory=" not in text
