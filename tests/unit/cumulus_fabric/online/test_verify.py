# SPDX-License-Identifier: Apache-2.0
"""Verify: whatever is otherwise than the intent says is named, with its switch, port and remedy."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import pytest
from converge import Finding, Severity
from lab.nvue import merge
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import Rack, rack


def named(content: dict[str, Any]) -> None:
    """The guide's fabric with names for the hosts of its first rack."""
    content["racks"][0]["hosts"] = {"ports": "swp9-10", "names": ["node1", "node2"]}


@pytest.fixture(scope="module")
def made() -> Iterator[Rack]:
    with rack(fabric(change=named), applied=True) as made:
        yield made


@pytest.fixture
def rdg(made: Rack) -> Iterator[Rack]:
    """The guide's six switches, all as the intent says; what a test breaks is mended after it."""
    trees = {name: deepcopy(member.tree) for name, member in made.wires.members.items()}
    cables, hosts = dict(made.wires.cables), deepcopy(made.wires.hosts)
    yield made
    for name, tree in trees.items():
        made.wires.members[name].apply(tree)
    made.wires.cables, made.wires.hosts, made.wires.cut, made.wires.deaf = cables, hosts, set(), set()


def found(rdg: Rack) -> list[Finding]:
    return [each for each in rdg.site.verify() if each.severity > Severity.INFO]


def kernel(rdg: Rack, name: str, change: dict[str, Any]) -> None:
    """Change what runs on a switch behind NVUE's back: its configuration does not show it."""
    member = rdg.wires.members[name]
    member.apply(merge(member.tree, change))


def test_a_healthy_fabric_has_no_findings(rdg: Rack) -> None:
    assert found(rdg) == []


def wrong_cable(rdg: Rack) -> None:
    for leaf, port in (("Leaf0-1", "swp14"), ("Leaf0-2", "swp13")):
        rdg.wires.cable((leaf, "swp31"), ("Spine0", port))


def bgp(change: dict[str, Any]) -> dict[str, Any]:
    return {"vrf": {"default": {"router": {"bgp": change}}}}


BRIDGE = {"bridge": {"domain": {"br_default": {"vlan": {"40": None, "77": {}}}}}}
BROKEN: dict[str, tuple[Callable[[Rack], object], list[str]]] = {
    "one wrong VLAN": (
        lambda rdg: kernel(rdg, "Leaf1-1", {"interface": {"bond1": BRIDGE}}),
        ["Leaf1-1 bond1: VLAN 40 is missing, the intent says tagged"],
    ),
    "the wrong untagged VLAN": (
        lambda rdg: kernel(
            rdg, "Leaf0-1", {"interface": {"swp23": {"bridge": {"domain": {"br_default": {"untagged": 9}}}}}}
        ),
        [
            "Leaf0-1 swp23: VLAN 9 is untagged, the intent says tagged; "
            "VLAN 3000 is tagged, the intent says untagged"
        ],
    ),
    "an MTU": (
        lambda rdg: kernel(rdg, "Leaf0-2", {"interface": {"bond2": {"link": {"mtu": 1500}}}}),
        ["Leaf0-2 bond2: MTU is 1500, the intent says 9000"],
    ),
    "an uplink's MTU": (
        lambda rdg: kernel(rdg, "Leaf0-2", {"interface": {"swp31": {"link": {"mtu": 9000}}}}),
        ["Leaf0-2 swp31: MTU is 9000, the intent says 9216"],
    ),
    "two uplinks exchanged": (
        wrong_cable,
        [
            "Leaf0-1 swp31: is wired to Spine0 swp14, the intent says Spine0 swp13",
            "Leaf0-2 swp31: is wired to Spine0 swp13, the intent says Spine0 swp14",
            "Spine0 swp13: is wired to Leaf0-2 swp31, the intent says Leaf0-1 swp31",
            "Spine0 swp14: is wired to Leaf0-1 swp31, the intent says Leaf0-2 swp31",
        ],
    ),
    "a cut uplink": (
        lambda rdg: rdg.wires.cut.add(("Leaf1-2", "swp32")),
        ["Leaf1-2 swp32: the link to Spine1 is down", "Spine1 swp16: the link to Leaf1-2 is down"],
    ),
    "BGP without EVPN": (
        lambda rdg: kernel(
            rdg,
            "Spine0",
            bgp({"peer-group": {"underlay": {"address-family": {"l2vpn-evpn": {"enable": "off"}}}}}),
        ),
        [
            f"{one}: the BGP session with {other} carries no EVPN"
            for port, leaf in ((13, "Leaf0-1"), (14, "Leaf0-2"), (15, "Leaf1-1"), (16, "Leaf1-2"))
            for one, other in ((f"Spine0 swp{port}", leaf), (f"{leaf} swp31", "Spine0"))
        ],
    ),
    "a session that does not come up": (
        lambda rdg: kernel(rdg, "Leaf0-1", {"router": {"bgp": {"autonomous-system": 65199}}}),
        [
            f"{one}: the BGP session with {other} is not established"
            for port, spine in ((31, "Spine0"), (32, "Spine1"))
            for one, other in ((f"Leaf0-1 swp{port}", spine), (f"{spine} swp13", "Leaf0-1"))
        ]
        + [
            f"{one} {bond}: {other} is missing as a peer of its Ethernet segment"
            for bond in ("bond1", "bond2", "bond_ext")
            for one, other in (("Leaf0-1", "Leaf0-2"), ("Leaf0-2", "Leaf0-1"))
        ],
    ),
    "a missing VNI": (
        lambda rdg: kernel(rdg, "Leaf0-1", {"bridge": {"domain": {"br_default": {"vlan": {"40": None}}}}}),
        ["Leaf0-1 VNI 40: does not exist (VLAN 40, overlay)"],
    ),
    "another segment": (
        lambda rdg: kernel(
            rdg, "Leaf0-2", {"interface": {"bond1": {"evpn": {"multihoming": {"segment": {"local-id": 77}}}}}}
        ),
        [
            "Leaf0-1 bond1: Leaf0-2 is missing as a peer of its Ethernet segment",
            "Leaf0-2 bond1: its Ethernet segment 03:44:38:39:be:ef:01:00:00:01 does not exist",
        ],
    ),
    "no RoCE": (
        lambda rdg: kernel(rdg, "Spine1", {"qos": None}),
        ["Spine1 RoCE: is off, the intent says lossless"],
    ),
    "a host's link": (
        lambda rdg: rdg.wires.cut.add(("Leaf0-1", "swp9")),
        ["Leaf0-1 swp9: the link to node1 is down"],
    ),
    "links of single-homed hosts": (
        lambda rdg: rdg.wires.cut.update({("Leaf0-1", "swp23"), ("Leaf0-1", "swp22")}),
        [
            "Leaf0-1 swp22: the link is down",
            "Leaf0-1 swp23: the link to juju is down",
        ],
    ),
    "a host that does not bond": (
        lambda rdg: setattr(rdg.wires.hosts["Leaf0-1", "swp9"], "bonds", False),
        ["Leaf0-1 bond1: has no LACP partner, and is up by LACP bypass; on Leaf0-2 its host answers LACP"],
    ),
    "another host": (
        lambda rdg: setattr(rdg.wires.hosts["Leaf0-1", "swp9"], "host", "node2.example.com"),
        ["Leaf0-1 swp9: is wired to node2.example.com, the intent says node1"],
    ),
}


