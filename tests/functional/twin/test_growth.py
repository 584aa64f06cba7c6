# SPDX-License-Identifier: Apache-2.0
"""A second rack joins a fabric that carries traffic, on real BGP, EVPN and LACP."""

import pytest
from functional.twin.probes import CARRIES, Probes, packets
from functional.twin.rack import INTENT, RDG, Rack

pytestmark = pytest.mark.thorough

FLOWS = [(host, f"192.168.25.{to}") for host in ("compute0", "compute1") for to in (2, 3)]
FLOWS += [
    ("compute0", "192.168.25.11"),
    ("compute0", "10.0.10.11"),
    ("juju", "192.168.25.10"),
    ("maas", "192.168.25.11"),
]
"""Between hosts of rack 0. juju and maas hang on Leaf0-1 alone: what they get by Leaf0-2 crosses a spine."""


def reached(rack: Rack) -> bool:
    """Whether the new rack's host and those of the old one reach each other, in every network."""
    return all(
        rack.ping("compute2", f"{network}.{ten}") == 3
        and rack.ping(f"compute{ten - 10}", f"{network}.12") == 3
        for network in ("192.168.25", "10.0.10", "172.16.0")
        for ten in (10, 11)
    )


def test_hosts_do_not_notice_that_a_rack_is_added(first_rack: Rack) -> None:
    rack = first_rack
    assert rack.ping("compute2", "192.168.25.10") == 0
    with Probes(rack, FLOWS) as probes:
        assert sum(packets(rack, spine, ("swp13", "swp14")) for spine in ("Spine0", "Spine1")) > CARRIES
        rack.guest.write(INTENT, RDG.read_text())
        report = rack.operate("apply")
        assert report["verdict"] == "fully applied: 4 switches changed", report
        rack.until(lambda: reached(rack), 300, "the new rack is not reached")
    probes.check()
    assert not [each for each in rack.operate("verify") if each["severity"] in ("HELD", "BLOCKED")]
