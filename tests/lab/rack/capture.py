# SPDX-License-Identifier: Apache-2.0
"""Is it offloaded? The RDG captures on the uplinks, and sees the first packets of a connection only.

The virtual card takes the flows and the kernel forwards for it, so that a capture here sees every packet.
What the card would have forwarded is what the flows that it took have counted: what the capture has beyond
that went the slow path, and is what the RDG's capture shows.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lab.rack import checks
from lab.rack.build import Rack
from lab.rack.iperf import SINGLE
from lab.site import PFS

VLAN = 40
TCPDUMP = "tcpdump -en -i {} vlan " + str(VLAN)
FLOW = re.compile(r"^(?P<match>.*), packets:(?P<packets>\d+),.*actions:(?P<actions>.*)$")


@dataclass
class Seen:
    """Once it has ended: packets of the connection on both uplinks, and what flows in the NIC counted."""

    captured: int = 0
    counted: int = 0

    @property
    def slow(self) -> int:
        """Packets that a capture on real hardware would show."""
        return max(0, self.captured - self.counted)


def packets(flows: str) -> int:
    """Of datapath flows for IPv4 into a tunnel or out of one: what they have counted."""
    found = (FLOW.match(line) for line in flows.splitlines() if "eth_type(0x0800)" in line)
    return sum(
        int(each["packets"])
        for each in found
        if each and ("set(tunnel(" in each["actions"] or "tunnel(tun_id=" in each["match"])
    )


@contextmanager
def capture(rack: Rack, machine: str) -> Iterator[Seen]:
    """Capture on both uplinks for the length of the ``with``."""
    seen = Seen()
    for port in PFS.values():
        file, unit = f"/run/capture-{port}", f"systemd-run -q --collect --unit=capture-{port}"
        start = f"{unit} sh -c 'exec {TCPDUMP.format(port)} >{file} 2>{file}.log'"
        lives = f"systemctl -q is-active capture-{port}"
        up = f"while {lives} && ! grep -q listening {file}.log; do sleep 0.5; done"
        rack.on(machine, f"rm -f {file}*; {start}; {up}", timeout=120)
    rack.on(machine, "ovs-appctl revalidator/purge")  # no flow has counted anything yet
    try:
        yield seen
        seen.counted = packets(rack.on(machine, checks.OFFLOADED))
    finally:
        files = " ".join(f"/run/capture-{port}" for port in PFS.values())
        count = f"cat {files} | grep -c '[.]{SINGLE}[: ]'"
        seen.captured = int(rack.on(machine, f"sleep 1; systemctl stop 'capture-*'; {count}") or 0)
