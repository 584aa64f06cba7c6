# SPDX-License-Identifier: Apache-2.0
"""The simulator has no path that the release's published model lacks, and takes no value that it refuses."""

from collections.abc import Iterator
from pkgutil import iter_modules
from typing import Any

import nvueschema.models
import pytest
from lab.nvue import Tree, factory, paths
from lab.nvue.published import published
from lab.nvue.rules import Rules
from lab.nvue.values import KEYS

MINORS = range(5, 19)
"""The releases that the charm supports and that are published: 5.5 to 5.18."""


def example(path: str, value: Any) -> Tree:
    """A tree with this value at a path, whose lists have an instance each."""
    tree = value
    for key in reversed(path.split("/")):
        tree = {KEYS[key].samples[0] if key in KEYS else key: tree}
    return tree


def examples(minor: int) -> Iterator[Tree]:
    """A tree for each path and each kind of value that the simulator takes for a release."""
    for path, check in paths.of((5, minor)).items():
        for value in check.samples if check else ({},):
            yield example(path, value)


def test_every_published_release_is_looked_at() -> None:
    names = [module.name for module in iter_modules(nvueschema.models.__path__)]
    minors = sorted(int(name[3:]) for name in names if name.startswith("v5_"))
    assert [minor for minor in minors if minor >= MINORS[0]] == list(MINORS)


@pytest.mark.parametrize("minor", MINORS)
def test_what_the_simulator_knows_exists_in_the_release(minor: int) -> None:
    trees, rules, model = list(examples(minor)), Rules((5, minor)), published(minor)
    assert len(trees) > 250
    assert [rules.refuse(tree) for tree in trees if rules.refuse(tree)] == []
    assert [wrong for tree in trees for wrong in model.refuse(tree)] == []


@pytest.mark.parametrize("minor", MINORS)
def test_what_a_switch_comes_with_exists_in_the_release(minor: int) -> None:
    tree = factory.factory("leaf0-1", new=minor >= 15)
    assert (published(minor).refuse(tree), Rules((5, minor)).refuse(tree)) == ([], "")


@pytest.mark.parametrize("minor", MINORS)
def test_the_other_dialect_exists_in_no_release(minor: int) -> None:
    """Both refuse it: the model and the simulator."""
    model, rules = published(minor), Rules((5, minor))
    other = paths.OLD if minor >= 15 else paths.NEW
    trees = [example(path, check.samples[0] if check else {}) for path, check in other.items()]
    assert [tree for tree in trees if not model.refuse(tree)] == []
    assert [tree for tree in trees if not rules.refuse(tree)] == []


EXISTING = [
    "mlag/priority", "mlag/init-delay", "interface/{interface}/link/breakout/{mode}/lanes-per-port",
    "interface/{interface}/acl/{name}/inbound", "acl/{name}/rule/{rule}/action/permit",
    "system/aaa/user/{name}/role", "vrf/{vrf}/evpn/vni/{vni}", "evpn/vni/{vni}/route-target/export/{target}",
    "bridge/domain/{domain}/stp/priority", "evpn/multihoming/segment/mac-address",
]  # fmt: skip


@pytest.mark.parametrize("minor", [MINORS[0], 14, 15, MINORS[-1]])
@pytest.mark.parametrize("path", EXISTING)
def test_what_others_configure_on_a_switch_is_taken(path: str, minor: int) -> None:
    check = paths.of((5, minor))[path]
    tree = example(path, check.samples[0] if check else {})
    assert (Rules((5, minor)).refuse(tree), published(minor).refuse(tree)) == ("", [])


GONE = [
    ("qos/roce/cable-length", 5, range(5, 19)), ("system/timezone", "Etc/UTC", range(15, 19)),
    ("service/ntp/default/server/ntp1", {}, range(15, 19)),
    ("service/dns/default/server/ns1", {}, range(15, 19)),
    ("system/date-time/timezone", "Etc/UTC", range(5, 15)),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "minors"), GONE)
def test_what_a_release_does_not_have_is_refused(path: str, value: Any, minors: range) -> None:
    for minor in minors:
        tree = example(path, value)
        assert published(minor).refuse(tree)
        assert Rules((5, minor)).refuse(tree)
