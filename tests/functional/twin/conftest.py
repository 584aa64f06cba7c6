# SPDX-License-Identifier: Apache-2.0
"""The reference design's rack as a twin, converged once by cumulus-fabric's own apply; tests start there."""

from collections.abc import Iterator, Mapping, Sequence

import pytest
from functional.kinds import started_first
from functional.twin.rack import INTENT, RDG, Rack
from lab.guest import Guest
from lab.releases import SWITCHES

RACKS = (("Leaf0-1", "Leaf0-2"), ("Leaf1-1", "Leaf1-2"))


@pytest.fixture(scope="session")
def booted() -> Iterator[Guest]:
    """Switches run one release, whatever nodes run."""
    with started_first(SWITCHES) as guest:
        yield guest


@pytest.fixture(scope="session")
def converged(booted: Guest) -> Rack:
    """The rack as the intent says, with a snapshot."""
    rack = started(booted)
    applied(rack, RACKS)
    booted.save("twin")
    return rack


@pytest.fixture
def rack(converged: Rack) -> Rack:
    """A converged rack."""
    converged.guest.load("twin")
    return converged


@pytest.fixture
def first_rack(booted: Guest) -> Rack:
    """The spines and rack 0 as the intent says; the leaves of rack 1 are new, and not in the intent yet."""
    rack = started(booted)
    before, _, last = RDG.read_text().rpartition("\n  - hosts:")
    assert last == " swp9-10\n"  # the last entry is rack 1
    booted.write(INTENT, f"{before}\n")
    applied(rack, RACKS[:1])
    return rack


def started(guest: Guest, arguments: str = "", files: Mapping[str, str] | None = None) -> Rack:
    """A rack of new switches, in a guest that has these files."""
    guest.load("booted")
    for path, content in (files or {}).items():
        guest.write(path, content)
    rack = Rack(guest)
    rack.start(arguments)
    return rack


def applied(rack: Rack, racks: Sequence[tuple[str, str]]) -> None:
    """Bring the rack to the intent, and wait until these racks of leaves forward."""
    report = rack.operate("apply")
    assert report["applied"], report
    rack.until(lambda: settled(rack, racks), 300, "the fabric does not settle")


def settled(rack: Rack, racks: Sequence[tuple[str, str]]) -> bool:
    """Each segment has one designated forwarder, and the hosts reach each other in every network.

    FRR elects forwarders seconds after the sessions are there, on a slow machine many seconds after.
    """
    seen = rack.operate("read", "/evpn/multihoming/esi")
    for first, second in racks:
        for esi in seen[first].keys() & seen[second].keys():
            flags = [seen[leaf][esi]["flags"] for leaf in (first, second)]
            # A bond without its host is down, and nobody forwards to it.
            if any("oper-up" in each for each in flags) and sum("df" in each for each in flags) != 1:
                return False
    across = [("compute0", 12), ("compute1", 12), ("compute2", 11), ("compute2", 10)]
    pairs = across if len(racks) > 1 else [("compute0", 11), ("compute1", 10)]
    return all(
        rack.ping(host, f"{network}.{other}") == 3
        for network in ("192.168.25", "10.0.10", "172.16.0")
        for host, other in pairs
    )
