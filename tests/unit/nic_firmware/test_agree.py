# SPDX-License-Identifier: Apache-2.0
"""``plan`` and ``verify`` agree on NICs that are left alone; remedies fit the settings that are there."""

import json
from collections.abc import Callable

import pytest
from actions import RESTART
from charmkit.output import NEXT_HOOK
from hostnic.firmware.mstdatabase import Database
from hostnic.system import failure
from unit.nic_firmware.node import PF0, Node, machine, nics
from verify import UNBLOCKED

AS_DECLARED = "everything is as declared"
OTHER = "0000:5e:00.0"


def lacking(node: Node) -> None:
    node.host.cards[0].lacks.add("ATS_ENABLED")
    node.configure(parameters="ATS_ENABLED=1")


def mute(node: Node) -> None:
    said = failure(["mstconfig"], 3, "-E- Failed to open the device\n", "")
    node.host.answers[("mstconfig", "-d", PF0)] = said


def contradicting(node: Node) -> None:
    node.configure(parameters="ADVANCED_PCI_SETTINGS=0 MAX_ACC_OUT_READ=44")


def unapplied(node: Node) -> None:
    node.host.cards[0].stuck = True


def losing(node: Node) -> None:
    node.configure(parameters="LINK_TYPE_P1=IB")


def rows(node: Node, action: str, severity: str) -> set[tuple[str, str, str]]:
    """Subject, fact and remedy of an action's findings."""
    said = json.loads(node.action(action, format="json")[{"plan": "plan", "verify": "findings"}[action]])
    found = said["findings"] if action == "plan" else said
    return {(row["subject"], row["what"], row["remedy"]) for row in found if row["severity"] == severity}


@pytest.mark.parametrize("trouble", [lacking, mute, contradicting, unapplied, losing])
def test_plan_and_verify_agree_on_a_blocked_nic(node: Node, trouble: Callable[[Node], None]) -> None:
    trouble(node)
    node.deploy()
    assert node.emit("update_status").name == "blocked"
    plan = node.action("plan")["plan"]
    assert AS_DECLARED not in plan
    assert rows(node, "plan", "blocked") == rows(node, "verify", "blocked") != set()
    assert rows(node, "plan", "waiting") == rows(node, "verify", "waiting")
    assert NEXT_HOOK not in node.findings(), "no hook does anything"
    assert "approve-reboot" not in node.findings(), "nothing would be approved"


@pytest.mark.parametrize("trouble", [lacking, mute])
def test_of_two_nics_the_good_one_is_planned_beside_what_blocks_the_other(
    database: Database, monkeypatch: pytest.MonkeyPatch, trouble: Callable[[Node], None]
) -> None:
    node = Node(machine(cards=nics("3b", "5e"), bonded=False), database, monkeypatch)
    trouble(node)
    plan = json.loads(node.action("plan", format="json")["plan"])
    assert {step["key"].rpartition(".")[0] for step in plan["steps"]} == {"0000:5e:00"}
    assert rows(node, "plan", "blocked") == rows(node, "verify", "blocked") != set()
    remedies = {subject: remedy for subject, _, remedy in rows(node, "verify", "waiting")}
    assert remedies[OTHER] == NEXT_HOOK
    assert remedies.get(PF0, UNBLOCKED) == UNBLOCKED
    node.deploy(reboot_policy="always", reboot_settle=0)
    assert node.boot().name == "blocked"
    assert AS_DECLARED not in node.action("plan")["plan"]


def test_values_that_are_set_on_a_blocked_nic_do_not_wait_for_an_approval(node: Node) -> None:
    node.deploy()
    lacking(node)
    node.emit()
    assert "set for the next boot, and not active yet" in node.findings()
    assert "approve-reboot" not in node.findings()
    assert "no reboot is needed" in node.failure("approve-reboot")


GATE = "also set ADVANCED_PCI_SETTINGS=1"


def test_a_gate_that_is_open_already_is_no_remedy(node: Node) -> None:
    node.host.cards[0].lacks.add("MAX_ACC_OUT_READ")
    node.deploy(profile="throughput")
    assert GATE not in node.findings()
    node.configure(profile="", parameters="MAX_ACC_OUT_READ=44").emit()
    assert "the firmware does not offer MAX_ACC_OUT_READ (option parameters)" in node.findings()
    assert GATE not in node.findings(), "it is set, whoever set it"


def test_a_gate_that_the_firmware_does_not_have_is_no_remedy(node: Node) -> None:
    for name in ("MAX_ACC_OUT_READ", "ADVANCED_PCI_SETTINGS"):
        node.host.cards[0].lacks.add(name)
    node.deploy(profile="", parameters="MAX_ACC_OUT_READ=44")
    assert GATE not in node.findings()


@pytest.mark.parametrize("mode", ["reboot", "reset"])
def test_the_power_cycle_of_mstconfig_4_33_is_tried_as_a_reboot(
    database: Database, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    node = Node(machine(bonded=mode == "reboot"), database, monkeypatch)
    node.host.cards[0].one_trigger, node.host.mstconfig_version = True, "4.33"
    node.deploy(activation=mode, reboot_policy="always", reboot_settle=0)
    assert "power-cycle" not in node.findings()
    assert node.reboots_asked == (1 if mode == "reboot" else 0)
    assert node.boot().name == "active"


def test_actions_do_not_repeat_the_power_cycle_of_mstconfig_4_33(node: Node) -> None:
    node.host.cards[0].one_trigger, node.host.mstconfig_version = True, "4.33"
    node.configure(profile="").emit()
    assert RESTART in node.action("set-parameters", parameters="CNP_DSCP_P1=26")["then"]
    assert "power-cycle" not in node.action("reset-parameters", devices=PF0, confirm=True)["then"]
    node.host.mstconfig_version = "4.31"
    node.host.cards[0].stuck = True
    assert "power-cycle" in node.action("reset-parameters", devices=PF0, confirm=True)["then"]


def test_firmware_that_even_a_reboot_does_not_help_leads_to_newer_firmware_too(node: Node) -> None:
    node.host.cards[0].stuck, node.host.mstconfig_version = True, "4.33"
    node.deploy(reboot_policy="always", reboot_settle=0)
    assert node.reboots_asked == 1
    assert node.boot().name == "blocked"
    assert "with newer firmware a reboot may be enough" in node.findings()
    node.emit("update_status")
    assert node.reboots_asked == 1
