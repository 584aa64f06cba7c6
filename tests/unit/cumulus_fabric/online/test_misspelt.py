# SPDX-License-Identifier: Apache-2.0
"""A setting that the intent leaves to others, and that is misspelt, would not be left to them."""

from typing import Any

import pytest
from converge import Severity
from intent.model import Dialect, Role
from lab.nvue import paths
from online import Site
from tree import render
from tree.misspelt import misspelt
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import rack
from unit.cumulus_fabric.online.small import RELEASES, SMALL, small

MISSPELT = {
    "interface swp9 link stat": "interface swp9 link state",
    "interface * bridge domain br_default vlans": "interface * bridge domain br_default vlan",
    "interfaces * link": "interface * link",
    "interface bond1 evpn multi-homing": "interface bond1 evpn multihoming",
    "vrf default router bgp neigbor swp1": "vrf default router bgp neighbor swp1",
    "sytem global anycast-mac": "system global anycast-mac",
    "qos roces": "qos roce",
}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(("setting", "meant"), MISSPELT.items())
def test_a_misspelt_setting_blocks_and_the_nearest_one_is_named(
    setting: str, meant: str, release: str
) -> None:
    def leaving(content: dict[str, Any]) -> None:
        small(content)
        content["unmanaged"] = {"settings": [setting]}

    with rack(SMALL, applied=True, release=release) as three:
        report = Site(fabric(change=leaving), three.site.fleet).apply(["Leaf0-1"])
        assert [(each.severity, each.what, each.remedy) for each in report.reasons] == [
            (
                Severity.BLOCKED,
                f"unmanaged.settings: no switch has {setting}",
                f"write {meant} in the intent if that is meant",
            )
        ]
        assert three.writes() == []


@pytest.mark.parametrize("release", RELEASES)
def test_no_path_of_a_release_is_called_misspelt(release: str) -> None:
    wanted = render.tree(SMALL, SMALL.by_role(Role.LEAF)[0], Dialect.of_release(release))
    known = list(paths.of((5, RELEASES[release])))
    assert len(known) > 150
    assert list(misspelt("Leaf0-1", known, {}, wanted)) == []


def test_the_relay_of_one_version_is_not_that_of_the_other_misspelt() -> None:
    runs = {"service": {"dhcp-relay": {"red": {"server": {"10.1.40.9": {}}}}}}
    assert list(misspelt("Leaf0-1", ["service/dhcp-relay6/red"], runs, {})) == []


@pytest.mark.parametrize(
    "setting", ["acl theirs", "service ntp", "interface swp9 link speed", "header x y", "*"]
)
def test_what_is_not_close_to_a_known_word_is_taken_as_it_is(setting: str) -> None:
    wanted = render.tree(SMALL, SMALL.by_role(Role.LEAF)[0], Dialect.UNTIL_5_14)
    assert list(misspelt("Leaf0-1", [setting.replace(" ", "/")], {}, wanted)) == []
