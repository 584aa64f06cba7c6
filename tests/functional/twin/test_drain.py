# SPDX-License-Identifier: Apache-2.0
"""Traffic between two racks while a leaf or a spine is drained and returns, on real BGP, EVPN and LACP."""

import re

import pytest
from functional.twin.rack import Rack

pytestmark = pytest.mark.thorough

PROBES = 600
PROBE_S = 0.1


class Probes:
    """Pings from one host to one in the other rack, ten a second, for as long as the ``with`` block lasts."""

    def __init__(self, rack: Rack) -> None:
        self._rack = rack

    def __enter__(self) -> "Probes":
        command = f"ping -q -n -i {PROBE_S} 192.168.25.12"
        started = f"setsid ip netns exec compute0 {command} >/run/probes 2>&1 </dev/null & echo $!"
        self._pid = int(self._rack.guest.run(started).stdout)
        return self

    def __exit__(self, *_: object) -> None:
        # QUIT makes ping print what it has sent so far.
        self._rack.until(lambda: self._counted("QUIT")[0] >= PROBES, 300, "too few probes are sent")
        self.sent, self.answered = self._counted("INT")

    def _counted(self, signal: str) -> tuple[int, int]:
        self._rack.guest.run(f"kill -{signal} {self._pid}; sleep 1")
        said = self._rack.guest.read("/run/probes")
        found = re.findall(r"(\d+)(?:/| packets transmitted, )(\d+)", said)
        if not found:
            return 0, 0
        first, second = map(int, found[-1])
        return max(first, second), min(first, second)


def lost(probes: Probes) -> int:
    """How many probes are lost beyond one of 600."""
    return max(0, probes.sent - probes.answered - probes.sent // PROBES)


@pytest.mark.parametrize("run", range(3))
@pytest.mark.parametrize("switch", ["Leaf0-2", "Spine0"])
def test_hosts_notice_neither_a_drain_nor_the_return(rack: Rack, switch: str, run: int) -> None:
    with Probes(rack) as leaving:
        report = rack.operate("drain", switch, timeout=600)
    assert report["applied"], report
    assert lost(leaving) == 0, (leaving.sent, leaving.answered)
    assert any(f["what"] == "is drained" for f in rack.operate("verify"))
    with Probes(rack) as returning:
        report = rack.operate("undrain", switch, timeout=600)
    assert report["applied"], report
    assert lost(returning) == 0, (returning.sent, returning.answered)
    assert not any(f["severity"] in ("HELD", "BLOCKED") for f in rack.operate("verify"))


def test_a_host_with_one_leg_keeps_its_leaf(rack: Rack) -> None:
    rack.on("compute0", "ip link set eth0 down")
    report = rack.operate("drain", "Leaf0-2", timeout=600)
    assert not report["applied"]
    assert report["verdict"] == "nothing was sent to any switch"
