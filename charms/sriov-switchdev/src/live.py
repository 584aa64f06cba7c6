# SPDX-License-Identifier: Apache-2.0
"""A change of a node's network as a confirmed commit: timer, change, confirmation or the previous state.

Before the first cut the previous state is kept below /run and a systemd timer is armed. When the
gateway and the controller that answered before answer again, the timer is stopped. If they do not,
or if the hook dies half way, the hook or the timer restores the previous state.
"""

import contextlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import record
from boot import budget, files
from converge import Disruption, Plan, Step, StepError, words
from converge.document import plain, readable
from converge.execute import Outcome, execute
from converge.shape import (
    AnyText,
    Boolean,
    Integer,
    InvalidValue,
    JsonRecord,
    ListOf,
    OneOf,
    OrNull,
    Shape,
    Text,
)
from desired import Desired
from hostnic import shapes
from hostnic.boot import sandbox
from hostnic.devices import discover, inventory
from hostnic.devices.model import Pf
from hostnic.devices.place import place_of
from hostnic.devices.port import is_other_card, uplink_of
from hostnic.network import reachability
from hostnic.ops.bonding import JoinBond
from hostnic.ops.files import RemoveFile
from hostnic.ops.members import MEMBER_DEADLINE
from hostnic.system import Channels, HostStep, System, if_told, read_own
from nic.back import back
from nic.chain import Way
from nic.judge import Move, other_card
from observed import APPROVE, Observed, PortState

TIMER = "ovn-offload-sriov-revert"
TIMEOUT_S = budget.LIVE
"""Until the timer restores the previous state. Longer than the slowest change: it is for a hook that died,
and one port stays in the bond meanwhile."""


class Previous(NamedTuple):
    """The content of the file."""

    ports: tuple[PortState, ...]  # the ports as they were
    answering: tuple[str, ...]  # addresses that answered a ping before the change
    target: str  # digest of the desired state that the change leads to


_NAME = r"[^\s/:]{0,15}"
_OF_PORT: dict[str, Shape[Any]] = {
    "bdf": shapes.ADDRESS,
    "netdev": Text(_NAME, "the name of a network device"),
    "mode": OneOf(("legacy", "switchdev", "switchdev_inactive")),
    "num_vfs": Integer(0, 0xFFFF, "a number of VFs"),
    "autoprobe": Boolean(),
    "bond": OrNull(Text(_NAME, "the name of a bond")),
    "queues": Integer(0, 0xFFFF, "a number of queues"),
    "mac": OrNull(shapes.PERMANENT_MAC),
}
_PORT = JsonRecord(PortState, _OF_PORT, required=tuple(_OF_PORT))
_PREVIOUS = JsonRecord(
    Previous,
    {
        "ports": ListOf(_PORT, "ports"),
        "answering": ListOf(Text(r"[0-9A-Fa-f.:%\w-]{1,64}", "an IP address"), "addresses"),
        "target": AnyText(),
    },
)


def _previous(text: str) -> Previous:
    return _PREVIOUS.read("", json.loads(text))


def read_previous(system: System) -> Previous:
    """The state before the change. Raises StepError if it cannot be read."""
    try:
        return _previous(read_own(system, record.PREVIOUS))
    except (OSError, ValueError, RecursionError) as error:
        raise StepError(
            f"{record.PREVIOUS}, the state before a live change, cannot be read: {words(error)}",
            f"check that this node answers on its network; then remove {record.PREVIOUS}, or reboot",
        ) from None


def state_of(pf: Pf, bond: str | None, channels: Channels | None = None) -> PortState:
    """Return the state that a restore needs; ``bond`` is the port's own, even if it is out of it now."""
    mode = pf.eswitch_mode or "legacy"
    queues = channels.combined if channels else 0
    return PortState(pf.bdf, pf.netdev or "", mode, pf.port.num_vfs, pf.autoprobe, bond, queues, pf.mac)


