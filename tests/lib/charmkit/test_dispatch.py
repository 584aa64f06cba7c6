# SPDX-License-Identifier: Apache-2.0
"""Waking a unit from outside a hook: the systemd units, what is run when, and what idle hooks do not run."""

import shutil
import subprocess
from pathlib import Path

import pytest
from charmkit.dispatch.dispatcher import Dispatcher
from converge import Severity
from hostnic import handover
from hostnic.boot import sandbox, units
from hostnic.boot.sandbox import Does
from hostnic.system import CommandError, failure
from lab.modelled import FakeHost

NAME = "ovn-offload-sriov-switchdev-dispatch"
FILES = tuple(
    f"{NAME}{suffix}"
    for suffix in (
        ".service",
        "-agent.service",
        "-agent.path",
        "-nic-firmware.path",
        "-roce-qos.path",
    )
)
WATCHERS = FILES[2:]
OTHER = f"{NAME}-other.path"
SCRIPT = "/usr/lib/ovn-offload/sriov-switchdev-dispatch.sh"
OUTDATED = ("systemctl", "show", "--property=NeedDaemonReload", "--value")


@pytest.fixture
def host() -> FakeHost:
    return FakeHost()


def dispatcher(host: FakeHost, listens_to: tuple[str, ...] = ("nic-firmware", "roce-qos")) -> Dispatcher:
    return Dispatcher(host, "sriov-switchdev/3", "sriov-switchdev", listens_to)


def unit_file(host: FakeHost, suffix: str) -> list[str]:
    return host.disk.read(units.path(f"{NAME}{suffix}")).splitlines()


def watches(host: FakeHost, name: str) -> list[str]:
    lines = host.disk.read(units.path(name)).splitlines()
    return [line.partition("=")[2] for line in lines if line.startswith("PathChanged=")]


def with_other_units(host: FakeHost) -> None:
    """All units with another text, and one for a charm that is no longer listened to."""
    dispatcher(host, ("nic-firmware", "other", "roce-qos")).install()
    for name in FILES:
        host.disk.install(units.path(name), b"[Unit]\nDescription=of another revision\n", 0o644)
        host.disk.units[name] = host.disk.content[units.path(name)]
    host.trace.clear()
    host.spawned.clear()


def test_each_watched_file_has_a_path_unit_of_its_own(host: FakeHost):
    """systemd 249 loses events of a unit that watches two files of which one is absent."""
    dispatcher(host).install()

    watched = {
        name: watches(host, name) for name in host.files.listdir(units.DIRECTORY) if name.endswith(".path")
    }
    assert watched == {
        f"{NAME}-agent.path": ["/var/lib/juju/agents/unit-sriov-switchdev-3/agent.conf"],
        f"{NAME}-nic-firmware.path": ["/run/ovn-offload/nic-firmware.json"],
        f"{NAME}-roce-qos.path": ["/run/ovn-offload/roce-qos.json"],
    }
    for charm in ("nic-firmware", "roce-qos"):
        assert f"Unit={NAME}.service" in unit_file(host, f"-{charm}.path")


@pytest.mark.parametrize("suffix", [".service", "-agent.service"])
def test_however_often_a_service_is_started_systemd_does_not_refuse_it(host: FakeHost, suffix: str):
    """A start limit that is reached would also stop the path units that start the service."""
    dispatcher(host).install()

    unit, _, _ = host.disk.read(units.path(f"{NAME}{suffix}")).partition("[Service]")
    assert "StartLimitIntervalSec=0" in unit.splitlines()


def test_the_path_units_are_enabled_and_watch_from_now_on(host: FakeHost):
    assert dispatcher(host).install()

    assert host.spawned == [
        (*OUTDATED, *FILES),
        ("systemctl", "restart", *WATCHERS),
        ("systemctl", "enable", "--no-reload", *WATCHERS),
    ]


