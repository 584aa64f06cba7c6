# SPDX-License-Identifier: Apache-2.0
"""A switch leaves only if no host loses its last way to the network."""

from functools import partial
from typing import Any

import pytest
from charmkit.fabric import Host, Neighbour, PortReport
from lab.nvue.fabric import HostPort
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.drained import NO_LEG, refuse_at, sentences, without_graceful_shutdown, work
from unit.cumulus_fabric.online.site import Rack, rack
from unit.cumulus_fabric.online.unmanaged import ON, on_port, typed


def test_a_host_has_no_other_leg_on_a_leaf_whose_ports_are_up_but_whose_routes_are_withdrawn(
    six: Rack,
) -> None:
    work(six, "Leaf0-2", refuse_at(six, 2)).drain()
    without_graceful_shutdown(six)
    refused = work(six, "Leaf0-1", cut_off=["swp23", "swp24"]).drain()
    assert sentences(refused)[0].startswith("Leaf0-1 bond1: host-bond1 has no other leg")


def test_a_host_with_one_leg_stops_it_unless_it_is_named(six: Rack) -> None:
    refused = work(six, "Leaf0-1").drain()
    assert sentences(refused) == [
        "Leaf0-1 swp23: juju is attached to Leaf0-1 alone; bring its other leg up first; "
        "or run drain with cut-off=swp23 if it may lose its network",
        "Leaf0-1 swp24: maas is attached to Leaf0-1 alone; bring its other leg up first; "
        "or run drain with cut-off=swp24 if it may lose its network",
    ]
    assert six.writes() == []
    assert work(six, "Leaf0-1", cut_off=["swp23", "maas"]).drain().applied


def other_leg_down(made: Rack) -> None:
    made.wires.cut.add(("Leaf0-1", "swp9"))


def no_lacp(made: Rack) -> None:
    made.wires.hosts["Leaf0-1", "swp9"].bonds = False


def segment_unheard(made: Rack) -> None:
    """As if a release did not show the bypass: the leaf has the bond up, and does not advertise it."""
    member = made.wires.members["Leaf0-1"]
    member.bonded, member.bypassed = (lambda bond: bond != "bond1"), (lambda bond: bond == "bond1")
    segments = member._segments
    member._segments = lambda: {
        esi: {**each, "flags": {flag: on for flag, on in each["flags"].items() if flag != "bypass"}}
        for esi, each in segments().items()
    }


def another_host(made: Rack) -> None:
    made.wires.hosts["Leaf0-1", "swp9"].host = "node7"


def other_leaf_drained(made: Rack) -> None:
    assert work(made, "Leaf0-1", cut_off=["swp23", "swp24"]).drain().applied


def other_leaf_without_spines(made: Rack) -> None:
    made.wires.cut |= {("Leaf0-1", "swp31"), ("Leaf0-1", "swp32")}


MISSING = {
    "its link is down": (other_leg_down, f"host-bond1 {NO_LEG}"),
    "it does not speak LACP there": (
        no_lacp,
        "host-bond1 has no other leg: Leaf0-1 has the bond up, but no LACP partner there",
    ),
    "nobody hears of the segment there": (
        segment_unheard,
        "host-bond1 has no other leg: Leaf0-1 has the bond up, but is no peer of its segment",
    ),
    "another host is there": (
        another_host,
        "host-bond1 has its other leg on another host's port: LLDP shows node7 there",
    ),
    "the other leaf is drained": (other_leaf_drained, f"host-bond1 {NO_LEG}"),
    "the other leaf has lost its spines": (other_leaf_without_spines, f"host-bond1 {NO_LEG}"),
}


@pytest.mark.parametrize(("break_it", "said"), MISSING.values(), ids=MISSING)
def test_a_host_whose_other_leg_does_not_carry_stops_it(six: Rack, break_it: Any, said: str) -> None:
    break_it(six)
    six.forget()
    refused = work(six, "Leaf0-2").drain()
    assert sentences(refused)[0].startswith(f"Leaf0-2 bond1: {said}; bring its other leg up first")
    assert six.writes() == []


@pytest.mark.parametrize("deaf", ["Leaf0-1", "Leaf0-2"])
@pytest.mark.parametrize("broken", [name for name in MISSING if name != "another host is there"])
def test_without_lldp_on_either_leaf_the_other_witnesses_stop_it(six: Rack, broken: str, deaf: str) -> None:
    """No neighbour on any port is no sign that nobody is there: lldpd may not run after a boot."""
    six.wires.deaf = {deaf}
    break_it, said = MISSING[broken]
    break_it(six)
    six.forget()
    refused = work(six, "Leaf0-2").drain()
    said = said.replace("host-bond1", "bond1" if deaf == "Leaf0-2" else "host-bond1")
    assert sentences(refused)[0].startswith(f"Leaf0-2 bond1: {said}; bring its other leg up first")
    assert six.writes() == []


@pytest.mark.parametrize("deaf", ["Leaf0-1", "Leaf0-2"])
def test_a_switch_is_drained_while_lldpd_is_dead_if_all_hosts_have_another_leg(six: Rack, deaf: str) -> None:
    six.wires.deaf = {deaf}
    assert work(six, "Leaf0-2").drain().applied


