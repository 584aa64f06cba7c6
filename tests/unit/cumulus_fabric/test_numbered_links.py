# SPDX-License-Identifier: Apache-2.0
"""Links with addresses: one end has it in the intent, and the other end gets the other one of the subnet."""

import pytest
from converge.shape import InvalidValue
from intent.model import Dialect
from lab.nvue.published import published
from tree import commands, render
from tree.seen import by_port
from unit.cumulus_fabric import nvcommands
from unit.cumulus_fabric.audits import BLOCKED, found
from unit.cumulus_fabric.fabrics import fabric

OLD, NEW = Dialect.UNTIL_5_14, Dialect.FROM_5_15
LINKS = {
    "Leaf0-1": {"swp31": {"address": "10.1.0.1/31"}, "swp32": {"address": "10.1.0.5/30"}},
    "Leaf0-2": {"swp31": {"address": "10.1.0.2/31"}},
}


def own(links):
    return {f"switches.{name}.port-settings": ports for name, ports in links.items()}


OWN = own(LINKS)


def tree(name, change=OWN, dialect=OLD):
    whole = fabric(change=change)
    return render.tree(whole, whole.switch(name), dialect)


def sessions(name):
    return tree(name)["vrf"]["default"]["router"]["bgp"]["neighbor"]


def test_both_ends_get_their_addresses():
    assert tree("Leaf0-1")["interface"]["swp31"]["ip"] == {"address": {"10.1.0.1/31": {}}}
    assert tree("Spine0")["interface"]["swp13"]["ip"] == {"address": {"10.1.0.0/31": {}}}
    assert tree("Spine1")["interface"]["swp13"]["ip"] == {"address": {"10.1.0.6/30": {}}}
    assert tree("Leaf0-1", dialect=NEW)["interface"]["swp32"]["ipv4"] == {"address": {"10.1.0.5/30": {}}}


def test_the_session_is_with_the_address_of_the_other_end():
    numbered = {"peer-group": "underlay", "type": "numbered"}
    assert sessions("Leaf0-1") == {"10.1.0.0": numbered, "10.1.0.6": numbered}
    assert sessions("Leaf0-2") == {
        "10.1.0.3": numbered,
        "swp32": {"peer-group": "underlay", "type": "unnumbered"},
    }


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("name", ["Leaf0-1", "Spine0"])
def test_the_commands_make_the_tree(name, dialect):
    made = tree(name, dialect=dialect)
    assert nvcommands.read(commands.write(made, dialect).typed, dialect) == made


@pytest.mark.parametrize("minor", [5, 14, 15, 18])
def test_each_release_takes_it(minor):
    made = tree("Leaf0-1", dialect=Dialect.of_release(f"5.{minor}.0"))
    assert published(minor).refuse(made) == []


@pytest.mark.parametrize(
    ("links", "said"),
    [
        (
            {"Leaf0-1": {"swp31": {"address": "10.1.0.1/24"}}},
            "switches.Leaf0-1.port-settings.swp31.address: '10.1.0.1/24' is not allowed; "
            "expected an address of a link such as 10.1.0.0/31, or of a /30",
        ),
        (
            {"Leaf0-1": {"swp31": {"address": "10.1.0.4/30"}}},
            "switches.Leaf0-1.port-settings.swp31.address: '10.1.0.4/30' is not allowed; "
            "expected one of the two addresses of 10.1.0.4/30 for its ends, 10.1.0.5 or 10.1.0.6",
        ),
        (
            {
                "Leaf0-1": {"swp31": {"address": "10.1.0.1/31"}},
                "Spine0": {"swp13": {"address": "10.1.0.2/31"}},
            },
            "switches.Leaf0-1.port-settings.swp31.address: '10.1.0.1/31' is not allowed; "
            "expected 10.1.0.3/31, or none, as the other end has 10.1.0.2/31",
        ),
    ],
)
def test_a_wrong_address_is_said_in_one_sentence(links, said):
    with pytest.raises(InvalidValue) as error:
        fabric(change=own(links))
    assert str(error.value) == said


@pytest.mark.parametrize(
    ("links", "said"),
    [
        (
            {"Leaf0-1": {"swp20": {"address": "10.1.0.1/31"}}},
            "switches.Leaf0-1.port-settings.swp20: swp20 of Leaf0-1 has an address, "
            "but no link to another switch",
        ),
        (
            {
                "Leaf0-1": {"swp31": {"address": "10.1.0.1/31"}},
                "Leaf0-2": {"swp31": {"address": "10.1.0.0/31"}},
            },
            "switches.Leaf0-2.port-settings.swp31: 10.1.0.0/31 of swp31 of Leaf0-2 overlaps 10.1.0.0/31 of "
            "the link of swp13 of Spine0",
        ),
        (
            {"Leaf0-1": {"swp31": {"address": "10.10.10.1/31"}}},
            "switches.Leaf0-1.port-settings.swp31: 10.10.10.0/31 of swp31 of Leaf0-1 overlaps 10.10.10.1/32 "
            "of the loopback of Leaf0-1",
        ),
    ],
)
def test_an_address_of_something_else_is_blocked(links, said):
    assert said in found(BLOCKED, own(links))
    assert [each for each in found(BLOCKED, OWN) if "overlaps" in each or "an address" in each] == []


def test_a_session_that_is_named_by_the_port_counts_before_one_by_an_address():
    """Others may have a session of their own over the link."""
    running = {"interface": {"swp31": {"ip": {"address": {"10.1.0.1/31": {}}}}, "lo": {}}}
    up, idle = {"state": "established"}, {"state": "idle"}
    assert by_port(running, {"10.1.0.0": up}) == {"swp31": up}
    assert by_port(running, {"swp31": up, "10.1.0.0": idle}) == {"swp31": up}
    assert by_port(running, {"10.9.9.1": up, "fe80::1": up}) == {"10.9.9.1": up, "fe80::1": up}
