# SPDX-License-Identifier: Apache-2.0
"""The release of Cumulus Linux, wherever a switch tells it, and whatever else has a version there."""

from typing import Any

import pytest
from lab.nvue import Rest, SimulatedTime, Switch, Wire
from observe import release_of
from rest.client import Nvue
from rest.connection import Access, SwitchError
from unit.cumulus_fabric.online.site import PASSWORD


def client(access: Access, release: str = "5.9.2", version: Any = None) -> Nvue:
    """Of a switch of this release, or of one that has ``version`` below ``system``."""
    switch = Switch("leaf", release, clock=SimulatedTime())
    if version is not None:
        switch.operational = lambda _: {"system": {"hostname": "leaf", "version": version}}
    rest = Rest(switch, password=PASSWORD)
    return Nvue("leaf", "192.0.2.1", access, connect=lambda *_: Wire(rest, access.timeout))


@pytest.mark.parametrize("release", ["5.5.0", "5.9.2", "5.13.1", "5.14.0", "5.15.0", "5.18.0"])
def test_every_release_is_understood(access: Access, release: str) -> None:
    assert release_of(client(access, release)) == release


OTHERS = {
    "base-os": "Debian GNU/Linux 12.14",
    "kernel": "6.1.0-cl-1-amd64",
    "onie": "2021.05-5.3.0008-115200",
}
IMAGE = {"build-date": "Tue Jul 21 11:06:05 UTC 2026", "build-id": "5.18.1.0025"}


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ({**OTHERS, "build": "Cumulus Linux 5.18.2", "product-release": "5.18.0", "image": IMAGE}, "5.18.2"),
        ({**OTHERS, "product-release": "5.18.0", "image": IMAGE}, "5.18.0"),
        ({**OTHERS, "image": IMAGE}, "5.18.1"),
        ({**OTHERS, "image": "Cumulus Linux 5.14.0"}, "5.14.0"),
    ],
)
def test_versions_of_other_components_are_not_taken_for_the_release(
    access: Access, version: Any, release: str
) -> None:
    assert release_of(client(access, version=version)) == release


@pytest.mark.parametrize("version", [{}, OTHERS, {**OTHERS, "image": {}}, "none", 7])
def test_a_switch_that_does_not_report_its_release_gets_one_sentence(access: Access, version: Any) -> None:
    with pytest.raises(SwitchError, match="it does not report its release") as failed:
        release_of(client(access, version=version))
    assert failed.value.remedy == "install Cumulus Linux 5.5 or a later 5.x"
