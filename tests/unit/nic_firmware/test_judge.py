# SPDX-License-Identifier: Apache-2.0
"""One judgement: plan, verify, exporter and list-devices say the same of each declared parameter."""

import json
from collections.abc import Callable

import images
import pytest
from charmkit.output import NEXT_HOOK
from config import Options
from exporter import facts
from hostnic.firmware.mstdatabase import Database
from hostnic.system import failure
from lab.modelled import card
from unit.nic_firmware.images import NEW, offer
from unit.nic_firmware.node import PF0, PF1, Node, machine, rdg
from unit.nic_firmware.test_infiniband import HCA0, HCA1, vpi
from verify import UNBLOCKED

DECLARED = "everything is as declared"
MUTE = failure(["mstconfig"], 3, "-E- Failed to open the device\n", "")


def told(node: Node) -> dict[str, tuple[int, int]]:
    """By port, the parameters that the exporter says are declared, and those that are so."""
    said = facts.read(node.host, "nic-firmware")
    assert said is not None
    name = "firmware_parameters"
    return {port.bdf: (port.declared.get(name, 0), port.actual.get(name, 0)) for port in said.ports}


def test_no_reboot_is_asked_for_to_get_fewer_vfs_than_there_are(node: Node) -> None:
    node.converge(num_vfs=8)
    for port in node.host.cards[0].ports:  # somebody's backup was restored: both numbers suffice
        port.firmware.num_of_vfs = port.total_vfs = 16
        port.firmware.next_num_of_vfs = 8
    asked = node.reboots_asked
    assert node.emit("update_status").name == "active"
    assert node.reboots_asked == asked
    assert "NUM_OF_VFS" not in node.findings()
    assert DECLARED in node.action("plan")["plan"]
    declared, right = told(node)[PF0]
    assert declared == right


def test_a_nic_that_is_right_without_a_parameter_is_as_declared_for_the_alerts_too(node: Node) -> None:
    for name in ("LAG_RESOURCE_ALLOCATION", "LINK_TYPE_P1", "LINK_TYPE_P2"):  # an Ethernet-only NIC
        node.host.cards[0].lacks.add(name)
    assert node.converge().name == "active"
    assert told(node) == {PF0: (7, 7)}  # the second port has no parameter of its own


def test_the_alerts_are_told_of_a_port_that_does_not_answer(node: Node) -> None:
    node.converge()
    declared, right = told(node)[PF0]
    assert declared == right > 0
    node.host.answers["mstconfig", "-d", PF0] = MUTE
    assert node.emit("update_status").name == "blocked"
    assert told(node)[PF0] == (declared, 0)


def test_under_lockdown_parameters_that_nobody_can_read_are_not_counted(node: Node) -> None:
    node.converge()
    node.host.locked_down = True
    node.emit("update_status")
    assert told(node) == {}


def waiting(node: Node, bdf: str = PF0) -> dict[str, str]:
    """Return the values that wait on a port, and their remedies."""
    rows = json.loads(node.action("verify", format="json")["findings"])
    own = (row for row in rows if row["subject"] == bdf and row["severity"] == "waiting")
    return {row["what"].partition(" ")[0]: row["remedy"] for row in own}


