# SPDX-License-Identifier: Apache-2.0
"""The gallery's sites whose NICs this charm looks after."""

import pytest
from hostnic.firmware.mstdatabase import Database
from sites import gallery
from sites.drivers import host
from sites.judge import judge
from unit.nic_firmware.node import Node, machine

TOOL = "nic-firmware"


@pytest.mark.parametrize("site", gallery.of(TOOL), ids=str)
def test_the_site(site: gallery.Site, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    made = machine(cards=host.cards(site))
    host.prepare(site, made)
    judge(site, TOOL, host.see(site, TOOL, Node(made, database, monkeypatch)))
