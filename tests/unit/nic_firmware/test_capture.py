# SPDX-License-Identifier: Apache-2.0
"""The action capture: replayed, it shows what the host's own actions show; it has no secret of the host."""

from collections.abc import Callable

import capture
import pytest
from hostnic import handover
from hostnic.capture.file import read
from hostnic.firmware.mstdatabase import Database
from hostnic.handover import Handover
from lab.modelled import FakeHost
from unit.canaries import WORD, Canaries, leaks
from unit.nic_firmware.node import PF0, PF1, Node, machine


def fresh(node: Node) -> None:
    """As it comes."""


def set_and_waiting(node: Node) -> None:
    node.deploy()


def every_profile(node: Node) -> None:
    node.configure(profile="ovn-offload,gpudirect,throughput", parameters="CNP_DSCP_P1=26 CNP_DSCP_P2=64")


def requested(node: Node) -> None:
    node.host.disk.directories.add("/var/lib/juju/agents/unit-roce-qos-0")
    asked = {PF0: {"CNP_DSCP_P1": 40}, PF1: {"CNP_DSCP_P2": 40}}
    handover.publish(node.host, Handover("roce-qos", "roce-qos/0", "nic-firmware", parameters=asked))


def locked_down(node: Node) -> None:
    node.host.locked_down = True


STATES = [fresh, set_and_waiting, every_profile, requested, locked_down]


@pytest.mark.parametrize("state", STATES)
def test_a_replay_shows_what_the_host_shows(node: Node, state: Callable[[Node], None]) -> None:
    state(node)
    expected = {
        "list-devices": node.action("list-devices")["devices"],
        "plan": node.action("plan")["plan"],
        "verify": node.action("verify")["findings"],
    }
    taken = node.action("capture")["capture"]
    assert node.writes == []
    found = read(taken)
    assert capture.show(found.system, found.inputs).tables == expected


@pytest.fixture
def node(request: pytest.FixtureRequest, database: Database, monkeypatch: pytest.MonkeyPatch) -> Node:
    """A unit of the charm, on a host that can hand out secrets."""
    kind = Canaries if "secret" in request.node.name else FakeHost
    return Node(machine(kind=kind), database, monkeypatch)


@pytest.mark.parametrize("state", STATES)
def test_no_secret_is_in_a_capture(node: Node, state: Callable[[Node], None]) -> None:
    state(node)
    url = f"https://files.customer.example/{WORD}/firmware.zip"
    node.configure(firmware_url=url, firmware_sha256="0" * 64)
    places, found = leaks(node.host, lambda: node.action("capture")["capture"])
    assert found == {}
    assert len(places) >= 10, places
