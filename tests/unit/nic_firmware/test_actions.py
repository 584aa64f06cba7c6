# SPDX-License-Identifier: Apache-2.0
"""Actions: what they print, what they set, and what they refuse."""

import json
from typing import Any

import pytest
from charmkit.output import MOST
from hostnic import exclusive
from hostnic.firmware.mstdatabase import read
from hostnic.system import CommandError
from unit.nic_firmware.node import METADATA, PF0, PF1, Node

READING = ("plan", "verify", "list-devices", "list-firmware", "query", "backup")


@pytest.mark.parametrize("action", READING)
def test_reading_actions_write_nothing_before_and_after_convergence(node: Node, action: str) -> None:
    assert node.action(action)
    assert node.writes == []
    node.converge()
    assert node.action(action)
    assert node.writes == []


def test_list_devices_shows_every_port(node: Node) -> None:
    rows = json.loads(node.action("list-devices", format="json")["devices"])
    assert rows[0] == {
        "port": PF0, "netdev": "enp59s0f0np0", "device": "15b3:101d", "driver": "mlx5_core",
        "member of": "bond0", "vfs": "0", "offered": "0", "selected": "yes",
    }  # fmt: skip
    assert node.action("list-devices")["devices"].startswith("port")


def test_query_marks_differences(node: Node) -> None:
    node.emit()
    rows = json.loads(node.action("query", format="json", devices=PF0)["parameters"])
    found = {row["parameter"]: row for row in rows if row["port"] == PF0}
    assert found["NUM_VF_MSIX"] == {
        "port": PF0, "parameter": "NUM_VF_MSIX", "default": "11", "current": "11", "next boot": "63",
        "differs": "next boot",
    }  # fmt: skip
    assert found["NUM_PF_MSIX"]["differs"] == ""


def test_query_of_a_nic_that_does_not_answer_fails_in_one_sentence(node: Node) -> None:
    node.host.port(PF0).gone = True
    assert "matches no device on this host" in node.failure("query", devices=PF0)
    node.host.port(PF0).gone = False
    node.host.locked_down = True
    assert "the kernel is locked down" in node.failure("query")


def test_the_plan_names_what_is_set_and_what_waits(node: Node) -> None:
    plan = json.loads(node.action("plan", format="json")["plan"])
    (step,), (held,) = plan["steps"], plan["held"]
    assert step["what"] == f"set NUM_VF_MSIX=63 LAG_RESOURCE_ALLOCATION=1 SRIOV_EN=1 NUM_OF_VFS=8 on {PF0}"
    assert step["why"] == "the next boot has 11, DEVICE_DEFAULT(0), False(0), 4"
    assert held["what"] == "activate LAG_RESOURCE_ALLOCATION, NUM_OF_VFS, NUM_VF_MSIX, SRIOV_EN on 3b:00"
    assert held["disruption"] == "reboot"


def test_set_parameters_sets_once_and_wakes_the_unit(node: Node) -> None:
    node.emit()
    node.host.trace.clear()
    done = node.action("set-parameters", parameters="CNP_DSCP_P1=26 LLDP_NB_DCBX_P2=true", devices=PF1)
    assert done["done"] == f"set CNP_DSCP_P1=26 LLDP_NB_DCBX_P2=1 on {PF0}"
    assert node.next_boot("CNP_DSCP_P1") == 26
    assert node.writes[-1] == "run systemctl start --no-block ovn-offload-nic-firmware-dispatch.service"
    again = node.action("set-parameters", parameters="CNP_DSCP_P1=26")
    assert again["done"] == "nothing to do: the next boot already has these values"


def test_an_action_changes_nothing_while_another_program_changes_the_host(node: Node) -> None:
    node.emit()
    node.host.locks[exclusive.PATH] = 99
    said = node.failure("set-parameters", parameters="CNP_DSCP_P1=26")
    assert "another program of these charms has been changing this host for 60 s; nothing was changed" in said
    assert node.next_boot("CNP_DSCP_P1") != 26


