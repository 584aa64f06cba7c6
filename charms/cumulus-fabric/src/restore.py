# SPDX-License-Identifier: Apache-2.0
"""What a rollback would do on each switch, and what speaks against it. Pure.

A switch goes back to the whole configuration that it ran before its last change. A change by somebody else
may be part of that difference; what this charm did not make stays as it is now. A rollback neither drains a
switch nor returns it: those have checks and an order of their own.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from attachments.attached import Loss
from attachments.losses import unnamed
from converge import Finding, Plan, Severity
from intent.model import Switch, Unmanaged
from plan import Candidate, Change, approval, digest, hold
from rest.history import ROLLBACK_REMEDY
from tree import ON, Path, Tree, covers, drain, get_path, get_tree, leaves, merged, nested
from tree.diff import IDENTITY, IN_VRF, patch_between
from tree.foreign import Objects, exempt, foreign, listed, objects, tree_of
from tree.merge import left_to_others
from tree.render import BRIDGE, GROUP
from verify import some

BGP, NEIGHBOR = "/".join(IN_VRF), (*IN_VRF, "neighbor")
OURS = (
    f"bridge/domain/{BRIDGE}/vlan",
    *(f"nve/vxlan/{each}" for each in ("enable", "state", "source", "arp-nd-suppress")),
    *(f"evpn/{each}" for each in ("enable", "state", "vni/*/route-target")),
    *(f"evpn/multihoming/{each}" for each in ("enable", "state", "segment")),
    *(f"router/bgp/{each}" for each in ("enable", "state", *IDENTITY)),
    *(f"{BGP}/{each}" for each in ("enable", "state", "address-family", f"peer-group/{GROUP}", *IDENTITY)),
    "qos/roce",
    "system/global/anycast-mac",
    "system/hostname",
    "/".join(drain.GRACEFUL),
    f"router/policy/route-map/{drain.ROUTE_MAP}",
)
OURS_ON_PORTS = (
    f"interface/*/bridge/domain/{BRIDGE}",
    "interface/*/evpn/multihoming",
    *(f"interface/*/link/{each}" for each in ("mtu", "state", "breakout")),
    *(f"interface/*/bond/{each}" for each in ("member", "mode", "lacp-bypass")),
    "interface/lo/ip/address",
    "interface/lo/ipv4/address",
    "interface/*/type",
    "interface/*/description",
)
"""Settings that an apply or a drain of this charm sets and unsets: anywhere, and on interfaces of its own."""


@dataclass(frozen=True)
class Restoration:
    """The plan of a rollback."""

    # By switch, back to what it ran before its last change
    changes: Mapping[str, Change] = field(default_factory=dict[str, Change])
    stayed: tuple[str, ...] = ()  # switches that keep no earlier configuration
    findings: tuple[Finding, ...] = ()  # what the operator has to know; nothing is sent if one of them blocks
    losses: tuple[Loss, ...] = ()  # who would lose the last way to the network

    @property
    def stopped(self) -> tuple[Finding, ...]:
        """What blocks it."""
        return tuple(each for each in self.findings if each.severity is Severity.BLOCKED)

    def held(self, cut_off: Collection[str] = ()) -> tuple[Finding, ...]:
        """Those whom the operator has to name in ``cut_off`` first."""
        return tuple(each.finding("rollback", Severity.HELD) for each in unnamed(self.losses, cut_off))

    @property
    def digest(self) -> str:
        """Of the plan; never that of an apply's."""
        return digest(self.changes, {"rollback": self.stayed}, (each.subject for each in self.losses))

    @property
    def plan(self) -> Plan[Candidate]:
        """The steps, and the digest to approve them by."""
        if self.stopped:
            return Plan((), (), self.findings)
        steps = [step for _, change in sorted(self.changes.items()) for step in change.steps]
        shown = (*self.findings, approval("rollback", self.digest, "do"))
        steps = [replace(step, why="the last change of this switch") for step in steps]
        return hold(Plan(tuple(steps), (), shown), self.held())


def not_planned(given: str) -> Finding:
    """The finding for a rollback that is not the approved one."""
    what = f"what would be restored now is not the plan with the digest {given}"
    return Finding(
        Severity.BLOCKED, "plan", what, "run rollback without plan, and with the digest that it then shows"
    )


