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
    rack.until(lambda: settled(rack), 300, "the fabric does not settle")
    booted.save("twin")
    return rack


def settled(rack: Rack) -> bool:
    """Each segment has one designated forwarder, and the hosts reach each other in every network.

    FRR elects forwarders seconds after the sessions are there, on a slow machine many seconds after.
    """
    seen = rack.operate("read")
    for pair in (("Leaf0-1", "Leaf0-2"), ("Leaf1-1", "Leaf1-2")):
        first, second = (seen[leaf]["evpn"]["multihoming"]["esi"] for leaf in pair)
        for esi in first.keys() & second.keys():
            flags = [segments[esi]["flags"] for segments in (first, second)]
            # A bond without its host is down, and nobody forwards to it.
            if any("oper-up" in each for each in flags) and sum("df" in each for each in flags) != 1:
                return False
    return all(
        rack.ping(host, f"{network}.{other}") == 3
        for network in ("192.168.25", "10.0.10", "172.16.0")
        for host, other in (("compute0", 12), ("compute1", 12), ("compute2", 11), ("compute2", 10))
    )


@pytest.fixture
def rack(converged: Rack) -> Rack:
    """A converged rack."""
    converged.guest.load("twin")
    return converged
