# SPDX-License-Identifier: Apache-2.0
"""The exporter and the fabric are told what differs on the host, whether or not it may be changed now."""

import errno

import pytest
import record
from config import Options
from converge import Disruption
from exporter import facts
from fabric import qos
from hostnic.ops import lldp
from lab.modelled import FakeHost
from survey import survey
from unit.roce_qos.node import P0, P1, PF0, PF1, Node, pfc

DROP_IN = f"/etc/systemd/network/10-netplan-{P0}.network.d"


def right(node: Node) -> dict[str, int]:
    """By port, how many of its declared properties the exporter shows as right."""
    found = facts.read(node.host, "roce-qos")
    return {port.bdf: port.actual["qos"] for port in found.ports} if found else {}


def none_of_them(node: Node) -> bool:
    return right(node) == {PF0: 0, PF1: 0}


# A host that is blocked.


def test_a_host_with_lldpad_is_not_as_declared(node: Node) -> None:
    node.host.disk.install("/run/lldpad.pid", b"812\n", 0o644)
    assert node.emit().name == "blocked"
    assert none_of_them(node)


def test_a_host_whose_firmware_has_dcbx_is_not_as_declared(node: Node) -> None:
    for name in (P0, P1):
        node.host.port(name).dcb.dcbx = 0x0C
    assert node.emit().name == "blocked"
    assert none_of_them(node)


def test_a_host_whose_boot_unit_is_at_work_is_not_as_declared(node: Node) -> None:
    record.write(node.host, running=True)
    node.emit("update_status")
    assert none_of_them(node)


def test_a_port_that_lost_data_centre_bridging_is_not_as_declared(converged: Node) -> None:
    converged.host.port(P1).dcb.no_ops = True
    converged.emit("update_status")
    assert right(converged) == {PF0: 1, PF1: 0}


def test_a_blocked_host_whose_ports_are_right_is_told_to_be_right(converged: Node) -> None:
    converged.host.disk.install("/run/lldpad.pid", b"812\n", 0o644)
    assert converged.emit("update_status").name == "blocked"
    assert right(converged) == {PF0: 1, PF1: 1}


# What is not data centre bridging.


@pytest.mark.parametrize(
    ("verb", "target", "option"),
    [
        ("write", "default_roce_tos", {"rdma_tos": 104}),
        ("write", "np_cnp_dscp", {"cnp_dscp": 47}),
        ("remove", DROP_IN, {"lldp": False}),
        ("run", "ovs-vsctl set", {"ovn_encap_tos": "46"}),
    ],
)
def test_what_cannot_be_set_is_not_as_declared(
    node: Node, verb: str, target: str, option: dict[str, object]
) -> None:
    node.host.rdma.cc = {(bdf, "np_cnp_dscp"): 48 for bdf in (PF0, PF1)}
    node.deploy()
    assert right(node) == {PF0: 1, PF1: 1}
    node.host.fail(verb, target, OSError(errno.EIO, "Input/output error"), times=None)
    node.configure(**option).emit()
    assert right(node)[PF0] == 0


# One part of the host that fails, and one that something sets back.


@pytest.mark.parametrize(
    ("verb", "target"), [("install", DROP_IN), ("write", "default_roce_tos"), ("run", "ovs-vsctl set")]
)
def test_a_part_that_cannot_be_set_keeps_no_port_from_being_lossless(
    node: Node, verb: str, target: str
) -> None:
    node.host.fail(verb, target, OSError(errno.ENOSPC, "No space left on device"), times=None)
    assert node.emit().name == "blocked"
    assert pfc(node.host) == [(3,), (3,)]
    assert "No space left on device" in node.log


def lose_tos(host: FakeHost) -> None:
    host.rdma.values.clear()


def lose_lldp(host: FakeHost) -> None:
    for path in lldp.installed(host):
        host.disk.remove(path)


@pytest.mark.parametrize("lose", [lose_tos, lose_lldp])
def test_what_something_sets_back_is_given_up_and_named(node: Node, lose) -> None:
    for _ in range(3):
        assert node.emit("update_status").name == "active"
        lose(node.host)
    status = node.emit("update_status")
    assert status.name == "blocked"
    assert "it was set 3 times in this boot, and something sets it back" in node.findings()
    node.emit("update_status")
    assert node.writes == []


def test_every_step_but_those_of_the_host_itself_names_its_part(node: Node) -> None:
    node.host.rdma.cc = {(bdf, "np_cnp_dscp"): 0 for bdf in (PF0, PF1)}
    steps = survey(node.host, Options(), None, "roce-qos").plan.steps
    assert {step.key for step in steps if not step.part} == {
        step.key for step in steps if step.key.startswith(("/usr/", "/etc/systemd/system/", "/etc/udev/"))
        or step.key.startswith(("/run/", "/etc/ovn-offload/", "ovn-offload"))
    }  # fmt: skip
    assert all(step.part == PF0[:-2] for step in steps if step.disruption is Disruption.LINK_FLAP)


# A priority in a class of others.


def test_a_priority_in_the_class_of_roce_is_shown_and_not_published_as_agreed(converged: Node) -> None:
    found = converged.host.port(P0).dcb
    found.ets = found.ets._replace(
        prio_tc=tuple(3 if p == 1 else tc for p, tc in enumerate(found.ets.prio_tc))
    )
    shown = converged.action("show-qos")["qos"]
    assert [line for line in shown.splitlines() if "priority 1 in class 3" in line and "differs" in line]
    seen = survey(converged.host, Options(), None, "roce-qos")
    port = seen.observed.port(PF0)
    assert port is not None
    assert qos(port, seen.wanted) is None
    assert [step.key for step in seen.plan.steps] == [f"{PF0}/ets"]
    assert qos(seen.observed.port(PF1) or port, seen.wanted) == seen.wanted.qos