def test_the_next_hook_converts_the_second_port_too(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is set through the port itself, and its step has the port's address."""
    node = Node(machine(cards=[card(), vpi(1, lid=0)], bonded=False), database, monkeypatch)
    rdg(node.host)
    node.host.port("0000:5c:00.1").link = "1: DOWN"
    node.configure(reboot_policy="always")
    plan = json.loads(node.action("plan", format="json")["plan"])
    assert "0000:5c:00.1/ethernet" in {step["key"] for step in plan["steps"]}
    assert waiting(node, HCA0)["LINK_TYPE_P2"] == NEXT_HOOK


def test_no_hook_is_promised_for_a_nic_that_is_left_alone_because_a_register_is_set(node: Node) -> None:
    node.host.cards[0].lacks.add("ATS_ENABLED")
    node.configure(profile="gpudirect,ovn-offload", parameters="ATS_ENABLED=1")
    plan = json.loads(node.action("plan", format="json")["plan"])
    assert f"{PF0}/mrrs" in {step["key"] for step in plan["steps"]}
    remedies = waiting(node)
    assert remedies["NUM_OF_VFS"] == UNBLOCKED
    assert remedies["MRRS"] == NEXT_HOOK


def test_verify_tells_of_an_image_that_the_next_hook_burns(node: Node) -> None:
    node.converge()
    offer(node, firmware_policy="auto")
    given = {name.replace("-", "_"): value for name, value in node.state.config.items()}
    images.fetch(node.host, Options(**given), None)  # pyright: ignore[reportArgumentType]
    assert f"to do: burn firmware {NEW} into 3b:00" in node.findings()
    assert node.action("verify")["verified"] == "false"
    node.emit("update_status")
    assert "to do" not in node.findings()


def test_verify_tells_of_a_file_that_the_next_hook_installs(node: Node) -> None:
    node.converge(profile="ovn-offload,gpudirect")
    path = "/etc/systemd/system/ovn-offload-gpudirect.service"
    node.host.disk.remove(path)
    assert f"to do: install {path}" in node.findings()
    assert node.emit("update_status").name == "active"
    assert "to do" not in node.findings()


def selected(node: Node) -> set[str]:
    """The ports that list-devices says are selected."""
    rows = json.loads(node.action("list-devices", format="json")["devices"])
    return {row["port"] for row in rows if row["selected"] == "yes"}


def test_list_devices_selects_what_the_hook_selects(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(machine(cards=[card(), vpi(0, lid=0)], bonded=False), database, monkeypatch)
    node.host.port(HCA0).link = "1: DOWN"
    node.configure(reboot_policy="manual").emit()
    assert "nobody has decided" in node.findings()
    assert selected(node) == {PF0, PF1, HCA1}
    node.configure(reboot_policy="always")
    assert selected(node) == {PF0, PF1, HCA0, HCA1}


def test_list_devices_selects_no_nic_that_mstflint_does_not_know(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(machine(cards=[card(), card("5c")], bonded=False), database, monkeypatch)
    for bdf in (HCA0, HCA1):
        said = failure(["mstconfig"], 3, "-E- Unsupported device\n", "")
        node.host.answers["mstconfig", "-d", bdf] = said
    node.emit()
    assert "auto leaves this NIC alone" in node.findings()
    assert selected(node) == {PF0, PF1}


def test_what_another_charm_requests_wrongly_stops_nothing(node: Node) -> None:
    wrong = {PF0: {"CNP_DSCP_P1": "x"}}
    node.hand_over("roce-qos", parameters=wrong)
    node.converge()
    assert node.next_boot("NUM_OF_VFS") == 8
    node.hand_over("roce-qos", parameters=wrong)  # /run is empty after the reboot
    assert "correct it in the options of roce-qos" in node.findings()
    assert node.emit("update_status").name == "active"


def test_restore_leaves_out_what_the_next_hook_would_set_back(node: Node) -> None:
    node.converge()
    done = node.action("restore", device=PF0, backup="NUM_VF_MSIX=31\nSRIOV_EN=True\nCNP_DSCP_P1=26")
    assert done["left-out"] == "NUM_VF_MSIX=31: profile ovn-offload sets 63"
    assert node.next_boot("CNP_DSCP_P1") == 26
    assert node.next_boot("NUM_VF_MSIX") == 63
    said = node.failure("restore", device=PF0, backup="NUM_VF_MSIX=31")
    assert "NUM_VF_MSIX is set by profile ovn-offload, and would be set back; change it there" in said


def test_a_nic_one_of_whose_ports_loses_infiniband_at_the_next_boot_is_left_alone(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a BlueField that leaves NIC mode: the reboot that would activate the steps must not come."""
    node = Node(machine(cards=[card(), vpi(0)], bonded=False), database, monkeypatch)
    node.host.cards[1].settings["LINK_TYPE_P1"].next_boot = 2
    node.configure(reboot_policy="always")
    plan = json.loads(node.action("plan", format="json")["plan"])
    assert {step["key"].rpartition(".")[0] for step in plan["steps"]} == {"0000:3b:00"}
    assert "takes InfiniBand from this port" in node.findings()
    assert waiting(node)["NUM_OF_VFS"] == NEXT_HOOK
    assert set(waiting(node, HCA1).values()) == {UNBLOCKED}


def lose_vfs(node: Node) -> None:
    for port in node.host.cards[0].ports:
        port.firmware.next_num_of_vfs = 4


def lose_vectors(node: Node) -> None:
    node.host.cards[0].settings["NUM_VF_MSIX"].next_boot = 11


def want_what_is_hidden(node: Node) -> None:
    node.configure(profile="ovn-offload,throughput")


def want_registers(node: Node) -> None:
    node.configure(profile="ovn-offload,gpudirect")


def promised(node: Node) -> set[tuple[str, str]]:
    """Return the next hook's work, as ``verify`` tells it."""
    rows = json.loads(node.action("verify", format="json")["findings"])
    return {(row["subject"], row["what"]) for row in rows if row["remedy"] == NEXT_HOOK}


@pytest.mark.parametrize("state", [lose_vfs, lose_vectors, want_what_is_hidden, want_registers])
def test_each_step_is_promised_and_what_the_next_hook_promises_is_gone_after_it(
    node: Node, state: Callable[[Node], None]
) -> None:
    node.converge()
    state(node)
    keys = {step["key"] for step in json.loads(node.action("plan", format="json")["plan"])["steps"]}
    assert keys
    told_of = {subject for subject, _ in promised(node)}  # a port, or a step that is about none
    assert {key if key in told_of else key.rpartition("/")[0] for key in keys} == told_of
    node.configure(reboot_policy="manual").emit("update_status")
    assert promised(node) == set()