@pytest.mark.parametrize(("breaks", "said"), BROKEN.values(), ids=BROKEN)
def test_each_difference_is_named(rdg: Rack, breaks: Callable[[Rack], object], said: list[str]) -> None:
    breaks(rdg)
    seen = found(rdg)
    assert sorted(f"{each.subject}: {each.what}" for each in seen) == sorted(said)
    assert all(each.remedy for each in seen)


@contextmanager
def showing(rdg: Rack, name: str, change: dict[str, Any]) -> Iterator[None]:
    """Let a switch show something that no configuration of the simulator leads to."""
    box = rdg.servers[name].switch
    shown = merge(box.operational(), change)
    box.operational = lambda _: shown
    try:
        yield
    finally:
        del box.__dict__["operational"]


ESI = "03:44:38:39:be:ef:01:00:00:01"
SHOWN: dict[str, tuple[dict[str, Any], str]] = {
    "a bond without a member": (
        {"interface": {"bond1": {"bond": {"member": {"swp9": None}}}}},
        "bond1: lacks its member swp9",
    ),
    "no bond": ({"interface": {"bond2": None}}, "bond2: does not exist"),
    "no session": (bgp({"neighbor": {"swp31": None}}), "swp31: has no BGP session with Spine0"),
    "a VNI elsewhere": (
        {"evpn": {"vni": {"40": {"vlan": 10}}}},
        "VNI 40: is on VLAN 10, the intent says 40",
    ),
    "a segment elsewhere": (
        {"evpn": {"multihoming": {"esi": {ESI: {"local-interface": "bond2"}}}}},
        f"bond1: its Ethernet segment {ESI} is on bond2",
    ),
}


@pytest.mark.parametrize(("change", "said"), SHOWN.values(), ids=SHOWN)
def test_each_difference_in_what_a_switch_shows_is_named(
    rdg: Rack, change: dict[str, Any], said: str
) -> None:
    with showing(rdg, "Leaf0-1", change):
        seen = found(rdg)
    assert [f"{each.subject}: {each.what}" for each in seen] == [f"Leaf0-1 {said}"]


LINKS: list[tuple[dict[str, Any], bool]] = [
    ({"oper-status": "down"}, False),
    ({"state": {"up": None, "down": {}}}, True),
    ({"oper-status": None}, True),
    ({"oper-status": None, "state": {"up": None, "down": {}}}, False),
]


@pytest.mark.parametrize(("link", "up"), LINKS)
def test_a_links_own_status_counts_where_the_release_tells_it(
    rdg: Rack, link: dict[str, Any], up: bool
) -> None:
    """5.11 split it from what is configured."""
    with showing(rdg, "Leaf0-1", {"interface": {"swp23": {"link": link}}}):
        assert (found(rdg) == []) is up


