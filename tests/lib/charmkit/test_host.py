# SPDX-License-Identifier: Apache-2.0
"""The common parts of every host charm in a hook, in an action and in its removal: order and failures."""

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import ops
import pytest
from charmkit.host import HostCharm, HostReconciler
from charmkit.reconcile import Removed
from converge import Disruption, Finding, Plan, Severity, Step, StepError
from exporter import facts
from exporter.facts import Facts, PortFacts
from hostnic import exclusive, handover
from hostnic.boot import units
from hostnic.handover import Handover
from lab.modelled import FakeHost
from ops import testing
from wakeups import wakes_in

FILE = "/etc/declared"
DRIFT = Finding(Severity.WAITING, FILE, "is not there", "the next hook of the charm does it")
DISPATCHER = "/etc/systemd/system/ovn-offload-demo-dispatch.service"
GUARD = "ovn-offload-demo-dispatch-agent.path"


@dataclass(frozen=True)
class Install:
    refused: bool
    remedy: str = "free some space"

    def run(self, system: Any, /) -> None:
        if self.refused:
            raise StepError("the disk is full", self.remedy)
        system.files.install(FILE, b"declared")


class Look(NamedTuple):
    plan: Plan[Any]
    findings: tuple[Finding, ...]
    accepted: bool = True
    boot_at_work: bool = False


class Demo(HostCharm[Look]):
    """A charm that wants one file, and writes down which of its verbs ran."""

    listens_to = ("other",)
    host: FakeHost
    calls: list[str]
    refused = False
    accepted = True
    boot_at_work = False
    unknown = False
    unread = False
    rolling: Any = None

    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self.reconciler = HostReconciler(self)
        if self.rolling:
            self.reconciler.rolls(self.rolling)

    @classmethod
    def machine(cls) -> FakeHost:
        return cls.host

    @staticmethod
    def ports(survey: Look) -> Sequence[PortFacts]:
        return (PortFacts("0000:3b:00.0", "enp59s0f0np0"),)

    def capture(self) -> str:
        return "what it reads"

    def before_survey(self) -> Sequence[Finding]:
        self.calls.append("before_survey")
        if self.unread:
            raise OSError(errno.EIO, os.strerror(errno.EIO), "/sys")
        return (Finding(Severity.WARNING, "tools", "one is missing"),)

    def survey(self) -> Look:
        there = self.host.disk.exists(FILE)
        self.calls.append(f"survey: {'there' if there else 'not there'}")
        step = Step("file", f"write {FILE}", "it is not there", Disruption.NONE, Install(self.refused))
        plan = Plan[Any](() if there else (step,))
        return Look(plan, () if there else (DRIFT,), self.accepted, self.boot_at_work)

    def publish(self, survey: Look, findings: Sequence[Finding]) -> Sequence[Finding]:
        self.calls.append(f"publish: {', '.join(finding.subject for finding in findings)}")
        handover.publish(self.host, Handover("demo", self.unit.name, "demo"))
        return findings

    def version(self, survey: Look) -> str:
        if self.unknown:
            raise OSError(errno.EIO, os.strerror(errno.EIO), "/proc")
        return f"{len(survey.plan.steps)} steps"

    def uninstall(self) -> Removed:
        published = self.host.disk.exists(handover.path_of("demo"))
        woken = self.host.disk.exists(DISPATCHER)
        self.calls.append(f"uninstall: hand-over {published}, wake-ups {woken}")
        return Removed("removed; the file stays")


@pytest.fixture
def demo() -> type[Demo]:
    return type("Charm", (Demo,), {"calls": [], "host": FakeHost()})


def emit(demo: type[Demo], event: str) -> testing.State:
    actions: dict[str, Any] = {"plan": {}, "verify": {}, "capture": {}}
    context = testing.Context(demo, meta={"name": "demo"}, actions=actions, unit_id=0)
    demo.calls.clear()
    bound = context.on.action(event) if event in actions else getattr(context.on, event)()
    return context.run(bound, testing.State(unit_status=testing.UnknownStatus()))


def test_a_hook_applies_what_differs_and_looks_again(demo: type[Demo]) -> None:
    status = emit(demo, "config_changed").unit_status
    assert demo.calls == ["before_survey", "survey: not there", "survey: there", "publish: tools"]
    assert status == testing.ActiveStatus("tools: one is missing")
    assert demo.host.disk.exists(DISPATCHER)


def test_an_idle_hook_looks_once(demo: type[Demo]) -> None:
    emit(demo, "config_changed")
    emit(demo, "update_status")
    assert demo.calls == ["before_survey", "survey: there", "publish: tools"]


