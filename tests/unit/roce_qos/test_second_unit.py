# SPDX-License-Identifier: Apache-2.0
"""A second unit of the charm on one machine: under another name, or with another principal."""

import pytest
from boot import bootfile
from lab.modelled import FakeHost
from unit.roce_qos.node import P0, Node

OTHERS = {"roce_priority": 5, "pfc_priorities": "5", "ets": "0:50 5:50"}


@pytest.fixture
def second(converged: Node, monkeypatch: pytest.MonkeyPatch) -> Node:
    """One of another application, after the first one has converged."""
    for unit in ("roce-qos-0", "roce-other-0"):
        converged.host.disk.install(f"/var/lib/juju/agents/unit-{unit}/agent.conf", b"", 0o600)
    return Node(converged.host, monkeypatch).deployed_as("roce-other")


def test_it_changes_nothing_and_names_the_first_one(second: Node, host: FakeHost) -> None:
    status = second.deploy(**OTHERS)
    assert status.name == "blocked"
    assert "roce-qos/0 keeps this machine already" in second.log
    assert second.writes == []
    assert host.port(P0).dcb.pfc == (3,)
    assert "remove the relation of the other to its principal" in second.findings()


def test_the_first_one_goes_on(second: Node, converged: Node) -> None:
    second.deploy(**OTHERS)
    assert converged.emit("update_status").name == "active"
    assert converged.writes == []


def test_its_removal_leaves_what_the_first_one_installed(second: Node, host: FakeHost) -> None:
    second.deploy(**OTHERS)
    second.emit("stop")
    assert second.writes == []
    assert host.disk.exists(bootfile.PATH)


def test_it_takes_over_once_the_first_one_is_gone(second: Node, converged: Node, host: FakeHost) -> None:
    second.deploy(**OTHERS)
    converged.emit("stop")
    assert second.emit("update_status").name == "active"
    assert host.port(P0).dcb.pfc == (5,)
