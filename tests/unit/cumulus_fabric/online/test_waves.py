# SPDX-License-Identifier: Apache-2.0
"""Which switches change together: a canary, then all or role by role, no more than are talked to at once."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from apply import ApplyPolicy, by_wave
from config import least_confirm
from lab.nvue import Issue
from lab.nvue.fabric import Member
from online import Site
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.drained import work
from unit.cumulus_fabric.online.site import InTurn, Rack, rack, taking_over
from unit.cumulus_fabric.online.small import CANARY, CHANGED, SMALL


@pytest.fixture
def three() -> Iterator[Rack]:
    with rack(SMALL, applied=True, fleet=InTurn) as made:
        yield made


def test_a_canary_goes_alone_and_first(three: Rack) -> None:
    seen: list[str] = []
    site = Site(CHANGED, three.site.fleet)
    assert site.apply(canary=CANARY, policy=ApplyPolicy(announce=seen.append)).applied
    assert seen == [f"applying on {CANARY}", "applying on Leaf0-1, Leaf0-2"]


def test_role_by_role(three: Rack) -> None:
    seen: list[str] = []
    site = Site(CHANGED, three.site.fleet)
    by_role = ApplyPolicy(order="role", announce=seen.append)
    assert site.apply(canary="Leaf0-2", policy=by_role).applied
    assert seen == ["applying on Leaf0-2", "applying on Spine0", "applying on Leaf0-1"]


@pytest.mark.parametrize(
    ("limit", "waves"),
    [
        (64, [["b"], ["a", "c", "d", "e"]]), (4, [["b"], ["a", "c", "d", "e"]]),
        (3, [["b"], ["a", "c", "d"], ["e"]]), (1, [["b"], ["a"], ["c"], ["d"], ["e"]]),
    ],
)  # fmt: skip
def test_no_wave_is_larger_than_the_limit(limit: int, waves: list[list[str]]) -> None:
    assert by_wave("abcde", "b", (), limit) == waves


def test_a_role_is_cut_by_itself() -> None:
    assert by_wave("abcde", "", ("abc", "de"), 2) == [["a", "b"], ["c"], ["d", "e"]]


def test_switches_that_may_not_change_together_are_in_different_waves() -> None:
    apart = {"a": "b", "b": "a"}

    def together(names: Sequence[str]) -> bool:
        return all(apart.get(name) not in names for name in names)

    assert by_wave("abcd", "", (), 64, together) == [["a", "c", "d"], ["b"]]
    assert by_wave("abcd", "c", (), 64, together) == [["c"], ["a", "d"], ["b"]]


def with_lossy_roce(content: dict[str, Any]) -> None:
    content["roce"]["mode"] = "lossy"


def with_another_as(content: dict[str, Any]) -> None:
    content["spines"]["asn"] = {"all": 65299}


def with_another_vlan(content: dict[str, Any]) -> None:
    content["networks"]["tenant"] = {"vlan": 77}


WAVES = {
    "links flap": (
        with_lossy_roce,
        ["Spine0", "Spine1, Leaf0-1, Leaf1-1", "Leaf0-2, Leaf1-2"],
    ),
    "spines lose their sessions": (with_another_as, ["Spine0", "Spine1"]),
    "VLANs go side by side": (with_another_vlan, ["Leaf0-1", "Leaf0-2, Leaf1-1, Leaf1-2"]),
}


@pytest.mark.parametrize(("change", "waves"), WAVES.values(), ids=WAVES)
def test_no_wave_takes_both_leaves_of_a_rack_nor_all_spines(
    change: Callable[[dict[str, Any]], None], waves: list[str]
) -> None:
    with rack(fabric(), applied=True) as made:
        seen: list[str] = []
        site = taking_over(fabric(change=change), made)
        plan = site.plan(site.survey())
        assert [each.what for each in plan.findings if each.subject == "waves"] == ["; then ".join(waves)]
        assert site.apply(policy=ApplyPolicy(announce=seen.append)).applied
        assert seen == [f"applying on {each}" for each in waves]


def many_spines(count: int) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        content["spines"]["count"] = count
        content["leaves"]["uplinks"] = f"swp{33 - count}-32"
        content["racks"][0]["bonds"], content["racks"][0]["single-homed"] = {}, {}

    return change


SHARES = {
    "one of three": (3, ["Spine0", "Spine1", "Spine2"]),
    "one of seven": (7, [f"Spine{number}" for number in range(7)]),
    "two of eight": (8, ["Spine0", "Spine1, Spine2", "Spine3, Spine4", "Spine5, Spine6", "Spine7"]),
}


@pytest.mark.parametrize(("count", "waves"), SHARES.values(), ids=SHARES)
def test_three_quarters_of_the_spines_stay(count: int, waves: list[str]) -> None:
    """The traffic of those that are away is on the others, and RoCE loses nothing: it stops who sends it."""
    spines = many_spines(count)
    with rack(fabric(change=spines), applied=True) as made:
        changed = fabric(change=lambda content: (spines(content), with_another_as(content)))
        site = taking_over(changed, made)
        plan = site.plan(site.survey())
        assert [each.what for each in plan.findings if each.subject == "waves"] == ["; then ".join(waves)]


def test_a_drained_spine_carries_nothing_and_counts_for_nothing() -> None:
    """Seven of eight carry: one at a time. The drained one goes with any of them."""
    spines = many_spines(8)
    with rack(fabric(change=spines), applied=True) as made:
        assert work(made, "Spine7").drain().applied
        changed = fabric(change=lambda content: (spines(content), with_another_as(content)))
        site = taking_over(changed, made)
        plan = site.plan(site.survey())
        waves = ["Spine0", "Spine1, Spine7", *(f"Spine{number}" for number in range(2, 7))]
        assert [each.what for each in plan.findings if each.subject == "waves"] == ["; then ".join(waves)]


def test_a_plan_of_several_waves_says_what_only_the_run_can_tell() -> None:
    with rack(fabric(), applied=True) as made:
        site = taking_over(fabric(change=with_another_vlan), made)
        (found,) = [each for each in site.plan(site.survey()).findings if each.subject == "waves"]
        assert "NVUE asks whether to overwrite them only when that switch changes" in found.remedy


def test_a_wave_reads_the_configuration_only_of_those_that_have_changed() -> None:
    """A wave begins when the hosts of the one before are back: that is asked again and again."""
    with rack(fabric(), applied=True, fleet=InTurn) as made:
        site = taking_over(fabric(change=with_lossy_roce), made)
        Bonds(made)
        made.forget()
        assert site.apply(policy=ApplyPolicy(settle=60.0)).applied
        spine, last = made.calls("Spine0"), made.calls("Leaf1-2")
        # Survey, before the other two waves, and in the checks after each of three.
        assert spine.count("read applied") == 1 + 2 + 3
        assert last.count("read applied") == 1 + 0 + 3
        assert last.count("read operational") > 8 * last.count("read applied")


class Bonds:
    """Whether a bond of the first rack has its LACP partner on any of its leaves, at each change of them.

    The link of a leaf that was changed comes back after so many ``seconds``.
    """

    def __init__(self, made: Rack, seconds: float = 15.0) -> None:
        self._seconds = seconds
        self.bonded: list[bool] = []
        members = [made.wires.members[name] for name in ("Leaf0-1", "Leaf0-2")]
        until = dict[str, float]()
        up = made.wires.up

        def flapping(port: tuple[str, str]) -> bool:
            return up(port) and not (port[1] == "swp9" and made.clock.monotonic() < until.get(port[0], 0.0))

        made.wires.up = flapping
        for member in members:
            self._watch(made, member, until, members)

    def _watch(self, made: Rack, member: Member, until: dict[str, float], members: list[Member]) -> None:
        apply = member.apply

        def applied(tree: dict[str, Any]) -> Issue | None:
            issue = apply(tree)
            until[member.name] = made.clock.monotonic() + self._seconds
            self.bonded.append(any(each.bonded("bond1") for each in members))
            return issue

        member.apply = applied


def test_a_wave_waits_for_the_hosts_of_the_one_before() -> None:
    with rack(fabric(), applied=True) as made:
        site = taking_over(fabric(change=with_lossy_roce), made)
        bonds = Bonds(made)
        assert site.apply(policy=ApplyPolicy(settle=60.0)).applied
        assert bonds.bonded == [True, True]


def test_a_wave_knows_the_other_leg_of_a_host_by_the_segment_that_it_had() -> None:
    """The first leaf of a rack has another ESI than the second one until that is changed, too."""

    def another_segment_mac(content: dict[str, Any]) -> None:
        content["leaves"]["segment-mac"] = "44:38:39:FF:00:01"

    with rack(fabric(), applied=True) as made:
        site = taking_over(fabric(change=another_segment_mac), made)
        bonds = Bonds(made)
        assert site.apply(policy=ApplyPolicy(settle=60.0)).verdict == "fully applied: 4 switches changed"
        assert bonds.bonded == [True, True]


def test_a_run_goes_back_if_a_host_does_not_come_back_on_its_first_leaf() -> None:
    with rack(fabric(), applied=True) as made:
        site = taking_over(fabric(change=with_lossy_roce), made)
        before, bonds = made.applied, Bonds(made, seconds=900.0)
        report = site.apply(policy=ApplyPolicy(settle=60.0))
        assert report.verdict == "fully rolled back: every switch runs what it ran before"
        assert report.reasons[0].sentence().startswith("Leaf0-2 bond1: host-bond1 has no other leg")
        assert made.applied == before
        assert all(bonds.bonded)


def test_a_run_takes_no_rack_whole_on_its_way_back() -> None:
    """The last leaf refuses the change, when one leaf of each rack has it already."""
    with rack(fabric(), applied=True) as made:
        site = taking_over(fabric(change=with_lossy_roce), made)
        before, bonds = made.applied, Bonds(made)
        made.wires.refuse["Leaf1-2"] = Issue("config_apply_fail", "no space left")
        report = site.apply(policy=ApplyPolicy(settle=60.0))
        assert report.verdict == "fully rolled back: every switch runs what it ran before"
        assert made.applied == before
        assert len(bonds.bonded) >= 4
        assert all(bonds.bonded)


def test_a_rollback_takes_no_rack_whole_either() -> None:
    with rack(fabric(), applied=True) as made:
        site = taking_over(fabric(change=with_lossy_roce), made)
        before = made.applied
        assert site.apply(policy=ApplyPolicy(settle=60.0)).applied
        bonds = Bonds(made)
        assert site.rollback(policy=ApplyPolicy(settle=60.0)).applied
        assert made.applied == before
        assert bonds.bonded == [True, True]


def test_slow_switches_one_by_one_are_confirmed_in_time() -> None:
    """Each takes 30 s to apply: the first of five would have gone back before the fifth is done."""
    with rack(fabric(), limit=1) as made:
        for server in made.servers.values():
            server.switch.pace = 10
        report = made.site.apply(policy=ApplyPolicy(confirm=int(least_confirm(30)), settle=30, deadline=60))
        assert report.verdict == "fully applied: 6 switches changed", report.reasons
