# SPDX-License-Identifier: Apache-2.0
"""Sequences about bonds and LAG."""

from lab.calibrate.eswitch import BIND, LEGACY, SWITCHDEV, UNBIND, UNBOUND
from lab.calibrate.sequence import Operation, Sequence

ACTIVE = 'trained && [ "$(lag state)" = active ]'
OFF = 'trained && [ "$(lag state)" = disabled ]'
CARRIER = '[ "$(cat /sys/class/net/$BOND/carrier)" = 1 ]'


def bond(name: str, options: str, until: str) -> Operation:
    """A bond with both ports."""
    return Operation(
        name,
        f"ip link add $BOND type bond miimon 100 {options} && ip link set $NET0 down master $BOND && "
        "ip link set $NET1 down master $BOND && ip link set $BOND up",
        until,
    )


LACP = bond("a bond with LACP", "mode 802.3ad lacp_rate fast xmit_hash_policy layer3+4", ACTIVE)
WITHOUT_LAG = bond("a bond with LACP, without LAG", "mode 802.3ad lacp_rate fast", f"{CARRIER} && sleep 2")
BROADCAST = bond("a bond with broadcast", "mode broadcast", f"{CARRIER} && sleep 2")
BACKUP = bond("a bond with active-backup", "mode active-backup", ACTIVE)
LEAVES = Operation("port 1 leaves the bond", "ip link set $NET1 nomaster", OFF)
RETURNS = Operation("port 1 returns", "ip link set $NET1 down master $BOND", ACTIVE)

MULTIPORT = "devlink dev param set pci/$PF0 name esw_multiport value {} cmode runtime"

SEQUENCES = (
    Sequence(
        "mode-change-in-bond",
        "Can the ports of a bond change their mode, and does the LAG form by itself?",
        (
            LACP,
            UNBOUND,
            SWITCHDEV[0],
            Operation("port 1 to switchdev, and LAG", SWITCHDEV[1].command, ACTIVE),
            Operation("the same mode again", SWITCHDEV[0].command, ACTIVE),
            *LEGACY,
        ),
    ),
    Sequence(
        "lag-lacp",
        "When does VF-LAG begin and end with LACP, and may VFs be bound then?",
        (UNBOUND, *SWITCHDEV, LACP, BIND, UNBIND, LEAVES, RETURNS),
    ),
    Sequence(
        "lag-active-backup",
        "How does VF-LAG select the port with active-backup?",
        (UNBOUND, *SWITCHDEV, BACKUP),
    ),
    Sequence(
        "lag-bound-vfs",
        "What comes of VF-LAG if a VF is bound when it begins?",
        (UNBOUND, *SWITCHDEV, BIND, WITHOUT_LAG),
    ),
    Sequence(
        "lag-roce",
        "What LAG is there in legacy mode, and do VFs end it?",
        (LACP, Operation("the first VFs", UNBOUND.command, OFF)),
    ),
    Sequence(
        "lag-one-port",
        "Does VF-LAG wait for the second port's mode, and end with it?",
        (
            UNBOUND,
            SWITCHDEV[0],
            WITHOUT_LAG,
            Operation("port 1 to switchdev, and LAG", SWITCHDEV[1].command, ACTIVE),
            Operation("port 1 to legacy, and no LAG", LEGACY[1].command, OFF),
        ),
    ),
    Sequence(
        "lag-broadcast",
        "What does the driver say of a bond that neither hashes nor has a backup?",
        (UNBOUND, *SWITCHDEV, BROADCAST),
    ),
    Sequence(
        "esw-multiport",
        "When does the driver make one eswitch of both ports without a bond?",
        (
            Operation("in legacy mode", MULTIPORT.format("true")),
            UNBOUND,
            *SWITCHDEV,
            Operation("in switchdev mode", MULTIPORT.format("true"), ACTIVE),
            Operation("a second time", MULTIPORT.format("true")),
            Operation("off", MULTIPORT.format("false"), OFF),
            LACP,
            Operation("beside VF-LAG", MULTIPORT.format("true")),
        ),
    ),
)
