# SPDX-License-Identifier: Apache-2.0
"""What happened since this boot: what the boot units did, and live changes. Below /run, to end with it."""

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, cast

from converge import Finding, Severity
from hostnic.system import System

DIRECTORY = "/run/ovn-offload/sriov-switchdev"
BOOT = f"{DIRECTORY}/boot.json"
LIVE = f"{DIRECTORY}/live.json"
PREVIOUS = f"{DIRECTORY}/previous.json"
"""The state before a live change that waits for its confirmation."""
VERSION = 1

Phase = Literal["early", "bind"]
State = Literal["running", "done", "failed"]


class Trouble(NamedTuple):
    """One thing that went wrong in a phase, in the operator's words."""

    subject: str
    what: str
    remedy: str = ""

    def finding(self, severity: Severity = Severity.BLOCKED) -> Finding:
        """The trouble as a finding."""
        return Finding(severity, self.subject, self.what, self.remedy)


class PhaseRecord(NamedTuple):
    """How far a boot unit got.

    Attributes:
        state: ``running`` until the unit ends.
        at: monotonic seconds of the last change.
        troubles: what went wrong.

    """

    state: State
    at: float
    troubles: tuple[Trouble, ...] = ()


class BootRecord(NamedTuple):
    """Both boot units of this boot; a unit that did not start has no record."""

    phases: Mapping[Phase, PhaseRecord] = {}

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """What went wrong in this boot, in order."""
        return tuple(trouble for record in self.phases.values() for trouble in record.troubles)

    def unfinished(self, now: float, patience: float = 900.0) -> bool:
        """Whether a boot unit is still at work; after ``patience`` seconds it counts as gone."""
        early, bind = self.phases.get("early"), self.phases.get("bind")
        if early is None:
            return False
        latest = bind or early
        return now - latest.at < patience and (bind is None or bind.state == "running")


class LiveRecord(NamedTuple):
    """Live changes of this boot towards one desired state.

    Attributes:
        target: digest of the desired state that they were for.
        failures: how many failed, one after the other.
        undone: why the last one was taken back; empty when none was.

    """

    target: str = ""
    failures: int = 0
    undone: str = ""


def read_boot(system: System) -> BootRecord:
    """The record of this boot; empty when the units did not run."""
    phases: dict[Phase, PhaseRecord] = {}
    try:
        raw = cast("dict[str, Any]", json.loads(system.files.read(BOOT)))
        for name in ("early", "bind"):
            if item := raw["phases"].get(name):
                troubles = tuple(Trouble(**trouble) for trouble in item["troubles"])
                phases[name] = PhaseRecord(item["state"], float(item["at"]), troubles)
    except FileNotFoundError:
        return BootRecord()
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        trouble = Trouble(BOOT, f"the record of this boot cannot be read: {error}", "reboot writes it anew")
        return BootRecord({"early": PhaseRecord("failed", 0.0, (trouble,))})
    return BootRecord(phases)


def write_boot(system: System, phase: Phase, state: State, troubles: tuple[Trouble, ...] = ()) -> None:
    """Record how far ``phase`` got."""
    phases = {**read_boot(system).phases, phase: PhaseRecord(state, system.now(), troubles)}
    plain = {
        name: {**record._asdict(), "troubles": [trouble._asdict() for trouble in record.troubles]}
        for name, record in phases.items()
    }
    _install(system, BOOT, {"version": VERSION, "phases": plain})


def armed(system: System) -> bool:
    """Whether a live change waits for its confirmation."""
    return system.files.exists(PREVIOUS)


def read_live(system: System) -> LiveRecord:
    """The record of live changes; empty when there was none or it cannot be read."""
    try:
        raw = cast("dict[str, Any]", json.loads(system.files.read(LIVE)))
        return LiveRecord(str(raw["target"]), int(raw["failures"]), str(raw["undone"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return LiveRecord()


def write_live(system: System, record: LiveRecord) -> None:
    """Keep ``record`` until the next boot."""
    _install(system, LIVE, {"version": VERSION, **record._asdict()})


def count_live_failure(system: System, target: str, undone: str = "") -> None:
    """Note that a live change towards ``target`` failed, and why it was taken back if it was."""
    before = read_live(system)
    failures = before.failures + 1 if before.target == target else 1
    write_live(system, before._replace(target=target, failures=failures, undone=undone))


def _install(system: System, path: str, content: dict[str, Any]) -> None:
    system.files.install(path, (json.dumps(content, indent=1, sort_keys=True) + "\n").encode(), 0o600)
