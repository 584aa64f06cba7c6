# SPDX-License-Identifier: Apache-2.0
"""What the boot units and live changes of this boot did, kept below /run."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from converge import words
from converge.document import plain
from hostnic.ops.files import write_own
from hostnic.system import UNREADABLE, System, read_own
from observed import BootFailure, BootRecord, LiveRecord, Phase, PhaseRecord, State

DIRECTORY = "/run/ovn-offload/sriov-switchdev"
BOOT = f"{DIRECTORY}/boot.json"
LIVE = f"{DIRECTORY}/live.json"
PREVIOUS = f"{DIRECTORY}/previous.json"
"""The state before a live change that waits for its confirmation."""
CONVERGED = f"{DIRECTORY}/converged.json"
"""The NICs that were as declared in this boot. Until it exists, udev starts nothing for a port."""
VERSION = 1


def read_boot(system: System) -> BootRecord:
    """The record of this boot; empty when the units did not run."""
    try:
        return _boot(read_own(system, BOOT))
    except FileNotFoundError:
        return BootRecord()
    except UNREADABLE as error:
        problem = BootFailure(
            BOOT, f"the record of this boot cannot be read: {words(error)}", "the next boot writes a new one"
        )
        return BootRecord({"early": PhaseRecord("failed", 0.0, (problem,))})


def _boot(text: str) -> BootRecord:
    raw, phases = cast("dict[str, Any]", json.loads(text)), dict[Phase, PhaseRecord]()
    for name in ("early", "bind", "restore"):
        if item := raw["phases"].get(name):
            problems = tuple(BootFailure(**problem) for problem in item["problems"])
            phases[name] = PhaseRecord(item["state"], float(item["at"]), problems, int(item["failures"]))
    return BootRecord(phases)


def write_boot(
    system: System, phase: Phase, state: State, problems: tuple[BootFailure, ...] = (), failures: int = 0
) -> None:
    """Record how far ``phase`` got."""
    phases = {**read_boot(system).phases, phase: PhaseRecord(state, system.now(), problems, failures)}
    _install(system, BOOT, {"phases": plain(phases)}, _boot)


def read_converged(system: System) -> frozenset[str]:
    """Slots of the NICs that were as declared in this boot; none when that is not known."""
    try:
        return _converged(read_own(system, CONVERGED))
    except UNREADABLE:
        return frozenset()


def _converged(text: str) -> frozenset[str]:
    return frozenset(str(slot) for slot in cast("dict[str, Any]", json.loads(text))["nics"])


@dataclass(frozen=True)
class NoteConverged:
    """Note that the NIC at ``slot`` is as declared in this boot."""

    slot: str

    def run(self, system: System) -> None:
        """Add it to the others."""
        known = read_converged(system)
        if self.slot not in known:
            _install(system, CONVERGED, {"nics": sorted({*known, self.slot})}, _converged)


def is_restoring(system: System) -> bool:
    """Whether the unit that restores lost ports has begun and not ended."""
    found = read_boot(system).phases.get("restore")
    return found is not None and found.state == "running"


def armed(system: System) -> bool:
    """Whether a live change waits for its confirmation."""
    return system.files.exists(PREVIOUS)


def read_live(system: System) -> LiveRecord:
    """The record of live changes; empty when there was none or it cannot be read."""
    try:
        return _live(read_own(system, LIVE))
    except UNREADABLE:
        return LiveRecord()


def _live(text: str) -> LiveRecord:
    raw = cast("dict[str, Any]", json.loads(text))
    return LiveRecord(str(raw["target"]), int(raw["failures"]), str(raw["undone"]))


def count_live_failure(system: System, target: str, undone: str = "") -> None:
    """Note that a live change towards ``target`` failed, and why it was undone if it was."""
    before = read_live(system)
    failures = before.failures + 1 if before.target == target else 1
    _install(system, LIVE, LiveRecord(target, failures, undone)._asdict(), _live)


def _install(system: System, path: str, content: dict[str, Any], read: Callable[[str], object]) -> None:
    text = json.dumps({"version": VERSION, **content}, indent=1, sort_keys=True)
    write_own(system, path, f"{text}\n", read)
