# SPDX-License-Identifier: Apache-2.0
"""Racks and spines have numbers, which they keep wherever they stand in their lists."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from converge.shape import InvalidValue
from intent import expand, numbers
from intent.model import Fabric, Role, Switch
from unit.cumulus_fabric.fabrics import fabric, text

Edit = Callable[[dict[str, Any]], None]
"""Changes the data of an intent."""


def leaves(intent: Fabric) -> dict[str, Switch]:
    """The leaves by name, whatever entries of the list they come from."""
    found: dict[str, Switch] = {}
    for leaf in intent.by_role(Role.LEAF):
        bonds = tuple(replace(bond, path="") for bond in leaf.bonds)
        ports = tuple(replace(port, path="") for port in leaf.single_homed)
        found[leaf.name] = replace(leaf, path="", bonds=bonds, single_homed=ports)
    return found


def numbered(*own: int) -> Edit:
    """The example's racks, and copies of the second one, with these numbers; room for all of them."""

    def change(content: dict[str, Any]) -> None:
        content["spines"]["downlinks"] = "swp1-30"
        content["leaves"]["management"] = "192.0.2.11"
        first, second = content["racks"]
        racks = [first, *(json.loads(json.dumps(second)) for _ in own[1:])]
        content["racks"] = [{"number": number, **rack} for number, rack in zip(own, racks, strict=True)]

    return change


THREE = fabric(change=numbered(0, 1, 2))


def after(edit: Callable[[list[Any]], object]) -> dict[str, Switch]:
    """The leaves after a change of the list of the three racks."""

    def change(content: dict[str, Any]) -> None:
        numbered(0, 1, 2)(content)
        edit(content["racks"])

    return leaves(fabric(change=change))


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_rack_that_leaves_changes_no_other(gone: int) -> None:
    """Names, AS numbers, loopbacks, management addresses, segments and the spines' ports stay."""
    left = {name: leaf for name, leaf in leaves(THREE).items() if leaf.rack != gone}
    assert after(lambda racks: racks.pop(gone)) == left


@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_rack_that_comes_changes_no_other_wherever_it_stands(place: int) -> None:
    now = after(lambda racks: racks.insert(place, {"number": 3, "hosts": "swp9"}))
    assert {name: leaf for name, leaf in now.items() if leaf.rack != 3} == leaves(THREE)
    assert now["Leaf3-1"].asn == 65107


@pytest.mark.parametrize("order", [(2, 1, 0), (1, 0, 2), (1, 2, 0)])
def test_the_order_of_the_list_says_nothing(order: tuple[int, ...]) -> None:
    def reorder(racks: list[Any]) -> None:
        racks[:] = [racks[place] for place in order]

    now = after(reorder)
    assert now == leaves(THREE)
    assert [*now] == [*leaves(THREE)]


def test_one_leaves_and_another_comes_in_one_edit() -> None:
    def edit(racks: list[Any]) -> None:
        del racks[0]
        racks.insert(0, {"number": 5, "hosts": "swp9"})

    now = after(edit)
    assert {name: leaf for name, leaf in now.items() if leaf.rack != 5} == {
        name: leaf for name, leaf in leaves(THREE).items() if leaf.rack != 0
    }


def test_the_spines_know_each_leaf_at_the_port_where_it_was() -> None:
    def change(content: dict[str, Any]) -> None:
        numbered(0, 1, 2)(content)
        del content["racks"][1]

    spine = fabric(change=change).switch("Spine0")
    assert spine
    assert {link.peer: link.port for link in spine.links} == {
        "Leaf0-1": "swp1",
        "Leaf0-2": "swp2",
        "Leaf2-1": "swp5",
        "Leaf2-2": "swp6",
    }


def test_several_racks_of_one_entry_count_up_from_its_number() -> None:
    change = numbered(0, 4)
    intent = fabric(change=lambda content: (change(content), content["racks"][1].update(count=2)))
    assert [*leaves(intent)] == [f"Leaf{rack}-{leaf}" for rack in (0, 4, 5) for leaf in (1, 2)]


def test_without_numbers_a_rack_has_its_place() -> None:
    def unnumbered(content: dict[str, Any]) -> None:
        numbered(0, 1, 2)(content)
        for rack in content["racks"]:
            del rack["number"]

    counted = fabric(change=unnumbered)
    assert [replace(leaf, counted=False) for leaf in counted.switches] == [*THREE.switches]
    assert [leaf.counted for leaf in counted.by_role(Role.LEAF)] == [True] * 6


