# SPDX-License-Identifier: Apache-2.0
"""Actions print what the verbs say, for people and for programs, and write nothing."""

import errno
import json
from typing import Any

import pytest
from hostnic.system import CommandError
from lab.openstack import actions
from unit.roce_qos.node import METADATA, P0, P1, PF0, Node, compute_node

READING = ("plan", "verify", "show-qos", "show-counters")


@pytest.mark.parametrize("action", READING)
@pytest.mark.parametrize("output", ["table", "json"])
def test_reading_actions_write_nothing_before_and_after(node: Node, action: str, output: str) -> None:
    assert node.action(action, format=output)
    assert node.writes == []
    node.deploy()
    assert node.action(action, format=output)
    assert node.writes == []


def test_the_plan_of_a_new_node(node: Node) -> None:
    plan = json.loads(node.action("plan", format="json")["plan"])
    keys = [step["key"] for step in plan["steps"]]
    assert keys.index(f"{PF0}/ets") < keys.index(f"{PF0}/apps") < keys.index(f"{PF0}/pfc")
    assert keys[-2:] == ["ovn-encap-tos", "mlx5_bond_0/1/defaults"]
    assert plan["held"] == []


def test_verify_of_a_lossless_node(converged: Node) -> None:
    assert converged.action("verify") == {
        "verified": "true",
        "findings": "No finding: everything is as declared.",
    }


def settings(node: Node) -> dict[tuple[str, str], tuple[str, str]]:
    rows = json.loads(node.action("show-qos", format="json")["qos"])
    return {(row["port"], row["setting"]): (row["runs"], row["wanted"]) for row in rows}


def test_show_qos_before_and_after(node: Node) -> None:
    before = settings(node)
    assert before[P0, "ETS"] == ("the vendor's own", "0:50% 3:50% 6:strict")
    assert before[P0, "PFC"] == ("none", "3")
    assert before[P0, "trust"] == ("pcp", "dscp")
    assert before[P0, "global pause"] == ("on", "off")
    assert before[P0, "RDMA ToS (mlx5_bond_0)"] == ("never set", "106, RoCE v2")
    indexes = "1: fe80::ac0:ebff:fe00:1, 3: 192.0.2.17"
    assert before[P0, "GID index, RoCE v2 (mlx5_bond_0)"] == (indexes, indexes)
    assert "differs" in node.action("show-qos")["qos"]
    node.deploy()
    after = settings(node)
    assert after[P1, "RoCE DSCP 26"] == ("priority 3", "priority 3")
    assert after[P1, "DSCP map"][0] == "0-7:0 8-15:1 16-23:2 24-31:3 32-39:4 40-47:5 48-55:6 56-63:7"
    assert all(runs == wanted for runs, wanted in after.values())
    text = node.action("show-qos")["qos"]
    assert "differs" not in text
    assert text.splitlines()[0].split() == ["port", "setting", "runs", "wanted"]


def test_show_qos_of_a_driver_without_dscp(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node("qede"), monkeypatch)
    node.emit()
    found = settings(node)
    assert (P0, "trust") not in found
    assert found[P0, "DCBX"] == ("firmware ieee", "firmware ieee")


def test_show_qos_says_who_decides(node: Node) -> None:
    node.host.port(P0).dcb.dcbx = 0x0C
    assert settings(node)[P0, "DCBX"] == ("cee ieee", "host cee ieee")


def test_show_qos_where_nothing_is_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node(bonded=False), monkeypatch)
    assert node.action("show-qos")["qos"] == "No port is selected."
    assert node.action("show-counters")["counters"] == "No port is selected."


def counters(node: Node, **parameters: Any) -> dict[tuple[str, str], dict[str, str]]:
    rows = json.loads(node.action("show-counters", format="json", **parameters)["counters"])
    return {(row["port"], row["counter"]): row for row in rows}


