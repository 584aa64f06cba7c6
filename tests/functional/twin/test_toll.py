# SPDX-License-Identifier: Apache-2.0
"""Hosts of the twin lose what was said before, and no more: their carriers and their traffic are measured."""

from typing import Any

import pytest
from functional.twin.probes import Probes
from functional.twin.rack import INTENT, RDG, Rack

pytestmark = pytest.mark.thorough

HOSTS = {
    "compute0": (("Leaf0-1", "bond1"), ("Leaf0-2", "bond1")),
    "compute1": (("Leaf0-1", "bond2"), ("Leaf0-2", "bond2")),
    "compute2": (("Leaf1-1", "bond1"), ("Leaf1-2", "bond1")),
    "gateway": (("Leaf0-1", "bond_ext"), ("Leaf0-2", "bond_ext")),
}
"""The legs of the hosts with two, in the order of their ports: eth0 and eth1."""

FLOWS = [(host, f"192.168.25.{number}") for host, number in (("compute0", 12), ("compute1", 12))]
FLOWS += [("compute2", "192.168.25.10"), ("juju", "192.168.25.10"), ("maas", "192.168.25.11")]
"""juju and maas have one leg each, at Leaf0-1."""

Legs = dict[tuple[str, str], int]


def carriers(rack: Rack) -> Legs:
    """How often each leg has lost its link so far."""
    read = "cat /sys/class/net/eth0/carrier_down_count /sys/class/net/eth1/carrier_down_count"
    return {
        leg: int(count)
        for host, legs in HOSTS.items()
        for leg, count in zip(legs, rack.on(host, read).split(), strict=True)
    }


def gone(before: Legs, after: Legs) -> set[tuple[str, str]]:
    return {leg for leg, count in after.items() if count > before[leg]}


def said(shares: list[dict[str, str]], *kinds: str) -> set[tuple[str, str]]:
    return {(each["switch"], each["leg"]) for each in shares if each["loses"] in kinds}


def test_a_drain_takes_the_legs_that_it_names_and_no_traffic(rack: Rack) -> None:
    shares: list[dict[str, str]] = rack.operate("toll", "Leaf0-2")
    assert said(shares, "LEG") == {leg for legs in HOSTS.values() for leg in legs if leg[0] == "Leaf0-2"}
    assert said(shares, "LEG") == said(shares, "MOMENT", "LEG", "PAUSE", "LAST")
    before = carriers(rack)
    with Probes(rack, FLOWS) as probes:
        report = rack.operate("drain", "Leaf0-2")
        assert report["applied"], report
        named = [each["what"] for each in report["reasons"] if each["subject"] == "Leaf0-2"]
        assert any(what.startswith("these hosts lose a leg, and keep another one: ") for what in named)
    probes.check()
    assert gone(before, carriers(rack)) == said(shares, "LEG")


def test_an_apply_takes_no_leg_that_its_plan_does_not_name(rack: Rack) -> None:
    intent = RDG.read_text()
    assert "host: 9000" in intent
    rack.guest.write(INTENT, intent.replace("host: 9000", "host: 8900"))
    shares: list[dict[str, str]] = rack.operate("toll")
    assert said(shares, "MOMENT") >= {leg for legs in HOSTS.values() for leg in legs}
    assert said(shares, "LEG", "LAST") == set()
    before = carriers(rack)
    with Probes(rack, FLOWS) as probes:
        report: dict[str, Any] = rack.operate("apply")
        assert report["applied"], report
    assert gone(before, carriers(rack)) <= said(shares, "MOMENT")
    alone = {each["host"] for each in shares if each["loses"] == "PAUSE"}
    lost = {flow.name.partition(" to ")[0] for flow in probes.flows if flow.noticed}
    assert lost <= alone
