# SPDX-License-Identifier: Apache-2.0
"""A read that fails becomes a finding, never a traceback."""

import pytest
from unit.failing_reads import EVENTS, escaping, unmentioned
from unit.sriov_switchdev.node import Node


@pytest.mark.parametrize("converged", [True, False])
@EVENTS
def test_no_read_of_a_hook_ends_in_a_traceback(node: Node, event: str, converged: bool) -> None:
    if converged:
        node.converge()
    escaped, calls = escaping(node, lambda: node.emit(event))
    assert escaped == []
    assert calls >= (10 if converged else 2)


@pytest.mark.parametrize("action", ["plan", "verify"])
def test_no_read_of_an_action_ends_in_a_traceback(node: Node, action: str) -> None:
    node.converge()
    escaped, calls = escaping(node, lambda: node.action(action))
    assert escaped == []
    assert calls >= 10


def test_a_basic_read_that_fails_is_in_the_log(node: Node) -> None:
    node.converge()

    def hook() -> str:
        node.emit("update_status")
        return node.log

    assert unmentioned(node, hook) == []
