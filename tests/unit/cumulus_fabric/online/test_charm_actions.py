# SPDX-License-Identifier: Apache-2.0
"""Actions: what they print, what they write, and where they refuse."""

import json
from typing import Any

import ops
import pytest
import yaml
from bench.fabric import intent as large
from charmkit.output import MOST
from lab.nvue import Issue
from unit.cumulus_fabric.online.unit import METADATA, Unit, intent

READING = ("plan", "verify", "audit", "render", "show-fabric", "show-health")


def with_storage(content: dict[str, Any]) -> None:
    content["networks"]["storage"] = {"vlan": 50}


@pytest.mark.parametrize("action", READING)
def test_reading_actions_write_nothing(fresh: Unit, action: str) -> None:
    assert fresh.action(action)
    assert fresh.writes == []


def test_the_plan_names_each_switch_and_area(fresh: Unit) -> None:
    plan = json.loads(fresh.action("plan", format="json")["plan"])
    keys = [step["key"] for step in plan["steps"]]
    assert [key for key in keys if key.startswith("Leaf0-1")] == [
        f"Leaf0-1/{area}" for area in ("system", "interfaces", "VLANs", "EVPN", "BGP", "RoCE")
    ]
    assert {step["disruption"] for step in plan["steps"]} == {"none"}
    (interfaces,) = [step for step in plan["steps"] if step["key"] == "Leaf0-1/interfaces"]
    assert interfaces["what"] == "Leaf0-1: interfaces: set bond1-2, swp9-10, swp31, lo"


def test_the_plan_of_a_change_names_what_it_unsets(running: Unit) -> None:
    def another(content: dict[str, Any]) -> None:
        with_storage(content)
        del content["networks"]["provider"]
        content["roce"]["mode"] = "lossy"

    running.emit()  # takes over what the command line has made
    running.configure(intent=intent(another))
    rows = {row["key"]: row for row in json.loads(running.action("plan", format="json")["plan"])["steps"]}
    told = "set bridge domain br_default vlan 50 vni 50; unset bridge domain br_default vlan 101"
    assert sorted(rows["Leaf0-1/VLANs"]["what"].removeprefix("Leaf0-1: VLANs: ").split("; ")) == told.split(
        "; "
    )
    assert rows["Leaf0-1/VLANs"]["why"] == "VLAN 50 not set; VLAN 101 not in the intent"
    assert rows["Leaf0-1/VLANs"]["disruption"] == "host-network-cut"
    assert rows["Spine0/RoCE"]["why"] == "qos roce mode is lossless, not lossy"
    assert "Leaf0-1/BGP" not in rows


def test_apply_verify_rollback(fresh: Unit) -> None:
    before = fresh.rack.applied
    results = fresh.action("apply")
    assert results["result"] == "fully applied: 3 switches changed"
    assert results["switches"].splitlines() == ["Leaf0-1: applied", "Leaf0-2: applied", "Spine0: applied"]
    assert fresh.context.action_logs == ["applying on Spine0", "applying on Leaf0-1, Leaf0-2"]
    assert fresh.action("verify")["verified"] == "true"
    assert "would lose its last one with Spine0" in fresh.failure("rollback", plan=fresh.digest("rollback"))
    assert fresh.roll_back(**{"cut-off": "Leaf0-1 Leaf0-2"})["switches"].splitlines()[0] == "Leaf0-1: applied"
    assert fresh.rack.applied == before


