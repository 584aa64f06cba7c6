# SPDX-License-Identifier: Apache-2.0
"""A node with the charm on it, and what its kernel says of the ports."""

from functional.node import CharmedNode
from lab import site

P0, P1 = site.PFS.values()
PF0, PF1 = site.PFS
FAULT = "/sys/kernel/debug/vcx/{}/dcb_fault"
NO_BUFFER_NO_MAXRATE, NO_OPS, REFUSE = 1, 2, 3
"""Modes of the virtual card's ``dcb_fault``; see tests/lab/card/dcb.c."""

STATE = """
for port in enp59s0f0np0 enp59s0f1np1; do
    for what in ets pfc app; do dcb $what show dev $port; done
done
"""


class Node(CharmedNode):
    """Its state is shares, lossless priorities and maps, as iproute2's dcb reads them."""

    STATE = STATE

    def fault(self, bdf: str, mode: int) -> None:
        """Have a port misbehave with data centre bridging."""
        self.guest.run(f"echo {mode} > {FAULT.format(bdf)}")

    def flaps(self) -> list[int]:
        """How often each port, and the bond, lost or gained their carrier."""
        names = " ".join(f"/sys/class/net/{name}/carrier_changes" for name in (P0, P1, site.BOND))
        return [int(line) for line in self.guest.run(f"cat {names}").stdout.split()]

    def served_again(self) -> str:
        """Wait until the unit that udev starts has run; its journal."""
        log = "journalctl --boot -u ovn-offload-roce-qos-again.service --output=cat"
        self.guest.run(f"until {log} | grep -q 'Finished\\|Failed'; do sleep 1; done", timeout=180)
        return self.guest.run(log).stdout


def ports(writes: list[str]) -> list[str]:
    """Only the writes that change a port or the network."""
    return [line for line in writes if line.startswith(("set_", "delete_", "write ", "mkdir "))]


def is_lossless(state: str) -> bool:
    """Both ports have the default scheme."""
    return (
        state.count("prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off") == 2
        and state.count("tc-bw 0:50 1:100 2:100 3:50 4:100 5:100 6:100 7:100") == 2
        and state.count("prio-tc 0:0 1:0 2:0 3:3 4:0 5:0 6:6 7:0") == 2
        and state.count("AF31:3") == 2
    )
