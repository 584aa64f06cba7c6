# SPDX-License-Identifier: Apache-2.0
"""An apply of named switches, whatever runs on the others: blank, of an older intent, or not reachable."""

from copy import deepcopy
from itertools import permutations
from typing import Any

import online
import pytest
from apply import ApplyPolicy
from lab.nvue.factory import HOSTNAME, factory
from online import Site
from output.report import BROKEN
from rest.connection import Access, Credentials
from rest.fleet import Fleet
from unit.cumulus_fabric.fabrics import SIX, fabric
from unit.cumulus_fabric.online.site import InTurn, Rack, rack
from unit.cumulus_fabric.online.small import SMALL, small

POLICY = ApplyPolicy(confirm=120, settle=30.0, deadline=60.0, poll=1.0)
ORDERS = list(permutations(["Spine0", "Leaf0-1", "Leaf0-2"]))


def blank(made: Rack, *names: str) -> None:
    """Let these switches run only what they came with."""
    for name in names:
        box = made.servers[name].switch
        tree = factory(HOSTNAME, new=False)
        box.revisions[box.applied_id].tree = tree
        made.wires.members[name].apply(tree)


def healthy(made: Rack) -> bool:
    return [each for each in made.site.verify() if each.severity > 0] == []


@pytest.mark.parametrize("order", ORDERS, ids="-then-".join)
def test_a_blank_fabric_is_applied_one_switch_at_a_time_in_any_order(order: tuple[str, ...]) -> None:
    with rack(SMALL, fleet=InTurn) as made:
        for name in order:
            report = made.site.apply([name], policy=POLICY)
            assert report.verdict == "fully applied: 1 switch changed", report.reasons
        assert made.clock.monotonic() < POLICY.settle  # nothing was waited for in vain
        assert healthy(made)


@pytest.mark.parametrize("order", [SIX, SIX[::-1], [*SIX[::2], *SIX[1::2]]], ids="-".join)
def test_the_guides_six_switches_one_at_a_time(order: list[str]) -> None:
    with rack(fabric()) as made:
        for name in order:
            assert made.site.apply([name], policy=POLICY).applied
        assert healthy(made)


@pytest.mark.parametrize("named", [["Spine0"], ["Spine0", "Leaf0-1", "Leaf0-2"], ["Leaf1-1"], ["Leaf1-2"]])
def test_switches_are_applied_beside_a_blank_new_rack(named: list[str]) -> None:
    """The intent has a second rack, whose leaves are blank but for those that are named."""

    def grown(content: dict[str, Any]) -> None:
        small(content)
        content["spines"]["downlinks"] = "swp13-16"
        content["racks"].append({"hosts": "swp9"})

    with rack(fabric(change=grown)) as made:
        old = fabric(change=small)
        assert Site(old, made.site.fleet).apply(policy=POLICY).applied
        before = made.clock.monotonic()
        report = made.site.apply(named, policy=POLICY)
        assert report.applied, report.reasons
        assert made.clock.monotonic() - before < POLICY.settle
        others = [name for name in ("Leaf1-1", "Leaf1-2") if name not in named]
        assert all("router" not in made.applied[name] for name in others)


def test_a_peer_outside_the_run_that_cannot_be_read_does_not_stop_it() -> None:
    with rack(SMALL) as made:
        made.servers["Spine0"].password = "another"
        report = made.site.apply(["Leaf0-1"], policy=POLICY)
        assert report.applied, report.reasons
        assert made.servers["Spine0"].calls == []


def test_a_peer_outside_the_run_without_a_management_address_does_not_stop_it() -> None:
    with rack(SMALL) as made:
        reachable = {name: each for name, each in made.site.fleet.switches.items() if name != "Spine0"}
        report = Site(SMALL, Fleet(reachable, clock=made.clock)).apply(["Leaf0-1"], policy=POLICY)
        assert report.applied, report.reasons
        assert made.servers["Spine0"].calls == []


def test_a_switch_without_a_management_address_has_no_client() -> None:
    addressed = fabric(change=lambda content: content["leaves"].update(management="192.0.2.11"))
    assert set(online.fleet(addressed, Access(Credentials("cumulus", "secret")), 1).switches) == set(SIX[:4])


def test_a_session_that_a_ready_peer_waits_for_must_come_up() -> None:
    """The spine runs the intent: only the named leaf can be the reason."""
    with rack(SMALL, applied=True) as made:
        blank(made, "Leaf0-1")
        before = deepcopy(made.applied)
        member = made.wires.members["Leaf0-1"]
        member.speaker = lambda interface: (None, False)
        report = made.site.apply(["Leaf0-1"], policy=POLICY)
        assert not report.applied
        broken = {each.what for each in report.reasons if each.severity in BROKEN}
        assert broken == {"the BGP session with Spine0 is not established"}
        assert made.applied == before


def test_peers_of_a_segment_must_meet_where_both_reach_a_spine() -> None:
    with rack(SMALL, applied=True) as made:
        blank(made, "Leaf0-1")
        before = deepcopy(made.applied)
        member = made.wires.members["Leaf0-1"]
        member.segments = lambda: {"bond1": "03:44:38:39:be:ef:01:00:00:07"} if member.vtep() else {}
        report = made.site.apply(["Leaf0-1"], policy=POLICY)
        assert not report.applied
        assert any("Ethernet segment" in each.what for each in report.reasons)
        assert made.applied == before


@pytest.mark.parametrize("named", [["Leaf0-1"], []], ids=["named", "canary"])
def test_a_session_that_was_up_must_stay_up_even_if_the_peer_is_still_to_be_changed(named: list[str]) -> None:
    """The spine lacks settings of the intent, but it had a session with this leaf."""

    def with_another_network(content: dict[str, Any]) -> None:
        small(content)
        content["networks"]["storage"] = {"vlan": 50}
        content["spines"]["asn"] = {"all": 65200}

    with rack(SMALL, applied=True, fleet=InTurn) as made:
        before = deepcopy(made.applied)
        member = made.wires.members["Leaf0-1"]
        speaks = member.speaker
        member.speaker = lambda interface: (
            (None, False) if "50" in str(member.tree["bridge"]) else speaks(interface)
        )
        site = Site(fabric(change=with_another_network), made.site.fleet)
        report = site.apply(named, canary="" if named else "Leaf0-1", policy=POLICY)
        assert not report.applied
        assert "the BGP session with Spine0 is not established" in {each.what for each in report.reasons}
        assert set(report.results) == {"Leaf0-1"}
        assert made.applied == before


def test_plan_and_apply_of_named_switches_change_only_these() -> None:
    with rack(SMALL) as made:
        assert made.site.apply(["Leaf0-1"], policy=POLICY).applied
        assert {line.split()[0] for line in made.writes()} == {"Leaf0-1"}
        made.forget()
        made.site.survey(["Leaf0-1"])
        assert made.servers["Spine0"].calls == []
