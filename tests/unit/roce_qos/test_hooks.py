# SPDX-License-Identifier: Apache-2.0
"""How often a unit looks at its host until it has started."""

from unit.hooks import changes_nothing_before_it_stops, observing, of_a_new_unit
from unit.roce_qos.node import P0, Node


def test_a_new_unit_looks_once_when_it_has_its_options_and_once_after_each_boot(node: Node) -> None:
    assert observing(node, of_a_new_unit(node.state)) == ["config_changed"]
    assert node.state.unit_status.name == "active"
    node.host.reboot()
    assert observing(node, [("start",)]) == ["start"]
    assert node.state.unit_status.name == "active"


def test_a_unit_that_is_removed_changes_its_host_when_it_stops(converged: Node) -> None:
    converged.relate(None)
    converged.emit()
    changes_nothing_before_it_stops(converged)


def test_nor_does_it_mend_what_somebody_has_changed_meanwhile(converged: Node) -> None:
    """fabric-relation-broken has no departing unit; the hooks before it have told that this one departs."""
    converged.relate(None)
    converged.emit()
    converged.host.port(P0).dcb.driver_restarts()
    changes_nothing_before_it_stops(converged)