def test_show_counters_once(converged: Node) -> None:
    converged.host.port(P0).dcb.sent[3] = 7
    converged.host.rdma.counters["np_cnp_sent"] = 12
    found = counters(converged)
    assert found[P0, "tx_prio3_pause"] == {"port": P0, "counter": "tx_prio3_pause", "value": "7"}
    assert found[P0, "tx_prio3_pause"].keys() == actions.COUNTER.keys()  # what the acceptance test reads
    assert found[P1, "rx_prio3_pause"]["value"] == "0"
    assert found["mlx5_bond_0", "np_cnp_sent"]["value"] == "12"


def test_show_counters_with_rates(converged: Node) -> None:
    sleep = converged.host.sleep

    def meanwhile(seconds: float) -> None:
        sleep(seconds)
        converged.host.port(P0).dcb.received[3] += 50
        converged.host.rdma.counters["out_of_sequence"] += 5

    converged.host.sleep = meanwhile
    found = counters(converged, seconds=10)
    assert found[P0, "rx_prio3_pause"]["per second"] == "5.0"
    assert found["mlx5_bond_0", "out_of_sequence"]["per second"] == "0.5"
    assert found[P0, "tx_prio3_pause"]["per second"] == "0.0"


def test_show_counters_of_a_driver_whose_pause_frames_only_dcbnl_tells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = Node(compute_node("bnxt_en"), monkeypatch)
    node.emit()
    node.host.port(P0).dcb.sent[3] = 7
    assert counters(node)[P0, "tx_prio3_pause"]["value"] == "7"


def test_without_open_vswitch_the_rest_is_done_and_it_is_said(node: Node) -> None:
    node.host.answers["ovs-vsctl",] = CommandError(["ovs-vsctl"], "ovs-vsctl is not installed")
    assert node.emit().name == "active"
    assert "ovn-encap-tos is unknown: ovs-vsctl is not installed" in node.findings()


def test_a_tos_that_is_not_lossless_is_a_warning(node: Node) -> None:
    status = node.configure(rdma_tos=0).emit()
    assert status.name == "active"
    assert "rdma-tos: 0 is DSCP 0, which has priority 0" in status.message
    assert node.configure(rdma_tos=96).emit().message == ""  # the older guides' tclass is in RoCE's class


def test_a_scheme_without_a_class_for_roce_is_a_warning(node: Node) -> None:
    assert "shares class 0" in node.configure(ets="0:100 6:strict").emit().message


def test_a_cable_length_that_connectx_computes_nothing_from_is_a_warning(node: Node) -> None:
    status = node.configure(cable_length=30).emit()
    assert status.name == "active"
    assert status.message.startswith("set cable-length=0, or set the buffers")
    assert node.host.port(P0).dcb.cable == 30
    assert "set cable-length=0, or set the buffers" in node.findings()


def test_a_lossy_network_is_said(node: Node) -> None:
    assert node.configure(pfc_priorities="none").emit().name == "active"
    assert "RoCE may lose packets" in node.findings()
    assert node.host.port(P0).pause


def test_a_port_that_cannot_be_read_is_a_warning(converged: Node) -> None:
    converged.host.fail("dcb", P1, OSError(errno.EIO, "Input/output error"), times=None)
    status = converged.emit("update_status")
    assert status.name == "active"
    assert "cannot be read: Input/output error" in status.message


BEFORE_ITS_OPTIONS = [
    ("plan", "install the boot"),
    ("verify", PF0),
    ("capture", "ovn-offload-capture:"),
    ("show-qos", "differs"),
    ("show-counters", "tx_prio3_pause"),
]
"""Juju runs actions before config-changed."""


@pytest.mark.parametrize(("action", "says"), BEFORE_ITS_OPTIONS)
def test_a_unit_that_has_only_been_installed_answers(node: Node, action: str, says: str) -> None:
    assert says in node.installed().said(action)
    assert node.host.trace == node.context.action_logs == []
    assert node.set_up().name == "active"


def test_every_action_is_tried_on_a_unit_that_has_only_been_installed() -> None:
    assert {action for action, _ in BEFORE_ITS_OPTIONS} == METADATA["actions"].keys()
