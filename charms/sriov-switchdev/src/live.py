# SPDX-License-Identifier: Apache-2.0
"""A change of a node's network as a confirmed commit: timer, change, confirmation or the previous state.

Before the first cut the previous state is kept below /run and a systemd timer is armed. When the
gateway and the controller that answered before answer again, the timer is stopped. When they do not,
or when the hook dies half way, the previous state is restored, by the hook or by the timer.
"""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, cast

import files
import record
from changes import BindVfs, UnbindVfs
from converge import StepError
from hostnic.devices import discover
from hostnic.devices.model import Host, Pf
from hostnic.network import reachability
from hostnic.ops import CreateVfs, DestroyVfs, JoinBond, LeaveBond, RemoveFile, SetAutoprobe, SetEswitchMode
from hostnic.ops.bonding import MEMBER_DEADLINE
from hostnic.system import System

TIMER = "ovn-offload-sriov-revert"
PATIENCE = 600
"""Seconds until the timer restores. Longer than the slowest change; for a hook that died, as one
port stays in the bond all the while."""


@dataclass(frozen=True)
class PortState:
    """One port as it was before the change."""

    bdf: str
    netdev: str
    mode: str
    num_vfs: int
    autoprobe: bool
    bond: str | None


def state_of(pf: Pf, bond: str | None) -> PortState:
    """What a restore brings back; ``bond`` is where the port belongs, even if it is out of it now."""
    mode = pf.eswitch_mode or "legacy"
    return PortState(pf.bdf, pf.netdev or "", mode, pf.port.num_vfs, pf.autoprobe, bond)


@dataclass(frozen=True)
class Arm:
    """Keep the previous state, and have it restored unless :class:`Confirm` comes in time.

    Attributes:
        before: the ports that will change.
        target: digest of the desired state, for the record of failures.
        controllers: addresses of the Juju controller's machines.

    """

    before: tuple[PortState, ...]
    target: str
    controllers: tuple[str, ...] = ()

    def run(self, system: System) -> None:
        """Refuse when nobody answers now: then nothing could confirm the change."""
        answering = reachability.baseline(system, self.controllers)
        if not answering:
            asked = (*reachability.gateways(system), *self.controllers)
            raise StepError(
                f"neither gateway nor controller ({', '.join(asked) or 'none is known'}) answers a ping, "
                "so that a live change could not be confirmed",
                "let them answer, or let a reboot do it: allow-live=false and approve-reboot",
            )
        # A state that a hook left unconfirmed when it died is the one to go back to.
        before = _kept(system)[0] if record.armed(system) else self.before
        kept = {"ports": [asdict(port) for port in before], "answering": answering, "target": self.target}
        system.files.install(record.PREVIOUS, json.dumps(kept, indent=1).encode(), 0o600)
        _stop_timer(system)
        system.run(
            [
                "systemd-run",
                "--quiet",
                "--collect",
                f"--unit={TIMER}",
                f"--on-active={PATIENCE}",
                *files.COPY.command.split(),
                "revert",
            ]
        )


@dataclass(frozen=True)
class Confirm:
    """See that whoever answered before answers again, and stop the timer."""

    deadline: float = MEMBER_DEADLINE

    def run(self, system: System) -> None:
        """Raise when the node cannot be reached; the timer stays armed."""
        _, answering, _ = _kept(system)
        missing = reachability.lost(system, answering, self.deadline)
        if missing:
            raise StepError(f"{' and '.join(missing)} answered before the change and does not answer now")
        _disarm(system)


def after_failure(system: System) -> str:
    """Bring the node back after a step failed between arming and confirmation.

    Ports rejoin their bonds; if the node answers then, what was reached so far stays for the next
    reconcile to finish. Otherwise the previous state is restored.

    Returns:
        What was done, as an insertion in a sentence.

    """
    ports, _, target = _kept(system)
    for port in ports:
        if port.bond:
            with contextlib.suppress(StepError):
                JoinBond(port.netdev, port.bond).run(system)
    try:
        Confirm().run(system)
    except StepError as error:
        problems = revert(system, error.reason)
        return f"; {error.reason}; " + (
            f"restoring the previous state failed too: {problems[0]}"
            if problems
            else "the previous state was restored"
        )
    record.count_live_failure(system, target)
    return "; the node stays reachable"


def revert(system: System, why: str) -> list[str]:
    """Restore the previous state as far as the machine lets, and record ``why``.

    Returns:
        What did not work; the timer stays armed then and tries again.

    """
    ports, _, target = _kept(system)
    problems: list[str] = []
    for port in ports:
        for op in _way_back(port, discover.observe(system)):
            try:
                op.run(system)
            except (StepError, OSError) as error:
                problems.append(str(error))
    record.count_live_failure(system, target, undone=why)
    if not problems:
        _disarm(system)
    return problems


def _way_back(
    port: PortState, host: Host
) -> Iterator[
    LeaveBond | UnbindVfs | SetEswitchMode | DestroyVfs | SetAutoprobe | CreateVfs | JoinBond | BindVfs
]:
    pf = host.pf(port.bdf)
    if pf is None:
        return
    netdev = pf.netdev or port.netdev
    if pf.eswitch_mode != port.mode or pf.port.num_vfs != port.num_vfs:
        yield LeaveBond(netdev)
        yield UnbindVfs(port.bdf)
        yield SetEswitchMode(port.bdf, "legacy")
        if pf.port.num_vfs != port.num_vfs:
            yield DestroyVfs(port.bdf)
            if port.num_vfs:
                yield SetAutoprobe(port.bdf, False)
                yield CreateVfs(port.bdf, port.num_vfs)
        if port.mode != "legacy":
            yield SetEswitchMode(port.bdf, port.mode)
    if port.bond:
        yield JoinBond(netdev, port.bond)
    if port.num_vfs:
        yield SetAutoprobe(port.bdf, True)  # the kernel binds no VF while it is off
        yield BindVfs(port.bdf)
    yield SetAutoprobe(port.bdf, port.autoprobe)


def _kept(system: System) -> tuple[list[PortState], list[str], str]:
    kept = cast("dict[str, Any]", json.loads(system.files.read(record.PREVIOUS)))
    return [PortState(**port) for port in kept["ports"]], list(kept["answering"]), str(kept["target"])


def _stop_timer(system: System) -> None:
    with contextlib.suppress(OSError):  # not loaded: nothing to stop
        system.run(["systemctl", "stop", f"{TIMER}.timer"])


def _disarm(system: System) -> None:
    _stop_timer(system)
    RemoveFile(record.PREVIOUS).run(system)
