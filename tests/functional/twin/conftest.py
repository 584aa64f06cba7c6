# SPDX-License-Identifier: Apache-2.0
"""The reference design's rack as a twin, converged once by cumulus-fabric's own apply; tests start there."""

import pytest
from functional.twin.rack import Rack
from lab.guest import Guest


@pytest.fixture(scope="session")
def converged(booted: Guest) -> Rack:
    """The rack as the intent says, with a snapshot."""
    if booted.release.name != "trixie":
        pytest.skip("EVPN multihoming over a single VXLAN device needs Debian 13's kernel and FRR")
    booted.load("booted")
    rack = Rack(booted)
    rack.start()
    report = rack.operate("apply", timeout=600)
    assert report["applied"], report
    rack.until(lambda: rack.ping("compute0", "192.168.25.12") == 3, 120, "the racks do not reach each other")
    booted.save("twin")
    return rack


@pytest.fixture
def rack(converged: Rack) -> Rack:
    """A converged rack."""
    converged.guest.load("twin")
    return converged
