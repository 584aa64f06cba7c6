# SPDX-License-Identifier: Apache-2.0
"""The gallery's sites whose ports this charm looks after."""

import pytest
from sites import gallery
from sites.drivers import host
from sites.judge import judge
from unit.roce_qos.node import Node, compute_node

TOOL = "roce-qos"


@pytest.mark.parametrize("site", gallery.of(TOOL), ids=str)
def test_the_site(site: gallery.Site, monkeypatch: pytest.MonkeyPatch) -> None:
    made = compute_node(cards=host.cards(site))
    host.prepare(site, made)
    judge(site, TOOL, host.see(site, TOOL, Node(made, monkeypatch)))
