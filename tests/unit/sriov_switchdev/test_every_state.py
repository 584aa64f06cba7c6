# SPDX-License-Identifier: Apache-2.0
"""Two promises, kept in every modelled state: up to two settings of a converged NIC undone, with each option.

What waits is planned or held, and nothing is planned or held that is not said. What the next hook promises is
gone after it.
"""

import copy
from collections.abc import Callable, Iterator
from itertools import combinations

import pytest
import record
from charmkit.output import NEXT_HOOK
from config import Options
from hostnic.ops.vf import UnbindVfs
from lab.modelled import FakeHost, card
from live import apply
from survey import Survey, survey
from unit.sriov_switchdev.node import PF0, PF1, PORT0, PORT1, Node, compute_node, declare_bond


def out_of_the_bond(host: FakeHost, bdf: str) -> None:
    host.network.bonds["bond0"].members.remove(host.port(bdf).netdev)
    host.members_changed()


def without_lag(host: FakeHost) -> None:
    host.cards[0].lag, host.cards[0].lag_in_firmware = None, False


def unoffered(host: FakeHost) -> None:
    host.cards[0].lag, host.cards[0].lag_object = None, False


OF_A_PORT: dict[str, Callable[[FakeHost, str], object]] = {
    "autoprobe": lambda host, bdf: setattr(host.port(bdf), "autoprobe", False),
    "offload": lambda host, bdf: setattr(host.port(bdf), "hw_tc_offload", False),
    "queues": lambda host, bdf: setattr(host.port(bdf), "channels", 1),
    "bond": out_of_the_bond,
    "bound": lambda host, bdf: UnbindVfs(bdf).run(host),
    "mode": lambda host, bdf: setattr(host.port(bdf), "eswitch_mode", "legacy"),
    "used": lambda host, bdf: host.start_instance(host.port(bdf).vfs[0].bdf),
}
UNDONE: dict[str, Callable[[FakeHost], object]] = {"VF-LAG": without_lag, "LAG object": unoffered}
for name, undo in OF_A_PORT.items():
    UNDONE[f"{name} of {PF0}"] = lambda host, undo=undo: undo(host, PF0)
    UNDONE[f"{name} of {PF1}"] = lambda host, undo=undo: undo(host, PF1)

# With both ports out of the bond nothing answers, and no live change begins that could not be confirmed.
BOTH_OUT = {f"bond of {PF0}", f"bond of {PF1}"}
SETTINGS = [names for count in (0, 1, 2) for names in combinations(UNDONE, count) if {*names} != BOTH_OUT]
# A NIC in legacy mode is restored if it was as declared in this boot, and changed like a new one if not.
STATES = [(names, True) for names in SETTINGS]
STATES += [(names, False) for names in SETTINGS if any("mode" in name for name in names)]
AIMS = {
    "as it is": {"num_vfs": 2},
    "3 VFs": {"num_vfs": 3},
    "3 VFs on one port": {"devices": f"{PORT0}:3 {PORT1}:2"},
}


@pytest.fixture(scope="module")
def there() -> Iterator[FakeHost]:
    """A converged host whose ports offer 4 VFs and have 2."""
    with pytest.MonkeyPatch.context() as patch:
        node = Node(compute_node(cards=[card(total_vfs=4)]), patch).configure(num_vfs=2)
        node.converge(reboot_settle=0)
        declare_bond(node.host)
        yield node.host


def look(host: FakeHost, options: Options) -> Survey:
    """As a hook looks, without its search of files for second writers, of which this host has none."""
    return survey(host, options, (), "sriov-switchdev", ((), ()))


def promised(seen: Survey) -> set[str]:
    return {f"{each.subject}: {each.what}" for each in seen.findings if each.remedy == NEXT_HOOK}


def broken(host: FakeHost, options: Options) -> str:
    """How a state breaks one of the two promises; empty if it keeps both."""
    seen = look(host, options)
    for way in seen.ways if not seen.plan.blocked else ():
        waits = [each for each in way.nic.differences if each.level is None or each.about == "queues"]
        if bool(waits) != bool(way.steps or way.waiting or way.starts):
            return f"{waits} beside {way}"
    before = promised(seen)
    if before:
        apply(seen.plan, host)
        if left := before & promised(look(host, options)):
            return f"still promised: {left}"
    return ""


OPTIONS = [(aim, vf_lag, live) for aim in AIMS for vf_lag in ("auto", "required") for live in (False, True)]
SHARE = 4
"""Of the pairs of settings each set of options takes every fourth, another one each; at night all."""


def check(
    there: FakeHost, aim: str, vf_lag: str, live: bool, states: list[tuple[tuple[str, ...], bool]]
) -> None:
    options = Options(vf_lag=vf_lag, allow_live=live, reboot_policy="manual", **AIMS[aim])
    failed: dict[str, str] = {}
    for names, was_declared in states:
        host = copy.deepcopy(there)
        if not was_declared:
            host.files.remove(record.CONVERGED)
        for name in names:
            UNDONE[name](host)
        if said := broken(host, options):
            failed[f"{' and '.join(names)}, {was_declared=}"] = said
    assert not failed, failed


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_what_waits_is_planned_or_held_and_the_next_hook_keeps_its_promise(
    there: FakeHost, options: tuple[str, str, bool]
) -> None:
    pairs = [state for state in STATES if len(state[0]) == 2]
    check(there, *options, [state for state in STATES if len(state[0]) < 2])
    check(there, *options, pairs[OPTIONS.index(options) % SHARE :: SHARE])


def test_a_required_vf_lag_that_is_not_offered_delays_nothing_of_the_other_port(there: FakeHost) -> None:
    """A wait for it would fail, and end the hook before the other port has its queues."""
    state = (("LAG object", f"queues of {PF1}"), True)
    check(there, "3 VFs on one port", "required", True, [state])


@pytest.mark.thorough
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_so_it_is_with_each_pair_of_settings(there: FakeHost, options: tuple[str, str, bool]) -> None:
    check(there, *options, STATES)
