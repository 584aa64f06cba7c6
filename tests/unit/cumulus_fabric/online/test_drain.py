# SPDX-License-Identifier: Apache-2.0
"""A switch leaves for work on it and returns: in order, and only if nobody loses the last way."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from apply import ApplyPolicy
from charmkit.fabric import Host, Neighbour, Port
from lab.nvue import Certificate, Issue, merge
from lab.nvue.factory import factory
from lab.nvue.faults import Fault
from maintenance import CONVERGENCE_S, Maintenance
from output.report import Report
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import Rack, rack
from unit.cumulus_fabric.online.unit import Unit, site

POLICY = ApplyPolicy(confirm=300, settle=60.0, deadline=90.0)
BOTH = ("swp9", "swp10", "swp22")


@pytest.fixture(params=["5.9.2", "5.15.0"])
def six(request: pytest.FixtureRequest) -> Iterator[Rack]:
    """The reference guide's fabric."""
    with rack(fabric(), applied=True, release=request.param) as made:
        yield made


@pytest.fixture
def unit(certificate: Certificate, monkeypatch: pytest.MonkeyPatch) -> Iterator[Unit]:
    with site(certificate, monkeypatch, applied=True) as unit:
        yield unit


def work(made: Rack, name: str, **given: Any) -> Maintenance:
    return Maintenance(made.site, name, POLICY, **given)


def graceful(made: Rack, name: str) -> bool:
    return made.applied[name]["router"]["bgp"].get("graceful-shutdown") in ("on", "enabled")


def shut(made: Rack, name: str) -> set[str]:
    ports = made.applied[name]["interface"].items()
    return {port for port, node in ports if "down" in node.get("link", {}).get("state", {})}


def patches(made: Rack, name: str) -> list[dict[str, Any]]:
    """What was patched on a switch, in order."""
    return [call.body for call in made.servers[name].calls if call.name == "patch"]


def sentences(report: Report) -> list[str]:
    return [each.sentence() for each in report.reasons]


class Trace:
    """What other leaves send to a leaf, and which of its hosts' ports are up, after each of its changes."""

    def __init__(self, made: Rack, name: str) -> None:
        self._made, self._name = made, name
        self.steps: list[tuple[bool, bool]] = []

    def __enter__(self) -> "Trace":
        self._patch = pytest.MonkeyPatch()
        member = self._made.wires.members[self._name]
        apply = member.apply

        def watched(tree: dict[str, Any]) -> Issue | None:
            issue = apply(tree)
            step = (
                addressed(self._made, self._name),
                any(member.bond_up(bond) for bond in ("bond1", "bond2")),
            )
            if self.steps[-1:] != [step]:
                self.steps.append(step)
            return issue

        self._patch.setattr(member, "apply", watched)
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()


def addressed(made: Rack, name: str) -> bool:
    """Whether any other leaf has this one among the VTEPs of a segment."""
    switch = made.fabric.switch(name)
    assert switch
    tables = [
        member.operational()["evpn"]["multihoming"]["esi"]
        for other, member in made.wires.members.items()
        if other != name
    ]
    return any(switch.loopback in each["remote-vtep"] for table in tables for each in table.values())


def test_evpn_leaves_first_and_the_hosts_last(six: Rack) -> None:
    with Trace(six, "Leaf0-2") as trace:
        report = work(six, "Leaf0-2").drain()
    assert (report.applied, report.reasons) == (True, ())
    assert trace.steps == [(False, True), (False, False)]
    first, last = patches(six, "Leaf0-2")
    assert set(first) == {"router", "vrf"}
    assert (list(last), set(last["interface"])) == (["interface"], set(BOTH))
    assert (graceful(six, "Leaf0-2"), shut(six, "Leaf0-2")) == (True, set(BOTH))
    assert {write.split()[0] for write in six.writes()} == {"Leaf0-2"}


