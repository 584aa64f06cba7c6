# SPDX-License-Identifier: Apache-2.0
"""Waking a unit from outside a hook: the systemd units, what is run when, and what idle hooks do not run."""

import shutil
import subprocess
from pathlib import Path

import pytest
from charmkit.dispatch import Dispatcher
from hostnic import units
from hostnic.process import CommandError
from hostnic.testing import FakeHost

NAME = "ovn-offload-sriov-switchdev-dispatch"
OUTDATED = ("systemctl", "show", "--property=NeedDaemonReload", "--value")


@pytest.fixture
def host() -> FakeHost:
    return FakeHost()


def dispatcher(host: FakeHost, listens_to: tuple[str, ...] = ("nic-firmware", "roce-qos")) -> Dispatcher:
    return Dispatcher(host, "sriov-switchdev/3", "sriov-switchdev", listens_to)


def unit_file(host: FakeHost, suffix: str) -> list[str]:
    return host.files.read(units.path(f"{NAME}.{suffix}")).splitlines()


def test_the_service_has_juju_dispatch_update_status(host: FakeHost):
    dispatcher(host).install()

    lines = unit_file(host, "service")
    command = '/usr/bin/juju-exec -u sriov-switchdev/3 "JUJU_DISPATCH_PATH=hooks/update-status ./dispatch"'
    assert f"ExecStart={command}" in lines
    assert "Type=oneshot" in lines


def test_it_watches_the_files_of_those_it_listens_to_and_not_its_own(host: FakeHost):
    dispatcher(host).install()

    assert [line for line in unit_file(host, "path") if line.startswith("PathChanged=")] == [
        "PathChanged=/run/ovn-offload/nic-firmware.json",
        "PathChanged=/run/ovn-offload/roce-qos.json",
    ]


def test_the_path_unit_is_enabled_and_watches_from_now_on(host: FakeHost):
    assert dispatcher(host).install()

    assert host.spawned == [
        (*OUTDATED, f"{NAME}.service", f"{NAME}.timer", f"{NAME}.path"),
        ("systemctl", "restart", f"{NAME}.path"),
        ("systemctl", "enable", "--no-reload", f"{NAME}.path"),
    ]


def test_systemd_reads_its_files_again_only_for_a_unit_that_it_has_loaded_otherwise(host: FakeHost):
    dispatcher(host, listens_to=("nic-firmware",)).install()
    assert "run systemctl daemon-reload" not in host.trace
    host.trace.clear()

    dispatcher(host).install()  # after a refresh that listens to another charm, too

    assert [line for line in host.trace if line.startswith("run")] == [
        f"run systemctl disable --no-reload {NAME}.path",
        "run systemctl daemon-reload",
        f"run systemctl restart {NAME}.path",
        f"run systemctl enable --no-reload {NAME}.path",
    ]


def test_the_second_time_nothing_is_written_and_nothing_runs(host: FakeHost):
    dispatcher(host).install()
    host.trace.clear()
    host.spawned.clear()

    assert not dispatcher(host).install()
    assert (host.trace, host.spawned) == ([], [])


@pytest.mark.parametrize("verb", ["show", "restart", "enable"])
def test_an_install_that_was_interrupted_is_finished_by_the_next(host: FakeHost, verb: str):
    host.fail("run", verb, CommandError(["systemctl"], "systemctl failed (1): no"))
    with pytest.raises(CommandError):
        dispatcher(host).install()
    host.spawned.clear()

    assert dispatcher(host).install()
    assert [argv[1] for argv in host.spawned] == ["show", "restart", "enable"]


@pytest.mark.parametrize("verb", ["disable", "show", "daemon-reload", "restart", "enable"])
def test_a_refresh_that_was_interrupted_is_finished_by_the_next_hook(host: FakeHost, verb: str):
    dispatcher(host, listens_to=("nic-firmware",)).install()
    host.fail("run", verb, CommandError(["systemctl"], "systemctl failed (1): no"))
    with pytest.raises(CommandError):
        dispatcher(host).install()
    assert dispatcher(host).install()

    loaded = host.files.units[f"{NAME}.path"].decode().splitlines()
    assert loaded == unit_file(host, "path")
    assert "PathChanged=/run/ovn-offload/roce-qos.json" in loaded
    ran = [line for line in host.trace if line.startswith("run")]
    assert ran[-2:] == [f"run systemctl {verb} {NAME}.path" for verb in ("restart", "enable --no-reload")]
    assert not dispatcher(host).install()


def test_who_listens_to_nobody_needs_no_path_unit(host: FakeHost):
    dispatcher(host, listens_to=()).install()

    assert host.spawned == [(*OUTDATED, f"{NAME}.service", f"{NAME}.timer")]
    assert not host.exists(units.path(f"{NAME}.path"))


def test_waking_starts_the_service_and_does_not_wait_for_it(host: FakeHost):
    dispatcher(host).install()
    host.spawned.clear()

    dispatcher(host).now()
    dispatcher(host).in_a_minute()

    assert host.spawned == [
        ("systemctl", "start", "--no-block", f"{NAME}.service"),
        ("systemctl", "restart", f"{NAME}.timer"),
    ]


def test_the_stop_hook_leaves_nothing_behind(host: FakeHost):
    before = (set(host.files.content), set(host.files.links))
    dispatcher(host).install()

    dispatcher(host).remove()

    assert (set(host.files.content), set(host.files.links)) == before
    host.spawned.clear()
    dispatcher(host).remove()
    assert host.spawned == []


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="needs systemd-analyze of Debian's systemd"
)
def test_systemd_accepts_the_units(host: FakeHost, tmp_path: Path):
    dispatcher(host).install()
    for suffix in ("service", "path", "timer"):
        text = "\n".join(unit_file(host, suffix)).replace("/usr/bin/juju-exec", "/bin/true")
        (tmp_path / f"{NAME}.{suffix}").write_text(text)

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, sorted(tmp_path.iterdir()))],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, NAME in done.stderr) == (0, False), done.stderr
