# SPDX-License-Identifier: Apache-2.0
"""Traffic between two racks while a leaf or a spine is drained and returns, on real BGP, EVPN and LACP."""

import pytest
from functional.twin.probes import CARRIES, QUIET, Probes, packets
from functional.twin.rack import Rack

pytestmark = pytest.mark.thorough

FLOWS = [
    (host, f"{network}.12")
    for host in ("compute0", "compute1")
    for network in ("192.168.25", "10.0.10", "172.16.0")
]
"""From both hosts of rack 0 to the one of rack 1, in each network."""

PORTS = {"Leaf0-2": ("swp9", "swp10"), "Spine0": ("swp13", "swp14")}
"""Where the flows leave and enter the switch: both hosts of rack 0, or both of its leaves."""


@pytest.mark.parametrize("run", range(3))
@pytest.mark.parametrize("switch", PORTS)
def test_hosts_notice_neither_a_drain_nor_the_return(rack: Rack, switch: str, run: int) -> None:
    with Probes(rack, FLOWS) as leaving:
        assert packets(rack, switch, PORTS[switch]) > CARRIES
        report = rack.operate("drain", switch)
        assert report["applied"], report
        assert packets(rack, switch, PORTS[switch]) < QUIET
    leaving.check()
    assert any(f["what"] == "is drained" for f in rack.operate("verify"))
    with Probes(rack, FLOWS) as returning:
        report = rack.operate("undrain", switch)
        assert report["applied"], report
        rack.until(
            lambda: packets(rack, switch, PORTS[switch]) > CARRIES, 120, f"{switch} carries nothing again"
        )
    returning.check()
    assert not any(f["severity"] in ("HELD", "BLOCKED") for f in rack.operate("verify"))


def test_a_host_with_one_leg_keeps_its_leaf(rack: Rack) -> None:
    rack.on("compute0", "ip link set eth0 down")
    report = rack.operate("drain", "Leaf0-2")
    assert not report["applied"]
    assert report["verdict"] == "nothing was sent to any switch"