@pytest.mark.parametrize(
    ("racks", "said"),
    [
        (
            [{"number": 1}, {"number": 1}],
            "racks[1].number: 1 is not allowed; expected a number that racks[0] does not have",
        ),
        (
            [{"number": 1, "count": 3}, {"number": 3}],
            "racks[1].number: 3 is not allowed; expected a number that racks[0] does not have",
        ),
        (
            [{}, {"number": 1}],
            "racks[0].number: an empty value is not allowed; "
            "expected a number of its own, as racks[1] has one",
        ),
        (
            [{"number": 0}, {}],
            "racks[1].number: an empty value is not allowed; "
            "expected a number of its own, as racks[0] has one",
        ),
        ([{"number": -1}], "racks[0].number: -1 is not allowed; expected a rack's number from 0 to 4095"),
        ([{"number": "a"}], "racks[0].number: 'a' is not allowed; expected a rack's number from 0 to 4095"),
        (
            [{"number": 0, "leaves": ["a", "b", "c"]}, {"number": 1}],
            "racks[1].first-leaf: 2 is not allowed; "
            "expected numbers of leaves that racks[0] does not have (it has 2)",
        ),
        (
            [{"number": 0}, {"number": 1, "first-leaf": 1}],
            "racks[1].first-leaf: 1 is not allowed; "
            "expected numbers of leaves that racks[0] does not have (it has 1)",
        ),
        (
            [{"first-leaf": 0}],
            "racks[0].number: an empty value is not allowed; "
            "expected a number of the rack, as it has a first-leaf",
        ),
        (
            [{"number": 0, "leaves": ["leaf01", "Leaf01"]}],
            "racks[0]: 'Leaf01' is not allowed; expected each switch a name of its own",
        ),
        (
            [{"number": 0}, {"number": 2}],
            "spines.downlinks: 'swp13-16' is not allowed; "
            "expected a downlink for each of 6 leaves, 1 each; a number without a leaf keeps its own",
        ),
    ],
    ids=[
        "twice",
        "in a range",
        "not the first",
        "not the last",
        "negative",
        "a word",
        "more leaves than usual",
        "another's leaf",
        "leaves without a number",
        "case",
        "downlinks",
    ],
)
def test_numbers_that_tell_no_rack_are_refused(racks: list[Any], said: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        fabric(change={"racks": racks})
    assert str(refused.value) == said


def test_spines_keep_their_numbers() -> None:
    """Of three spines the first one leaves, and the others stand in another order."""

    def three(content: dict[str, Any]) -> None:
        content["spines"] |= {"count": 3, "management": "192.0.2.1"}
        content["leaves"]["uplinks"] = "swp30-32"

    def two(content: dict[str, Any]) -> None:
        three(content)
        del content["spines"]["count"]
        content["spines"]["numbers"] = [2, 1]
        content["leaves"]["uplinks"] = "swp31-32"

    def named(content: dict[str, Any]) -> None:
        two(content)
        content["spines"]["names"] = ["Spine2", "Spine1"]

    before = {spine.name: spine for spine in fabric(change=three).by_role(Role.SPINE)}
    for change in (two, named):
        left = fabric(change=change).by_role(Role.SPINE)
        assert {spine.name: spine for spine in left} == {name: before[name] for name in ("Spine1", "Spine2")}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"numbers": [1, 1]}, "spines.numbers: [1, 1] is not allowed; expected each number once"),
        (
            {"numbers": [1], "names": ["a", "b"]},
            "spines.numbers: [1] is not allowed; expected one number for each of 2 names",
        ),
        (
            {"count": 2, "numbers": [1, 0]},
            "spines.count: 2 is not allowed; expected either count or names, or numbers",
        ),
        ({}, "spines.count: an empty value is not allowed; expected either count or names, or numbers"),
    ],
)
def test_numbers_that_tell_no_spine_are_refused(given: dict[str, Any], said: str) -> None:
    def change(content: dict[str, Any]) -> None:
        del content["spines"]["count"]
        content["spines"] |= given

    with pytest.raises(InvalidValue) as refused:
        fabric(change=change)
    assert str(refused.value) == said


# -- written into the text


def test_the_command_gives_each_rack_the_number_of_its_place() -> None:
    new = numbers.fixed(text("rdg"), fabric(), {})
    assert "  - number: 0\n    hosts:" in new
    assert "  - number: 1\n    hosts:" in new
    assert numbers.fixed(new, expand.read(new), {}) == new


def test_the_command_gives_racks_the_numbers_that_they_had() -> None:
    """The first of two racks has left; only the numbers of racks are written."""
    old = text("rdg").replace("- hosts: swp9-10\n    bonds", "- hosts: swp9-10  # stays\n    bonds")
    new = numbers.fixed(old, expand.read(old), {}, [1, 0])
    assert new == old.replace("- hosts: swp9-10  #", "- number: 1\n    hosts: swp9-10  #").replace(
        "- hosts: swp9-10\n", "- number: 0\n    hosts: swp9-10\n"
    )


