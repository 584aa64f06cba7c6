# SPDX-License-Identifier: Apache-2.0
"""Audits of what a switch runs beside the intent, and which this charm did not make. Pure.

Foreign objects stay until the operator names them, since hosts may depend on them. Where one cannot stay
beside the intent, nothing is sent.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from converge import Finding, Severity
from intent import ports
from intent.model import Unmanaged
from tree import Tree, get_path, get_tree, merged, parted, patched, within
from tree.foreign import (
    ACCESS,
    VLANS,
    Object,
    Objects,
    carried,
    carries_all,
    exempt,
    foreign,
    groups,
    in_the_way,
    left_behind,
    listed,
    objects,
    settings,
    tree_of,
)
from tree.merge import Goal
from tree.record import Box, Record
from tree.routing.others import gateways, routed, users, vlan_interfaces, vrf_of

from audit.shared import REMOVE_FIRST, Running, depending, shared, typed

REMOVE = "remove"
ON_REMOVED = "not made by this charm, on bonds or VLANs that would be removed"


@dataclass(frozen=True)
class Ownership:
    """The objects and settings that may be removed from switches."""

    # By switch, the tree that this charm has applied last, as far as it knows
    last: Mapping[str, Tree] = field(default_factory=dict[str, Tree])
    # The foreign objects that the operator has named for removal, such as bond7 and vlan100
    named: frozenset[str] = frozenset()
    # The switches that this charm has drained and not returned, as far as it knows
    drained: frozenset[str] = frozenset()
    # By switch, the device that ran the intent last, but for those that the operator has replaced
    boxes: Mapping[str, Box] = field(default_factory=dict[str, Box])
    # By switch, what its last change has taken away of the tree that was applied before
    ended: Mapping[str, Tree] = field(default_factory=dict[str, Tree])

    @classmethod
    def of(
        cls, record: Record, named: frozenset[str] = frozenset(), replaced: Collection[str] = ()
    ) -> "Ownership":
        """Return the ownership by the record. A switch that was ``replaced`` keeps only its drain in it."""
        known = record.without(replaced)
        return cls(known.last, named, known.drained, known.boxes, known.ended)

    def compare(self, name: str, applied: Tree, wanted: Tree, unmanaged: Unmanaged) -> "Comparison":
        """The switch ``name`` as it is, and the intent's tree."""
        last = self.last.get(name, {})
        of = groups(wanted, last)
        surplus = objects(applied, of) - objects(wanted)
        left = surplus & exempt(applied, unmanaged)
        others = foreign(surplus, wanted, objects(last))
        # What is named stands for what was applied last: the merge alone removes, by the record or by name
        going = {each for each in others if not self.named.isdisjoint({each.said, *each.wholes})} - left
        goal = Goal(wanted, merged(last, tree_of(applied, going)), unmanaged)
        return Comparison(name, applied, wanted, (others - going) | left, surplus, left, goal)

    def had(self, name: str) -> Tree | None:
        """Return this charm's tree on a switch, also from before its last change; None without a record."""
        return merged(self.ended.get(name, {}), self.last[name]) if name in self.last else None

    def with_own(self, trees: Mapping[str, Tree]) -> "Ownership":
        """Return the ownership with these trees, by switch, as this charm's, too."""
        return replace(
            self, last={**self.last, **{n: merged(self.last.get(n, {}), t) for n, t in trees.items()}}
        )

    def left_by(self, changes: Mapping[str, Tree]) -> Record:
        """Return the record once these ``changes`` have taken the last ones back, by switch."""
        known = {name: tree for name in changes if (tree := self.had(name)) is not None}
        last = {name: within(patched(self.last[name], changes[name]), tree) for name, tree in known.items()}
        return Record(last, ended={name: {} for name in last})

    def misnamed(self, found: Collection["Comparison"]) -> Iterator[Finding]:
        """A finding for the names that none of these switches has, and for those that others look after."""
        known = {each.said for one in found for each in one.surplus}
        if left := self.named & {each.said for one in found for each in one.left}:
            what = f"{ports.compact(left)}: unmanaged in the intent"
            yield Finding(Severity.BLOCKED, REMOVE, what, f"take it out of unmanaged, or out of {REMOVE}")
        if wrong := sorted(self.named - known, key=ports.natural):
            what = f"none of these switches has {', '.join(wrong)} beside the intent"
            yield Finding(Severity.BLOCKED, REMOVE, what, "run plan without remove: it lists such names")