@dataclass(frozen=True)
class Arm:
    """Keep the previous state, and have it restored unless :class:`Confirm` comes in time."""

    before: tuple[PortState, ...]  # the ports that will change
    target: str  # digest of the desired state, for the record of failures
    controllers: tuple[str, ...] = ()  # addresses of the Juju controller's machines
    approve: str = APPROVE  # the command that approves a reboot instead

    def run(self, system: System) -> None:
        """Refuse if no address answers now: then nothing could confirm the change."""
        answering = reachability.baseline(system, self.controllers)
        if not answering:
            asked = (*reachability.gateways(system), *self.controllers)
            raise StepError(
                f"neither gateway nor controller ({', '.join(asked) or 'none is known'}) answers a ping, "
                "so that a live change could not be confirmed",
                f"make one of them answer; or set allow-live=false and {self.approve}",
            )
        # If a hook died before its confirmation, the state before that hook is the one to restore.
        armed, before = record.armed(system), self.before
        if armed:
            with contextlib.suppress(StepError):
                before = read_previous(system).ports
        content = {"ports": plain(before), "answering": answering, "target": self.target}
        try:
            text = readable(json.dumps(content, indent=1), _previous)
        except InvalidValue as error:
            what = f"the state before the change could not be read again to restore it: {error}"
            raise StepError(what, f"set allow-live=false; then {self.approve}") from None
        system.files.install(record.PREVIOUS, text.encode(), 0o600)
        # The unit writes its record before it looks whether a timer is armed: one of the two gives way.
        if record.is_restoring(system):
            if not armed:
                RemoveFile(record.PREVIOUS).run(system)
            raise StepError(
                "a port whose driver was loaded anew is being restored",
                "the next hook makes the change, when that has ended",
            )
        _stop_timer(system)
        system.run(
            [
                "systemd-run",
                "--quiet",
                "--collect",
                f"--unit={TIMER}",
                f"--on-active={TIMEOUT_S}",
                *sandbox.properties(*files.RESTORES),
                *files.COPY.command.split(),
                "revert",
            ]
        )


@dataclass(frozen=True)
class Confirm:
    """See that the addresses that answered before answer again, and stop the timer."""

    def run(self, system: System) -> None:
        """Raise when the node cannot be reached, or that cannot be known; the timer stays armed."""
        missing = reachability.lost(system, read_previous(system).answering, MEMBER_DEADLINE)
        if missing:
            raise StepError(f"{' and '.join(missing)} answered before the change and does not answer now")
        _disarm(system)


def guarded(
    ways: Iterable[Way], wanted: Desired, observed: Observed, controllers: tuple[str, ...]
) -> tuple[HostStep, ...]:
    """Put what cuts the node's network between an armed timer and its confirmation. Pure.

    VFs are bound after the confirmation.

    A timer that a hook left armed when it died is confirmed, too. ``controllers`` are addresses of the Juju
    controller's machines.
    """
    found, confirmed = list[HostStep](), False
    for way in ways:
        if all(step.disruption <= Disruption.LINK_FLAP for step in way.steps):
            found += way.steps
            continue
        confirmed, slot = True, way.nic.slot
        before = tuple(state_of(now.pf, now.port.bond, now.channels) for now in way.nic.ports)
        what = f"arm a timer that restores {slot} in {TIMEOUT_S} s"
        why = "the node's network is about to change"
        op = Arm(before, wanted.digest, controllers, observed.approve)
        found.append(Step(f"{slot}/arm", what, why, Disruption.NONE, op))
        parts = [part for part in way.parts if part.steps]
        binding = next((n for n, part in enumerate(parts) if part.move is Move.BIND), len(parts))
        found += [step for part in parts[:binding] for step in part.steps]
        found.append(_confirm(f"{slot}/", "the node's network has changed"))
        found += [step for part in parts[binding:] for step in part.steps]
    if observed.armed and not confirmed:
        found.append(_confirm("", "the hook that changed the node's network did not come to its end"))
    return tuple(found)


def _confirm(prefix: str, why: str) -> HostStep:
    what = "check that gateway and controller answer, and stop the timer"
    return Step(f"{prefix}confirm", what, why, Disruption.NONE, Confirm())


