# SPDX-License-Identifier: Apache-2.0
"""An apply that is killed, as an action is by juju cancel-task: switches take back what is not confirmed."""

from copy import deepcopy
from typing import Any

import pytest
from intent.model import Dialect
from online import Site
from tree import render
from tree.merge import Goal
from unit.cumulus_fabric.online.site import Rack
from unit.cumulus_fabric.online.small import CANARY, CHANGED, LAST
from unit.cumulus_fabric.online.test_faults import POLICY, change, make, outcome


class Killed(BaseException):
    """Nothing of the program runs after it."""


class Calls(list[Any]):
    """The calls of a switch; the last one is answered to nobody."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def append(self, call: Any) -> None:
        super().append(call)
        if len(self) == self.most:
            raise Killed


def killed(rack: Rack, name: str, call: int) -> None:
    """Kill an apply in this call of this switch, and wait until each switch has ended its wait."""
    server = rack.servers[name]
    server.calls = Calls(call)
    with pytest.raises(Killed):
        change(rack)
    server.calls = []
    rack.clock.sleep(POLICY.confirm + POLICY.deadline)


@pytest.fixture(scope="module")
def calls() -> dict[str, int]:
    """How many calls of a switch an apply has, by its name."""
    with make() as undisturbed:
        assert change(undisturbed).applied
        return {name: len(undisturbed.servers[name].calls) for name in (CANARY, LAST)}


@pytest.mark.parametrize("name", [CANARY, LAST])
def test_each_switch_runs_what_it_ran_or_what_was_confirmed(calls: dict[str, int], name: str) -> None:
    wanted = {each.name: render.tree(CHANGED, each, Dialect.UNTIL_5_14) for each in CHANGED.switches}
    reverted = 0
    for call in range(1, calls[name] + 1):
        with make() as three:
            before = deepcopy(three.applied)
            killed(three, name, call)
            for switch, tree in three.applied.items():
                assert tree == before[switch] or not Goal(wanted[switch]).patch(tree), (
                    f"{switch}, call {call}"
                )
            reverted += outcome(three, before) == "rolled back"
            assert Site(CHANGED, three.site.fleet).apply(canary=CANARY, policy=POLICY).applied
            assert outcome(three, before) == "applied"
    assert reverted > 3
