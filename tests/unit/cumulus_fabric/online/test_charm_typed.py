# SPDX-License-Identifier: Apache-2.0
"""The charm with Onyx and Comware switches in its intent: what they get, and who configures them."""

import json
from typing import Any

import pytest
from unit.cumulus_fabric.online.unit import Unit, intent

COMMAND = (
    "apply it from the command line; run pipx run tox -e fabric -- "
    "apply --intent FILE --credentials FILE --known-hosts FILE --switch "
)


def with_both(content: dict[str, Any]) -> None:
    content["standalone"] = {
        "sn2410": {"platform": "onyx", "ports": "1/1-2", "management": "127.0.0.1"},
        "hpe5900": {"platform": "comware", "ports": "Ten-GigabitEthernet1/0/1"},
    }


@pytest.fixture
def typed(fresh: Unit) -> Unit:
    return fresh.configure(intent=intent(with_both))


def test_plan_names_them_with_the_command_and_promises_no_step_for_them(typed: Unit) -> None:
    plan = json.loads(typed.action("plan", format="json")["plan"])
    told = [(each["what"], each["remedy"]) for each in plan["findings"] if each["subject"] == "sn2410"]
    assert told == [("runs onyx, which only the command line configures", f"{COMMAND}sn2410")]
    assert [each["subject"] for each in plan["findings"]].count("hpe5900") == 1
    assert not [step for step in plan["steps"] if "sn2410" in step["key"] or "hpe5900" in step["key"]]


def test_the_digest_covers_what_apply_does_and_nothing_else(typed: Unit) -> None:
    """The charm sends these switches nothing, so that their commands are no part of its plan."""
    digests = set()
    for change in (with_both, None):
        typed.configure(intent=intent(change))
        plan = json.loads(typed.action("plan", format="json")["plan"])
        digests |= {each["what"] for each in plan["findings"] if each["subject"] == "digest"}
    assert len(digests) == 1
    assert typed.action("apply", plan=digests.pop())["applied"] == "true"


def test_apply_configures_the_others_and_says_what_is_left(typed: Unit) -> None:
    results = typed.action("apply")
    assert results["result"] == "fully applied: 3 switches changed"
    for name in ("sn2410", "hpe5900"):
        assert f"{COMMAND}{name}" in results["reasons"]
    assert typed.action("apply", switch="Leaf0-1")["reasons"] == ""


def test_they_neither_change_the_status_nor_drift(typed: Unit) -> None:
    typed.action("apply")
    assert typed.emit().name == "active"
    found = json.loads(typed.action("verify", format="json")["findings"])
    assert {each["severity"] for each in found} <= {"info"}


@pytest.mark.parametrize("action", ["apply", "rollback", "drain", "undrain", "decommission"])
@pytest.mark.parametrize("names", ["sn2410", "hpe5900", "Leaf0-1 sn2410"])
def test_an_action_that_would_change_one_is_refused_before_anything_is_sent(
    typed: Unit, action: str, names: str
) -> None:
    failure = typed.failure(action, switch=names)
    if " " not in names or action in ("apply", "rollback"):
        name = names.split()[-1]
        platform = {"sn2410": "onyx", "hpe5900": "comware"}[name]
        said = f"{name} runs {platform}, which only the command line configures; {COMMAND}{name}"
        assert failure == f"parameter switch: {said}"
    assert typed.writes == []
    assert all(not server.calls for server in typed.rack.servers.values())


def test_render_shows_their_commands(typed: Unit) -> None:
    assert "dcb priority-flow-control enable force" in typed.action("render", switch="sn2410")["rendered"]
    assert "priority-flow-control auto" in typed.action("render", switch="hpe5900")["rendered"]
