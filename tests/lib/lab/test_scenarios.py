# SPDX-License-Identifier: Apache-2.0
"""What a scenario does with a rack that is not as it should be."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from lab.checks import Check
from lab.rack import openstack, scenarios


def rack(said: list[str], failure: str | None) -> Any:
    """One whose switches take the action `apply`, or say why they do not."""
    unit = SimpleNamespace(
        name="cumulus-fabric/0", app=SimpleNamespace(meta={"actions": {"apply": {}}}), started=True
    )
    return SimpleNamespace(
        controller=SimpleNamespace(
            units={unit.name: unit},
            action=lambda names, action, patience: [
                SimpleNamespace(failure=failure, results={"applied": "true"})
            ],
            down=[],
        ),
        display=SimpleNamespace(phase=said.append, elapsed=0.0),
        floor=SimpleNamespace(work=lambda done, patience: done()),
        settle=lambda patience: said.append("waits until all units settle") or True,
        nodes={},
    )


@pytest.mark.parametrize(
    ("failure", "does"),
    [
        ("Leaf1-1: confirm: timed out", ["switches"]),
        (None, ["switches", "nodes", "waits until all units settle"]),
    ],
)
def test_nodes_are_not_waited_for_when_their_switches_are_not_configured(
    monkeypatch: pytest.MonkeyPatch, failure: str | None, does: list[str]
) -> None:
    said: list[str] = []
    monkeypatch.setattr(scenarios, "deploy", lambda rack: None)
    monkeypatch.setattr(scenarios, "verify", lambda rack: [])
    found = scenarios.converge(rack(said, failure))
    assert said == does
    assert (found[0].subject, found[0].holds) == ("cumulus-fabric/0 apply", failure is None)
    assert failure is None or found[0].found == failure


def part(name: str, holds: bool, done: list[str]) -> Any:
    """A part of scenario openstack."""

    def check(person: object) -> list[Check]:
        done.append(name)
        return [Check("OpenStack", name, "yes", "", holds)]

    return check


@pytest.mark.parametrize("applies", [True, False])
def test_servers_that_are_not_there_are_not_measured_and_what_is_there_is_deleted(
    monkeypatch: pytest.MonkeyPatch, applies: bool
) -> None:
    done: list[str] = []
    monkeypatch.setattr(openstack, "started", lambda rack: nullcontext((None, [])))
    monkeypatch.setattr(openstack, "operator", lambda rack, cloud: nullcontext())
    for name in ("applied", "plugged", "reached", "measured", "spoiled", "virtual", "destroyed", "verify"):
        holds = applies or name != "applied"
        monkeypatch.setattr(openstack, name, part(name, holds, done))
    found = openstack.openstack(None)  # type: ignore[arg-type]
    whole = ["plugged", "reached", "measured", "spoiled", "virtual"] if applies else []
    assert done == ["applied", *whole, "destroyed", "verify"]
    assert all(check.holds for check in found) == applies
