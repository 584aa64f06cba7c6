# SPDX-License-Identifier: Apache-2.0
"""Ports with properties of their own: the intent's speeds, FEC and lanes, and the ports that it shuts."""

import pytest
from audit import audit
from audit.ports import breakouts
from converge.shape import InvalidValue
from intent import expand
from intent.model import Dialect
from lab.nvue.published import published
from output import picture, tables
from output.told import Told
from tree import commands, render
from unit.cumulus_fabric import nvcommands
from unit.cumulus_fabric.audits import BLOCKED, WARNING, found
from unit.cumulus_fabric.fabrics import CHARM, fabric

OLD, NEW = Dialect.UNTIL_5_14, Dialect.FROM_5_15
OWN = {
    "leaves.port-settings": {
        "swp31-32": {"speed": "100G", "fec": "rs"},
        "swp9": {"speed": "25G", "auto-negotiate": False},
        "swp15-16": {"shut": True},
    },
    "spines.port-settings": {"swp13-16": {"speed": "100G", "fec": "rs"}},
}


def interfaces(change=None, name="Leaf0-1", dialect=OLD):
    whole = fabric(change=change)
    return render.tree(whole, whole.switch(name), dialect)["interface"]


def test_a_port_gets_its_speed_its_fec_and_its_negotiation():
    made = interfaces(OWN)
    assert made["swp31"]["link"] == {"speed": "100G", "fec": "rs"}
    assert made["swp9"] == {"type": "swp", "link": {"speed": "25G", "auto-negotiate": "off"}}
    assert interfaces(OWN, dialect=NEW)["swp9"]["link"] == {"speed": "25G", "auto-negotiate": "disabled"}


def test_a_port_that_nothing_uses_can_be_shut_on_purpose():
    assert interfaces(OWN)["swp15"] == {"type": "swp", "link": {"state": {"down": {}}}}


def test_a_switchs_own_entry_adds_to_those_of_its_role_and_comes_first():
    own = {"switches.Leaf0-2.port-settings": {"swp9": {"speed": "10G"}, "swp20": {"shut": True}}}
    made = interfaces(OWN | own, "Leaf0-2")
    assert made["swp9"]["link"] == {"speed": "10G"}
    assert made["swp20"]["link"] == {"state": {"down": {}}}
    assert made["swp31"]["link"] == {"speed": "100G", "fec": "rs"}
    assert interfaces(OWN | own, "Leaf0-1")["swp9"]["link"]["speed"] == "25G"


def test_the_mtu_of_a_link_stays_beside_its_speed():
    assert interfaces(OWN | {"mtu.fabric": 9100})["swp31"]["link"] == {
        "mtu": 9100,
        "speed": "100G",
        "fec": "rs",
    }


def test_a_split_port_says_how_many_lanes_each_part_has():
    change = {
        "leaves.breakout": {"swp9": {"mode": "4x", "lanes": 2}, "swp11": "2x"},
        "racks.0.hosts": "swp9s0-1",
    }
    made = interfaces(change)
    assert made["swp9"]["link"] == {"breakout": {"4x": {"lanes-per-port": "2"}}}
    assert made["swp11"]["link"] == {"breakout": {"2x": {}}}


@pytest.mark.parametrize("dialect", Dialect)
def test_the_commands_make_the_tree(dialect):
    change = OWN | {"leaves.breakout": {"swp11": {"mode": "4x", "lanes": 1}}}
    whole = fabric(change=change)
    tree = render.tree(whole, whole.switch("Leaf0-1"), dialect)
    written = commands.write(tree, dialect)
    assert nvcommands.read(written.typed, dialect) == tree
    assert "nv set interface swp15-16 link state down" in written.typed
    assert "nv set interface swp11 link breakout 4x lanes-per-port 1" in written.typed


@pytest.mark.parametrize("minor", range(5, 19))
def test_each_release_takes_it(minor):
    change = OWN | {"leaves.breakout": {"swp11": {"mode": "4x", "lanes": 1}}}
    whole = fabric(change=change)
    dialect = Dialect.of_release(f"5.{minor}.0")
    for name in ("Leaf0-1", "Spine0"):
        assert published(minor).refuse(render.tree(whole, whole.switch(name), dialect)) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"leaves.port-settings": {"swp9": {"speed": "26G"}}},
            "leaves.port-settings.swp9.speed: '26G' is not allowed; "
            "expected 1G, 10G, 25G, 40G, 50G, 100G, 200G, 400G or 800G",
        ),
        (
            {"leaves.port-settings": {"swp9": {"fec": "auto"}}},
            "leaves.port-settings.swp9.fec: 'auto' is not allowed; expected rs, baser or off",
        ),
        (
            {"leaves.port-settings": {"swp9": {"shut": "yes"}}},
            "leaves.port-settings.swp9.shut: 'yes' is not allowed; expected true or false",
        ),
        (
            {"leaves.port-settings": {"swp9-10": {"shut": True}, "swp10": {"speed": "25G"}}},
            "leaves.port-settings: 'swp10' is not allowed; expected each port once instead of swp10 twice",
        ),
        (
            {"leaves.breakout": {"swp9": {"mode": "4x", "lanes": 3}}},
            "leaves.breakout.swp9.lanes: 3 is not allowed; expected 1, 2, 4 or 8 lanes",
        ),
        (
            {"leaves.breakout": {"swp9": {"lanes": 2}}},
            "leaves.breakout.swp9.mode: an empty value is not allowed; expected 2x, 4x or 8x",
        ),
    ],
)
def test_a_wrong_value_is_said_in_one_sentence(change, said):
    with pytest.raises(InvalidValue) as error:
        fabric(change=change)
    assert str(error.value) == said