def test_the_ports_stay_up_as_long_as_another_leaf_sends_to_them(six: Rack) -> None:
    """The spines keep the routes: the first step is taken back, and the second is not made."""
    before = six.applied
    six.wires.members["Leaf0-2"].advertises = lambda: True
    report = work(six, "Leaf0-2").drain()
    assert not report.applied
    assert sentences(report)[0] == (
        "Leaf0-1 EVPN: still sends to Leaf0-2, which has withdrawn its EVPN routes; "
        "check the BGP sessions of the spines"
    )
    assert six.applied == before


def runs(made: Rack, tree: dict[str, Any]) -> None:
    """Leaf0-2 runs this, whoever has configured it."""
    switch = made.servers["Leaf0-2"].switch
    switch.revisions[switch.applied_id].tree = tree
    made.wires.members["Leaf0-2"].apply(tree)


def with_policy(made: Rack, where: str) -> None:
    """Somebody decides what a leaf advertises."""
    rules = {"rule": {"5": {"action": {"permit": {}}}}}
    tree = {"router": {"policy": {"route-map": {"theirs": rules}}}}
    outbound = {"address-family": {"l2vpn-evpn": {"policy": {"outbound": {"route-map": "theirs"}}}}}
    kind, _, name = where.partition(" ")
    policy = {"vrf": {"default": {"router": {"bgp": {kind: {name: outbound}}}}}}
    runs(made, merge(merge(made.applied["Leaf0-2"], tree), policy))


@pytest.mark.parametrize("where", ["peer-group underlay", "neighbor swp31"])
def test_a_policy_for_evpn_that_somebody_else_has_set_stays(six: Rack, where: str) -> None:
    with_policy(six, where)
    before = six.applied
    assert work(six, "Leaf0-2").drain().applied
    assert (graceful(six, "Leaf0-2"), shut(six, "Leaf0-2")) == (True, set(BOTH))
    assert work(six, "Leaf0-2").undrain().applied
    assert six.applied == before


def without_graceful_shutdown(made: Rack) -> None:
    """Somebody has taken back only the part of a drain that BGP shows; the leaf still advertises nothing."""
    tree = deepcopy(made.applied["Leaf0-2"])
    del tree["router"]["bgp"]["graceful-shutdown"]
    runs(made, tree)


def test_a_leaf_that_advertises_nothing_is_drained_whoever_ended_its_graceful_shutdown(six: Rack) -> None:
    before = six.applied
    assert work(six, "Leaf0-2").drain().applied
    without_graceful_shutdown(six)
    said = "Leaf0-2: is drained; run undrain when the work on it is done"
    assert said in [f.sentence() for f in six.site.verify()]
    refused = work(six, "Leaf0-1", cut_off=["swp23", "swp24"]).drain()
    assert sentences(refused)[0].startswith("Leaf0-1 bond1: host-bond1 has no other leg")
    assert work(six, "Leaf0-2").undrain().applied
    assert six.applied == before


def test_a_host_has_no_other_leg_on_a_leaf_whose_ports_are_up_but_whose_routes_are_withdrawn(
    six: Rack,
) -> None:
    work(six, "Leaf0-2", announce=refuse_at(six, 2)).drain()
    without_graceful_shutdown(six)
    refused = work(six, "Leaf0-1", cut_off=["swp23", "swp24"]).drain()
    assert sentences(refused)[0].startswith("Leaf0-1 bond1: host-bond1 has no other leg")


def test_a_drained_switch_stays_drained_and_is_reported(six: Rack) -> None:
    work(six, "Leaf0-2").drain()
    before = six.applied
    six.forget()
    said = "Leaf0-2: is drained; run undrain when the work on it is done"
    assert said in [f.sentence() for f in six.site.survey().plan.findings]
    assert said in [f.sentence() for f in six.site.verify()]
    assert six.site.apply(policy=POLICY).applied
    assert work(six, "Leaf0-2").drain().applied
    assert (six.applied, six.writes()) == (before, [])