def test_set_parameters_says_what_activates_the_values(node: Node) -> None:
    node.configure(profile="").emit()
    after = "active after the host's next restart, which is requested only for values that an option declares"
    done = node.action("set-parameters", parameters="CNP_DSCP_P1=26 ATS_ENABLED=1")
    assert done["then"] == f"ATS_ENABLED, CNP_DSCP_P1: {after}"
    saved = node.action("backup")["backup-0000-3b-00-0"]
    assert node.action("restore", device=PF0, backup=saved)["then"] == f"ATS_ENABLED, CNP_DSCP_P1: {after}"
    node.boot()
    again = node.action("set-parameters", parameters="CNP_DSCP_P1=26 ATS_ENABLED=1")
    assert again["then"] == "nothing: these values are active"


def test_set_parameters_names_the_power_cycle_that_the_tool_requires(node: Node) -> None:
    node.configure(profile="").emit()
    node.host.cards[0].stuck = True
    done = node.action("set-parameters", parameters="CNP_DSCP_P1=26")
    assert done["then"].startswith("CNP_DSCP_P1: power-cycle the machine, since a reboot is not enough")


def test_set_parameters_sets_a_gate_before_the_parameter_that_it_hides(node: Node) -> None:
    node.configure(profile="").emit()
    node.action("set-parameters", parameters="MAX_ACC_OUT_READ=44 ADVANCED_PCI_SETTINGS=1")
    assert node.next_boot("MAX_ACC_OUT_READ") == 44


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ("NUM_VF_MSIX=31", "NUM_VF_MSIX is set by profile ovn-offload, and would be set back"),
        ("NUM_OF_VFS=31", "NUM_OF_VFS is set by option num-vfs"),
        ("CNP_DSCP_P1=64", "'64' is not allowed"),
        ("CNP_DSCP_P3=6", "the firmware does not offer CNP_DSCP_P3"),
        ("MAX_ACC_OUT_READ=44", "also set ADVANCED_PCI_SETTINGS=1"),
        ("", "parameters"),
    ],
)
def test_set_parameters_refuses(node: Node, parameters: str, says: str) -> None:
    node.emit()
    assert says in node.failure("set-parameters", parameters=parameters)
    assert node.host.cards[0].settings["CNP_DSCP_P1"].next_boot == 48


def test_reset_needs_confirmation(node: Node) -> None:
    node.configure(profile="").emit()
    node.action("set-parameters", parameters="CNP_DSCP_P1=26")
    assert "run it again with confirm=true" in node.failure("reset-parameters", devices="enp59s0f0np0")
    assert node.next_boot("CNP_DSCP_P1") == 26
    assert node.action("reset-parameters", devices="bond0", confirm=True)["reset"] == "3b:00"
    assert node.next_boot("CNP_DSCP_P1") == 48


def test_a_backup_restores(node: Node) -> None:
    node.configure(profile="").emit()
    node.action("set-parameters", parameters="CNP_DSCP_P1=26 ATS_ENABLED=1")
    saved = node.action("backup")["backup-0000-3b-00-0"]
    assert "CNP_DSCP_P1=26\n" in saved
    assert "ATS_ENABLED=1\n" in saved
    node.action("reset-parameters", devices=PF0, confirm=True)
    node.action("restore", device=PF0, backup=saved)
    assert (node.next_boot("CNP_DSCP_P1"), node.next_boot("ATS_ENABLED")) == (26, 1)


@pytest.mark.parametrize(
    "text", ["", "# nothing", "NUM_OF_VFS", "NUM_OF_VFS: 8", "num=1", "A=", "=1", "A 1", "A=1 B=2", "{}"]
)
def test_a_malformed_backup_is_refused(node: Node, text: str) -> None:
    assert "backup:" in node.failure("restore", device=PF0, backup=text)


def test_a_backup_of_another_nic_is_refused_as_a_whole(node: Node) -> None:
    message = node.failure("restore", device=PF0, backup="NUM_VF_MSIX=31\nCNP_DSCP_P4=3\n")
    assert "the firmware does not offer CNP_DSCP_P4" in message
    assert node.next_boot("NUM_VF_MSIX") == 11


X86 = "EXP_ROM_UEFI_x86_ENABLE"


def test_a_name_with_small_letters_is_read_set_backed_up_and_restored(node: Node) -> None:
    node.configure(profile="").emit()
    node.action("set-parameters", parameters=f"{X86}=true")
    rows = json.loads(node.action("query", format="json", devices=PF0)["parameters"])
    assert [row["next boot"] for row in rows if row["parameter"] == X86] == ["True(1)", "True(1)"]
    saved = node.action("backup")["backup-0000-3b-00-0"]
    assert f"{X86}=1\n" in saved
    node.action("reset-parameters", devices=PF0, confirm=True)
    assert node.next_boot(X86) == 0
    node.action("restore", device=PF0, backup=saved)
    assert node.next_boot(X86) == 1


