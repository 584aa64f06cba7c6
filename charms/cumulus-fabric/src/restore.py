# SPDX-License-Identifier: Apache-2.0
"""The changes of a rollback on each switch, and the reasons against it. Pure.

A switch goes back to the whole configuration that it ran before its last change. A change by somebody else
may be part of that difference; what this charm did not make stays as it is now. Its own is what the record
has: what was applied last, and what the last change took away. A rollback neither drains a switch nor returns
it: those have checks and an order of their own.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from attachments.toll import NO_TOLL, Toll
from converge import Finding, Plan, Severity
from intent.model import Switch
from plan import Candidate, Change, approval, digest, hold
from rest.history import ROLLBACK_REMEDY
from tree import ON, Path, Tree, covers, drain, get_path, get_tree, has, leaves, merged, nested, parted
from tree.diff import GLOBALLY, IDENTITY, IN_VRF, patch_between
from tree.foreign import exempt, foreign, groups, listed, objects, said_at
from tree.merge import IMPLIED_BY_PORTS, goes_whole, left_to_others
from tree.render import BFD_PROFILE, BRIDGE
from verify import some

PORT_SETTINGS = ("speed", "fec", "auto-negotiate")
BGP, NEIGHBOR = "/".join(IN_VRF), (*IN_VRF, "neighbor")
OURS = (
    f"bridge/domain/{BRIDGE}/vlan",
    *(f"nve/vxlan/{each}" for each in ("enable", "state", "source", "arp-nd-suppress")),
    *(f"evpn/{each}" for each in ("enable", "state", "vni/*/route-target")),
    *(f"evpn/multihoming/{each}" for each in ("enable", "state", "segment", "startup-delay")),
    *(f"router/bgp/{each}" for each in ("enable", "state", *IDENTITY)),
    *(f"{BGP}/{each}" for each in ("enable", "state", "address-family", *IDENTITY)),
    "router/bfd/state",
    f"router/bfd/profile/{BFD_PROFILE}",
    "qos/roce",
    "system/global/anycast-mac",
    "system/hostname",
    "/".join(drain.GRACEFUL),
    f"router/policy/route-map/{drain.ROUTE_MAP}",
)
OURS_ON_PORTS = (
    f"interface/*/bridge/domain/{BRIDGE}",
    "interface/*/evpn/multihoming",
    *(f"interface/*/link/{each}" for each in (*PORT_SETTINGS, "mtu", "state", "breakout")),
    *(f"interface/*/bond/{each}" for each in ("member", "mode", "lacp-bypass")),
    "interface/lo/ip/address",
    "interface/lo/ipv4/address",
    "interface/*/type",
    "interface/*/description",
)
"""Settings that an apply or a drain of this charm sets and unsets: anywhere, and on interfaces of its own.