def test_an_apply_changes_the_rest_of_a_drained_switch_and_keeps_new_ports_shut(six: Rack) -> None:
    work(six, "Leaf0-2").drain()

    def grown(content: dict[str, Any]) -> None:
        content["networks"]["storage"] = {"vlan": 50}
        content["racks"][0]["hosts"] = "swp9-11"

    changed = replace(six.site, fabric=fabric(change=grown))
    assert changed.apply(policy=POLICY).applied
    assert shut(six, "Leaf0-2") == {*BOTH, "swp11"}
    assert shut(six, "Leaf0-1") == set()
    assert "50" in six.applied["Leaf0-2"]["bridge"]["domain"]["br_default"]["vlan"]


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


def drained_by_1_3(made: Rack) -> None:
    """As the release before this order left a leaf: its ports shut, its EVPN routes advertised."""
    assert work(made, "Leaf0-2").drain().applied
    tree = deepcopy(made.applied["Leaf0-2"])
    del tree["router"]["policy"]
    del tree["vrf"]["default"]["router"]["bgp"]["peer-group"]["underlay"]["address-family"]["l2vpn-evpn"][
        "policy"
    ]
    runs(made, tree)


def test_a_leaf_that_an_earlier_release_drained_returns_in_the_same_order(six: Rack) -> None:
    before = six.applied
    drained_by_1_3(six)
    assert addressed(six, "Leaf0-2") is False
    with Trace(six, "Leaf0-2") as trace:
        assert work(six, "Leaf0-2").undrain().applied
    assert trace.steps == [(False, False), (False, True), (True, True)]
    assert six.applied == before


def test_a_spine_leaves_by_bgp_alone_and_the_last_one_stays(six: Rack) -> None:
    assert work(six, "Spine0").drain().verdict == "fully applied: 1 switch changed"
    assert graceful(six, "Spine0")
    assert len(patches(six, "Spine0")) == 1
    assert work(six, "Spine0").drain().verdict == "fully applied: 0 switches changed"
    assert work(six, "Spine0").undrain().verdict == "fully applied: 1 switch changed"
    assert work(six, "Spine0").drain().applied
    refused = work(six, "Spine1").drain()
    assert refused.verdict == "nothing was sent to any switch"
    assert sentences(refused)[0] == (
        "Leaf0-1: has no EVPN session with another spine, and would lose its last one with Spine1; "
        "bring a session with another spine up first"
    )
    assert len(refused.reasons) == 4


def test_a_host_with_one_leg_stops_it_unless_it_is_named(six: Rack) -> None:
    refused = work(six, "Leaf0-1").drain()
    assert sentences(refused) == [
        "Leaf0-1 swp23: juju is attached to Leaf0-1 alone; bring its other way up first, "
        "or give swp23 as cut-off if it may lose its network",
        "Leaf0-1 swp24: maas is attached to Leaf0-1 alone; bring its other way up first, "
        "or give swp24 as cut-off if it may lose its network",
    ]
    assert six.writes() == []
    assert work(six, "Leaf0-1", cut_off=["swp23", "maas"]).drain().applied


def other_leg_down(made: Rack) -> None:
    made.wires.cut.add(("Leaf0-1", "swp9"))


def no_lacp(made: Rack) -> None:
    made.wires.hosts["Leaf0-1", "swp9"].bonds = False


def another_host(made: Rack) -> None:
    made.wires.hosts["Leaf0-1", "swp9"].host = "node7"


def other_leaf_drained(made: Rack) -> None:
    assert work(made, "Leaf0-1", cut_off=["swp23", "swp24"]).drain().applied


def other_leaf_without_spines(made: Rack) -> None:
    made.wires.cut |= {("Leaf0-1", "swp31"), ("Leaf0-1", "swp32")}


NO_LEG = "has no other leg: no other leaf with its segment has the bond up"
MISSING = {
    "its link is down": (other_leg_down, f"host-bond1 {NO_LEG}"),
    "it does not speak LACP there": (no_lacp, f"host-bond1 {NO_LEG}"),
    "another host is there": (
        another_host,
        "host-bond1 has its other leg on another host's port: LLDP shows node7 there",
    ),
    "the other leaf is drained": (other_leaf_drained, f"host-bond1 {NO_LEG}"),
    "the other leaf has lost its spines": (other_leaf_without_spines, f"host-bond1 {NO_LEG}"),
}


