# SPDX-License-Identifier: Apache-2.0
"""A switch returns: the ports of its hosts first, and EVPN once they receive again."""

from typing import Any

from lab.nvue import Issue
from unit.cumulus_fabric.online.drained import (
    BOTH,
    POLICY,
    Trace,
    graceful,
    patches,
    sentences,
    shut,
    work,
)
from unit.cumulus_fabric.online.site import Rack


def test_the_hosts_return_first_and_evpn_last(six: Rack) -> None:
    before = six.applied
    work(six, "Leaf0-2").drain()
    six.forget()
    with Trace(six, "Leaf0-2") as trace:
        assert work(six, "Leaf0-2").undrain().applied
    assert trace.steps == [(False, True), (True, True)]
    first, last = patches(six, "Leaf0-2")
    assert (list(first), set(last)) == (["interface"], {"router", "vrf"})
    assert (graceful(six, "Leaf0-2"), shut(six, "Leaf0-2")) == (False, set())
    assert six.site.survey().plan.steps == ()
    assert not any("drained" in f.what for f in six.site.verify())
    assert six.applied["Leaf0-2"]["bridge"] == before["Leaf0-2"]["bridge"]
    assert sentences(work(six, "Leaf0-2").undrain()) == [
        "Leaf0-2: is not drained; run verify to see its state"
    ]


class Return:
    """The times at which Leaf0-2's ports were opened, and at which it advertised its routes again.

    The link of a port that was opened is up after ``slow`` seconds.
    """

    def __init__(self, made: Rack, slow: float = 0.0) -> None:
        self.times: list[float] = []
        member, up = made.wires.members["Leaf0-2"], made.wires.up
        apply = member.apply

        def timed(tree: dict[str, Any]) -> Issue | None:
            self.times.append(made.clock.monotonic())
            return apply(tree)

        def trained(port: tuple[str, str]) -> bool:
            waits = port[0] == "Leaf0-2" and port[1] in BOTH
            return up(port) and not (waits and made.clock.monotonic() < self.times[0] + slow)

        member.apply, made.wires.up = timed, trained


def test_a_return_waits_until_the_hosts_receive_again(six: Rack) -> None:
    work(six, "Leaf0-2").drain()
    seen = Return(six)
    assert work(six, "Leaf0-2").undrain().applied
    ports_up, advertised = seen.times
    assert advertised - ports_up >= 10.0  # the host's LACP takes up to three seconds


def test_the_time_for_lacp_begins_when_the_links_of_the_hosts_are_up(six: Rack) -> None:
    work(six, "Leaf0-2").drain()
    seen = Return(six, slow=8.0)
    assert work(six, "Leaf0-2").undrain().applied
    opened, advertised = seen.times
    assert advertised - (opened + 8.0) >= 10.0


def test_a_host_whose_cable_is_out_does_not_hold_a_return_up(six: Rack) -> None:
    work(six, "Leaf0-2").drain()
    six.wires.cut.add(("Leaf0-2", "swp9"))
    seen = Return(six)
    assert work(six, "Leaf0-2").undrain().applied
    opened, advertised = seen.times
    assert advertised - opened < POLICY.settle


def test_a_leaf_without_a_session_with_a_spine_does_not_return(six: Rack) -> None:
    """As after a reboot: its hosts would send to a leaf that cannot forward what they send."""
    work(six, "Leaf0-2").drain()
    six.wires.cut |= {("Leaf0-2", "swp31"), ("Leaf0-2", "swp32")}
    six.forget()
    refused = work(six, "Leaf0-2").undrain()
    assert sentences(refused) == [
        "Leaf0-2: has no EVPN session with a spine, so it could not forward what its hosts send; "
        "bring a session up, then run undrain"
    ]
    assert six.writes() == []
    six.wires.cut.remove(("Leaf0-2", "swp31"))
    assert work(six, "Leaf0-2").undrain().applied