def nothing_earlier(name: str) -> Finding:
    """The finding for a switch that is left alone."""
    what = "keeps no earlier configuration to go back to, and stays as it is"
    return Finding(Severity.INFO, name, what)


def taken_back(
    switch: Switch, now: Tree, before: Tree, wanted: Tree, made: Objects | None
) -> tuple[Change, list[Finding]]:
    """The change that takes back the last one of a switch, and what the operator has to know of it.

    ``made`` is what this charm has made on it, None without a record. Then it is not known whose an object is
    that the intent does not have: an earlier intent may have had it.
    """
    whole = Change(switch.name, now, patch_between(now, before))
    if _drain(switch, now) != _drain(switch, before):
        what = "its last change was part of a drain or of a return, which rollback does not take back"
        verb = "undrain" if drain.drained(now) else "drain"
        remedy = f"run {verb}, or name the other switches that are to be rolled back"
        return whole, [Finding(Severity.BLOCKED, switch.name, what, remedy)]
    found: list[Finding] = []
    left = exempt(now, switch.unmanaged) | exempt(before, switch.unmanaged)
    known = frozenset(objects(now) | objects(before) if made is None else made) - left
    lost = foreign(objects(now) - objects(wanted), wanted, (made or frozenset()) - left) - objects(before)
    others = [path for path in _touched(whole) if not _is_ours(path, wanted, known, switch.unmanaged)]
    if made is None and (unsure := lost - left):
        lost &= left
        what = f"{listed(unsure)}: not in the intent, and would be removed; no record shows who made it"
        found.append(Finding(Severity.WARNING, switch.name, what, "make sure that nobody needs it"))
    change = whole
    if told := [*([listed(lost)] if lost else []), *(" ".join(path) for path in others)]:
        change = Change(switch.name, now, patch_between(now, _beside(now, before, others, lost)))
        named = some(told)
        what = f"{named}: not this charm's, and stays as it is"
        found.append(Finding(Severity.INFO, switch.name, what))
        if not change.patch:
            what = f"its last change was somebody else's, which rollback does not take back: {named}"
            return change, [Finding(Severity.BLOCKED, switch.name, what, ROLLBACK_REMEDY)]
    if drain.drained(now):
        what = "is drained, and stays drained"
        found.append(Finding(Severity.WARNING, switch.name, what, "run undrain to return it"))
    return change, found


def _beside(now: Tree, before: Tree, others: Sequence[Path], lost: Objects) -> Tree:
    """``before``, with what somebody else has set and unset since as it is ``now``."""
    target = merged(before, tree_of(now, lost))
    for path in others:
        value = get_path(now, path)
        target = drain.without(target, nested(path, None))
        if value is not None:
            target = merged(target, nested(path, value))
    return target


def _drain(switch: Switch, tree: Tree) -> tuple[bool, bool, frozenset[str]]:
    """How far a switch is drained."""
    graceful = get_path(tree, drain.GRACEFUL) in ON
    return (
        graceful,
        drain.withdrawn(tree),
        frozenset(p for p in drain.host_ports(switch) if drain.shut(tree, p)),
    )


def _touched(change: Change) -> Iterator[Path]:
    """The settings that a change sets or unsets, one by one."""
    for path, value in leaves(change.patch):
        have = get_tree(change.before, *path)
        if value is None and have:
            yield from (each for each, _ in leaves(have, path))
        else:
            yield path


def _is_ours(path: Path, wanted: Tree, made: Objects, unmanaged: Unmanaged) -> bool:
    """Whether a setting is one that this charm sets, at a place that is its own."""
    if left_to_others(path, unmanaged):
        return False
    of_port = path[:2] if path[0] == "interface" else ()  # an odd answer may have a value for all interfaces
    names = {name for _, name in made}
    *where, name = path[: len(NEIGHBOR) + 1]
    if (*where,) == NEIGHBOR:
        return name in {*get_tree(wanted, *NEIGHBOR), *names}
    if any(covers(pattern, path) for pattern in OURS):
        return True
    declared = {*of_port[1:]} & {*get_tree(wanted, "interface"), *names}
    return bool(declared) and any(covers(pattern, path) for pattern in OURS_ON_PORTS)
