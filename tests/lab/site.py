# SPDX-License-Identifier: Apache-2.0
"""The default site: names and addresses in ``images/root``, and whether the node can be reached.

::

    node                                             namespace tor: the leaf pair
    br-nvda (Open vSwitch)  192.168.25.51            192.168.25.1 (gateway)
      └ bond0 (802.3ad, layer3+4)                    bond1 (802.3ad)
          ├ enp59s0f0np0  0000:3b:00.0 ── wire w0 ── swp0
          └ enp59s0f1np1  0000:3b:00.1 ── wire w1 ── swp1
    br-nvda.40 (overlay)    172.16.0.51              172.16.0.1
"""

from lab.guest import Guest

PFS = {"0000:3b:00.0": "enp59s0f0np0", "0000:3b:00.1": "enp59s0f1np1"}
BOND, BRIDGE = "bond0", "br-nvda"
NODE, GATEWAY = "192.168.25.51", "192.168.25.1"
OVERLAY_NODE, OVERLAY_GATEWAY = "172.16.0.51", "172.16.0.1"


def reachable(guest: Guest, seconds: int = 10) -> bool:
    """Whether the switch reaches the node, and the node its gateway, within as many of its seconds."""
    both = f"ip netns exec tor ping -nq -c 1 -W 1 {NODE} && ping -nq -c 1 -W 1 {GATEWAY}"
    return guest.until(lambda: guest.run(both, check=False).returncode == 0, seconds, pause=0.2)
