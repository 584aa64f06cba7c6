# SPDX-License-Identifier: Apache-2.0
"""No change of the list of racks gives a rack in service the number of another one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml
from audit.foreign import Ownership
from converge import Severity
from intent import expand, numbers, schema
from intent.model import Fabric, Role
from lab.nvue.factory import factory
from lab.nvue.trees import merge
from online import Site
from rest.fleet import Fleet
from unit.cumulus_fabric.fabrics import data, fabric
from unit.cumulus_fabric.online.drained import runs, work
from unit.cumulus_fabric.online.site import Rack, rack

Edit = Callable[[dict[str, Any]], None]

ATTACHED = ["swp23", "swp24", "bond1", "bond2", "bond_ext"]
"""Who is attached to one leaf only, or loses its last leg with the second leaf of a rack."""


def three(content: dict[str, Any]) -> None:
    """Three racks with different hosts, and room for a fourth one."""
    content["spines"]["downlinks"] = "swp1-8"
    first, second = content["racks"]
    first["hosts"] = {"ports": "swp9-10", "names": ["node1", "node2"]}
    second["hosts"] = {"ports": "swp9-10", "names": ["node3", "node4"], "networks": ["oam", "internal"]}
    content["racks"].append({"hosts": {"ports": "swp11-12", "names": ["node5", "node6"]}})


def edited(*edits: Edit) -> Fabric:
    def change(content: dict[str, Any]) -> None:
        for edit in (three, *edits):
            edit(content)

    return fabric(change=change)


def with_numbers(content: dict[str, Any]) -> None:
    content["racks"] = [{"number": number, **each} for number, each in enumerate(content["racks"])]


def another(content: dict[str, Any], place: int, number: int | None = None) -> None:
    given = {} if number is None else {"number": number}
    hosts = {"ports": "swp17-18", "names": ["node7", "node8"]}
    content["racks"].insert(place, {**given, "hosts": hosts})


def ordered(*places: int) -> Edit:
    def change(content: dict[str, Any]) -> None:
        content["racks"] = [content["racks"][place] for place in places]

    return change


@contextmanager
def running(*edits: Edit, release: str = "5.9.2") -> Iterator[Rack]:
    """The three racks, which run the intent, and the blank switches of a fourth one."""

    def fourth(content: dict[str, Any]) -> None:
        another(content, 3, 3 if with_numbers in edits else None)

    with rack(edited(*edits, fourth), applied=True, release=release) as made:
        for name in ("Leaf3-1", "Leaf3-2"):
            runs(made, factory("cumulus", release == "5.15.0"), name)
        for name in ("Spine0", "Spine1"):
            tree = made.applied[name]
            for port in ("swp7", "swp8"):
                del tree["vrf"]["default"]["router"]["bgp"]["neighbor"][port]
            runs(made, tree, name)
        taking(made, edited(*edits))
        assert made.site.survey().plan.empty
        made.forget()
        yield made


def taking(made: Rack, intent: Fabric) -> None:
    """From now on the site has this intent, and knows what the one before has made."""
    record = {**made.site.ownership.last, **made.site.survey().last}
    made.site = Site(intent, made.site.fleet, ownership=Ownership(record))


def removed(made: Rack, number: int) -> None:
    """A rack is drained and decommissioned, as the documents say."""
    for leaf in (f"Leaf{number}-1", f"Leaf{number}-2"):
        assert work(made, leaf, cut_off=ATTACHED).drain().applied
    for leaf in (f"Leaf{number}-1", f"Leaf{number}-2"):
        assert work(made, leaf, cut_off=ATTACHED).decommission().applied
    made.forget()


def blocked(made: Rack) -> list[str]:
    """Return the findings that prevent the plan; an apply then sends nothing either."""
    found = [each for each in made.site.survey().plan.findings if each.severity is Severity.BLOCKED]
    assert made.site.apply().verdict == "nothing was sent to any switch"
    assert made.writes() == []
    return [each.sentence() for each in found]


def serving(made: Rack, *racks: int) -> bool:
    """Whether each leaf of these racks has all its sessions."""
    ends = [
        (f"Leaf{number}-{leaf}", port) for number in racks for leaf in (1, 2) for port in ("swp31", "swp32")
    ]
    return all(made.wires.session(end)[1] for end in ends)


# -- an intent without numbers


@pytest.mark.parametrize("release", ["5.9.2", "5.15.0"])
@pytest.mark.parametrize(("gone", "left"), [(0, "1,2"), (1, "0,2")])
def test_a_rack_that_leaves_moves_none_behind_it(release: str, gone: int, left: str) -> None:
    with running(release=release) as made:
        removed(made, gone)
        taking(made, edited(lambda content: content["racks"].pop(gone)))
        found = blocked(made)
        assert found[-1].startswith("Spine0 swp5: Leaf2-1, Leaf2-2 are in service (Spine0 swp5, ")
        assert found[-1].endswith(
            ", and not in the intent; to remove them, drain and decommission first; if the racks have only "
            "other places in the list, give them their numbers: pipx run tox -qq -e fabric -- fix-numbers "
            f"--intent FILE --racks {left} > NEW-FILE"
        )
        assert serving(made, *map(int, left.split(",")))


def test_a_rack_that_is_drained_and_not_decommissioned_yet_keeps_no_number() -> None:
    with running() as made:
        for leaf in ("Leaf0-1", "Leaf0-2"):
            assert work(made, leaf, cut_off=ATTACHED).drain().applied
        made.forget()
        taking(made, edited(lambda content: content["racks"].pop(0)))
        assert blocked(made)[-1].endswith("--racks 1,2 > NEW-FILE")


def test_the_last_rack_leaves_in_the_documented_way() -> None:
    with running() as made:
        removed(made, 2)
        taking(made, edited(lambda content: content["racks"].pop(2)))
        assert made.site.apply().applied
        assert serving(made, 0, 1)


def test_a_rack_in_service_leaves_only_after_its_drain() -> None:
    with running() as made:
        taking(made, edited(lambda content: content["racks"].pop(2)))
        (found,) = blocked(made)
        assert "are in service" in found


def test_a_rack_whose_switches_are_dead_leaves_at_once() -> None:
    with running() as made:
        made.wires.cut |= {(leaf, port) for leaf in ("Leaf2-1", "Leaf2-2") for port in ("swp31", "swp32")}
        taking(made, edited(lambda content: content["racks"].pop(2)))
        assert made.site.apply().applied
        assert serving(made, 0, 1)


EDITS: dict[str, tuple[Edit, str]] = {
    "one comes in front": (lambda content: another(content, 0), "3,0,1,2"),
    "one comes between": (lambda content: another(content, 1), "0,3,1,2"),
    "the first two change places": (ordered(1, 0, 2), "1,0,2"),
    "the last two change places": (ordered(0, 2, 1), "0,2,1"),
    "the other way round": (ordered(2, 1, 0), "2,1,0"),
    "all move on": (ordered(2, 0, 1), "2,0,1"),
}


@pytest.mark.parametrize(("edit", "numbers"), EDITS.values(), ids=EDITS)
def test_racks_that_change_their_places_are_told_by_what_they_run(edit: Edit, numbers: str) -> None:
    with running() as made:
        taking(made, edited(edit))
        found = blocked(made)
        assert {each.partition(": its rack would get the number of another one; ")[2] for each in found} == {
            "give the racks their numbers; run pipx run tox -qq -e fabric -- fix-numbers --intent FILE "
            f"--racks {numbers} > NEW-FILE"
        }
        assert serving(made, 0, 1, 2)


def test_the_finding_names_what_shows_it() -> None:
    with running() as made:
        taking(made, edited(ordered(1, 0, 2)))
        assert blocked(made)[0].startswith(
            "Leaf0-1: runs what the intent has for Leaf1-1 (bond1, bond2, bond_ext and 2 more): its rack"
        )


@pytest.mark.parametrize("name", ["Leaf0-1", "Leaf1-2", "Leaf2-1"])
def test_a_single_switch_is_not_renumbered_either(name: str) -> None:
    with running() as made:
        taking(made, edited(lambda content: another(content, 0)))
        report = made.site.apply([name])
        assert [each.subject for each in report.reasons] == [name]
        assert made.writes() == []


def test_one_leaves_and_another_comes_in_one_edit() -> None:
    with running() as made:
        removed(made, 0)
        taking(made, edited(lambda content: (content["racks"].pop(0), another(content, 2))))
        assert blocked(made)
        assert serving(made, 1, 2)


def alike(content: dict[str, Any]) -> None:
    """All racks have the same ports; only their hosts differ."""
    names = iter(range(1, 9))
    content["racks"] = [
        {"hosts": {"ports": "swp9-10", "names": [f"node{next(names)}", f"node{next(names)}"]}}
        for _ in range(3)
    ]


def test_racks_that_look_alike_are_told_by_their_hosts() -> None:
    """The hosts of the first two racks change places with them; a network makes them differ."""
    with running(alike) as made:
        taking(
            made, edited(alike, ordered(1, 0, 2), lambda content: content["networks"].update(x={"vlan": 77}))
        )
        found = blocked(made)
        assert [each.partition(": its rack")[0] for each in found] == [
            "Leaf0-1: LLDP shows hosts that the intent has in the rack of Leaf1-1 (node1, node2)",
            "Leaf0-2: LLDP shows hosts that the intent has in the rack of Leaf1-1 (node1, node2)",
            "Leaf1-1: LLDP shows hosts that the intent has in the rack of Leaf0-1 (node3, node4)",
            "Leaf1-2: LLDP shows hosts that the intent has in the rack of Leaf0-1 (node3, node4)",
        ]
        assert all(each.endswith("--racks 1,0,2 > NEW-FILE") for each in found)


def test_switches_without_names_are_told_by_their_chassis() -> None:
    """The cables of the rack that stays are named, and all switches are called cumulus."""
    with running() as made:
        removed(made, 0)
        for name in made.applied:
            runs(made, merge(made.applied[name], {"system": {"hostname": "cumulus"}}), name)

        def edit(content: dict[str, Any]) -> None:
            content["racks"].pop(0)
            content["spines"]["downlinks"] = "swp3-6"

        taking(made, edited(edit))
        assert any(
            "the switch at Spine0 swp5, the switch at Spine0 swp6 are in service" in each
            for each in blocked(made)
        )


@pytest.mark.parametrize("deaf", [{"Spine0"}, {"Spine0", "Spine1"}, {"Leaf2-1", "Leaf2-2"}])
def test_sessions_end_for_nobody_who_cannot_be_told(deaf: set[str]) -> None:
    """LLDP does not say who is at the other end."""
    with running() as made:
        removed(made, 0)
        made.wires.deaf = deaf
        taking(made, edited(lambda content: content["racks"].pop(0)))
        assert any("in service" in each for each in blocked(made))
        assert serving(made, 1, 2)


@pytest.mark.parametrize("names", [["Leaf0-1"], ["Leaf0-1", "Leaf0-2"], ["Spine0"]])
def test_no_part_of_it_is_applied_either(names: list[str]) -> None:
    """The blank old switches would get what the rack that stays has."""
    with running() as made:
        removed(made, 0)
        taking(made, edited(lambda content: content["racks"].pop(0)))
        report = made.site.apply(names)
        assert "in service" in report.reasons[0].what
        assert made.writes() == []


def test_a_neighbour_that_is_gone_hides_nobody() -> None:
    """A switch that was there before is still shown beside the one that is there now."""
    with running() as made:
        spine = made.wires.members["Spine0"]
        shown = spine.operational

        def with_former(path: tuple[str, ...]) -> Any:
            state = shown(path)
            if path[:1] != ("interface",):
                return state
            former = {
                "chassis": {"chassis-id": "00:11:22:33:44:55", "system-name": "former"},
                "port": {"name": "swp31"},
            }
            seen = state["interface"]["swp1"]["lldp"]["neighbor"]
            state["interface"]["swp1"]["lldp"]["neighbor"] = {"former": former, **seen}
            return state

        spine.operational = with_former
        taking(made, edited(lambda content: content["networks"].update(tenant={"vlan": 77})))
        assert not made.site.survey().plan.blocked


RENAMED: dict[str, Edit] = {
    "another scheme": lambda content: content["leaves"].update(name="tor{rack}-{leaf}"),
    "another case": lambda content: content["leaves"].update(name="leaf{rack}-{leaf}"),
    "names of their own": lambda content: content["racks"][1].update(leaves=["west1", "west2"]),
}


@pytest.mark.parametrize("edit", RENAMED.values(), ids=RENAMED)
@pytest.mark.parametrize("sets", [True, False])
def test_other_names_renumber_nobody(edit: Edit, sets: bool) -> None:
    with running() as made:
        intent = edited(edit, lambda content: content.update({"host-names": sets}))
        before = made.site.fleet.switches
        old = {
            switch.management or switch.number: switch.name for switch in made.site.fabric.by_role(Role.LEAF)
        }
        clients = dict(before)
        for switch in intent.by_role(Role.LEAF):
            clients[switch.name] = before[old[switch.number]]
        made.site = Site(
            intent, Fleet(clients, made.site.fleet.limit, made.clock), ownership=made.site.ownership
        )
        assert [
            each.sentence() for each in made.site.survey().plan.findings if each.severity is Severity.BLOCKED
        ] == []


def test_names_that_change_places_are_refused() -> None:
    def exchange(content: dict[str, Any]) -> None:
        content["racks"][0]["leaves"] = ["Leaf1-1", "Leaf1-2"]
        content["racks"][1]["leaves"] = ["Leaf0-1", "Leaf0-2"]

    with running() as made:
        for one, other in (("Leaf0-1", "Leaf1-1"), ("Leaf0-2", "Leaf1-2")):
            made.servers[one], made.servers[other] = made.servers[other], made.servers[one]
        made.site.fleet.close()
        made.site = Site(edited(exchange), made.site.fleet, ownership=made.site.ownership)
        told = [each for each in blocked(made) if "calls itself" in each]
        assert [each.partition(":")[0] for each in told] == ["Leaf1-1", "Leaf1-2", "Leaf0-1", "Leaf0-2"]


# -- what renumbers nobody


def grow(content: dict[str, Any]) -> None:
    content["racks"][1]["hosts"] = {
        "ports": "swp9-11",
        "names": ["node3", "node4", "node9"],
        "networks": ["oam", "internal"],
    }


def narrow(content: dict[str, Any]) -> None:
    """The first rack becomes like the second one."""
    content["racks"][0]["hosts"]["networks"] = ["oam", "internal"]


APPLIED: dict[str, Edit] = {
    "one comes at the end": lambda content: another(content, 3),
    "a rack grows": grow,
    "a rack gets another one's networks": narrow,
    "a rack loses a host": lambda content: content["racks"][2].update(
        hosts={"ports": "swp11", "names": ["node5"]}
    ),
    "a network comes": lambda content: content["networks"].update(tenant={"vlan": 77}),
    "nothing": lambda content: None,
}


@pytest.mark.parametrize("edit", APPLIED.values(), ids=APPLIED)
def test_what_renumbers_no_rack_is_planned(edit: Edit) -> None:
    with running() as made:
        taking(made, edited(edit))
        assert not made.site.survey().plan.blocked


def test_racks_that_were_alike_may_differ_from_now_on() -> None:
    with running(alike) as made:
        taking(made, edited(alike, lambda content: content["racks"][0]["hosts"].update(networks=["oam"])))
        assert not made.site.survey().plan.blocked
        assert not made.site.survey(["Leaf0-1"]).plan.blocked


def test_one_host_at_another_one_s_port_is_no_other_rack() -> None:
    with running(alike) as made:
        made.wires.hosts["Leaf0-1", "swp9"], made.wires.hosts["Leaf1-1", "swp9"] = (
            made.wires.hosts["Leaf1-1", "swp9"],
            made.wires.hosts["Leaf0-1", "swp9"],
        )
        taking(made, edited(alike, lambda content: content["networks"].update(x={"vlan": 77})))
        assert not made.site.survey().plan.blocked


# -- an intent with numbers


NUMBERED: dict[str, tuple[Edit, set[str]]] = {
    "one comes in front": (lambda content: another(content, 0, 3), {"Leaf3-1", "Leaf3-2"}),
    "all change their places": (ordered(2, 0, 1), set()),
}


@pytest.mark.parametrize(("edit", "new"), NUMBERED.values(), ids=NUMBERED)
def test_with_numbers_the_place_says_nothing(edit: Edit, new: set[str]) -> None:
    with running(with_numbers) as made:
        taking(made, edited(with_numbers, edit))
        assert {name for name in made.site.survey().changes if name.startswith("Leaf")} == new
        assert made.site.apply().applied
        assert serving(made, 0, 1, 2)


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_with_numbers_a_rack_leaves_in_the_documented_way(gone: int) -> None:
    with running(with_numbers) as made:
        removed(made, gone)
        left = [number for number in range(3) if number != gone]
        before = {name: tree for name, tree in made.applied.items() if name.startswith("Leaf")}
        taking(made, edited(with_numbers, lambda content: content["racks"].pop(gone)))
        assert made.site.apply().applied
        assert serving(made, *left)
        assert {name: made.applied[name] for name in before} == before
        assert made.site.survey().plan.empty


def test_numbers_that_change_places_are_refused() -> None:
    def exchange(content: dict[str, Any]) -> None:
        content["racks"][0]["number"], content["racks"][1]["number"] = 1, 0

    with running(with_numbers) as made:
        taking(made, edited(with_numbers, exchange))
        found = blocked(made)
        assert found[0].endswith(
            "give racks[0] the number 0 again; or change one rack after the other"
        ) or found[0].endswith("give racks[1] the number 0 again; or change one rack after the other")
        assert serving(made, 0, 1, 2)


def test_the_command_in_the_remedy_leaves_the_others_alone() -> None:
    with running() as made:
        removed(made, 0)
        content = data()
        three(content)
        content["racks"].pop(0)
        text = yaml.safe_dump(content)
        taking(made, expand.expand(schema.parse(text)))
        given = blocked(made)[-1].partition("--racks ")[2].partition(" ")[0]
        fixed = numbers.fixed(text, made.site.fabric, {}, [int(number) for number in given.split(",")])
        taking(made, expand.read(fixed))
        assert set(made.site.survey().changes) == {"Spine0", "Spine1"}
        assert made.site.apply().applied
        assert serving(made, 1, 2)


# -- spines


def without_the_first(content: dict[str, Any]) -> None:
    content["spines"] = {**content["spines"], "numbers": [1]}
    del content["spines"]["count"]
    content["leaves"]["uplinks"] = "swp32"


def test_a_spine_that_is_not_the_last_leaves_with_numbers() -> None:
    with running() as made:
        assert work(made, "Spine0").drain().applied
        assert work(made, "Spine0").decommission().applied
        before = made.applied["Spine1"]
        taking(made, edited(without_the_first))
        assert made.site.apply().applied
        assert made.applied["Spine1"] == before
        assert made.wires.session(("Leaf0-1", "swp32")) == (True, True)


def test_a_spine_in_service_leaves_only_after_its_drain() -> None:
    with running() as made:
        taking(made, edited(without_the_first))
        (found,) = blocked(made)
        assert found.startswith("Leaf0-1 swp31: Spine0 is in service (")