@pytest.mark.parametrize(("break_it", "said"), MISSING.values(), ids=MISSING)
def test_a_host_whose_other_leg_does_not_carry_stops_it(six: Rack, break_it: Any, said: str) -> None:
    break_it(six)
    six.forget()
    refused = work(six, "Leaf0-2").drain()
    assert sentences(refused)[0].startswith(f"Leaf0-2 bond1: {said}; bring its other way up first")
    assert six.writes() == []


def test_a_port_without_a_host_does_not_stop_it(six: Rack) -> None:
    six.wires.cut |= {("Leaf0-1", "swp9"), ("Leaf0-2", "swp9")}
    assert work(six, "Leaf0-2").drain().applied


def reported(partner: str | None) -> Host:
    """A host of rack 0 by its own report: one port at each leaf, the other one with this LACP partner."""
    mac = "44:38:39:be:ef:01"
    ports = [
        Port(
            netdev=f"enp59s0f{n}np{n}",
            bdf=f"0000:3b:00.{n}",
            mac=f"b8:3f:d2:00:00:0{n}",
            mtu=9000,
            bond="bond0",
            partner_mac=mac if n else partner,
            neighbour=Neighbour("44:38:39:00:00:01", "swp9", f"Leaf0-{n + 1}"),
        )
        for n in (0, 1)
    ]
    return Host("host-bond1", tuple(ports))


@pytest.mark.parametrize("partner", [None, "44:38:39:be:ef:02"])
def test_a_host_that_reports_no_other_leg_stops_it(six: Rack, partner: str | None) -> None:
    refused = work(six, "Leaf0-2", reports=[reported(partner)]).drain()
    assert sentences(refused)[0].startswith(
        "Leaf0-2 bond1: host-bond1 reports no other port with LACP partner 44:38:39:be:ef:01; "
    )
    assert six.writes() == []
    assert work(six, "Leaf0-2", reports=[reported("44:38:39:be:ef:01")]).drain().applied


def refuse_at(made: Rack, number: int) -> Callable[[str], None]:
    """An ``announce`` with which Leaf0-2 refuses this step of its drain, counted from 1."""
    steps: list[str] = []

    def announce(line: str) -> None:
        steps.append(line)
        if len(steps) == number:
            made.wires.refuse["Leaf0-2"] = Issue("config_apply_fail", "no space left")

    return announce


def test_a_drain_that_fails_half_way_is_finished_by_the_next_one(six: Rack) -> None:
    assert not work(six, "Leaf0-2", announce=refuse_at(six, 2)).drain().applied
    assert (graceful(six, "Leaf0-2"), shut(six, "Leaf0-2")) == (True, set())
    six.wires.refuse.clear()
    assert six.site.apply(policy=POLICY).applied
    assert shut(six, "Leaf0-2") == set()  # an apply does not finish a drain, which checks the hosts first
    assert work(six, "Leaf0-2").drain().applied
    assert shut(six, "Leaf0-2") == set(BOTH)


def test_a_leaf_that_is_cleaned_keeps_a_policy_for_evpn_that_somebody_else_has_set(six: Rack) -> None:
    with_policy(six, "peer-group underlay")
    assert work(six, "Leaf0-2").drain().applied
    assert work(six, "Leaf0-2").decommission().applied
    theirs = six.applied["Leaf0-2"]["vrf"]["default"]["router"]["bgp"]["peer-group"]["underlay"]
    assert theirs == {"address-family": {"l2vpn-evpn": {"policy": {"outbound": {"route-map": "theirs"}}}}}


HALF_WAY = "not finished: Leaf0-2 is drained in part; run drain to finish it, or undrain to return it"


def test_a_drain_whose_second_step_fails_says_that_the_first_one_stays(six: Rack) -> None:
    report = work(six, "Leaf0-2", announce=refuse_at(six, 2)).drain()
    assert (report.applied, report.verdict) == (False, HALF_WAY)
    assert sentences(report)[0].startswith("Leaf0-2: ")
    assert "no space left" in sentences(report)[0]


