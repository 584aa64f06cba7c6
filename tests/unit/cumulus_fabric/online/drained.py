# SPDX-License-Identifier: Apache-2.0
"""How tests of maintenance drain a switch, and what they look at afterwards."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from apply import ApplyPolicy
from lab.nvue import Issue, merge
from maintenance import Maintenance
from output.report import Report
from unit.cumulus_fabric.online.site import Rack

POLICY = ApplyPolicy(confirm=300, settle=60.0, deadline=90.0)


BOTH = ("swp9", "swp10", "swp22")


def work(made: Rack, name: str, policy: ApplyPolicy = POLICY, **given: Any) -> Maintenance:
    return Maintenance(made.site, name, policy, **given)


def graceful(made: Rack, name: str) -> bool:
    return made.applied[name]["router"]["bgp"].get("graceful-shutdown") in ("on", "enabled")


def shut(made: Rack, name: str) -> set[str]:
    ports = made.applied[name]["interface"].items()
    return {port for port, node in ports if "down" in node.get("link", {}).get("state", {})}


def patches(made: Rack, name: str) -> list[dict[str, Any]]:
    """List the patches of a switch, in order."""
    return [call.body for call in made.servers[name].calls if call.name == "patch"]


def sentences(report: Report) -> list[str]:
    return [each.sentence() for each in report.reasons]


class Trace:
    """The routes that other leaves send to a leaf, and whether its hosts' ports are up, after each change."""

    def __init__(self, made: Rack, name: str) -> None:
        self._made, self._name = made, name
        self.steps: list[tuple[bool, bool]] = []

    def __enter__(self) -> "Trace":
        self._patch = pytest.MonkeyPatch()
        member = self._made.wires.members[self._name]
        apply = member.apply

        def watched(tree: dict[str, Any]) -> Issue | None:
            issue = apply(tree)
            step = (
                addressed(self._made, self._name),
                any(member.bond_up(bond) for bond in ("bond1", "bond2")),
            )
            if self.steps[-1:] != [step]:
                self.steps.append(step)
            return issue

        self._patch.setattr(member, "apply", watched)
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()


def addressed(made: Rack, name: str) -> bool:
    """Whether any other leaf has this one among the VTEPs of a segment."""
    switch = made.fabric.switch(name)
    assert switch
    tables = [
        member.operational()["evpn"]["multihoming"]["esi"]
        for other, member in made.wires.members.items()
        if other != name
    ]
    return any(switch.loopback in each["remote-vtep"] for table in tables for each in table.values())


def runs(made: Rack, tree: dict[str, Any], name: str = "Leaf0-2") -> None:
    """A switch runs this, whoever has configured it."""
    switch = made.servers[name].switch
    switch.revisions[switch.applied_id].tree = tree
    made.wires.members[name].apply(tree)


def with_policy(made: Rack, where: str) -> None:
    """Somebody decides what a leaf advertises."""
    rules = {"rule": {"5": {"action": {"permit": {}}}}}
    tree = {"router": {"policy": {"route-map": {"theirs": rules}}}}
    outbound = {"address-family": {"l2vpn-evpn": {"policy": {"outbound": {"route-map": "theirs"}}}}}
    kind, _, name = where.partition(" ")
    policy = {"vrf": {"default": {"router": {"bgp": {kind: {name: outbound}}}}}}
    runs(made, merge(merge(made.applied["Leaf0-2"], tree), policy))


def without_graceful_shutdown(made: Rack) -> None:
    """Somebody has taken back only the part of a drain that BGP shows; the leaf still advertises nothing."""
    tree = deepcopy(made.applied["Leaf0-2"])
    del tree["router"]["bgp"]["graceful-shutdown"]
    runs(made, tree)


NO_LEG = "has no other leg: no other leaf with its segment has the bond up"


def refuse_at(made: Rack, number: int) -> ApplyPolicy:
    """A policy with which Leaf0-2 refuses this step of its drain, counted from 1."""
    steps: list[str] = []

    def announce(line: str) -> None:
        steps.extend([line] if line.startswith("applying on") else [])
        if len(steps) == number:
            made.wires.refuse["Leaf0-2"] = Issue("config_apply_fail", "no space left")

    return replace(POLICY, announce=announce)
