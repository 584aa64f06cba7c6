# SPDX-License-Identifier: Apache-2.0
"""The fabric's picture: who is where, what is wrong, and that a person can read it."""

import itertools
import json
from pathlib import Path
from xml.etree import ElementTree

import lab.rack
import pytest
from bench import fabric as bench
from converge import Severity
from intent import expand
from intent.model import Role
from output import picture, tables
from output import svg as svg_
from output.told import Told
from tree.seen import Neighbour
from unit.cumulus_fabric.fabrics import CHARM, fabric
from unit.cumulus_fabric.test_formats import HEALTH

SVG = "{http://www.w3.org/2000/svg}"
LAB = Path(lab.rack.__file__).parent


def drawn(name="rdg", health=None, **told):
    return ElementTree.fromstring(picture.as_svg(Told(fabric(name), health, **told)))


def large(**told):
    """A fabric of 32 spines, 128 leaves and 1024 hosts, each of which LLDP shows."""
    whole = expand.read(bench.intent(32, 128, 1024))
    ends = {
        f"{leaf.name} {bond.members[0]}": Neighbour(f"node{16 * (leaf.rack or 0) + number}", "enp1s0f0np0")
        for leaf in whole.by_role(Role.LEAF)
        for number, bond in enumerate(leaf.bonds, 1)
    }
    return whole, ElementTree.fromstring(picture.as_svg(Told(whole, {}, **{"ends": ends, **told})))


def titles(svg) -> dict[str, str]:
    """The lines of a picture by what they are, with their colours."""
    return {line.findtext(f"{SVG}title"): line.get("stroke") for line in svg.iter(f"{SVG}line")}


def written(svg) -> list[str]:
    return [text.text for text in svg.iter(f"{SVG}text")]


def places(svg) -> list[tuple[str, float, float, float, float]]:
    """Each text with the box around it: left, top, right, bottom."""
    found = []
    for text in svg.iter(f"{SVG}text"):
        x, y, size = (float(text.get(key)) for key in ("x", "y", "font-size"))
        wide = len(text.text) * size * (0.68 if text.get("font-weight") else 0.6)
        left = x - {"start": 0, "middle": wide / 2, "end": wide}[text.get("text-anchor")]
        found.append((text.text, left, y - 0.75 * size, left + wide, y + 0.2 * size))
    return found


def overlapping(svg) -> list[tuple[str, str]]:
    by_height = sorted(places(svg), key=lambda each: each[2])
    return [
        (one[0], other[0])
        for number, one in enumerate(by_height)
        for other in itertools.takewhile(lambda each, one=one: each[2] < one[4], by_height[number + 1 :])
        if one[1] < other[3] and other[1] < one[3]
    ]


def test_every_cable_is_a_line_and_every_port_of_a_host_a_dot():
    svg, whole = drawn(), fabric()
    cables = [title for title in titles(svg) if " to " in title]
    leaves = [switch for switch in whole.switches if switch.rack is not None]
    assert len(cables) == sum(len(leaf.links) for leaf in leaves)
    dots = list(svg.iter(f"{SVG}circle"))
    assert len(dots) == sum(len(leaf.bonds) + len(leaf.single_homed) for leaf in leaves)


def test_names_of_switches_hosts_and_ports_are_written():
    assert {"Spine0", "Leaf1-2", "bond1", "External_GW_bond", "juju", "swp13", "swp31", "rack 1"} <= {
        *written(drawn())
    }


ENDS = {
    f"{port['leaf']} {port['port']}": Neighbour(name, port["netdev"])
    for name, ports in json.loads((LAB / "example.json").read_text())["nodes"].items()
    for port in ports
}
"""The hosts of a rack of the lab that ran."""


def test_a_host_that_is_known_has_its_name_and_both_ends_of_each_leg():
    svg = drawn(ends=ENDS)
    assert {"node-0 · bond1", "node-1 · bond1"} <= {*written(svg)}
    assert [*written(svg)].count("enp59s0f0np0") == [*written(svg)].count("enp59s0f1np1") == 2
    assert overlapping(svg) == []


def test_two_legs_are_two_lines_that_end_at_the_hosts_box():
    svg = drawn(ends=ENDS)
    legs = {line.findtext(f"{SVG}title"): line for line in svg.iter(f"{SVG}line")}
    one, other = (float(legs[f"{leaf} swp9"].get("x2")) for leaf in ("Leaf0-1", "Leaf0-2"))
    middles = [
        x for text, x, _, right, _ in places(svg) if text == "node-0 · bond1" and one < x < right < other
    ]
    assert one < other
    assert len(middles) == 1, "neither leg runs behind the host's name"


STATES = {"Leaf1-1 swp32": Severity.BLOCKED, "Leaf0-1 swp10": Severity.WARNING, "Spine0": Severity.WAITING}
LOST = {"Leaf1-1 bond2": "last leg goes", "Leaf0-1 bond1": "goes"}


