# SPDX-License-Identifier: Apache-2.0
"""A switch leaves for work on it: EVPN first, and the ports of its hosts last."""

from dataclasses import replace
from typing import Any

import pytest
from lab.nvue.factory import factory
from maintenance import Maintenance
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.drained import (
    BOTH,
    POLICY,
    Trace,
    graceful,
    patches,
    runs,
    sentences,
    shut,
    with_policy,
    without_graceful_shutdown,
    work,
)
from unit.cumulus_fabric.online.site import Rack
from unit.cumulus_fabric.online.unit import Unit


def test_evpn_leaves_first_and_the_hosts_last(six: Rack) -> None:
    with Trace(six, "Leaf0-2") as trace:
        report = work(six, "Leaf0-2").drain()
    assert (report.applied, report.failed) == (True, False)
    assert trace.steps == [(False, True), (False, False)]
    first, last = patches(six, "Leaf0-2")
    assert set(first) == {"router", "vrf"}
    assert (list(last), set(last["interface"])) == (["interface"], set(BOTH))
    assert (graceful(six, "Leaf0-2"), shut(six, "Leaf0-2")) == (True, set(BOTH))
    assert {write.split()[0] for write in six.writes()} == {"Leaf0-2"}


def test_the_ports_stay_up_as_long_as_another_leaf_sends_to_them(six: Rack) -> None:
    """The spines keep the routes: the first step is taken back, and the second is not made."""
    before = six.applied
    six.wires.members["Leaf0-2"].advertises = lambda: True
    report = work(six, "Leaf0-2").drain()
    assert not report.applied
    assert sentences(report)[0] == (
        "Leaf0-1 EVPN: still sends to Leaf0-2, which has withdrawn its EVPN routes; "
        "check the BGP sessions of Leaf0-2 and of the spines"
    )
    assert six.applied == before


@pytest.mark.parametrize("where", ["peer-group underlay", "neighbor swp31"])
def test_a_policy_for_evpn_that_somebody_else_has_set_stays(six: Rack, where: str) -> None:
    with_policy(six, where)
    before = six.applied
    assert work(six, "Leaf0-2").drain().applied
    assert (graceful(six, "Leaf0-2"), shut(six, "Leaf0-2")) == (True, set(BOTH))
    assert work(six, "Leaf0-2").undrain().applied
    assert six.applied == before


def test_a_leaf_that_advertises_nothing_is_drained_whoever_ended_its_graceful_shutdown(six: Rack) -> None:
    before = six.applied
    assert work(six, "Leaf0-2").drain().applied
    without_graceful_shutdown(six)
    said = "Leaf0-2: is drained; run undrain when the work on it is done"
    assert said in [f.sentence() for f in six.site.verify()]
    refused = work(six, "Leaf0-1", cut_off=["swp23", "swp24"]).drain()
    assert sentences(refused)[0].startswith("Leaf0-1 bond1: host-bond1 has no other leg")
    assert work(six, "Leaf0-2").undrain().applied
    assert six.applied == before


def test_a_drained_switch_stays_drained_and_is_reported(six: Rack) -> None:
    work(six, "Leaf0-2").drain()
    before = six.applied
    six.forget()
    said = "Leaf0-2: is drained; run undrain when the work on it is done"
    assert said in [f.sentence() for f in six.site.survey().plan.findings]
    assert said in [f.sentence() for f in six.site.verify()]
    assert six.site.apply(policy=POLICY).applied
    assert work(six, "Leaf0-2").drain().applied
    assert (six.applied, six.writes()) == (before, [])


