# SPDX-License-Identifier: Apache-2.0
"""The order of hooks that a controller with Juju 4.0.15 ran, and the rules that simulations follow."""

from typing import Any

import pytest
import yaml
from lab.juju import uniter
from lab.rack.deployment import ROOT

RECORDED: dict[str, dict[str, list[str]]] = yaml.safe_load(
    (ROOT / "tests/lab/juju/hooks-4.0.15.yaml").read_text()
)
SIMULATED: dict[str, Any] = yaml.safe_load((ROOT / "tests/lab/juju/hooks.yaml").read_text())
MACHINES = 3
RAN = [(part, unit) for part, units in RECORDED.items() for unit in units]


@pytest.mark.parametrize(("part", "unit"), RAN)
def test_what_a_controller_ran_contradicts_no_rule(part: str, unit: str) -> None:
    assert [*uniter.contradictions(RECORDED[part][unit])] == []


@pytest.mark.parametrize("charm", SIMULATED["deployed"])
def test_neither_do_the_simulations(charm: str) -> None:
    assert [*uniter.contradictions(SIMULATED["deployed"][charm])] == []


@pytest.mark.parametrize("change", SIMULATED["changes"])
def test_nor_what_changes_in_them(change: str) -> None:
    for ran in SIMULATED["changes"][change].values():
        assert [*uniter.contradictions(ran)] == []


@pytest.mark.parametrize("charm", RECORDED["deployed"])
def test_a_new_unit_begins_as_the_simulations_have_it(charm: str) -> None:
    ran = RECORDED["deployed"][charm]
    created = [hook.partition("-relation-")[0] for hook in ran if hook.endswith("-created")]
    first = uniter.of_a_new_unit(created, leads=True)
    assert ran[: len(first)] == first


@pytest.mark.parametrize("charm", ["nic-firmware", "roce-qos", "sriov-switchdev"])
def test_a_subordinate_meets_the_principals_of_all_machines(charm: str) -> None:
    ran = RECORDED["deployed"][charm]
    assert [hook for hook in ran if hook in MEETS] == [*MEETS] * MACHINES


MEETS = tuple(f"juju-info-{hook}" for hook in uniter.MET)


@pytest.mark.parametrize("charm", ["nic-firmware", "sriov-switchdev"])
def test_what_the_application_has_written_is_told_before_its_units_are_met(charm: str) -> None:
    ran = [hook for hook in RECORDED["deployed"][charm] if hook.startswith("reboot-relation-")]
    met = [f"reboot-{hook}" for hook in uniter.MET]
    assert ran[1:] == [f"reboot-{uniter.TOLD}", *met * (MACHINES - 1)]


def test_joined_need_not_be_followed_directly_by_its_changed() -> None:
    ran = RECORDED["related"]["roce-qos/1"]
    assert ran[ran.index("juju-info-relation-joined") + 1] == "fabric-relation-changed"


def test_stop_and_remove_may_be_missing() -> None:
    ends = [ran[-2:] for ran in RECORDED["removed"].values()]
    assert ends.count(["stop", "remove"]) == 4
    assert not any("stop" in ran for ran in RECORDED["principal removed"].values())


@pytest.mark.parametrize(
    ("ran", "wrong"),
    [
        (["install", "start", "config-changed"], "start before config-changed"),
        (["install", "config-changed", "a-relation-joined"], "a-relation-joined before start"),
        (["remove", "stop"], "remove before stop"),
        (["stop", "a-relation-departed"], "a-relation-departed after the unit has stopped"),
        (["a-relation-broken", "a-relation-departed"], "a-relation-departed after relation-broken"),
        (["a-relation-changed", "a-relation-joined"], "a-relation-joined without its relation-changed"),
        (
            ["install", "config-changed", "start", "a-relation-departed"],
            "a-relation-departed of a unit that has not joined",
        ),
    ],
)
def test_what_no_juju_does(ran: list[str], wrong: str) -> None:
    assert wrong in [*uniter.contradictions(ran)]
