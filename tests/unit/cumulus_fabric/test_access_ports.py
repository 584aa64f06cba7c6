# SPDX-License-Identifier: Apache-2.0
"""Access ports of one network, and what STP does on a host's port."""

import pytest
from converge.shape import InvalidValue
from intent.model import Dialect
from lab.nvue.published import published
from tree import commands, render
from tree.diff import with_access
from unit.cumulus_fabric import nvcommands
from unit.cumulus_fabric.fabrics import fabric

OLD, NEW = Dialect.UNTIL_5_14, Dialect.FROM_5_15
EDGE = {"stp-edge": True, "bpdu-guard": True}
OWN = {
    "racks.0.hosts": {"ports": "swp9-10", **EDGE},
    "racks.0.bonds.bond_ext": {"ports": "swp22", "local-id": 9, "access": "public"},
    "racks.0.single-homed": {"bmc": {"leaf": 1, "port": "swp23", "access": "oam", **EDGE}},
}


def bridged(port, change=None, dialect=OLD):
    whole = fabric(change=change)
    tree = render.tree(whole, whole.switch("Leaf0-1"), dialect)
    return tree["interface"][port]["bridge"]["domain"]["br_default"]


def test_an_access_port_has_one_network_and_no_list():
    assert bridged("bond_ext", OWN) == {"access": 9}
    assert bridged("swp23", OWN) == {"access": 3000, "stp": {"admin-edge": "on", "bpdu-guard": "on"}}


def test_a_trunk_may_be_an_edge_and_guarded():
    assert bridged("bond1", OWN)["stp"] == {"admin-edge": "on", "bpdu-guard": "on"}
    assert bridged("bond1", OWN, NEW)["stp"] == {"admin-edge": "enabled", "bpdu-guard": "enabled"}
    assert bridged("bond1", OWN)["untagged"] == 3000
    only = {"racks.0.hosts": {"ports": "swp9-10", "bpdu-guard": True}}
    assert bridged("bond1", only)["stp"] == {"bpdu-guard": "on"}


@pytest.mark.parametrize("dialect", Dialect)
def test_the_commands_make_the_tree(dialect):
    whole = fabric(change=OWN)
    tree = render.tree(whole, whole.switch("Leaf0-1"), dialect)
    written = commands.write(tree, dialect)
    assert nvcommands.read(written.typed, dialect) == tree
    assert "nv set interface bond_ext bridge domain br_default access 9" in written.typed


@pytest.mark.parametrize("minor", range(5, 19))
def test_each_release_takes_it(minor):
    whole = fabric(change=OWN)
    tree = render.tree(whole, whole.switch("Leaf0-1"), Dialect.of_release(f"5.{minor}.0"))
    assert published(minor).refuse(tree) == []


@pytest.mark.parametrize(
    ("bond", "said"),
    [
        (
            {"access": "public", "networks": ["internal"]},
            "networks: ['internal'] is not allowed; expected no networks beside access, "
            "which is the only network",
        ),
        (
            {"access": "public", "untagged": "public"},
            "untagged: 'public' is not allowed; expected no untagged beside access, "
            "which is the only network",
        ),
        (
            {"access": "elsewhere"},
            "access: 'elsewhere' is not allowed; expected one of the networks "
            "oam, public, internal, overlay, provider",
        ),
        ({"bpdu-guard": "on"}, "bpdu-guard: 'on' is not allowed; expected true or false"),
    ],
)
def test_a_wrong_value_is_said_in_one_sentence(bond, said):
    with pytest.raises(InvalidValue) as error:
        fabric(change={"racks.0.bonds.bond_ext": {"ports": "swp22", "local-id": 9, **bond}})
    assert str(error.value) == f"racks[0].bonds.bond_ext.{said}"


TRUNK = {"vlan": {"9": {}}, "untagged": 9}


@pytest.mark.parametrize(
    ("runs", "wants", "said"),
    [
        (TRUNK, {"access": 9}, TRUNK),
        ({"access": 9}, TRUNK, {"access": 9}),
        ({"access": 9}, {"access": 9}, {"access": 9}),
        ({"access": 9}, TRUNK | {"stp": {"admin-edge": "on"}}, {"access": 9, "stp": {"admin-edge": "on"}}),
        (TRUNK, {"access": 10}, {"access": 10}),
        ({"vlan": {"9": {}, "10": {}}, "untagged": 9}, {"access": 9}, {"access": 9}),
    ],
)
def test_a_port_of_one_network_stays_as_the_switch_says_it(runs, wants, said):
    def tree(domain):
        return {"interface": {"bond1": {"type": "bond", "bridge": {"domain": {"br_default": domain}}}}}

    assert with_access(tree(runs), tree(wants)) == tree(said)
