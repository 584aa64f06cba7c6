# SPDX-License-Identifier: Apache-2.0
"""A pair of leaves leaves MLAG behind, step by step as plan says, and no host loses both of its ports."""

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from converge import Severity
from intent import ports
from lab.nvue import Fault
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import Rack, rack
from unit.cumulus_fabric.online.small import small
from unit.cumulus_fabric.online.test_faults import POLICY
from unit.cumulus_fabric.online.unmanaged import ON, joined, typed


def two_hosts(content: dict[str, Any]) -> None:
    small(content)
    content["racks"] = [{"hosts": "swp9-10"}]


PAIR = fabric(change=two_hosts)
HOSTS = ("swp9", "swp10")
BONDS = {
    f"bond{number}": {"type": "bond", "bond": {"member": {port: {}}, "mlag": {**ON, "id": number}}}
    for number, port in enumerate(HOSTS, 1)
}
MLAG = {
    "mlag": {**ON, "mac-address": "44:38:39:BE:EF:AA", "peer-ip": "linklocal"},
    "interface": {
        "peerlink": {"type": "peerlink", "bond": {"member": {"swp29": {}, "swp30": {}}}},
        "peerlink.4094": {"type": "sub", "base-interface": "peerlink", "vlan": 4094},
        **{port: {"type": "swp"} for port in ("swp29", "swp30", *HOSTS)},
        **BONDS,
    },
}
LEAVES = ("Leaf0-1", "Leaf0-2")


@pytest.fixture(params=["5.9.2", "5.15.0"])
def three(request: pytest.FixtureRequest) -> Iterator[Rack]:
    """A spine from the factory, and two leaves that bond their hosts by MLAG."""
    with rack(PAIR, release=request.param) as made:
        for leaf in LEAVES:
            typed(made, leaf, MLAG)
        yield made


def said(three: Rack) -> dict[str, str]:
    """Return the findings that block the plan, by switch; nothing can be applied meanwhile."""
    found = [each for each in three.site.survey().plan.findings if each.severity is Severity.BLOCKED]
    if found:
        before = deepcopy(three.applied)
        assert not three.site.apply(policy=POLICY).applied
        assert three.applied == before
    return {each.subject: each.remedy for each in found}


def follow(three: Rack, leaf: str, remedy: str) -> None:
    """Type the commands of a remedy on a leaf, and run the action that it ends with."""
    commands: list[tuple[str, str]] = re.findall(r"nv (set|unset) (.+?)(?= && nv)", remedy)
    assert commands or "run apply" in remedy, remedy
    for verb, text in commands:
        path = text.split()
        paths = [[path[0], name, *path[2:]] for name in ports.names(path[1])] if len(path) > 1 else [path]
        typed(three, leaf, joined(*(_tree(each, {} if verb == "set" else None) for each in paths)))
        assert [port for port in HOSTS if not any(three.wires.up((each, port)) for each in LEAVES)] == []
    if chosen := re.findall(r"run apply switch='(.+?)'", remedy):
        report = three.site.apply(chosen, policy=POLICY)
        assert report.applied, report.reasons
        assert report.applied


def _tree(path: list[str], end: Any) -> dict[str, Any]:
    return {path[0]: _tree(path[1:], end) if path[1:] else end}


def test_no_step_is_named_without_a_look_at_the_other_leaf(three: Rack) -> None:
    """Its ports may be shut already: to shut those of this one, too, would cut the hosts off."""
    shut = {"interface": {port: {"link": {"state": {"down": {}}}} for port in HOSTS}}
    typed(three, "Leaf0-2", shut)
    for leaf, other in (LEAVES, LEAVES[::-1]):
        findings = three.site.survey([leaf]).plan.findings
        (found,) = [each for each in findings if each.severity is Severity.BLOCKED]
        why = f"{other} was not read, and the hosts may use this leaf alone"
        assert found.remedy == f"run plan for all switches; {why}"
    three.servers["Leaf0-2"].inject(Fault("reset", times=0))
    found, *_ = [each for each in three.site.survey().plan.findings if each.subject == "Leaf0-1"]
    assert "link state down" not in found.remedy


def test_the_priority_decides_which_leaf_is_the_secondary(three: Rack) -> None:
    typed(three, "Leaf0-2", {"mlag": {"priority": 1000}})
    first = "leave MLAG behind on Leaf0-1 first, the secondary; "
    now = said(three)
    assert now["Leaf0-1"].startswith(f"{first}run nv set interface swp9-10 link state down")
    assert now["Leaf0-2"] == f"{first}without Leaf0-2 its bonds go down"


def test_leaves_that_are_no_pair_have_no_secondary(three: Rack) -> None:
    """Each is the primary of its own, as while the peerlink is not configured alike."""
    typed(three, "Leaf0-2", {"mlag": {"mac-address": "44:38:39:BE:EF:BB"}})
    begin = "leave MLAG behind on one leaf at a time, the secondary first; nv show mlag tells which it is; "
    assert all(each.startswith(begin) for each in said(three).values())


def test_each_step_is_named_and_one_leaf_carries_the_hosts_at_each(three: Rack) -> None:
    first, second = "Leaf0-2", "Leaf0-1"
    now = said(three)
    shut = "run nv set interface swp9-10 link state down && nv config apply on the switch"
    assert now == {
        first: f"leave MLAG behind on {first} first, the secondary; {shut}, and then run plan again, "
        "which names the next step",
        second: f"leave MLAG behind on {first} first, the secondary; without {second} its bonds go down",
    }
    follow(three, first, now[first])
    now = said(three)
    assert now[second] == f"leave MLAG behind on {first} first, whose ports to hosts are shut down"
    unset = "nv unset mlag && nv unset interface bond1-2 bond mlag && "
    unset += "nv unset interface peerlink,peerlink.4094"
    assert now[first] == (
        f"once its hosts use the rack's other leaf, remove MLAG; run {unset} && nv config apply "
        f"on the switch, and then run apply switch='{first}'"
    )
    typed_only = now[first].partition(", and then run apply")[0]
    follow(three, first, typed_only)
    assert said(three) == {second: f"run apply switch='{first}' first, so that its hosts have another leaf"}
    follow(three, second, said(three)[second])
    assert said(three) == {second: f"move its hosts to {first}; {shut}, and then run plan again"}
    follow(three, second, said(three)[second])
    follow(three, second, said(three)[second])
    assert three.site.apply(policy=POLICY).applied
    assert three.site.survey().plan.empty
    assert [each for each in three.site.verify() if each.severity > Severity.INFO] == []
    assert all(three.wires.up((leaf, port)) for leaf in LEAVES for port in HOSTS)