@pytest.mark.parametrize(
    ("racks", "first"),
    [
        ("[{hosts: swp9-10}, {}]", "[{number: 3, hosts: swp9-10}, {number: 1}]"),
        ('[{"hosts": "swp9"}, {"count": 1}]', '[{"number": 3, "hosts": "swp9"}, {"number": 1, "count": 1}]'),
        (
            "\n- # one\n  hosts: swp9\n- count: 1\n",
            "\n- # one\n  number: 3\n  hosts: swp9\n- number: 1\n  count: 1\n",
        ),
    ],
    ids=["in one line", "as JSON", "as a block"],
)
def test_racks_get_their_numbers_however_they_are_written(racks: str, first: str) -> None:
    start = text("rdg").partition("racks:")[0].replace("swp13-16", "swp1-20")
    old = f"{start}racks: {racks}\n"
    assert numbers.fixed(old, expand.read(old), {}, [3, 1]) == f"{start}racks: {first}\n"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([1], "--racks: give 2 numbers, one for each entry of racks"),
        (
            [1, 1],
            "--racks: with these numbers, racks[1].number: 1 is not allowed; "
            "expected a number that racks[0] does not have",
        ),
    ],
)
def test_numbers_that_racks_cannot_have_are_refused(given: list[int], said: str) -> None:
    with pytest.raises(numbers.NumbersError) as refused:
        numbers.fixed(text("rdg"), fabric(), {}, given)
    assert str(refused.value) == said


def test_racks_with_numbers_are_renumbered_by_nobody_but_their_owner() -> None:
    new = numbers.fixed(text("rdg"), fabric(), {})
    with pytest.raises(numbers.NumbersError, match="the racks of the intent have numbers already"):
        numbers.fixed(new, expand.read(new), {}, [0, 1])


UNEQUAL: dict[str, tuple[str, str]] = {
    "one leaf": (
        "[{leaves: [border]}, {hosts: swp9}, {}]",
        "[{number: 0, leaves: [border]}, {number: 1, first-leaf: 1, hosts: swp9}, "
        "{number: 2, first-leaf: 3}]",
    ),
    "three leaves": (
        "[{}, {leaves: [a, b, c]}, {count: 2}, {}]",
        "[{number: 0}, {number: 1, leaves: [a, b, c]}, {number: 2, first-leaf: 5, count: 2}, "
        "{number: 4, first-leaf: 9}]",
    ),
    "one and three": (
        "[{leaves: [a]}, {leaves: [b, c, d]}, {}]",
        "[{number: 0, leaves: [a]}, {number: 1, first-leaf: 1, leaves: [b, c, d]}, {number: 2}]",
    ),
    "the last one": ("[{}, {leaves: [border]}]", "[{number: 0}, {number: 1, leaves: [border]}]"),
    "as a block": (
        "\n- leaves:\n  - border\n- count: 1\n",
        "\n- number: 0\n  leaves:\n  - border\n- number: 1\n  first-leaf: 1\n  count: 1\n",
    ),
    "as JSON": (
        '[{"leaves": ["a"]}, {"count": 1}]',
        '[{"number": 0, "leaves": ["a"]}, {"number": 1, "first-leaf": 1, "count": 1}]',
    ),
}


def racks(text_of_racks: str) -> str:
    """The example with these racks, and a spine's port for each of their leaves."""
    start = text("rdg").partition("racks:")[0].replace("swp13-16", "swp1-20")
    return f"{start}racks: {text_of_racks}\n"


@pytest.mark.parametrize(("old", "new"), UNEQUAL.values(), ids=UNEQUAL)
def test_racks_of_any_size_keep_their_addresses_with_a_number(old: str, new: str) -> None:
    """Racks without the usual number of leaves: those behind them get the number of their first leaf, too."""
    before, plain = expand.read(racks(old)), racks(new)
    written = numbers.fixed(racks(old), before, {})
    # Hosts are numbered in the same way by the same command.
    assert written.replace(
        '{"members": {"bond1": {"port": "swp9", "local-id": 1, "host": "none"}}}', "swp9"
    ) == (plain)
    after = expand.read(written)
    assert [replace(each, counted=False, bonds=()) for each in before.switches] == [
        replace(each, counted=False, bonds=()) for each in after.switches
    ]


def test_a_rack_that_leaves_from_before_unequal_ones_moves_none_of_them() -> None:
    three = racks("[{number: 0, leaves: [a]}, {number: 1, first-leaf: 1, leaves: [b, c, d]}, {number: 2}]")
    two = racks("[{number: 2}, {number: 1, first-leaf: 1, leaves: [b, c, d]}]")
    before = {name: leaf for name, leaf in leaves(expand.read(three)).items() if leaf.rack}
    assert leaves(expand.read(two)) == before


def test_the_command_counts_the_leaves_of_moved_racks_in_the_order_of_their_numbers() -> None:
    """The list has changed since: what was the second rack, of three leaves, stands first."""
    service = expand.read(racks("[{}, {leaves: [a, b, c]}, {}]"))
    moved = racks("[{leaves: [a, b, c]}, {}, {}]")
    now = expand.read(numbers.fixed(moved, expand.read(moved), {}, [1, 0, 2]))
    assert leaves(now) == {name: replace(leaf, counted=False) for name, leaf in leaves(service).items()}