def test_an_apply_changes_the_rest_of_a_drained_switch_and_keeps_new_ports_shut(six: Rack) -> None:
    work(six, "Leaf0-2").drain()

    def grown(content: dict[str, Any]) -> None:
        content["networks"]["storage"] = {"vlan": 50}
        content["racks"][0]["hosts"] = "swp9-11"

    changed = replace(six.site, fabric=fabric(change=grown))
    assert changed.apply(policy=POLICY).applied
    assert shut(six, "Leaf0-2") == {*BOTH, "swp11"}
    assert shut(six, "Leaf0-1") == set()
    assert "50" in six.applied["Leaf0-2"]["bridge"]["domain"]["br_default"]["vlan"]


@pytest.mark.parametrize("name", ["Leaf0-2", "Spine0"])
def test_a_switch_that_was_never_applied_is_not_drained_and_can_be_applied(six: Rack, name: str) -> None:
    """A replacement, for example, as it comes from the factory."""
    box = six.servers[name].switch
    runs(six, factory("cumulus", box.rules.new), name)
    before = six.applied
    report = work(six, name).drain()
    assert (report.verdict, sentences(report)) == (
        "nothing was sent to any switch",
        [
            f"{name}: has none of the intent's BGP sessions yet, so there is nothing to drain; "
            f"run apply switch='{name}' first"
        ],
    )
    assert (six.applied, six.writes()) == (before, [])
    assert six.site.apply([name], policy=POLICY).verdict == "fully applied: 1 switch changed"
    assert work(six, name).drain().applied


def test_a_leaf_is_drained_while_a_port_of_the_intent_is_not_applied_yet(six: Rack) -> None:
    """It is down until it is applied, and then it is shut like the others."""

    def grown(content: dict[str, Any]) -> None:
        content["racks"][0]["hosts"] = "swp9-11"

    changed = replace(six.site, fabric=fabric(change=grown))
    report = Maintenance(changed, "Leaf0-2", POLICY).drain()
    assert (report.applied, report.failed) == (True, False)
    assert shut(six, "Leaf0-2") == set(BOTH)
    assert changed.apply(policy=POLICY).applied
    assert shut(six, "Leaf0-2") == {*BOTH, "swp11"}
    assert Maintenance(changed, "Leaf0-2", POLICY).undrain().applied
    assert shut(six, "Leaf0-2") == set()


def test_a_spine_leaves_by_bgp_alone_and_the_last_one_stays(six: Rack) -> None:
    assert work(six, "Spine0").drain().verdict == "fully applied: 1 switch changed"
    assert graceful(six, "Spine0")
    assert len(patches(six, "Spine0")) == 1
    assert work(six, "Spine0").drain().verdict == "fully applied: 0 switches changed"
    assert work(six, "Spine0").undrain().verdict == "fully applied: 1 switch changed"
    assert work(six, "Spine0").drain().applied
    refused = work(six, "Spine1").drain()
    assert refused.verdict == "nothing was sent to any switch"
    assert sentences(refused)[0] == (
        "Leaf0-1: has no EVPN session with another spine, and would lose its last one with Spine1; "
        "bring a session with another spine up first; "
        "or run drain with cut-off=Leaf0-1 if it may lose its network"
    )
    assert len(refused.reasons) == 4


def test_the_actions(running: Unit) -> None:
    assert running.action("drain", switch="Leaf0-2")["result"] == "fully applied: 1 switch changed"
    assert running.emit().message.startswith("Leaf0-2: is drained")
    assert running.action("apply")["applied"] == "true"
    assert running.writes == []
    assert "bond1: node1 has no other leg" in running.failure("drain", switch="Leaf0-1")
    assert running.action("undrain", switch="Leaf0-2")["applied"] == "true"
    assert running.emit().message == ""
    assert running.failure("drain").startswith(
        "parameter switch: an empty value is not allowed; set the name"
    )
    assert "Leaf9-9 is not a switch of the intent" in running.failure("drain", switch="Leaf9-9")
    running.action("drain", switch="Leaf0-2")
    assert running.action("decommission", switch="Leaf0-2")["applied"] == "true"
    running.state = replace(running.state, leader=False)
    assert "run this action on the leader" in running.failure("drain", switch="Leaf0-1")