def between_two_steps(made: Rack, happens: Callable[[], Any]) -> None:
    """Something happens while a drain lets BGP converge."""
    sleep = made.clock.sleep

    def slept(seconds: float) -> None:
        sleep(seconds)
        if seconds == CONVERGENCE_S:
            happens()

    made.clock.sleep = slept


def test_a_leaf_that_stops_answering_between_two_steps_is_said_to_be_drained_in_part(six: Rack) -> None:
    between_two_steps(six, lambda: six.servers["Leaf0-2"].inject(Fault("reset", times=0)))
    report = work(six, "Leaf0-2").drain()
    assert (report.applied, report.verdict) == (False, HALF_WAY)
    assert shut(six, "Leaf0-2") == set()


@pytest.mark.parametrize(
    "happens",
    [
        lambda made: made.servers["Leaf0-1"].inject(Fault("reset", times=0)),
        lambda made: made.wires.cut.add(("Leaf0-1", "swp9")),
    ],
    ids=["the other leaf is lost", "its other link is lost"],
)
def test_the_ports_of_a_host_that_loses_its_other_leg_meanwhile_stay_up(
    six: Rack, happens: Callable[[Rack], Any]
) -> None:
    between_two_steps(six, lambda: happens(six))
    report = work(six, "Leaf0-2").drain()
    assert (report.applied, report.verdict) == (False, HALF_WAY)
    assert sentences(report)[0].startswith(f"Leaf0-2 bond1: host-bond1 {NO_LEG}")
    assert shut(six, "Leaf0-2") == set()


def test_a_return_whose_last_step_fails_says_that_the_leaf_is_drained_in_part(six: Rack) -> None:
    assert work(six, "Leaf0-2").drain().applied
    report = work(six, "Leaf0-2", announce=refuse_at(six, 2)).undrain()
    assert (report.applied, report.verdict) == (False, HALF_WAY)
    assert (graceful(six, "Leaf0-2"), shut(six, "Leaf0-2")) == (True, set())


def test_a_first_step_that_fails_leaves_the_switch_as_it_was(six: Rack) -> None:
    before = six.applied
    report = work(six, "Leaf0-2", announce=refuse_at(six, 1)).drain()
    assert report.verdict == "fully rolled back: every switch runs what it ran before"
    assert six.applied == before


def test_a_leaf_that_leaves_for_good_is_cleaned(six: Rack) -> None:
    refused = work(six, "Leaf1-2").decommission()
    assert sentences(refused) == [
        "Leaf1-2: is not drained; drain it first, so that no host loses its network"
    ]
    assert work(six, "Leaf1-2").drain().applied
    assert work(six, "Leaf1-2").decommission().applied
    new = "ipv4" in str(six.applied["Leaf0-1"]["interface"]["lo"])
    assert six.applied["Leaf1-2"] == factory("Leaf1-2", new)


# -- the charm


def test_the_actions(unit: Unit) -> None:
    assert unit.action("drain", switch="Leaf0-2")["result"] == "fully applied: 1 switch changed"
    assert unit.emit().message.startswith("Leaf0-2: is drained")
    assert unit.action("apply")["applied"] == "true"
    assert unit.writes == []
    assert "bond1: node1 has no other leg" in unit.failure("drain", switch="Leaf0-1")
    assert unit.action("undrain", switch="Leaf0-2")["applied"] == "true"
    assert unit.emit().message == ""
    assert unit.failure("drain").startswith("parameter switch: an empty value is not allowed; set the name")
    assert "Leaf9-9 is not a switch of the intent" in unit.failure("drain", switch="Leaf9-9")
    unit.action("drain", switch="Leaf0-2")
    assert unit.action("decommission", switch="Leaf0-2")["applied"] == "true"
    unit.state = replace(unit.state, leader=False)
    assert "run this action on the leader" in unit.failure("drain", switch="Leaf0-1")
