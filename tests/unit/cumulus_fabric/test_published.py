# SPDX-License-Identifier: Apache-2.0
"""Each release takes the charm's trees, by the models that are published for it."""

import pytest
from intent.model import Dialect
from lab.nvue.published import published
from tree import render
from unit.cumulus_fabric.fabrics import SIX, fabric

MINORS = range(5, 19)


def trees(example, dialect, names=SIX):
    """The trees of these switches."""
    whole = fabric(example)
    return [render.tree(whole, whole.switch(name), dialect) for name in names]


@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize(("example", "names"), [("rdg", SIX), ("rdg-max", ["Leaf0-1", "Leaf1-1", "Spine0"])])
def test_every_tree_is_one_of_the_releases(example, names, minor):
    rendered = trees(example, Dialect.of_release(f"5.{minor}.0"), names)
    assert [wrong for tree in rendered for wrong in published(minor).refuse(tree)] == []


@pytest.mark.parametrize("minor", MINORS)
def test_in_the_other_dialect_the_release_refuses_every_tree(minor):
    declared = {dialect.declared for dialect in Dialect}
    (other,) = declared - {Dialect.of_release(f"5.{minor}.0").declared}
    assert [tree for tree in trees("rdg", other) if not published(minor).refuse(tree)] == []