@pytest.mark.parametrize(
    ("settings", "others", "said"),
    [
        (
            {"swp40": {"shut": True}},
            {},
            "swp40 exceeds the 32 ports, on Leaf0-1, Leaf0-2, Leaf1-1 and 1 more",
        ),
        (
            {"swp20": {"speed": "25G"}},
            {"leaves.breakout": {"swp20": "4x"}},
            "swp20 is split 4x, so it has no properties of its own, on Leaf0-1, Leaf0-2, Leaf1-1 and 1 more",
        ),
        (
            {"swp20s3": {"speed": "25G"}},
            {"leaves.breakout": {"swp20": "2x"}},
            "swp20s3 does not exist: swp20 is split 2x, on Leaf0-1, Leaf0-2, Leaf1-1 and 1 more",
        ),
        (
            {"swp20": {"shut": True}},
            {"leaves.breakout": {"swp19": "8x"}},
            "swp20 has no lanes left: swp19 is split 8x, on Leaf0-1, Leaf0-2, Leaf1-1 and 1 more",
        ),
        (
            {"swp28": {"shut": True}},
            {"unmanaged.ports": "swp28"},
            "swp28 is unmanaged, on Leaf0-1, Leaf0-2, Leaf1-1 and 1 more",
        ),
    ],
)
def test_a_port_that_the_switch_does_not_have_is_blocked(settings, others, said):
    port = next(iter(settings))
    change = {"leaves.port-settings": settings, **others}
    assert f"leaves.port-settings.{port}: {said}" in found(BLOCKED, change)


def test_the_ends_of_a_link_have_one_speed_and_one_fec():
    change = OWN | {
        "spines.port-settings": {"swp13": {"speed": "40G", "fec": "rs"}, "swp14": {"speed": "100G"}}
    }
    assert [each for each in found(BLOCKED, change) if "other end" in each] == [
        "spines.port-settings.swp13: swp13 of Spine0 has speed 40G, and its other end, "
        "swp31 of Leaf0-1, has 100G",
        "spines.port-settings.swp13: swp13 of Spine1 has speed 40G, and its other end, "
        "swp32 of Leaf0-1, has 100G",
    ]
    assert (
        "spines.port-settings.swp14: swp31 of Leaf0-2 has fec rs, and its other end, swp14 of Spine0, "
        "chooses its own"
    ) in found(WARNING, change)
    assert [each for each in found(BLOCKED, OWN) + found(WARNING, OWN) if "other end" in each] == []


def test_the_legs_of_a_host_have_one_speed():
    change = OWN | {"switches.Leaf0-2.port-settings": {"swp9": {"speed": "10G"}}}
    assert (
        "racks[0].hosts: the ports of bond1 have different speeds: swp9 of Leaf0-1 has 25G; "
        "swp9 of Leaf0-2 has 10G"
    ) in found(BLOCKED, change)


def test_a_switch_without_any_link_is_a_warning():
    change = {"switches.Leaf0-2.port-settings": {"swp31-32": {"shut": True}}}
    assert (
        "switches.Leaf0-2.port-settings.swp31-32: all links of Leaf0-2 to other switches are shut on purpose"
    ) in found(WARNING, change)


def test_the_lanes_of_a_port_that_is_split_already_stay():
    wanted = interfaces({"leaves.breakout": {"swp20": {"mode": "4x", "lanes": 2}}})

    def said(applied):
        running = {"interface": {"swp20": {"type": "swp", "link": {"breakout": applied}}}}
        return [each.what for each in breakouts.running("Leaf0-1", running, {"interface": wanted})]

    assert said({"4x": {"lanes-per-port": "1"}}) == [
        "swp20 is split 4x with lanes-per-port 1 on the switch, which stay while it is split"
    ]
    assert said({"4x": {}}) == [
        "swp20 is split 4x with the switch's own number of lanes on the switch, which stay while it is split"
    ]
    assert said({"4x": {"lanes-per-port": "2"}}) == []


def test_the_guides_example_is_an_intent_that_each_dialect_has():
    text = (CHARM.parents[1] / "docs/how-to/set-ports-and-links.md").read_text()
    whole = expand.read(text.partition("```yaml\n")[2].partition("```")[0], "set-ports-and-links.md")
    assert [each.sentence() for each in audit(whole) if each.severity >= WARNING] == []
    for dialect in Dialect:
        leaf, spine = (render.tree(whole, whole.switch(name), dialect) for name in ("Leaf0-1", "Spine0"))
        assert leaf["interface"]["bond_ext"]["bridge"]["domain"]["br_default"] == {"access": 9}
        assert "10.1.0.1" in spine["vrf"]["default"]["router"]["bgp"]["neighbor"]
        assert {"swp20", "swp28"} < leaf["interface"].keys()
        assert "state" not in leaf["interface"]["swp22"].get("link", {})


def test_the_table_and_the_picture_say_what_is_shut():
    shut = {"swp31": {"shut": True}, "swp9": {"shut": True}, "swp23": {"shut": True}}
    whole = fabric(change={"switches.Leaf0-1.port-settings": shut})
    shown = tables.as_text(Told(whole))
    assert "swp31 Spine0 (shut), swp32 Spine1" in shown
    assert "Leaf0-1 swp9 (shut), Leaf0-2 swp9" in shown
    assert "Leaf0-1 swp23 (shut)" in shown
    drawn = picture.as_svg(Told(whole))
    assert ">swp31 · shut<" in drawn
    assert drawn.count(">shut<") == 2
    assert "<title>Leaf0-1 swp9: shut</title>" in drawn
    assert "<title>Leaf0-1 swp31 to Spine0 swp13: shut</title>" in drawn
    assert "shut" not in tables.as_text(Told(fabric())) + picture.as_svg(Told(fabric()))
