# SPDX-License-Identifier: Apache-2.0
"""From Juju's events to the verbs and back: events in, calls and status out."""

from typing import Any

import pytest
from converge import Finding, Severity
from lib.reconciled import Charm, charm, context, state
from ops import testing

__all__ = ["charm", "context"]


@pytest.mark.parametrize(
    "event", ["start", "config_changed", "update_status", "upgrade_charm", "leader_elected"]
)
def test_every_lifecycle_event_reconciles_once(
    context: testing.Context[Charm], charm: type[Charm], event: str
):
    out = context.run(getattr(context.on, event)(), state())

    assert charm.calls == ["converge 8"]
    assert out.unit_status == testing.ActiveStatus()


@pytest.mark.parametrize(
    ("endpoint", "event", "calls"),
    [
        ("fabric", "relation_created", ["converge 8"]),
        ("fabric", "relation_changed", ["converge 8"]),
        ("reboot", "relation_changed", ["converge 8"]),
        ("reboot", "relation_created", []),
        ("juju-info", "relation_created", []),
        ("juju-info", "relation_changed", []),
    ],
)
def test_so_does_every_relation_that_may_tell_something(
    context: testing.Context[Charm], charm: type[Charm], endpoint: str, event: str, calls: list[str]
):
    before = state()
    remote = {"remote_unit": 1} if event == "relation_changed" else {}

    context.run(getattr(context.on, event)(before.get_relations(endpoint)[0], **remote), before)

    assert charm.calls == calls


@pytest.mark.parametrize(("endpoint", "calls"), [("fabric", ["converge 8"]), ("juju-info", [])])
def test_a_unit_whose_principal_goes_does_nothing_more(
    context: testing.Context[Charm], charm: type[Charm], endpoint: str, calls: list[str]
):
    before = state()

    context.run(context.on.relation_broken(before.get_relations(endpoint)[0]), before)

    assert charm.calls == calls


@pytest.mark.parametrize(("departing", "calls"), [(1, ["converge 8"]), (3, [])])
def test_a_unit_that_departs_itself_does_nothing_more(
    context: testing.Context[Charm], charm: type[Charm], departing: int, calls: list[str]
):
    peers = testing.PeerRelation("reboot", peers_data={1: {}})
    before = testing.State(config={"site": "earth"}, relations=[peers])

    context.run(context.on.relation_departed(peers, remote_unit=1, departing_unit=departing), before)

    assert charm.calls == calls


@pytest.mark.parametrize(("departing", "calls"), [(1, ["converge 8"] * 2), (3, [])])
def test_nor_does_it_in_the_hooks_that_follow(
    context: testing.Context[Charm], charm: type[Charm], departing: int, calls: list[str]
):
    """A relation that somebody removes departs unit by unit, too: then this unit has to look without it.

    ops' model names only units of the other application, so that one has this one's name here.
    """
    fabric = testing.Relation("fabric", remote_app_name="nic", remote_units_data={1: {}})
    before = testing.State(config={"site": "earth"}, relations=[fabric])

    left = context.run(context.on.relation_departed(fabric, remote_unit=1, departing_unit=departing), before)
    context.run(context.on.relation_broken(left.get_relation(fabric.id)), left)

    assert charm.calls == calls


def test_the_stop_hook_takes_away_and_says_what_stays(context: testing.Context[Charm], charm: type[Charm]):
    out = context.run(context.on.stop(), state())

    assert charm.calls == ["stop"]
    assert out.unit_status == testing.MaintenanceStatus("removed; what it set stays")


def test_findings_become_the_status_and_a_line_of_the_log_each(
    context: testing.Context[Charm], charm: type[Charm]
):
    charm.findings = (
        Finding(Severity.INFO, "bond0", "is fine"),
        Finding(Severity.BLOCKED, "bond0", "has three members", "remove one"),
    )

    out = context.run(context.on.update_status(), state())

    assert out.unit_status == testing.BlockedStatus("bond0: has three members; remove one")
    logged = [line.message for line in context.juju_log if line.level == "WARNING"]
    assert logged == ["blocked: bond0: has three members; remove one"]


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"num-vfs": 0}, "option num-vfs: 0 is not allowed; set a whole number from 1 to 127"),
        ({"vf-lag": "maybe"}, "option vf-lag: 'maybe' is not allowed; set auto or required"),
        ({"site": "mars"}, "options: no site is on mars"),
    ],
)
def test_a_wrong_option_blocks_with_one_sentence_and_nothing_runs(
    context: testing.Context[Charm], charm: type[Charm], config: dict[str, Any], sentence: str
):
    out = context.run(context.on.config_changed(), state(**config))

    assert charm.calls == []
    assert out.unit_status == testing.BlockedStatus(sentence)
    assert not [line for line in context.juju_log if "Traceback" in line.message or line.level == "ERROR"]


def test_an_option_without_a_default_must_be_set(context: testing.Context[Charm], charm: type[Charm]):
    out = context.run(context.on.config_changed(), testing.State())

    assert charm.calls == []
    assert out.unit_status == testing.BlockedStatus("option site: is not set; it has no default")