@dataclass(frozen=True)
class Comparison(Running):
    """One switch, compared with its tree of the intent.

    Others made what is ``kept``, and nobody has named it for removal.
    """

    surplus: Objects  # the objects that are not in the intent
    left: Objects  # those of ``kept`` that the intent leaves to others
    goal: Goal  # what it is to run

    @property
    def unmanaged(self) -> Unmanaged:
        """The parts that the intent leaves to others."""
        return self.goal.unmanaged

    @cached_property
    def patch(self) -> Tree:
        """The patch that brings the switch to its goal."""
        return self.goal.patch(self.applied)

    @cached_property
    def after(self) -> Tree:
        """The tree that the switch runs after the patch."""
        return patched(self.applied, self.patch)

    def findings(self) -> Iterator[Finding]:
        """Name the objects that stay, and those that cannot."""
        going = self.surplus - self.kept
        # Where others look after a setting, the intent does not need it
        theirs = exempt(self.applied, replace(self.unmanaged, names=frozenset()))
        colliding = in_the_way(self.applied, self.wanted, self.kept - theirs)
        if colliding:
            these = [each for each in self.kept if each.said in colliding]
            why = f"the intent needs that, and this charm did not make {listed(these)}"
            what = f"{'; '.join(colliding.values())}: {why}"
            yield Finding(Severity.BLOCKED, self.name, what, self._or_remove("change the intent", these))
        if left := left_behind(self.kept, going):
            these = [each for each in self.kept if each.said in left]
            those = ports.compact(left.values())
            what = f"{those}: no longer in the intent, but this charm did not make {listed(these)}"
            yield Finding(
                Severity.BLOCKED, self.name, what, self._or_remove(f"keep {those} in the intent", these)
            )
        set_by_others = [each for each in self.unmanaged.settings if parted(self.applied, [each])[0]]
        names = [listed([each for each in self.left if each.kind != "setting"])]
        names += [each.replace("/", " ") for each in set_by_others]
        if any(names):
            what = f"{', '.join(filter(None, names))}: unmanaged in the intent; stays as it is"
            yield Finding(Severity.INFO, self.name, what)
        blocking = {*colliding, *left}
        staying = self.kept - self.left
        if others := [each for each in staying if blocking.isdisjoint({each.said, *each.wholes})]:
            what = f"{listed(others)}: not in the intent and not made by this charm; stays as it is"
            remedy = f"add it to the intent; or run plan and apply with {REMOVE}={listed(others)}"
            yield Finding(Severity.INFO, self.name, what, remedy)
        if svis := gateways(self.after, going):
            those = ports.compact(svis)
            what = f"interface {those} has an address on a VLAN that would be removed"
            remedy = f"remove interface {those} first; {typed([f'interface {those}'])}, or keep the VLAN"
            yield Finding(Severity.BLOCKED, self.name, what, remedy)
        if on_them := users(self.after, going):
            what = f"{', '.join(on_them)}: {ON_REMOVED}"
            remedy = f"remove that first; {typed(on_them)}, or keep {ports.compact(on_them.values())}"
            yield Finding(Severity.BLOCKED, self.name, what, remedy)
        yield from shared(self, self.patch)
        managed = parted(self.applied, self.unmanaged.settings)[1]
        if beside := settings(managed, self.wanted, self.kept, self.patch):
            what = f"{', '.join(beside)}: not in the intent; stays as it is"
            yield Finding(Severity.INFO, self.name, what, "to remove it, run nv unset on the switch")
        named = {*self.unmanaged.names, *(each.name for each in self.surplus)}
        if also := routed(managed, self.wanted, named):
            what = f"{', '.join(also)}: not in the intent and not made by this charm; stays as it is"
            yield Finding(Severity.INFO, self.name, what)
        yield from self._narrowed()
        yield from self._joining()

    def _narrowed(self) -> Iterator[Finding]:
        """Ports that carry all VLANs, and would carry others' no longer: they get a list."""
        theirs = [each.name for each in self.kept if each.kind == "vlan"]
        losing: dict[str, list[str]] = defaultdict(list)
        for port in get_tree(self.patch, "interface"):
            own = get_tree(self.after, "interface", port, *VLANS)
            lost = [vlan for vlan in theirs if vlan not in own] if own else []
            if lost and carries_all(self.applied, port):
                losing[ports.compact(lost)].append(port)
        for vlans, found in losing.items():
            those, verbs = ports.compact(found), "carries" if len(found) == 1 else "carry"
            what = f"{those} {verbs} all VLANs of the bridge, and would carry VLAN {vlans} no longer, "
            what += "which this charm did not make"
            command = f"nv set interface {those} bridge domain {VLANS[2]} vlan all && nv config apply"
            remedy = f"set vlan all on {those} itself; run {command} on the switch; "
            remedy += "or set the VLANs that its hosts need instead of all"
            yield Finding(Severity.BLOCKED, self.name, what, remedy)

    def _joining(self) -> Iterator[Finding]:
        """Name the ports whose hosts would get into a network of others: the switch already has its VLAN."""
        getting: dict[str, list[str]] = defaultdict(list)
        for port, node in get_tree(self.patch, "interface").items():
            new = get_tree(node, *VLANS)
            set_to = {vlan for vlan in new if new[vlan] is not None} | {str(get_path(node, ACCESS))}
            for vlan in set_to - {"None"} - carried(self.applied, port) - self._known.keys():
                getting[vlan].append(port)
        found: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
        for svi, vlan in vlan_interfaces(self.applied):
            vrf = vrf_of(get_tree(self.applied, "interface", svi))
            own = get_tree(self.wanted, "interface", svi)
            if vrf and vlan in getting and not (own and vrf_of(own) == vrf):
                found[vrf] += [(port, vlan, svi) for port in getting.pop(vlan)]
        for vrf, each in found.items():
            those, vlans, interfaces = map(ports.compact, zip(*each, strict=True))
            what = f"{those} would get VLAN {vlans}, which VRF {vrf} routes (interface {interfaces}): "
            what += "the hosts there would be in that VRF"
            remedy = (
                f"give the network another vlan in the intent; if its hosts belong in VRF {vrf}, leave it"
            )
            yield Finding(Severity.WARNING, self.name, what, remedy)
        yield from self._taken_over(getting)

    @property
    def _known(self) -> Tree:
        """The VLANs that this charm has applied last."""
        return get_tree(self.goal.last, *VLANS)

    def _taken_over(self, getting: Mapping[str, list[str]]) -> Iterator[Finding]:
        """VLANs that the intent's ports would join, and which the charm would take for its own from then on.

        Without a record, those that some of its ports carry already are the intent's.
        """
        known = () if self._known else get_tree(self.wanted, "interface")
        theirs = {vlan for port in known for vlan in carried(self.applied, port)}
        there = get_tree(self.applied, *VLANS)
        if vlans := [vlan for vlan in getting if vlan in there and vlan not in theirs]:
            those = ports.compact(vlans)
            vnis = ports.compact(vni for vlan in vlans for vni in get_tree(there, vlan, "vni"))
            joining = ports.compact({port for vlan in vlans for port in getting[vlan]})
            what = f"VLAN {those}{f' with VNI {vnis}' if vnis else ''}: others have that on the switch; "
            what += f"{joining} would join it, and apply makes it this charm's"
            remedy = "if it is another network, give yours another vlan and vni in the intent; "
            remedy += f"then leave this one to others (unmanaged: {{vlans: {those}}})"
            yield Finding(Severity.WARNING, self.name, what, remedy)

    def _or_remove(self, choice: str, found: Collection[Object]) -> str:
        """The choice, or to remove what was found; the intent may leave that to others."""
        if these := listed([each for each in found if each not in self.left]):
            return f"{choice}; or run plan and apply with {REMOVE}={these}"
        return choice

    def depending(self, patch: Tree) -> Iterator[Finding]:
        """Name the objects that stay but depend on a part of the intent, all of which ``patch`` removes."""
        yield from depending(self, patch)
        going = objects(self.wanted)
        behind = left_behind(self.kept, going)
        own = get_tree(self.wanted, "interface")
        svis = [f"interface {svi}" for svi in gateways(self.applied, going) if svi not in own]
        if found := [*behind, *svis]:
            what = f"{', '.join(found)}: {ON_REMOVED}"
            yield Finding(Severity.BLOCKED, self.name, what, REMOVE_FIRST)


def named(text: str) -> frozenset[str]:
    """The names in a list such as ``swp31,bond7 vlan100-103``."""
    return frozenset(name for item in text.replace(",", " ").split() for name in ports.names(item))