Without a record they are taken for its own.
"""


@dataclass(frozen=True)
class Restoration:
    """The plan of a rollback."""

    # By switch, back to what it ran before its last change
    changes: Mapping[str, Change] = field(default_factory=dict[str, Change])
    stayed: tuple[str, ...] = ()  # switches that keep no earlier configuration
    findings: tuple[Finding, ...] = ()  # what the operator has to know; nothing is sent if one of them blocks
    toll: Toll = NO_TOLL  # who would lose what
    # By switch that goes back to a kept configuration, the part of that which is this charm's
    ours: Mapping[str, Tree] = field(default_factory=dict[str, Tree])

    @property
    def stopped(self) -> tuple[Finding, ...]:
        """The findings that block it."""
        return tuple(each for each in self.findings if each.severity is Severity.BLOCKED)

    def held(self, cut_off: Collection[str] = ()) -> tuple[Finding, ...]:
        """The hosts that the operator has to name in ``cut_off`` first."""
        return tuple(each.finding("rollback", Severity.HELD) for each in self.toll.unnamed(cut_off))

    @property
    def digest(self) -> str:
        """The digest of the plan; it never equals that of an apply's."""
        return digest(self.changes, {"rollback": self.stayed}, self.toll.said)

    @property
    def plan(self) -> Plan[Candidate]:
        """The steps, and the digest to approve them by."""
        if self.stopped:
            return Plan((), (), self.findings)
        steps = [step for _, change in sorted(self.changes.items()) for step in change.steps]
        told = self.toll.findings([name for name, change in sorted(self.changes.items()) if change.patch])
        shown = (*self.findings, *told, approval("rollback", self.digest, "do"))
        steps = [replace(step, why=self._why(step.key.partition("/")[0])) for step in steps]
        return hold(Plan(tuple(steps), (), shown), self.held())

    def _why(self, name: str) -> str:
        return "what is kept of this switch" if name in self.ours else "the last change of this switch"


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
    switch: Switch, now: Tree, before: Tree, wanted: Tree, had: Tree | None
) -> tuple[Change, list[Finding]]:
    """The change that takes back the last one of a switch, and what the operator has to know of it.

    ``had`` is what this charm has on it or had before that change, None without a record. Then it is not
    known whose an object is that the intent does not have: an earlier intent may have had it.
    """
    whole = Change(switch.name, now, patch_between(now, before))
    if _drain(switch, now, had) != _drain(switch, before, had):
        what = "its last change was part of a drain or of a return, which rollback does not take back"
        verb = "undrain" if drain.drained(now) else "drain"
        remedy = f"run {verb}, or name the other switches that are to be rolled back"
        return whole, [Finding(Severity.BLOCKED, switch.name, what, remedy)]
    found: list[Finding] = []
    own = merged(wanted, _assumed(now, before, wanted) if had is None else had)
    others = [
        path
        for path in _touched(whole)
        if left_to_others(path, switch.unmanaged) or not _is_ours(path, own, now)
    ]
    of = groups(wanted)
    unsure = foreign(objects(now, of) - objects(wanted), wanted, ()) - objects(before, of)
    if had is None and (unsure := unsure - exempt(now, switch.unmanaged)):
        what = f"{listed(unsure)}: not in the intent, and would be removed; no record shows who made it"
        found.append(Finding(Severity.WARNING, switch.name, what, "make sure that nobody needs it"))
    change = whole
    if others:
        change = Change(switch.name, now, patch_between(now, _beside(now, before, others)))
        named = some(said_at(now, others, own))
        what = f"{named}: not this charm's, and stays as it is"
        found.append(Finding(Severity.INFO, switch.name, what))
        if not change.patch:
            what = f"its last change was somebody else's, which rollback does not take back: {named}"
            return change, [Finding(Severity.BLOCKED, switch.name, what, ROLLBACK_REMEDY)]
    if drain.drained(now):
        what = "is drained, and stays drained"
        found.append(Finding(Severity.WARNING, switch.name, what, "run undrain to return it"))
    return change, found


def _assumed(now: Tree, before: Tree, wanted: Tree) -> Tree:
    """Return this charm's presumed tree without a record: settings that it makes, wherever it could have."""
    both = merged(before, now)
    of = groups(wanted)
    names = {*get_tree(wanted, "interface"), *(name for _, name in objects(now, of) | objects(before, of))}
    ports = {name: node for name, node in get_tree(both, "interface").items() if name in names}
    sessions = {name: node for name, node in get_tree(both, *NEIGHBOR).items() if name in names}
    ours, ours_on_ports = (
        parted(both, (*OURS, *(f"{BGP}/peer-group/{each}" for each in of)))[0],
        parted({"interface": ports}, OURS_ON_PORTS)[0],
    )
    return merged(merged(ours, ours_on_ports), nested(NEIGHBOR, sessions))


def _beside(now: Tree, before: Tree, others: Sequence[Path]) -> Tree:
    """``before``, with what somebody else has set and unset since as it is ``now``."""
    target = before
    for path in others:
        value = get_path(now, path)
        target = drain.without(target, nested(path, None))
        if value is not None:
            target = merged(target, nested(path, value))
    return target


def _drain(switch: Switch, tree: Tree, had: Tree | None) -> tuple[bool, bool, frozenset[str]]:
    """How far a switch is drained; ports that an intent has shut down are not a part of it."""
    own = [
        port
        for port in drain.host_ports(switch)
        if drain.shut(had or {}, port) or switch.settings_of(port).shut
    ]
    graceful = get_path(tree, drain.GRACEFUL) in ON
    return (
        graceful,
        drain.withdrawn(tree),
        frozenset(port for port in drain.host_ports(switch) if drain.shut(tree, port) and port not in own),
    )


def _touched(change: Change) -> Iterator[Path]:
    """The settings that a change sets or unsets, one by one."""
    for path, value in leaves(change.patch):
        have = get_tree(change.before, *path)
        if value is None and have:
            yield from (each for each, _ in leaves(have, path))
        else:
            yield path


def _is_ours(path: Path, own: Tree, now: Tree) -> bool:
    """Whether this charm has set what is at ``path``, or has unset it as something that its ports imply."""
    if has(own, path):
        return True
    if path[: len(IN_VRF)] == IN_VRF and path[-1] in IDENTITY:
        return has(own, (*GLOBALLY, path[-1]))  # which an apply corrects where it is
    whole = path[: len(NEIGHBOR) + 1] if path[0] != "interface" else path[:2]
    if not has(own, whole):
        return False
    # A bond or a session comes back with all that went with it
    went = whole != path and not has(now, whole) and goes_whole(whole, get_tree(own, *whole))
    return went or any(covers(pattern, path) for pattern in IMPLIED_BY_PORTS)
