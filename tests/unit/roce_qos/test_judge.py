# SPDX-License-Identifier: Apache-2.0
"""One judgement: plan, verify, exporter and show-qos say the same of a host, whatever differs there."""

import json
from collections.abc import Callable

import pytest
from config import Options
from converge import Severity
from hostnic.ops.members import AwaitMember
from lab.modelled.tools import add_vlan
from survey import Survey, ports, survey
from unit.roce_qos.node import P0, P1, PF0, PF1, Node, compute_node
from unit.roce_qos.test_told import lose_lldp, lose_tos

OPTIONS = {"vlan_egress_map": "2:5 7:1", "cable_length": 5, "dcbx_takeover": True}
DRIVERS = ("mlx5_core", "i40e", "ixgbe")
"""One whose link stays up, one that flaps with each setting, and one that is not in the host's hands."""


def nothing(node: Node) -> None:
    """Everything is as it was set."""


def lose_shares(node: Node) -> None:
    found = node.host.port(P0).dcb
    found.ets = found.ets._replace(prio_tc=(0,) * 8)


def lose_map(node: Node) -> None:
    node.host.port(P0).dcb.apps.clear()


def lose_pfc(node: Node) -> None:
    node.host.port(P0).dcb.pfc = ()


def lose_cable(node: Node) -> None:
    node.host.port(P0).dcb.cable = 7


def get_pause(node: Node) -> None:
    node.host.port(P0).pause = True


def lose_control(node: Node) -> None:
    node.host.port(P0).dcb.dcbx = 0x0C


def lose_connections(node: Node) -> None:
    lose_tos(node.host)


def lose_lldp_of_networkd(node: Node) -> None:
    lose_lldp(node.host)


def lose_mark(node: Node) -> None:
    node.host.rdma.cc[PF0, "np_cnp_dscp"] = 0


def lose_egress_map(node: Node) -> None:
    add_vlan(node.host.disk, "storage", 2, "bond0")


def lose_tunnels(node: Node) -> None:
    node.host.ovs.external_ids.pop("ovn-encap-tos")


def lose_all_by_the_driver(node: Node) -> None:
    node.host.port(P0).dcb.power_on()


def lose_the_other_port(node: Node) -> None:
    node.host.network.unplugged.add(P1)
    lose_pfc(node)


def get_lldpad(node: Node) -> None:
    node.host.disk.install("/run/lldpad.pid", b"812\n", 0o644)
    node.host.answers["systemctl", "disable", "--now"] = ""


UNDONE = {
    lose_shares: {"ETS"},
    lose_map: {"DSCP map"},
    lose_pfc: {"PFC"},
    lose_cable: {"cable length"},
    get_pause: {"global pause"},
    lose_control: {"DCBX"},
    lose_connections: {"RDMA ToS"},
    lose_lldp_of_networkd: {"LLDP"},
    lose_mark: {"np_cnp_dscp"},
    lose_egress_map: {"VLAN 2"},
    lose_tunnels: {"ovn-encap-tos"},
}
STATES = (nothing, *UNDONE, lose_all_by_the_driver, lose_the_other_port, get_lldpad)


def seen(node: Node, **options: object) -> Survey:
    return survey(node.host, Options(**{"devices": "bond0", **OPTIONS, **options}), None, "roce-qos")  # pyright: ignore[reportArgumentType]


def wrong(found: Survey) -> list[tuple[str, str]]:
    """Name of the verdict and key of the step that mends it."""
    verdicts = (*found.judgement.host, *(each for port in found.judgement.ports for each in port.verdicts))
    return [(verdict.name, verdict.step.key) for verdict in verdicts if verdict.step]


def keys(found: Survey) -> set[str]:
    """Those of the steps that the plan has or holds, but not waits and what is on disk."""
    steps = (*found.plan.steps, *(item.step for item in found.plan.held))
    return {step.key for step in steps if step.part and not isinstance(step.op, AwaitMember)}


@pytest.fixture
def complete(node: Node) -> Node:
    """A node on which every property that the charm knows is there and as declared."""
    node.host.rdma.cc = {(bdf, "np_cnp_dscp"): 48 for bdf in (PF0, PF1)}
    assert node.deploy(**{"devices": "bond0", **OPTIONS}).name == "active", node.log
    assert wrong(seen(node)) == []
    return node


@pytest.mark.parametrize(("undo", "names"), UNDONE.items(), ids=[each.__name__ for each in UNDONE])
def test_what_is_undone_is_one_verdict_and_all_readers_follow_it(
    complete: Node, undo: Callable[[Node], None], names: set[str]
) -> None:
    undo(complete)
    found = seen(complete)
    assert {name for name, _ in wrong(found)} == names
    assert keys(found) == {key for _, key in wrong(found)}
    waiting = {item.subject for item in found.findings if item.severity is Severity.WAITING}
    assert waiting == {key for _, key in wrong(found)}
    assert {port.bdf: port.actual["qos"] for port in ports(found)}[PF0] == 0
    rows = json.loads(complete.action("show-qos", format="json")["qos"])
    differs = [row["setting"] for row in rows if row[""]]
    shown = names - {"VLAN 2", "ovn-encap-tos"}  # of no single port
    assert all(any(name in setting for setting in differs) for name in shown), differs
    assert bool(differs) == bool(shown)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("takeover", [True, False])
def test_each_step_has_its_verdict_and_each_difference_its_step_or_what_blocks_it(
    monkeypatch: pytest.MonkeyPatch, driver: str, state: Callable[[Node], None], takeover: bool
) -> None:
    node = Node(compute_node(driver), monkeypatch)
    for undo in (nothing, state):  # as MAAS leaves the host, and after the first hook
        if undo is not nothing:
            node.deploy(**{"devices": "bond0", **OPTIONS})
            undo(node)
        found = seen(node, dcbx_takeover=takeover)
        mends = {key for _, key in wrong(found)} - {"lldpad"}
        if found.plan.blocked:
            assert found.plan.empty
            assert any(item.severity is Severity.BLOCKED for item in found.findings)
        else:
            assert keys(found) == mends
        right = {port.bdf: bool(port.actual["qos"]) for port in ports(found)}
        assert all(right.values()) == (not mends)


@pytest.mark.parametrize("state", [*UNDONE, lose_all_by_the_driver, get_lldpad])
def test_what_the_next_hook_promises_is_gone_after_it(complete: Node, state: Callable[[Node], None]) -> None:
    state(complete)
    assert [item for item in seen(complete).findings if item.severity is Severity.WAITING]
    complete.emit("update_status")
    if state is get_lldpad:  # its process ends with the unit
        complete.host.disk.remove("/run/lldpad.pid")
    assert [item for item in seen(complete).findings if item.severity >= Severity.PLANNED] == []
