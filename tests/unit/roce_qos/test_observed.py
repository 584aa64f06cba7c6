# SPDX-License-Identifier: Apache-2.0
"""The unit's relations to the observability stack, and where the exporter serves."""

from dataclasses import replace

import pytest
from exporter import install
from hostnic.boot import units
from ops import testing
from unit.roce_qos.node import Node, compute_node, nic

AGENT = testing.Relation("cos-agent", remote_app_name="otelcol")
ENDPOINT = testing.Relation("metrics-endpoint", remote_app_name="prometheus")


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Node:
    node = Node(compute_node(), monkeypatch)
    assert node.deploy().name == "active"
    return node


def relate(node: Node, relation: testing.Relation) -> None:
    node.state = replace(node.state, relations={*node.state.relations, relation})
    node.emit("relation_created", relation)


def serves(node: Node) -> str:
    """The exporter's arguments."""
    text = node.host.disk.content[units.path(install.UNIT)].decode()
    return text.partition("exporter.pyz && exec")[2].partition("exporter.pyz")[2].partition(";")[0].strip()


def test_the_exporter_leaves_loopback_only_while_prometheus_scrapes_it(node: Node) -> None:
    assert serves(node) == ""
    relate(node, AGENT)
    assert serves(node) == ""
    relate(node, ENDPOINT)
    assert serves(node) == "192.0.2.0"
    assert node.host.trace[-1] == f"run systemctl restart {install.UNIT}"
    node.emit("update_status")
    assert node.writes == []
    node.emit("relation_broken", node.state.get_relation(ENDPOINT.id))
    assert serves(node) == ""


def test_relations_to_the_stack_change_no_nic(node: Node) -> None:
    for relation in AGENT, ENDPOINT:
        relate(node, relation)
        assert nic(node.writes) == []
        assert node.state.get_relation(relation.id).local_unit_data


def test_what_the_stack_answers_leads_to_no_look(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    relate(node, AGENT)
    monkeypatch.setattr(node.host.links, "all", lambda: pytest.fail("the host was looked at"))
    node.emit("relation_changed", node.state.get_relation(AGENT.id), remote_unit=0)