def apply(
    plan: Plan[System], system: System, announce: Callable[[HostStep], None] = lambda _: None
) -> Outcome[System]:
    """Run the plan's steps; stop at the first failure, and make sure of the node's network then."""
    outcome = execute(record.noted(plan), system, announce)
    if outcome.error is None or not record.armed(system):
        return outcome
    note = after_failure(system)
    return replace(outcome, error=StepError(outcome.error.reason + note, outcome.error.remedy))


def after_failure(system: System) -> str:
    """Bring the node back after a step failed between arming and confirmation.

    Ports rejoin their bonds. If the node answers then, the next hook finishes the rest; otherwise the
    previous state is restored.

    Returns what was done, to append to a sentence.
    """
    try:
        kept = read_previous(system)
        for port in _located(system, kept.ports):
            if port.bond and not _refusal(system, port):
                with contextlib.suppress(StepError):
                    JoinBond(port.netdev, port.bond).run(system)
        Confirm().run(system)
    except StepError as error:
        problems = revert(system, error.reason)
        return f"; {error.reason}; " + (
            f"restoring the previous state failed too: {problems[0]}"
            if problems
            else "the previous state was restored"
        )
    record.count_live_failure(system, kept.target)
    return "; the node stays reachable"


def revert(system: System, why: str) -> list[str]:
    """Restore the previous state as far as possible, and record ``why``.

    Another card that is at the address of a port has no previous state: it is left alone.

    Returns what did not work, in which case the timer stays armed and tries again, and the ports left alone.
    """
    try:
        kept = read_previous(system)
    except StepError as error:
        return [f"{error.reason}; {error.remedy}"]
    problems, refused = list[str](), list[str]()
    record.forget_left(system, [port.bdf for port in kept.ports])
    for port in _located(system, kept.ports):
        try:
            system.devlink.eswitch_mode(port.bdf)
        except TimeoutError:
            problems.append(f"a change of mode of {port.bdf} still runs")
            continue
        except OSError:
            pass  # the operations say why
        if refusal := _refusal(system, port):
            refused.append(refusal)
            continue
        pf = discover.observe(system).pf(port.bdf)
        for op in back(port.bdf, port, pf) if pf else ():
            try:
                op.run(system)
            except (StepError, OSError) as error:
                problems.append(words(error))
    record.count_live_failure(system, kept.target, undone=why)
    if not problems:
        _disarm(system)
    return [*problems, *refused]


def _located(system: System, ports: Iterable[PortState]) -> list[PortState]:
    """Each port at the address where its permanent MAC address is now, and by its name there.

    Only netdevs are asked: a question about the eswitch would wait for a change of mode that still runs.
    """
    links = if_told(system.links.all) or ()
    among = {link.pci for link in links if link.pci}
    found, _ = inventory.read(system, inventory.of_links(links), among)  # no VFs: one may have a port's MAC
    uplinks = {port.bdf: uplink_of(links, port.bdf) for port in found}
    there = {bdf: uplink for bdf, uplink in uplinks.items() if uplink}
    macs = {bdf: uplink.permanent_mac for bdf, uplink in there.items()}
    places = [(port, place_of(port.mac, port.bdf, macs)) for port in ports]
    return [port._replace(bdf=bdf, netdev=there[bdf].name) if bdf else port for port, bdf in places]


def _refusal(system: System, port: PortState) -> str:
    """Why a port is left alone: another card is at its address; empty also where that cannot be read."""
    uplink = uplink_of(if_told(system.links.all) or (), port.bdf)
    if uplink is None or not is_other_card(port.mac, uplink.permanent_mac):
        return ""
    return f"{port.bdf}: {'; '.join(other_card(port.mac, uplink.permanent_mac))}"


def _stop_timer(system: System) -> None:
    with contextlib.suppress(OSError):  # not loaded: nothing to stop
        system.run(["systemctl", "stop", f"{TIMER}.timer"])


def _disarm(system: System) -> None:
    _stop_timer(system)
    RemoveFile(record.PREVIOUS).run(system)