def test_systemd_reads_its_files_again_only_for_a_unit_that_it_has_loaded_otherwise(host: FakeHost):
    dispatcher(host, listens_to=("nic-firmware",)).install()
    assert "run systemctl daemon-reload" not in host.trace
    service = units.path(f"{NAME}.service")
    host.disk.install(service, b"[Service]\nType=exec\n", 0o644)
    host.disk.units[f"{NAME}.service"] = host.disk.content[service]
    host.trace.clear()

    dispatcher(host).install()  # after a refresh that listens to another charm, too

    before = f"{NAME}-agent.path {NAME}-nic-firmware.path"
    assert [line for line in host.trace if line.startswith("run")] == [
        f"run systemctl disable --no-reload {before}",
        "run systemctl daemon-reload",
        f"run systemctl restart {' '.join(WATCHERS)}",
        f"run systemctl enable --no-reload {' '.join(WATCHERS)}",
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


@pytest.mark.parametrize("verb", ["disable", "stop", "show", "daemon-reload", "restart", "enable"])
def test_a_refresh_that_was_interrupted_is_finished_by_the_next_hook(host: FakeHost, verb: str):
    with_other_units(host)
    host.fail("run", verb, CommandError(["systemctl"], "systemctl failed (1): no"))
    with pytest.raises(CommandError):
        dispatcher(host).install()
    assert dispatcher(host).install()

    assert not host.files.exists(units.path(OTHER))
    assert all(units.enabled(host, name) for name in WATCHERS)
    for name in (*WATCHERS, f"{NAME}.service"):
        assert host.disk.units[name] == host.disk.content[units.path(name)]
    ran = [line for line in host.trace if line.startswith("run")]
    names = " ".join(WATCHERS)
    assert ran[0] == f"run systemctl disable --no-reload {OTHER} {names}"
    assert f"run systemctl stop {OTHER}" in ran
    assert ran[-2:] == [f"run systemctl restart {names}", f"run systemctl enable --no-reload {names}"]
    assert not dispatcher(host).install()


def test_a_charm_that_is_no_longer_listened_to_is_no_longer_watched(host: FakeHost):
    dispatcher(host).install()

    assert dispatcher(host, listens_to=("roce-qos",)).install()

    assert not host.files.exists(units.path(f"{NAME}-nic-firmware.path"))
    assert not units.enabled(host, f"{NAME}-nic-firmware.path")
    assert units.enabled(host, f"{NAME}-roce-qos.path")


def test_an_operators_drop_in_stays(host: FakeHost):
    drop_in = units.path(f"{NAME}.service.d/override.conf")
    host.disk.install(drop_in, b"[Service]\nNice=5\n", 0o644)

    dispatcher(host).install()
    dispatcher(host).remove()

    assert host.files.exists(drop_in)


def test_a_newer_unit_of_the_charm_replaces_what_the_removed_one_left(host: FakeHost):
    dispatcher(host).install()
    host.disk.install("/run/ovn-offload/sriov-switchdev.dispatch-failed", b"ERROR no\n", 0o600)

    assert Dispatcher(host, "sriov-switchdev/4", "sriov-switchdev", ("nic-firmware", "roce-qos")).install()

    texts = [host.disk.read(path) for path in host.disk.content if NAME in path or path == SCRIPT]
    assert len(texts) == len(FILES) + 1
    assert dispatcher(host).failed() == ()
    assert not [text for text in texts if "sriov-switchdev/3" in text or "sriov-switchdev-3" in text]
    written = [line for line in host.trace if line.startswith("install")]
    assert written[len(FILES) + 1] == f"install {SCRIPT}", (
        "the removed unit's service must see at once whose it is"
    )
    assert all(units.enabled(host, name) for name in WATCHERS)


def test_who_listens_to_nobody_sees_its_agent_go_all_the_same(host: FakeHost):
    dispatcher(host, listens_to=()).install()

    assert [name for name in host.files.listdir(units.DIRECTORY) if name.endswith(".path")] == [
        f"{NAME}-agent.path"
    ]


def test_a_charm_that_hands_nothing_over_is_named_if_it_has_an_agent_here(host: FakeHost):
    assert dispatcher(host).unheard([]) == "", "no agent at all"
    host.disk.install(f"{handover.AGENTS}/unit-roce-qos-7/agent.conf", b"", 0o600)
    assert dispatcher(host).unheard([]) == "roce-qos"
    assert dispatcher(host, ("nic-firmware",)).unheard([]) == ""
    assert dispatcher(host).unheard([handover.Handover("roce-qos", "roce-qos/7", "roce-qos")]) == ""


def test_nothing_is_told_while_the_unit_can_be_woken(host: FakeHost):
    dispatcher(host).install()

    assert dispatcher(host).failed() == ()


def test_a_service_that_gave_up_is_a_warning_with_the_last_words_and_what_to_do(host: FakeHost):
    said = b"ERROR dial unix /var/lib/juju/agents/unit-sriov-switchdev-3/run.socket: connection refused\n"
    host.disk.install("/run/ovn-offload/sriov-switchdev.dispatch-failed", said, 0o600)

    (finding,) = dispatcher(host).failed()

    assert finding.severity is Severity.WARNING
    assert "gave up after 20 attempts: ERROR dial unix" in finding.sentence()
    assert f"systemctl start {NAME}.service" in finding.sentence()


def test_waking_starts_the_service_and_does_not_wait_for_it(host: FakeHost):
    dispatcher(host).install()
    host.spawned.clear()

    dispatcher(host).now()

    assert host.spawned == [("systemctl", "start", "--no-block", f"{NAME}.service")]


def wakes_in(seconds: int) -> list[tuple[str, ...]]:
    """Return the commands with which a unit is woken then, and only then."""
    timer = (f"--unit={NAME}-later", f"--on-active={seconds}", "--timer-property=AccuracySec=5")
    command = ("systemctl", "start", "--no-block", f"{NAME}.service")
    return [
        ("systemctl", "stop", f"{NAME}-later.timer"),
        ("systemd-run", "--quiet", "--collect", *timer, *sandbox.properties(Does.STARTS_UNITS), *command),
    ]


def test_a_unit_is_woken_in_so_many_seconds_whether_or_not_it_was_to_be_woken_before(host: FakeHost):
    """systemd-run refuses a name that is loaded, and stopping one that is not fails."""
    dispatcher(host).install()
    host.spawned.clear()
    host.answers[("systemctl", "stop", f"{NAME}-later.timer")] = CommandError(("systemctl",), "not loaded")

    dispatcher(host).after(300)

    assert host.spawned == wakes_in(300)


@pytest.mark.parametrize(
    "said",
    [
        "Failed to start transient timer unit: Unit {} already exists.",
        "Failed to start transient timer unit: Unit {} was already loaded or has a fragment file.",
    ],
)
def test_a_timer_that_has_just_elapsed_is_replaced_with_its_service(host: FakeHost, said: str):
    """As after a reboot: it has started its service, which waits for systemd."""
    dispatcher(host).install()
    host.spawned.clear()
    refused = failure(("systemd-run",), 1, "", said.format(f"{NAME}-later.service"))
    host.fail("run", "systemd-run", refused, times=1)

    dispatcher(host).after(300)

    stop, again = wakes_in(300)
    assert host.spawned == [stop, again, ("systemctl", "stop", f"{NAME}-later.service"), again]


def test_another_refusal_of_systemd_is_told(host: FakeHost):
    dispatcher(host).install()
    host.fail("run", "systemd-run", failure(("systemd-run",), 1, "", "Failed to connect to bus"), times=None)

    with pytest.raises(OSError, match="connect to bus"):
        dispatcher(host).after(300)


def test_of_what_one_hook_asks_for_the_earliest_wakes_the_unit(host: FakeHost):
    """A download goes on in a minute, and the host settles in five: the hook in a minute asks again."""
    hook = dispatcher(host)
    hook.install()
    host.spawned.clear()

    for seconds in (300, 60, 240):
        hook.after(seconds)

    assert host.spawned == [*wakes_in(300), *wakes_in(60)]
    host.spawned.clear()
    dispatcher(host).after(240)
    assert host.spawned == wakes_in(240), "the next hook replaces it"


def test_a_wake_up_that_systemd_refused_does_not_count_as_asked_for(host: FakeHost):
    hook = dispatcher(host)
    host.fail("run", "systemd-run", CommandError(["systemd-run"], "systemd-run failed (1): no"))
    with pytest.raises(CommandError):
        hook.after(60)
    host.spawned.clear()

    hook.after(240)

    assert host.spawned == wakes_in(240)


def test_the_stop_hook_stops_a_wake_up_that_is_still_to_come(host: FakeHost):
    dispatcher(host).install()
    host.spawned.clear()

    dispatcher(host).remove()

    assert ("systemctl", "stop", f"{NAME}-later.timer") in host.spawned


def test_the_stop_hook_leaves_nothing_behind(host: FakeHost):
    before = (set(host.disk.content), set(host.disk.links))
    dispatcher(host).install()
    host.disk.install("/run/ovn-offload/sriov-switchdev.dispatch-failed", b"ERROR no\n", 0o600)

    dispatcher(host).remove()

    assert (set(host.disk.content), set(host.disk.links)) == before
    assert host.trace[-1] == "run systemctl daemon-reload"
    host.spawned.clear()
    dispatcher(host).remove()
    assert host.spawned == []


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="needs systemd-analyze of Debian's systemd"
)
def test_systemd_accepts_the_units(host: FakeHost, tmp_path: Path):
    dispatcher(host).install()
    for name in FILES:
        (tmp_path / name).write_text(host.disk.read(units.path(name)))

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, sorted(tmp_path.iterdir()))],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, NAME in done.stderr) == (0, False), done.stderr
