# SPDX-License-Identifier: Apache-2.0
"""The action capture: replayed, it shows what the host's own actions show; it has no secret of the host."""

import json
import re
from collections.abc import Callable, Mapping

import capture
import pytest
from charmkit.fabric import Mtu, Policy
from hostnic.capture.file import read
from lab.modelled import FakeHost
from unit.canaries import IPV4, MAC, Canaries, leaks
from unit.roce_qos.node import PF0, Node, compute_node
from unit.roce_qos.test_switchdev import switch

POLICY = Policy(None, Mtu(9000, 9216), {"rack0": MAC}).to_json()
ADDRESS = "(?:[0-9a-f]{2}:){5}[0-9a-f]{2}"


def fresh(node: Node) -> None:
    """As MAAS leaves it."""


def converged(node: Node) -> None:
    node.deploy()


def drifted(node: Node) -> None:
    node.deploy()
    node.host.port(PF0).dcb.power_on()
    node.host.disk.install("/etc/systemd/system/ovn-offload-roce-qos.service", b"Environment=A=b\n", 0o644)


def switched(node: Node) -> None:
    switch(node.host, "switchdev")
    node.host.rdma.cc[PF0, "np_cnp_dscp"] = 0


def with_a_fabric(node: Node) -> None:
    node.relate(POLICY)
    node.deploy()


def without_ovs(node: Node) -> None:
    node.host.fail("query", "ovs-vsctl", OSError(2, "not installed"), times=None)


STATES = [fresh, converged, drifted, switched, with_a_fabric, without_ovs]


@pytest.mark.parametrize("state", STATES)
def test_a_replay_shows_what_the_host_shows(node: Node, state: Callable[[Node], None]) -> None:
    state(node)
    expected = {
        "show-qos": node.action("show-qos")["qos"],
        "plan": node.action("plan")["plan"],
        "verify": node.findings(),
    }
    taken = node.action("capture")["capture"]
    assert node.writes == []
    found = read(taken)
    shown = capture.show(found.system, found.inputs).tables
    assert without_addresses(shown) == without_addresses(expected)


def without_addresses(tables: Mapping[str, str]) -> dict[str, str]:
    """The tables without the addresses that a capture replaces, and without the width of their columns."""
    hidden = {action: re.sub(ADDRESS, "MAC", text) for action, text in tables.items()}
    hidden = {action: re.sub(r"\b(\d): [0-9a-f:.]+", r"\1: GID", text) for action, text in hidden.items()}
    return {action: re.sub(" +", " ", text) for action, text in hidden.items()}


@pytest.fixture
def host(request: pytest.FixtureRequest) -> FakeHost:
    """A host that can hand out secrets."""
    return compute_node(kind=Canaries) if "secret" in request.node.name else compute_node()


@pytest.mark.parametrize("state", [fresh, converged, drifted, switched, with_a_fabric])
def test_no_secret_is_in_a_capture(node: Node, state: Callable[[Node], None]) -> None:
    state(node)
    places, found = leaks(node.host, lambda: node.action("capture")["capture"])
    assert found == {}
    assert len(places) >= 10, places


def test_addresses_that_the_fabric_told_are_not_in_it_either(node: Node) -> None:
    policy = json.loads(POLICY)
    policy["vlans"] = [{"id": 25, "name": "storage", "subnets": [f"{IPV4.rpartition('.')[0]}.0/24"]}]
    node.relate(json.dumps(policy))
    found = read(node.action("capture")["capture"])
    told = json.loads(found.inputs["policy"])
    assert IPV4.rpartition(".")[0] not in found.inputs["policy"]
    assert MAC not in found.inputs["policy"]
    assert told["vlans"][0]["subnets"][0].endswith(".0/24")