def test_an_uplink_without_lldp_is_only_mentioned(rdg: Rack) -> None:
    with showing(rdg, "Leaf0-1", {"interface": {"swp31": {"lldp": {"neighbor": {"Spine0": None}}}}}):
        assert found(rdg) == []
        assert any(each.what == "Spine0 is not visible by LLDP yet" for each in rdg.site.verify())


def test_a_host_port_without_lldp_is_unknown_and_not_wrong(rdg: Rack) -> None:
    rdg.wires.hosts["Leaf0-1", "swp9"].speaks = False
    assert found(rdg) == []
    assert any(
        each.sentence() == "Leaf0-1 swp9: LLDP does not show node1 yet, so its cabling is unknown"
        for each in rdg.site.verify()
    )


@pytest.mark.parametrize("description", [{}, {"description": "swp13"}])
def test_an_uplinks_port_id_may_be_a_mac(rdg: Rack, description: dict[str, str]) -> None:
    """lldpd sends a MAC address as port id if it is told to, and the port's name as its description."""
    far = {"Spine0": {"port": {"name": "44:38:39:00:00:13", "type": "mac", **description}}}
    with showing(rdg, "Leaf0-1", {"interface": {"swp31": {"lldp": {"neighbor": far}}}}):
        assert found(rdg) == []


def test_a_switch_that_sends_a_mac_as_port_id_is_known_by_its_name(rdg: Rack) -> None:
    wrong = {"Spine0": None, "Spine1": {"port": {"name": "44:38:39:00:00:13", "type": "mac"}}}
    with showing(rdg, "Leaf0-1", {"interface": {"swp31": {"lldp": {"neighbor": wrong}}}}):
        (miswired,) = found(rdg)
    assert miswired.what == "is wired to Spine1, the intent says Spine0 swp13"


@pytest.mark.parametrize("named", [True, False])
def test_a_hosts_port_id_may_be_a_name_or_a_mac(rdg: Rack, named: bool) -> None:
    rdg.wires.hosts["Leaf0-1", "swp9"].named = named
    rdg.wires.hosts["Leaf0-1", "swp9"].host = "NODE1.maas"
    assert found(rdg) == []


DRIFT: dict[str, tuple[dict[str, Any], str, str]] = {
    "another MTU": (
        {"interface": {"bond1": {"link": {"mtu": 1500}}}},
        "set interface bond1 link mtu",
        "link-flap",
    ),
    "a static bond": (
        {"interface": {"bond1": {"bond": {"mode": "static"}}}},
        "unset interface bond1 bond mode",
        "host-network-cut",
    ),
    "a member that is shut down": (
        {"interface": {"swp9": {"link": {"state": {"down": {}}}}}},
        "unset interface swp9 link",
        "link-flap",
    ),
    "another AS number in the VRF": (
        bgp({"autonomous-system": 65999}),
        "set vrf default router bgp autonomous-system",
        "host-network-cut",
    ),
}


@pytest.mark.parametrize(("change", "does", "cost"), DRIFT.values(), ids=DRIFT)
def test_settings_by_hand_are_drift_that_a_plan_removes(
    rdg: Rack, change: dict[str, Any], does: str, cost: str
) -> None:
    box = rdg.servers["Leaf0-1"].switch
    running = box.revisions[box.applied_id]
    before, running.tree = running.tree, merge(running.tree, change)
    try:
        (only,) = found(rdg)
        (step,) = rdg.site.survey().plan.steps
    finally:
        running.tree = before
    said = f"Leaf0-1: 1 setting differs from the intent: {does.partition(' ')[2]}"
    assert only.sentence() == f"{said}; run the action apply"
    assert step.what.split(": ", 2)[2].startswith(does)
    assert step.disruption.label == cost


def test_a_switch_that_does_not_answer_is_one_finding(rdg: Rack) -> None:
    rdg.servers["Spine1"].password, kept = "other", rdg.servers["Spine1"].password
    try:
        (only,) = found(rdg)
    finally:
        rdg.servers["Spine1"].password = kept
    assert only.subject == "Spine1"


@pytest.mark.parametrize("deaf", [{"Leaf0-2"}, {"Spine1"}, {"Leaf0-1", "Leaf1-1"}])
def test_a_switch_whose_lldpd_does_not_run_is_named(rdg: Rack, deaf: set[str]) -> None:
    """Its cables and hosts are unknown then; the switches around it see the others."""
    rdg.wires.deaf = deaf
    assert {each.sentence() for each in found(rdg)} == {
        f"{name}: shows no LLDP neighbour on any port: its cables and hosts cannot be checked; run sudo "
        "systemctl restart lldpd on it; after a boot, give it half a minute first"
        for name in deaf
    }
    assert {each.severity for each in found(rdg)} == {Severity.WARNING}


def test_a_switch_without_a_link_that_is_up_has_no_neighbours_to_show(rdg: Rack) -> None:
    rdg.wires.deaf = {"Leaf0-2"}
    rdg.wires.cut = {("Leaf0-2", "swp31"), ("Leaf0-2", "swp32")}
    assert [each for each in found(rdg) if "LLDP" in each.what] == []
