# SPDX-License-Identifier: Apache-2.0
"""The record of this boot's units and live changes, kept below /run."""

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, cast

from converge import Op, Plan, words
from converge.document import plain
from hostnic.devices import pci
from hostnic.ops.files import write_own
from hostnic.system import UNREADABLE, HostStep, System, if_told, read_own
from observed import (
    BootFailure,
    BootRecord,
    Follower,
    LiveRecord,
    Phase,
    PhaseRecord,
    PortRecord,
    State,
    Vfs,
)

DIRECTORY = "/run/ovn-offload/sriov-switchdev"
BOOT = f"{DIRECTORY}/boot.json"
LIVE = f"{DIRECTORY}/live.json"
PREVIOUS = f"{DIRECTORY}/previous.json"
"""The state before a live change that waits for its confirmation."""
CONVERGED = f"{DIRECTORY}/converged.json"
"""The NICs that were as declared in this boot. Until it exists, udev starts nothing for a port."""
FOLLOWER = f"{DIRECTORY}/follower.json"
"""The notes of the service that follows uplinks; the file exists while the service runs, or was killed."""
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
    # A unit of an earlier version noted no ports.
    ports = {bdf: PortRecord(*map(_vfs, (item["found"], item["left"]))) for bdf, item in _items(raw)}
    return BootRecord(phases, ports)


def _items(raw: dict[str, Any]) -> Iterable[tuple[str, dict[str, Any]]]:
    return raw.get("ports", {}).items()


def _vfs(item: dict[str, Any] | None) -> Vfs | None:
    if item is None:
        return None
    mode, made = item["mode"], item["made"]
    return Vfs(
        int(item["number"]),
        None if mode is None else str(mode),
        None if made is None else int(made),
        float(item["at"]),
    )


def write_boot(
    system: System, phase: Phase, state: State, problems: tuple[BootFailure, ...] = (), failures: int = 0
) -> None:
    """Record how far ``phase`` got."""
    before = read_boot(system)
    phases = {**before.phases, phase: PhaseRecord(state, system.now(), problems, failures)}
    _write_boot(system, before._replace(phases=phases))


def _write_boot(system: System, boot: BootRecord) -> None:
    _install(system, BOOT, plain(boot), _boot)


def note_found(system: System, bdfs: Iterable[str]) -> None:
    """Note the VFs that ports have before the first boot unit changes any: something else made them."""
    boot = read_boot(system)
    new = {bdf: _now(system, bdf) for bdf in bdfs if bdf not in boot.ports}
    if found := {bdf: PortRecord(found=vfs) for bdf, vfs in new.items() if vfs.number}:
        _write_boot(system, boot._replace(ports={**boot.ports, **found}))


def note_left(system: System, bdfs: Iterable[str], *, anew: bool = True) -> None:
    """Note ports as they are: what differs from that later on is something else's doing.

    Unless they are noted ``anew``, what was noted of one already stays.
    """
    boot = read_boot(system)
    known = {bdf: boot.ports.get(bdf, PortRecord()) for bdf in bdfs}
    new = {bdf: port._replace(left=_now(system, bdf)) for bdf, port in known.items() if anew or not port.left}
    if new:
        _write_boot(system, boot._replace(ports={**boot.ports, **new}))


def forget_left(system: System, bdfs: Collection[str]) -> None:
    """Note that the charm changes ports, so that it is not known how it leaves them."""
    boot = read_boot(system)
    ports = {bdf: port._replace(left=None) if bdf in bdfs else port for bdf, port in boot.ports.items()}
    if ports != boot.ports:
        _write_boot(system, boot._replace(ports=ports))


@dataclass(frozen=True)
class Noted:
    """An operation that changes VFs or mode of the port at ``bdf``, and the note of what it leaves."""

    bdf: str
    op: Op[System]

    def run(self, system: System) -> None:
        """Note nothing if it fails: VFs may come late."""
        forget_left(system, [self.bdf])
        self.op.run(system)
        note_left(system, [self.bdf])


def noted(plan: Plan[System]) -> Plan[System]:
    """A plan as it is run: a step that changes VFs or mode of a port also notes what it leaves."""
    from hostnic.ops.eswitch import SetEswitchMode  # not in a hook that changes nothing
    from hostnic.ops.vf import CreateVfs, DestroyVfs

    def as_run(step: HostStep) -> HostStep:
        op = step.op
        changes = isinstance(op, CreateVfs | DestroyVfs | SetEswitchMode)
        return replace(step, op=Noted(op.bdf, op)) if changes else step

    return replace(plan, steps=tuple(map(as_run, plan.steps)))


def _now(system: System, bdf: str) -> Vfs:
    mode = if_told(lambda: system.devlink.eswitch_mode(bdf))
    first = next(iter(pci.vf_addresses(system, bdf).values()), None)
    return Vfs(pci.num_vfs(system, bdf), mode, pci.made(system, first), system.now())


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
    """Note that the NIC at ``slot`` is as declared in this boot, and so are its ports at ``bdfs``."""

    slot: str
    bdfs: tuple[str, ...] = ()

    def run(self, system: System) -> None:
        """Add it to the others; of its ports, what was noted already stays."""
        note_left(system, self.bdfs, anew=False)
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


def read_follower(system: System) -> Follower | None:
    """The note of the service that follows uplinks; None without one, or if it cannot be read."""
    try:
        return _follower(read_own(system, FOLLOWER))
    except UNREADABLE:
        return None


def _follower(text: str) -> Follower:
    raw = cast("dict[str, Any]", json.loads(text))
    return Follower(str(raw["stamp"]), {int(index): str(name) for index, name in raw["lowered"].items()})


def write_follower(system: System, follower: Follower) -> None:
    """Note what the service is about to do."""
    _install(system, FOLLOWER, follower._asdict(), _follower)


def forget_follower(system: System) -> None:
    """Note that it runs no more, and that nothing of it is left."""
    if system.files.exists(FOLLOWER):
        system.files.remove(FOLLOWER)


def _install(system: System, path: str, content: dict[str, Any], read: Callable[[str], object]) -> None:
    text = json.dumps({"version": VERSION, **content}, indent=1, sort_keys=True)
    write_own(system, path, f"{text}\n", read)
