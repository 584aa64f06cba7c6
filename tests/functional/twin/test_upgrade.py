# SPDX-License-Identifier: Apache-2.0
"""All six switches get another release by one command, and hosts with two legs lose less than a second."""

import pytest
from functional.twin.conftest import RACKS, applied, settled, started
from functional.twin.probes import Probes
from functional.twin.rack import Rack
from lab.guest import Guest

pytestmark = pytest.mark.thorough

OLD, NEW = "5.12.1", "5.13.1"
URL = f"http://192.0.2.1/cumulus-linux-{NEW}-mlx-amd64.bin"
SWITCHES = ("Spine0", "Spine1", *RACKS[0], *RACKS[1])
ALONE = ("juju", "maas")
"""Hosts with one leg, at Leaf0-1: the upgrade cuts them off, so their names are given."""

FLOWS = [
    ("compute0", "192.168.25.12"),
    ("compute1", "192.168.25.12"),
    ("compute2", "10.0.10.11"),
    ("compute0", "172.16.0.11"),
]
LONGEST_MS = 1000.0


@pytest.fixture
def older(booted: Guest) -> Rack:
    """A converged rack of an older release, and the image of a newer one on its operator's server."""
    rack = started(booted, f"--release {OLD} --image {URL} {NEW}")
    applied(rack, RACKS)
    return rack


def test_hosts_with_two_legs_lose_less_than_a_second_while_all_switches_are_upgraded(older: Rack) -> None:
    with Probes(older, FLOWS) as probes:
        report = older.operate("upgrade", URL, " ".join(ALONE), timeout=7200)
    assert report["reasons"] == []
    assert sorted(name for wave in report["waves"] for name in wave) == sorted(SWITCHES)
    assert all(flow.sent and flow.silent_ms < LONGEST_MS and not flow.duplicates for flow in probes.flows)
    older.until(lambda: settled(older, RACKS), 300, "the fabric does not settle after the upgrade")
    again = older.operate("upgrade", URL, " ".join(ALONE))
    assert again["verdict"] == f"nothing to do: every switch runs {NEW}"
    assert not any(f["severity"] in ("HELD", "BLOCKED") for f in older.operate("verify"))
