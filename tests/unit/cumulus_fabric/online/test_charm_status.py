# SPDX-License-Identifier: Apache-2.0
"""The unit's status and version, also after actions: Juju tells the charm of no grant of its secret."""

from dataclasses import replace

import ops
import pytest
from lab.nvue import Certificate
from ops import testing
from unit.cumulus_fabric.online.unit import Unit, intent, site

UNREADABLE = "run: juju grant-secret NAME cumulus-fabric; option credentials: the secret cannot be read"


def revoke(unit: Unit) -> None:
    unit.state = replace(unit.state, secrets=set())


def grant(unit: Unit) -> None:
    """``juju grant-secret``, after which no hook runs."""
    unit.state = replace(unit.state, secrets={unit.secret})


def spoil(unit: Unit, name: str = "Leaf0-1") -> None:
    """Somebody changes a switch by hand."""
    box = unit.rack.servers[name].switch
    box.applied["interface"]["bond1"]["link"]["mtu"] = 1500
    box.backend.apply(box.applied)


@pytest.mark.parametrize("action", ["plan", "verify", "apply"])
def test_the_status_is_true_after_the_first_action_that_follows_a_grant(running: Unit, action: str) -> None:
    revoke(running)
    assert running.emit() == testing.BlockedStatus(UNREADABLE)
    grant(running)
    running.action(action)
    assert running.state.unit_status == ops.ActiveStatus()


def test_the_status_is_true_at_the_next_update_status_after_a_grant(running: Unit) -> None:
    revoke(running)
    running.emit()
    grant(running)
    assert running.emit("update_status") == ops.ActiveStatus()


def test_the_status_after_an_apply_is_not_the_one_before(fresh: Unit) -> None:
    assert "settings differ from the intent: " in fresh.emit().message
    fresh.action("apply")
    assert fresh.state.unit_status == ops.ActiveStatus()


def test_the_status_after_a_rollback_says_what_differs_from_then_on(fresh: Unit) -> None:
    fresh.action("apply")
    fresh.roll_back(**{"cut-off": "Leaf0-1 Leaf0-2"})
    assert "settings differ from the intent: " in fresh.state.unit_status.message


@pytest.mark.parametrize("action", ["plan", "verify"])
def test_what_an_action_finds_is_in_the_status(running: Unit, action: str) -> None:
    assert running.emit() == ops.ActiveStatus()
    spoil(running)
    running.action(action)
    assert running.state.unit_status.name == "blocked"
    assert "Leaf0-1" in running.state.unit_status.message
    assert running.writes == []


@pytest.mark.parametrize("action", ["plan", "verify", "apply", "audit"])
def test_an_option_that_ends_an_action_is_the_status_from_then_on(running: Unit, action: str) -> None:
    running.emit()
    if action == "audit":  # asks no switch
        running.configure(intent="no: intent")
    else:
        revoke(running)
    said = running.failure(action)
    assert running.state.unit_status.name == "blocked"
    shown = running.state.unit_status.message.removesuffix(" (see verify)").rstrip("…")
    parts = said.split("; ")  # a command comes first in the status
    assert all(any(part.startswith(word) for part in parts) for word in shown.split("; "))


def test_a_wrong_parameter_is_not_the_units_status(running: Unit) -> None:
    running.emit()
    assert "Leaf7-7" in running.failure("apply", switch="Leaf7-7")
    assert running.state.unit_status == ops.ActiveStatus()


def test_only_the_leaders_status_speaks_of_the_switches(running: Unit) -> None:
    running.state = replace(running.state, leader=False)
    running.emit()
    spoil(running)
    running.action("verify")
    assert running.state.unit_status == ops.ActiveStatus()


def test_the_version_is_the_dialect_that_the_switches_speak(running: Unit, versions: list[str]) -> None:
    running.emit()
    running.emit("update_status")
    assert running.state.workload_version == "NVUE 5.14"
    assert versions == ["NVUE 5.14"]


def test_a_dialect_that_an_action_finds_is_told(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch, versions: list[str]
) -> None:
    with site(certificate, monkeypatch, release="5.15.0") as unit:
        unit.action("verify")
        unit.emit()
    assert versions == ["NVUE 5.15"]


def test_switches_of_two_dialects_are_both_named(fresh: Unit) -> None:
    fresh.rack.servers["Leaf0-1"].switch.release = "5.15.0"
    fresh.emit()
    assert fresh.state.workload_version == "NVUE 5.14, 5.15"


def test_without_an_answer_the_last_version_stays(running: Unit, versions: list[str]) -> None:
    running.emit()
    running.configure(intent=intent(lambda content: content.pop("spines")))
    running.emit()
    assert versions == ["NVUE 5.14"]