def test_a_hook_that_waited_for_another_program_looks_again_before_it_changes_anything(
    demo: type[Demo], monkeypatch: pytest.MonkeyPatch
) -> None:
    host = demo.host
    host.locks[exclusive.PATH] = 99
    pause = host.sleep

    def sleep(seconds: float) -> None:
        """The other program does what the hook has planned, and ends."""
        pause(seconds)
        if not host.disk.exists(FILE):
            host.disk.install(FILE, b"by the other", 0o644)
            host.locks.clear()

    monkeypatch.setattr(host, "sleep", sleep)
    emit(demo, "config_changed")
    assert demo.calls[:3] == ["before_survey", "survey: not there", "survey: there"]
    assert host.disk.content[FILE] == b"by the other"
    assert host.locks == {}


def test_a_hook_changes_nothing_while_another_program_goes_on(demo: type[Demo]) -> None:
    demo.host.locks[exclusive.PATH] = 99
    status = emit(demo, "config_changed").unit_status
    assert not demo.host.disk.exists(FILE)
    assert status.name == "waiting"
    assert status.message.startswith(
        f"fuser -v {exclusive.PATH} shows which program it is; changes of this host…"
    )
    assert wakes_in(demo.host, "demo") == 60


def test_a_lock_that_cannot_be_read_is_a_finding(demo: type[Demo]) -> None:
    demo.host.fail("lock", exclusive.PATH, OSError(28, "No space left on device"))
    status = emit(demo, "config_changed").unit_status
    assert status.name == "blocked"
    assert "No space left on device" in status.message


def test_juju_is_told_the_version_of_what_the_last_look_found(demo: type[Demo]) -> None:
    assert emit(demo, "config_changed").workload_version == "0 steps"
    assert emit(demo, "verify").workload_version == ""