def test_a_name_with_small_letters_is_declared(node: Node) -> None:
    assert node.converge(parameters=f"{X86}=1").name == "active"
    assert node.host.cards[0].settings[X86].current == 1


def test_another_charm_requests_a_name_with_small_letters(node: Node) -> None:
    node.hand_over("roce-qos", parameters={PF0: {X86: True}})
    node.deploy()
    assert node.next_boot(X86) == 1


@pytest.mark.parametrize("name", ["EXP_ROM_UEFI_X86_ENABLE", "Exp_Rom_Uefi_x86_Enable"])
def test_a_name_in_other_letters_gets_the_right_spelling(node: Node, name: str) -> None:
    assert node.deploy(parameters=f"{name}=1").name == "blocked"
    assert f"mstflint's database has no {name}; similar names: {X86}" in node.findings()


def test_approve_reboot_where_none_is_needed(node: Node) -> None:
    node.converge()
    assert "no reboot is needed" in node.failure("approve-reboot")


NO_TOOL = (
    f"{PF0}: mstconfig is not installed; see juju debug-log for what apt-get said, or install it by hand"
)
BEFORE_ITS_OPTIONS = [
    ("list-devices", {}, PF0),
    ("list-firmware", {}, "22.35.2000"),
    ("query", {}, NO_TOOL),
    ("plan", {}, "mstconfig is not installed"),
    ("verify", {}, "mstconfig is not installed"),
    ("capture", {}, "ovn-offload-capture:"),
    ("set-parameters", {"parameters": "CNP_DSCP_P1=26"}, NO_TOOL),
    ("reset-parameters", {"devices": PF0, "confirm": True}, NO_TOOL),
    ("backup", {}, NO_TOOL),
    ("restore", {"device": PF0, "backup": "CNP_DSCP_P1=26"}, NO_TOOL),
    ("burn", {}, "there is no image: set firmware-url and firmware-sha256, or attach one"),
    ("approve-reboot", {}, "this unit has not run a hook since the host booted; try again in a minute"),
    ("cancel-reboots", {}, "none"),
    ("release-reboot-lock", {}, "no unit holds the reboot lock"),
]
"""Juju runs actions before config-changed, and the tools are installed in that hook."""


@pytest.mark.parametrize(("action", "given", "says"), BEFORE_ITS_OPTIONS)
def test_a_unit_that_has_only_been_installed_answers_or_says_why_not(
    node: Node, action: str, given: dict[str, Any], says: str
) -> None:
    node.host.answers[("mstconfig",)] = CommandError(["mstconfig"], "mstconfig is not installed")
    node.known = read("/nothing/here.db")
    assert says in node.installed().said(action, **given)
    assert node.host.trace == node.context.action_logs == []
    node.host.answers.clear()
    assert node.set_up().name in ("waiting", "blocked")
    assert node.next_boot("NUM_OF_VFS") == 8


def test_every_action_is_tried_on_a_unit_that_has_only_been_installed() -> None:
    assert {action for action, *_ in BEFORE_ITS_OPTIONS} == METADATA["actions"].keys()


def test_parameters_that_are_set_before_the_first_look_are_read_in_it(node: Node) -> None:
    done = node.installed().action("set-parameters", parameters="CNP_DSCP_P1=26")
    assert done["done"] == f"set CNP_DSCP_P1=26 on {PF0}"
    assert node.context.action_logs == [], "no service wakes it yet, and its next hook looks anyway"
    node.set_up()
    assert node.next_boot("CNP_DSCP_P1") == 26


def test_a_refusal_that_repeats_a_very_long_parameter_can_be_told_to_juju(node: Node) -> None:
    """It is an argument of action-fail, and Linux starts no program with one of more than 128 KiB."""
    said = node.failure("query", devices=" ".join(f"enp{number}s0" for number in range(20_000)))
    assert said.startswith("devices: matches no device on this host (enp0s0 enp1s0")
    assert said.endswith("…")
    assert len(said.encode()) <= MOST