def test_an_apply_whose_progress_nobody_takes_does_not_end_halfway(
    fresh: Unit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody has removed the unit by force: switches that were written to would wait for the others."""

    def refuse(*_: object) -> None:
        raise ops.ModelError("ERROR permission denied")

    monkeypatch.setattr(ops.ActionEvent, "log", refuse)
    assert fresh.action("apply")["result"] == "fully applied: 3 switches changed"


def test_rollback_goes_back_one_change(running: Unit) -> None:
    before = running.rack.applied
    running.configure(intent=intent(with_storage)).action("apply")
    assert running.rack.applied != before
    running.roll_back()
    assert running.rack.applied == before


def test_rollback_shows_its_plan_and_asks_for_the_digest(running: Unit) -> None:
    running.configure(intent=intent(with_storage)).action("apply", switch="Leaf0-2")
    before = running.rack.applied
    shown = running.action("rollback", switch="Leaf0-2")
    assert (shown["applied"], running.writes, running.rack.applied) == ("false", [], before)
    assert "Leaf0-2: VLANs: unset bridge domain br_default vlan 50" in shown["plan"]
    assert "Leaf0-2: would leave the fabric" not in shown["plan"]
    said = running.failure("rollback", switch="Leaf0-2", plan="p0123456789abcdef")
    assert "is not the plan with the digest p0123456789abcdef" in said
    assert running.writes == []
    assert running.roll_back(switch="Leaf0-2")["applied"] == "true"


def test_a_digest_of_an_apply_is_none_of_a_rollback(running: Unit) -> None:
    running.configure(intent=intent(with_storage)).action("apply")
    running.configure(intent=intent())
    digest = json.loads(running.action("plan", format="json")["plan"])["findings"][-1]["what"]
    assert "is not the plan with the digest" in running.failure("rollback", plan=digest)


def test_one_switch_alone(running: Unit) -> None:
    running.configure(intent=intent(with_storage))
    running.action("apply", switch="Leaf0-2")
    assert {write.split()[0] for write in running.writes} == {"Leaf0-2"}
    for action in ("apply", "render"):
        said = running.failure(action, switch="Leaf9-1")
        assert said.startswith("parameter switch: Leaf9-1 is not a switch of the intent; the intent has")


def test_a_failing_apply_fails_the_action_and_reports_the_rollback(fresh: Unit) -> None:
    before = fresh.rack.applied
    fresh.rack.wires.refuse["Leaf0-1"] = Issue("systemctl", "frr.service failed")
    fresh.configure(canary="Leaf0-1")
    said = fresh.failure("apply")
    assert said.startswith("fully rolled back: every switch runs what it ran before: Leaf0-1: apply_fail")
    assert fresh.rack.applied == before


def test_rollback_is_refused_under_the_auto_policy(running: Unit) -> None:
    assert "set it to manual" in running.configure(apply_policy="auto").failure("rollback")


def test_audit_asks_no_switch(running: Unit) -> None:
    assert running.action("audit")["sound"] == "true"
    assert all(not server.calls for server in running.rack.servers.values())


def test_render_asks_the_switch_for_its_dialect_unless_told(running: Unit) -> None:
    text = running.action("render", switch="Leaf0-1")["rendered"]
    assert "nv set qos roce" in text
    assert running.rack.servers["Leaf0-1"].calls
    assert not running.rack.servers["Leaf0-2"].calls
    running.rack.forget()
    tree = json.loads(running.action("render", switch="Leaf0-1", format="json", dialect="5.15")["rendered"])
    assert tree["qos"]["roce"]["state"] == "enabled"
    assert not running.rack.servers["Leaf0-1"].calls


@pytest.mark.parametrize(("number", "on"), [(5.14, ("enable", "on")), (5.15, ("state", "enabled"))])
def test_a_dialect_that_yaml_has_read_as_a_number_is_taken(
    running: Unit, number: float, on: tuple[str, str]
) -> None:
    tree = json.loads(running.action("render", switch="Leaf0-1", format="json", dialect=number)["rendered"])
    assert tree["qos"]["roce"][on[0]] == on[1]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (5.1, "set auto, 5.14 or 5.15; YAML reads 5.10 as 5.1, so run juju run with --string-args"),
        (5.13, "set auto, 5.14 or 5.15"),
        (float("inf"), "set auto, 5.14 or 5.15"),
    ],
)
def test_a_number_that_may_have_lost_a_zero_is_refused_with_the_remedy(
    running: Unit, number: float, said: str
) -> None:
    failure = running.failure("render", switch="Leaf0-1", dialect=number)
    assert failure == f"parameter dialect: {number} is not allowed; {said}"


def test_the_configuration_of_48_switches_is_more_than_juju_takes(running: Unit) -> None:
    running.configure(intent=large(spines=4, leaves=44, hosts=352))
    failure = running.failure("render", dialect="5.14")
    assert failure.startswith("the result rendered has 18")
    assert failure.endswith("Juju takes 100000; name fewer switches, or see all with pipx run tox -e fabric")
    assert len(running.action("render", switch="Leaf0-1 Leaf0-2", dialect="5.14")["rendered"]) < 20_000
    assert "Leaf21-2" in running.action("show-fabric")["fabric"]


def test_render_of_all(running: Unit) -> None:
    every = json.loads(running.action("render", format="json", dialect="5.14")["rendered"])
    assert list(every) == ["Spine0", "Leaf0-1", "Leaf0-2"]
    assert running.action("render", dialect="5.14")["rendered"].count("# Leaf0-") == 2
    files = yaml.safe_load_all(running.action("render", format="yaml", dialect="5.14")["rendered"])
    assert [len(each) for each in files] == [1, 1, 1]
    one = running.action("render", format="yaml", dialect="5.14", switch="Spine0")["rendered"]
    assert yaml.safe_load(one)[0]["set"]["router"]["bgp"]["enable"] == "on"


def test_show_fabric(running: Unit) -> None:
    assert "Leaf0-1" in running.action("show-fabric")["fabric"]
    assert all(not server.calls for server in running.rack.servers.values())
    assert running.action("show-fabric", format="svg")["fabric"].startswith("<svg")
    running.rack.wires.cut.add(("Leaf0-1", "swp31"))
    assert "(blocked)" in running.action("show-fabric", health=True)["fabric"]
    assert "Leaf0-1  swp31" in running.action("show-fabric", format="cables")["fabric"]


WRONG = [
    ("apply", {"switch": "../x"}, "switch"),
    ("rollback", {"switch": "Leaf0-1;reboot"}, "switch"),
    ("render", {"switch": "Leaf 0/1"}, "switch"),
]


@pytest.mark.parametrize(("action", "parameters", "said"), WRONG)
def test_actions_refuse_wrong_parameters(
    running: Unit, action: str, parameters: dict[str, Any], said: str
) -> None:
    assert running.failure(action, **parameters).startswith(f"parameter {said}")
    assert running.writes == []


NO_INTENT = (
    "option intent: is not set, and no resource is attached; run: juju config cumulus-fabric intent=@FILE"
)
NO_CREDENTIALS = (
    "option credentials: is not set; "
    "run: juju config cumulus-fabric credentials=ID; ID is that of a secret with user and password"
)
ASKS_NO_SWITCH = {
    "audit": "severity",
    "show-fabric": "Fabric rdg",
    "show-health": "none since the machine booted",
    "list-backups": "No configuration is kept yet",
}
NAMES_A_SWITCH = ("drain", "undrain", "decommission")
IMAGE = "http://192.0.2.1/cumulus-linux-5.15.0-mlx-amd64.bin"
NEEDED = {"compare-backups": {"backup": "1"}, "upgrade": {"image": IMAGE}}
"""Parameters without which an action says first that they are missing."""

SAYS_FIRST = {"compare-backups": "no configuration with the number 1 is kept"}
"""Failures of actions that find something else before they need the credentials."""


@pytest.mark.parametrize("action", METADATA["actions"])
def test_a_unit_that_has_only_been_installed_names_what_is_not_set(fresh: Unit, action: str) -> None:
    """Juju runs actions before config-changed."""
    given = {"switch": "Leaf0-1"} if action in NAMES_A_SWITCH else NEEDED.get(action, {})
    fresh.emit("install")
    fresh.configure(credentials=None)
    if action in ASKS_NO_SWITCH:
        assert ASKS_NO_SWITCH[action] in "".join(map(str, fresh.action(action, **given).values()))
    else:
        assert fresh.failure(action, **given).startswith(SAYS_FIRST.get(action, NO_CREDENTIALS))
    fresh.configure(intent=None)
    if action != "show-health":
        assert fresh.failure(action, **given) == NO_INTENT
    assert fresh.writes == []


def test_render_that_cannot_ask_a_switch_says_how_to_ask_none(fresh: Unit) -> None:
    """As before the secret with the switches' password is there, or while a switch does not answer."""
    none = "; with dialect=5.14 or dialect=5.15 render asks no switch"
    fresh.configure(credentials=None)
    assert fresh.failure("render", switch="Leaf0-1") == f"{NO_CREDENTIALS}{none}"
    assert "rendered" in fresh.action("render", switch="Leaf0-1", dialect="5.14")


def test_what_is_applied_before_config_changed_is_whole(fresh: Unit) -> None:
    fresh.emit("install")
    assert fresh.action("apply")["result"] == "fully applied: 3 switches changed"
    assert fresh.emit().name == "active"
    assert fresh.writes == []


def test_a_failed_apply_whose_reasons_are_more_than_juju_takes_still_says_why(running: Unit) -> None:
    """A reason is one line, of which no part can be left out as of a table."""
    objects = " ".join(f"swp{number}" for number in range(20_000))
    said = running.failure("apply", remove=objects)
    assert said.startswith("nothing was sent to any switch: remove: none of these switches has swp0, swp1")
    assert said.endswith("…")
    assert len(said.encode()) <= MOST
    assert max(len(text.encode()) for text in (running.context.action_results or {}).values()) <= MOST
    assert running.writes == []
