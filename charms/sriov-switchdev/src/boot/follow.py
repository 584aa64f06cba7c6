# SPDX-License-Identifier: Apache-2.0
"""The service that takes the carrier from VFs while their way out of the host has none.

In switchdev mode a VF's link is its representor's administrative state: mlx5e_rep_open() sets the vport up,
mlx5e_rep_close() down (en_rep.c of 5.15 to 6.12), and what happens to the cables does not reach the VF. So
the service sets the representors down once the bond has no carrier, and up again once it has. A bond with
one cable left has carrier. It leaves alone what is down already, and what somebody sets up meanwhile.

It waits for the kernel's news of netdevs and does nothing without. It notes in its record (record.py) what it
is about to set down: its next start, or the hook that stops it for good, sets that up again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import record
from converge import Step, StepError, cause
from desired import Desired, WantedPort
from hostnic.boot import Installed, bootcopy, units
from hostnic.devices.port import representors_of, uplink_of
from hostnic.ops import refusal, until
from hostnic.system import CommandError, HostStep, Link, System, if_told, read_own
from observed import BootFailure, Follower

from boot import files
from boot.phase import read

RETRY_S = 1.0
"""Until a representor that could not be set is tried again."""
START_S = 20.0
"""Seconds in which the started service has to leave its record."""
JOURNAL = f"see journalctl -u {files.FOLLOW}"


class Turn(NamedTuple):
    """The representors to set after news, and the state of them then."""

    down: tuple[Link, ...] = ()  # to set down
    up: tuple[Link, ...] = ()  # to set up
    lowered: Mapping[int, str] = {}  # the names of those that the service keeps down, by index
    spared: frozenset[int] = frozenset()  # indexes of those that somebody else has set up meanwhile


def decide(
    links: Sequence[Link], ports: Iterable[WantedPort], lowered: Mapping[int, str], spared: frozenset[int]
) -> Turn:
    """Decide which representors of the ports' VFs are to be set. Pure.

    ``lowered`` and ``spared`` are those of the turn before.
    """
    cut = {
        link.ifindex: link
        for port in ports
        if is_cut(links, port)
        for link in representors_of(links, port.bdf)
        if "vf" in (link.port_name or "")
    }
    spared = frozenset(
        index
        for index, link in cut.items()
        if index in spared or (link.up and lowered.get(index) == link.name)
    )
    down = tuple(link for index, link in cut.items() if link.up and index not in spared)
    ours = [link for link in links if lowered.get(link.ifindex) == link.name]
    kept = [link for link in ours if link.ifindex in cut and link.ifindex not in spared]
    up = tuple(link for link in ours if link.ifindex not in cut and not link.up)
    return Turn(down, up, {link.ifindex: link.name for link in (*kept, *down)}, spared)


def is_cut(links: Sequence[Link], port: WantedPort) -> bool:
    """Whether no frame leaves the host by the bond of a port, or by the port itself if it is in none.

    A bond that is not there tells nothing: its VFs keep their carrier.
    """
    if port.bond is None:
        out = uplink_of(links, port.bdf)
    else:
        out = next((link for link in links if link.name == port.bond and link.kind == "bond"), None)
    return out is not None and not out.carrier


def follow(system: System) -> tuple[BootFailure, ...]:
    """Follow the ports' ways out until systemd ends the service, then set up what it has set down.

    SystemExit, which the program's handler of SIGTERM raises, is that end.
    """
    try:
        try:
            return _follow(system)
        except SystemExit:
            give_back(system)
    except StepError as error:
        return (BootFailure("follow", str(error), error.remedy),)
    except OSError as error:
        return (BootFailure("follow", refusal.unreadable(error), JOURNAL),)
    return ()


def _follow(system: System) -> tuple[BootFailure, ...]:
    """Turn after turn; ends only if the declared state cannot be read."""
    system.links.await_change()  # from here on nothing is missed
    follower, spared, said = begin(system), frozenset[int](), list[str]()
    while True:
        wanted, unread = read(system)
        if unread:
            return tuple(unread)
        follower, spared, problems = turn(system, wanted, follower, spared)
        if problems and problems != said:
            print("\n".join(problems), flush=True)
        said = problems
        if problems:
            system.sleep(RETRY_S)
        else:
            system.links.await_change()


def begin(system: System) -> Follower:
    """Note which code runs; of a process that was killed, only what is still down is taken over."""
    before = record.read_follower(system) or Follower("")
    down = {link.ifindex: link.name for link in system.links.all() if not link.up}
    kept = {index: name for index, name in before.lowered.items() if down.get(index) == name}
    follower = Follower(if_told(lambda: read_own(system, files.COPY.stamp_path)) or "", kept)
    record.write_follower(system, follower)
    return follower


def turn(
    system: System, wanted: Desired, follower: Follower, spared: frozenset[int]
) -> tuple[Follower, frozenset[int], list[str]]:
    """Look, note what is set down, and set it; the new state, and what did not work."""
    found = decide(system.links.all(), wanted.everything, follower.lowered, spared)
    # What goes up stays in the record until it is up.
    noted = {**found.lowered, **{link.ifindex: link.name for link in found.up}}
    if noted != follower.lowered:
        record.write_follower(system, follower._replace(lowered=noted))
    not_down, not_up = _set(system, found.down, up=False), _set(system, found.up, up=True)
    left = {index: name for index, name in noted.items() if index in found.lowered or index in not_up}
    left = {index: name for index, name in left.items() if index not in not_down}
    if left != noted:
        record.write_follower(system, follower._replace(lowered=left))
    return follower._replace(lowered=left), found.spared, [*not_down.values(), *not_up.values()]


def _set(system: System, representors: Sequence[Link], *, up: bool) -> dict[int, str]:
    """Set representors up or down; why not, by index. Those that are gone by then matter no more."""
    if not representors:
        return {}
    refused: dict[int, str] = {}
    for link in representors:
        try:
            system.links.set_up(link.name, up)
        except OSError as error:
            refused[link.ifindex] = cause(error)
    state = "up" if up else "down"
    now = {(link.ifindex, link.name): link.up for link in system.links.all()}
    done = [link.name for link in representors if now.get((link.ifindex, link.name)) == up]
    if done:
        print(f"set {', '.join(done)} {state}", flush=True)
    return {
        link.ifindex: f"{link.name} is not {state}: {refused.get(link.ifindex, 'the kernel did not say why')}"
        for link in representors
        if now.get((link.ifindex, link.name), up) != up
    }


def give_back(system: System) -> None:
    """Set up what the service has set down, and remove its record.

    Raises StepError if one stays down; the record stays then, too.
    """
    follower = record.read_follower(system)
    lowered = (follower or Follower("")).lowered
    left = [link for link in system.links.all() if lowered.get(link.ifindex) == link.name and not link.up]
    if problems := _set(system, left, up=True):
        raise StepError("; ".join(problems.values()), JOURNAL)
    record.forget_follower(system)


@dataclass(frozen=True)
class Start:
    """Start the service with the code of the boot copy, or start it anew."""

    stamp: str  # of that code

    def run(self, system: System) -> None:
        """Wait for its record, which names the code."""
        try:
            units.reload(system, [files.FOLLOW])
            system.run(["systemctl", "restart", files.FOLLOW])
        except CommandError as error:
            raise StepError(error.reason, JOURNAL) from error

        def runs() -> bool:
            follower = record.read_follower(system)
            return follower is not None and follower.stamp == self.stamp

        if not until(system, runs, START_S):
            raise StepError(f"{files.FOLLOW} left no record within {START_S:g} s", JOURNAL)


@dataclass(frozen=True)
class Stop:
    """Stop the service; what it has set down goes up."""

    def run(self, system: System) -> None:
        """Look after it: a process that was killed has set nothing up."""
        try:
            system.run(["systemctl", "stop", files.FOLLOW])
        except CommandError as error:
            raise StepError(error.reason, JOURNAL) from error
        with refusal.explained("representors stay down"):
            give_back(system)


def steps(wanted: Desired, found: Installed, follower: Follower | None) -> list[HostStep]:
    """The steps that start the service, start it with the newest code, or take it away."""
    from converge import Disruption

    if wanted.follow_uplink:
        stamp = bootcopy.stamp(files.COPY)
        if follower and follower.stamp == stamp:
            return []
        why = "it runs other code" if follower else "it does not run"
        return [Step(f"{files.FOLLOW}/started", f"start {files.FOLLOW}", why, Disruption.NONE, Start(stamp))]
    return removal(found, "follow-uplink is false")


def removal(found: Installed, why: str) -> list[HostStep]:
    """The steps that take the service away."""
    from converge import Disruption
    from hostnic.ops.boot import SetEnabled
    from hostnic.ops.files import RemoveFile

    path, gone = units.path(files.FOLLOW), list[HostStep]()
    if files.FOLLOW in found.enabled:
        what = f"disable {files.FOLLOW}"
        gone.append(
            Step(f"{files.FOLLOW}/enabled", what, why, Disruption.NONE, SetEnabled(files.FOLLOW, False))
        )
    if found.files.get(path) is not None:
        stop = Step(f"{files.FOLLOW}/started", f"stop {files.FOLLOW}", why, Disruption.NONE, Stop())
        gone += [stop, Step(path, f"remove {path}", why, Disruption.NONE, RemoveFile(path))]
    return gone