def test_juju_is_told_a_version_once(demo: type[Demo], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call starts a process of Juju's."""
    told: list[str] = []
    monkeypatch.setattr(ops.Unit, "set_workload_version", lambda _, version: told.append(version))
    actions: dict[str, Any] = {"plan": {}, "verify": {}, "capture": {}}
    context = testing.Context(demo, meta={"name": "demo"}, actions=actions, unit_id=0)
    state = context.run(context.on.config_changed(), testing.State())
    context.run(context.on.update_status(), state)
    assert told == ["0 steps"]


def test_a_version_that_cannot_be_read_is_logged_and_not_told(demo: type[Demo], caplog: Any) -> None:
    demo.unknown = True
    assert emit(demo, "config_changed").workload_version == ""
    assert "the workload version cannot be read: " in caplog.text


def test_a_step_that_fails_is_told_before_what_still_differs(demo: type[Demo]) -> None:
    demo.refused = True
    status = emit(demo, "config_changed").unit_status
    assert demo.calls[-2:] == ["survey: not there", f"publish: tools, file, {FILE}"]
    assert status.name == "blocked"
    assert f"file: failed to write {FILE}: the disk is full; free some space" in status.message


def test_a_step_that_fails_without_a_remedy_of_its_own_says_that_it_is_tried_again(
    demo: type[Demo], monkeypatch: pytest.MonkeyPatch
) -> None:
    demo.refused = True
    monkeypatch.setattr(Install.__init__, "__defaults__", ("",))
    status = emit(demo, "config_changed").unit_status
    assert status.message.startswith(
        f"file: failed to write {FILE}: the disk is full; retried at the next hook"
    )


def test_actions_change_nothing_and_tell_nobody(demo: type[Demo]) -> None:
    for action in ("plan", "verify"):
        emit(demo, action)
        assert demo.calls == ["survey: not there"]
    assert not demo.host.disk.exists(FILE)
    assert not demo.host.disk.exists(DISPATCHER)


def test_a_unit_whose_options_are_refused_does_not_ask_to_be_woken(demo: type[Demo]) -> None:
    demo.accepted = False
    emit(demo, "config_changed")
    assert not demo.host.disk.exists(DISPATCHER)


def test_what_sees_juju_remove_a_unit_is_there_whatever_its_options_are(demo: type[Demo]) -> None:
    demo.accepted = False
    emit(demo, "config_changed")
    assert units.enabled(demo.host, GUARD)
    emit(demo, "stop")
    assert not units.installed(demo.host, ("ovn-offload-demo",))


def test_a_stop_hook_that_juju_ends_half_way_leaves_what_removes_the_rest(
    demo: type[Demo], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_: Demo) -> Removed:
        raise KeyboardInterrupt

    emit(demo, "config_changed")
    monkeypatch.setattr(demo, "uninstall", killed)
    with pytest.raises(KeyboardInterrupt):
        emit(demo, "stop")
    assert units.enabled(demo.host, GUARD)
    assert not demo.host.disk.exists(DISPATCHER)


def test_the_hook_of_a_charm_that_stays_removes_what_another_one_left(demo: type[Demo]) -> None:
    for unit in ("demo-0", "demo-7"):
        demo.host.disk.install(f"{handover.AGENTS}/unit-{unit}/agent.conf", b"", 0o600)
    handover.publish(demo.host, Handover("roce-qos", "roce-qos/2", "demo"))
    emit(demo, "update_status")
    assert not demo.host.files.exists(handover.path_of("roce-qos"))


def test_beside_another_unit_a_host_that_cannot_be_read_is_a_second_finding(demo: type[Demo]) -> None:
    def refused(_: Finding, *, verified: bool) -> Sequence[Finding]:
        assert verified
        raise OSError(errno.EIO, os.strerror(errno.EIO), "/proc")

    handover.publish(demo.host, Handover("demo", "demo/7", "demo"))
    demo.host.disk.directories.add(f"{handover.AGENTS}/unit-demo-7")
    demo.rolling = SimpleNamespace(options_refused=refused, follow=None, told=None)
    status = emit(demo, "config_changed").unit_status
    assert status.name == "blocked"
    assert "; demo: demo/7 keeps this" in status.message
    assert "+1 more" in status.message
    assert demo.calls == []


def test_a_host_that_was_booted_without_its_units_keeps_the_lock(demo: type[Demo]) -> None:
    """It is not in order: no other host reboots until somebody says so."""
    told: list[tuple[str, bool]] = []

    def refused(finding: Finding, *, verified: bool) -> Sequence[Finding]:
        told.append((finding.what, verified))
        return ()

    demo.rolling = SimpleNamespace(options_refused=refused, follow=None, told=None)
    demo.host.disk.install("/proc/cmdline", b"ro quiet ovn-offload=off\n", 0o444)
    status = emit(demo, "config_changed").unit_status
    assert (status.name, demo.calls) == ("blocked", [])
    assert told == [("no charm changes its NICs in this boot", False)]


def test_a_unit_whose_boot_units_are_at_work_next_look_in_a_minute(demo: type[Demo]) -> None:
    emit(demo, "config_changed")
    assert wakes_in(demo.host, "demo") is None
    demo.boot_at_work = True
    emit(demo, "update_status")
    assert wakes_in(demo.host, "demo") == 60


def test_wake_ups_that_cannot_be_installed_are_a_warning_of_their_own(
    demo: type[Demo], monkeypatch: pytest.MonkeyPatch
) -> None:
    install = demo.host.files.install

    def refuse(path: str, content: bytes, mode: int = 0o644) -> None:
        if "dispatch" in path:
            raise OSError(28, "No space left on device")
        install(path, content, mode)

    monkeypatch.setattr(demo.host.files, "install", refuse)
    emit(demo, "config_changed")
    assert demo.calls[-1] == "publish: tools, the service that wakes this unit"


def test_the_charms_own_removal_comes_after_the_hand_over_and_the_wake_ups(demo: type[Demo]) -> None:
    emit(demo, "config_changed")
    status = emit(demo, "stop").unit_status
    assert demo.calls == ["uninstall: hand-over False, wake-ups False"]
    assert status == testing.MaintenanceStatus("removed; the file stays")


def told(demo: type[Demo]) -> Facts:
    """Return the charm's facts as the exporter of this host reads them."""
    found = facts.read(demo.host, "demo")
    assert found
    return found


def test_a_hook_tells_the_exporter_what_it_found(demo: type[Demo]) -> None:
    emit(demo, "config_changed")
    assert (told(demo).unit, told(demo).findings["warning"]) == ("demo/0", 1)
    assert [port.netdev for port in told(demo).ports] == ["enp59s0f0np0"]


def test_the_ports_that_a_hook_cannot_read_stay_what_the_last_one_told(demo: type[Demo]) -> None:
    emit(demo, "config_changed")
    demo.unread = True
    emit(demo, "update_status")
    assert told(demo).findings["blocked"] + told(demo).findings["waiting"] == 1
    assert [port.netdev for port in told(demo).ports] == ["enp59s0f0np0"]


def test_a_removed_unit_leaves_the_exporter_nothing(demo: type[Demo]) -> None:
    emit(demo, "config_changed")
    assert demo.host.disk.exists(facts.path_of("demo"))
    emit(demo, "stop")
    assert not demo.host.disk.exists(facts.path_of("demo"))
