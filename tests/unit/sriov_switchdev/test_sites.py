# SPDX-License-Identifier: Apache-2.0
"""The gallery's sites whose hosts this charm looks after."""

import pytest
from sites import gallery
from sites.drivers import host
from sites.judge import judge
from unit.sriov_switchdev.node import Node, compute_node

TOOL = "sriov-switchdev"


@pytest.mark.parametrize("site", gallery.of(TOOL), ids=str)
def test_the_site(site: gallery.Site, monkeypatch: pytest.MonkeyPatch) -> None:
    made = compute_node(cards=host.cards(site))
    host.prepare(site, made)
    judge(site, TOOL, host.see(site, TOOL, Node(made, monkeypatch)))