def test_a_server_that_waits_in_pxe_is_cut_off_only_by_name(six: Rack) -> None:
    """It has a link to both leaves, LACP with none, and boots through one of them."""
    for leaf in ("Leaf0-1", "Leaf0-2"):
        six.wires.hosts[leaf, "swp9"].bonds = False
    refused = work(six, "Leaf0-2").drain()
    assert sentences(refused) == [
        "Leaf0-2 bond1: host-bond1 has no other leg: Leaf0-1 has the bond up, but no LACP partner there; "
        "bring its other leg up first; or run drain with cut-off=bond1 if it may lose its network"
    ]
    assert six.writes() == []
    assert work(six, "Leaf0-2", cut_off=["bond1"]).drain().applied


def test_what_others_attached_to_the_leaf_alone_is_cut_off_only_by_name(six: Rack) -> None:
    six.wires.host(("Leaf0-2", "swp20"), HostPort("theirs", "b8:3f:d2:00:00:07"))
    typed(six, "Leaf0-2", on_port("swp20", {"vlan": {"10": {}}}))
    refused = work(six, "Leaf0-2").drain()
    assert sentences(refused) == [
        "Leaf0-2 swp20: theirs is attached to Leaf0-2 alone; "
        "bring its other leg up first; or run drain with cut-off=swp20 if it may lose its network"
    ]
    assert six.writes() == []
    assert work(six, "Leaf0-2", cut_off=["swp20"]).drain().applied


def test_a_bond_of_others_with_a_leg_on_another_leaf_does_not_stop_it(six: Rack) -> None:
    segment = {"local-id": 70, "mac-address": "44:38:39:BE:EF:07", **ON}
    bond = {"type": "bond", "bond": {"member": {"swp20": {}}}, "evpn": {"multihoming": {"segment": segment}}}
    for leaf in ("Leaf0-1", "Leaf0-2"):
        six.wires.host((leaf, "swp20"), HostPort("theirs", "b8:3f:d2:00:00:07"))
        typed(six, leaf, {"interface": {"bond7": bond, "swp20": {"type": "swp"}}})
    assert work(six, "Leaf0-2").drain().applied


def test_a_leaf_that_has_lost_its_spines_is_drained(six: Rack) -> None:
    """It hears of no peer itself; the leaves of other racks do."""
    six.wires.cut |= {("Leaf0-2", "swp31"), ("Leaf0-2", "swp32")}
    assert work(six, "Leaf0-2").drain().applied


def test_an_lldp_agent_in_a_nics_firmware_is_not_another_host(six: Rack) -> None:
    for number, leaf in enumerate(("Leaf0-1", "Leaf0-2")):
        six.wires.hosts[leaf, "swp9"].firmware = f"b8:3f:d2:00:00:0{number}"
    assert work(six, "Leaf0-2").drain().applied


def test_a_port_without_a_host_does_not_stop_it(six: Rack) -> None:
    six.wires.cut |= {("Leaf0-1", "swp9"), ("Leaf0-2", "swp9")}
    assert work(six, "Leaf0-2").drain().applied


def reported(partner: str | None, deaf: str = "", name: str = "host-bond1") -> Host:
    """A host of rack 0 by its own report: one port at each leaf, the other one with this LACP partner.

    It hears nothing by LLDP of a leaf that is ``deaf``.
    """
    mac = "44:38:39:be:ef:01"
    ports = [
        PortReport(
            netdev=f"enp59s0f{n}np{n}",
            bdf=f"0000:3b:00.{n}",
            mac=f"b8:3f:d2:00:00:0{n}",
            mtu=9000,
            bond="bond0",
            partner_mac=mac if n else partner,
            neighbour=None if leaf == deaf else Neighbour("44:38:39:00:00:01", "swp9", leaf),
        )
        for n, leaf in enumerate(("Leaf0-1", "Leaf0-2"))
    ]
    return Host(name, tuple(ports))


@pytest.mark.parametrize("partner", [None, "44:38:39:be:ef:02"])
def test_a_host_that_reports_no_other_leg_stops_it(six: Rack, partner: str | None) -> None:
    refused = work(six, "Leaf0-2", reports=[reported(partner)]).drain()
    assert sentences(refused)[0].startswith(
        "Leaf0-2 bond1: host-bond1 reports no other port with LACP partner 44:38:39:be:ef:01; "
    )
    assert six.writes() == []
    assert work(six, "Leaf0-2", reports=[reported("44:38:39:be:ef:01")]).drain().applied


@pytest.mark.parametrize("deaf", ["Leaf0-1", "Leaf0-2"])
def test_a_hosts_report_counts_while_lldpd_is_dead(deaf: str) -> None:
    """The intent says who is at the bond, and LACP how many legs it has."""

    def named(content: dict[str, Any]) -> None:
        content["racks"][0]["hosts"] = {"ports": "swp9-10", "names": ["node1", "node2"]}

    told = partial(reported, deaf=deaf, name="node1")
    with rack(fabric(change=named), applied=True) as made:
        made.wires.deaf = {deaf}
        refused = work(made, "Leaf0-2", reports=[told(None)]).drain()
        assert sentences(refused)[0].startswith("Leaf0-2 bond1: node1 reports no other port with LACP")
        assert made.writes() == []
        assert work(made, "Leaf0-2", reports=[told("44:38:39:be:ef:01")]).drain().applied