def test_no_colour_tells_alone():
    svg = drawn(health=STATES, toll=LOST, ends=ENDS, drained=["Leaf0-2"])
    words = written(svg)
    for severity in STATES.values():
        assert words.count(severity.name.lower()) == 2, "once where it is, and once in the legend"
    assert {"drained", "last leg goes", "goes", "drained: out of use"} <= {*words}
    assert "held" not in words, "the legend has what the picture has"
    assert overlapping(svg) == []


def test_a_drained_leaf_is_empty_and_its_cables_and_legs_are_grey():
    lines = titles(drawn(health={}, drained=["Leaf0-2"]))
    assert {colour for title, colour in lines.items() if title.startswith("Leaf0-2 ")} == {svg_.UNUSED}
    assert lines["Leaf0-1 swp9"] == svg_.COLOURS[Severity.INFO]


def test_the_text_has_drained_switches_and_known_hosts():
    text = tables.as_text(Told(fabric(), STATES, {}, ENDS, ["Leaf0-2"]))
    assert "Leaf0-2 (drained)" in text
    assert "node-1" in text


def test_a_large_fabric_is_grouped_by_rack_with_its_cables_as_bundles():
    whole, svg = large()
    bundles = {title: colour for title, colour in titles(svg).items() if " links of " in title}
    assert len(bundles) == len(whole.racks) == 64
    assert {title.partition(" of ")[0] for title in bundles} == {"64 links"}
    assert len(list(svg.iter(f"{SVG}line"))) < 100
    assert {"rack 63", "Leaf63-2", "node1009-1024", "Spine31"} <= {*written(svg)}
    legs = [title.text for title in svg.iter(f"{SVG}title") if " at Leaf" in (title.text or "")]
    assert len(legs) == sum(len(leaf.bonds) for leaf in whole.by_role(Role.LEAF)) == 2048


def test_a_large_fabric_names_what_is_wrong_where_it_is_and_can_be_read():
    links = {f"Leaf9-1 swp{number}": Severity.BLOCKED for number in range(65, 69)}
    hosts = {"Leaf3-1 swp3": Severity.BLOCKED, "Leaf20-2 bond4": Severity.HELD, "Leaf3-2": Severity.WARNING}
    whole, _ = large()
    svg = ElementTree.fromstring(
        picture.as_svg(
            Told(whole, links | hosts, {"Leaf5-1 bond3": "last leg goes"}, drained=["Leaf11-1", "Spine2"])
        )
    )
    words = written(svg)
    assert {
        "60 of 64 links, blocked",
        "Leaf9-1 swp65-68: blocked",
        "bond3 at Leaf3-1: blocked",
        "bond4 at Leaf20-2: held",
        "bond3 at Leaf5-1: last leg goes",
    } <= {*words}
    assert words.count("drained") == 2
    assert words.count("warning") == 2, "at the leaf, and in the legend"
    assert overlapping(svg) == []
    sizes = [float(text.get("font-size")) for text in svg.iter(f"{SVG}text") if len(text.text) > 1]
    assert min(sizes) >= 8.5


def test_many_wrong_things_of_a_rack_are_counted():
    whole, _ = large()
    health = {f"Leaf7-1 swp{number}": Severity.BLOCKED for number in range(1, 13)}
    assert "and 8 more" in written(ElementTree.fromstring(picture.as_svg(Told(whole, health))))


@pytest.mark.parametrize("name", ["rdg", "rdg-max", "demartek"])
def test_nothing_lies_outside_the_picture(name):
    svg = drawn(name, health={}, drained=["Leaf0-1"])
    width, height = float(svg.get("width")), float(svg.get("height"))
    for element in svg.iter():
        for key, limit in (("x", width), ("x1", width), ("x2", width), ("y", height), ("cy", height)):
            if element.get(key):
                assert 0 <= float(element.get(key)) <= limit, (name, element.attrib)
    assert [text for text, left, top, right, bottom in places(svg) if left < 0 or right > width] == []


def test_health_has_colours():
    lines = titles(drawn(health=HEALTH))
    assert lines["Leaf1-1 swp32 to Spine1 swp15"] == svg_.COLOURS[Severity.BLOCKED]
    assert lines["Leaf0-1 swp10"] == svg_.COLOURS[Severity.WARNING]
    assert lines["Leaf0-1 swp31 to Spine0 swp13"] == svg_.COLOURS[Severity.INFO]
    assert svg_.COLOURS[Severity.BLOCKED] not in titles(drawn()).values()


def test_names_cannot_break_the_picture():
    def odd(data):
        data["racks"][0]["bonds"]["bond_ext"]["description"] = "<a> & 'b'"

    assert ElementTree.fromstring(picture.as_svg(Told(fabric("rdg", odd))))


def test_the_readmes_picture_is_drawn_from_the_guides_intent():
    assert (CHARM / "examples/rdg.svg").read_text() == picture.as_svg(Told(fabric()))
    assert "(examples/rdg.svg)" in (CHARM / "README.md").read_text()


def test_the_labs_picture_is_drawn_of_the_rack_that_ran():
    """Its fabric is the guide's; all was as intended, and the nodes' report has their ports."""
    assert (LAB / "fabric.svg").read_text() == picture.as_svg(Told(fabric(), {}, {}, ENDS))
