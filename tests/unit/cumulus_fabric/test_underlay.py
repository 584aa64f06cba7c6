# SPDX-License-Identifier: Apache-2.0
"""The sessions between switches: their peer group's own name, and BFD in both ways of NVUE."""

import pytest
from converge.shape import InvalidValue
from intent.model import Dialect
from lab.nvue.published import published
from tree import commands, render
from unit.cumulus_fabric import nvcommands
from unit.cumulus_fabric.fabrics import fabric

OLD, NEW = Dialect.UNTIL_5_14, Dialect.FROM_5_15
OWN = {"underlay": {"peer-group": "fabric", "bfd": {"interval": 400, "multiplier": 4}}}


def tree(change=None, name="Leaf0-1", dialect=OLD):
    whole = fabric(change=change)
    return render.tree(whole, whole.switch(name), dialect)


def bgp(*args, **given):
    return tree(*args, **given)["vrf"]["default"]["router"]["bgp"]


@pytest.mark.parametrize("name", ["Leaf0-1", "Spine0"])
def test_the_peer_group_has_its_own_name(name):
    made = bgp(OWN, name)
    assert set(made["peer-group"]) == {"fabric"}
    assert {each["peer-group"] for each in made["neighbor"].values()} == {"fabric"}


def test_bfd_up_to_5_14_is_the_peer_groups():
    assert bgp(OWN)["peer-group"]["fabric"]["bfd"] == {
        "enable": "on",
        "detect-multiplier": 4,
        "min-rx-interval": 400,
        "min-tx-interval": 400,
    }
    assert "bfd" not in tree(OWN)["router"]


def test_bfd_from_5_15_on_is_a_profile():
    made = tree(OWN, dialect=NEW)
    assert bgp(OWN, dialect=NEW)["peer-group"]["fabric"]["bfd"] == {"profile": "cumulus-fabric"}
    timers = {"detect-multiplier": 4, "min-rx-interval": 400, "min-tx-interval": 400}
    assert made["router"]["bfd"] == {"state": "enabled", "profile": {"cumulus-fabric": timers}}


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("name", ["Leaf0-1", "Spine0"])
def test_the_commands_make_the_tree(name, dialect):
    made = tree(OWN, name, dialect)
    written = commands.write(made, dialect)
    assert nvcommands.read(written.typed, dialect) == made


@pytest.mark.parametrize("minor", range(5, 19))
def test_each_release_takes_it(minor):
    dialect = Dialect.of_release(f"5.{minor}.0")
    for name in ("Leaf0-1", "Spine0"):
        assert published(minor).refuse(tree(OWN, name, dialect)) == []


@pytest.mark.parametrize(
    ("underlay", "said"),
    [
        (
            {"peer-group": "two words"},
            "underlay.peer-group: 'two words' is not allowed; "
            "expected a peer group's name of letters, digits, _ and -",
        ),
        (
            {"bfd": {"interval": 20}},
            "underlay.bfd.interval: 20 is not allowed; expected milliseconds from 50 to 60000",
        ),
        (
            {"bfd": {"multiplier": 1}},
            "underlay.bfd.multiplier: 1 is not allowed; expected a number of packets from 2 to 255",
        ),
        (
            {"bfd": True},
            "underlay.bfd: true is not allowed; expected a mapping with the keys interval, multiplier",
        ),
    ],
)
def test_a_wrong_value_is_said_in_one_sentence(underlay, said):
    with pytest.raises(InvalidValue) as error:
        fabric(change={"underlay": underlay})
    assert str(error.value) == said
