# SPDX-License-Identifier: Apache-2.0
"""By which names the integration tests look for what a removed charm has left: its own, no other charm's."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
from integration.deployment import files_of
from integration.said import HOST_CHARMS

ROOT = Path(__file__).parents[3]
CONSTANT = re.compile(
    r'^[A-Z]+ = "(?:/etc/udev/rules\.d/)?([\w-]*ovn-offload-[\w-]+\.(?:service|rules))"', re.M
)


def installed(charm: str) -> list[str]:
    """The systemd units and udev rules of a charm, whose names its code has, and those that wake its unit."""
    boot = CONSTANT.findall((ROOT / f"charms/{charm}/src/boot/files.py").read_text())
    wakes = [f"ovn-offload-{charm}-dispatch-{other}.path" for other in HOST_CHARMS if other != charm]
    return [*boot, *wakes, f"ovn-offload-{charm}-dispatch.service"]


def looked_for(charm: str, name: str) -> bool:
    return any(fnmatch(name, Path(pattern).name) for pattern in files_of(charm).split())


@pytest.mark.parametrize("charm", HOST_CHARMS)
def test_what_a_charm_leaves_is_found_by_its_own_name(charm: str) -> None:
    assert len(installed(charm)) > 3
    assert [name for name in installed(charm) if not looked_for(charm, name)] == []


@pytest.mark.parametrize("charm", HOST_CHARMS)
def test_what_another_charm_has_is_not(charm: str) -> None:
    others = [name for other in HOST_CHARMS if other != charm for name in installed(other)]
    assert [name for name in others if looked_for(charm, name)] == []
