# SPDX-License-Identifier: Apache-2.0
"""Sequences about channels, DCB and the firmware's parameters (which are only read)."""

from lab.calibrate.eswitch import LEGACY, SWITCHDEV
from lab.calibrate.sequence import Operation, Sequence

MAXIMUM = "$(ethtool -l $NET0 | awk '/^Combined:/ {print $2; exit}')"
SHOW_DCB = "dcb ets show dev $NET0; dcb pfc show dev $NET0 prio-pfc; dcb -N app show dev $NET0"
FOR_BOTH = "SRIOV_EN NUM_OF_VFS PF_NUM_OF_VF_VALID LAG_RESOURCE_ALLOCATION NUM_VF_MSIX"
FOR_PORTS = "LINK_TYPE_P1 LINK_TYPE_P2 ROCE_CC_PRIO_MASK_P1 CNP_DSCP_P1 LLDP_NB_DCBX_P1 KEEP_ETH_LINK_UP_P1"

SEQUENCES = (
    Sequence(
        "channels",
        "How many channels does a mode change leave, and what else does it reset?",
        (
            Operation("one channel", "ethtool -L $NET0 combined 1"),
            Operation("no channel", "ethtool -L $NET0 combined 0"),
            Operation("too many channels", f"ethtool -L $NET0 combined $(({MAXIMUM} + 1))"),
            Operation("all channels", f"ethtool -L $NET0 combined {MAXIMUM}"),
            Operation("a short ring", "ethtool -G $NET0 rx 512"),
            Operation("slow interrupts", "ethtool -C $NET0 adaptive-rx off rx-usecs 33"),
            Operation("no pause frames", "ethtool -A $NET0 rx off tx off"),
            SWITCHDEV[0],
            Operation("what is left of the ring", "ethtool -g $NET0 | awk '/^RX:/ {rx = $2} END {print rx}'"),
            Operation("what is left of the interrupts", "ethtool -c $NET0 | grep ^rx-usecs:"),
            Operation("what is left of the pause frames", "ethtool -a $NET0 | grep '^[RT]X:'"),
            Operation("all channels in switchdev", f"ethtool -L $NET0 combined {MAXIMUM}"),
            LEGACY[0],
            Operation("pause frames as before", "ethtool -A $NET0 rx on tx on"),
            Operation("negotiated pause frames", "ethtool -A $NET0 autoneg on"),
        ),
    ),
    Sequence(
        "dcb",
        "What does the port's DCB say at first, what does it refuse, what outlasts a mode change?",
        (
            Operation("DCB at first", SHOW_DCB),
            Operation("pause frames off", "ethtool -A $NET0 rx off tx off"),
            Operation("PFC for priority 3", "dcb pfc set dev $NET0 prio-pfc all:off 3:on"),
            Operation(
                "ETS for two classes",
                "dcb ets set dev $NET0 tc-tsa all:strict 0:ets 3:ets tc-bw all:0 0:50 3:50 "
                "prio-tc 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7",
            ),
            Operation("shares that are not 100", "dcb ets set dev $NET0 tc-tsa all:ets tc-bw all:10"),
            Operation("trust DSCP", "dcb app replace dev $NET0 dscp-prio 26:3"),
            Operation("a port's priority", "dcb app add dev $NET0 stream-port-prio 4791:3"),
            Operation("DCB", SHOW_DCB),
            SWITCHDEV[0],
            Operation("DCB in switchdev", SHOW_DCB),
            LEGACY[0],
            Operation("DCB in legacy again", SHOW_DCB),
            Operation("PFC off", "dcb pfc set dev $NET0 prio-pfc all:off"),
            Operation("no DSCP", "dcb app flush dev $NET0"),
            Operation("pause frames on", "ethtool -A $NET0 rx on tx on"),
        ),
    ),
    Sequence(
        "firmware",
        "Which parameters does the firmware know, and what does mstconfig say of others?",
        (
            Operation("parameters of the card", f"mstconfig -d $PF0 -e query {FOR_BOTH}"),
            Operation("parameters of the ports", f"mstconfig -d $PF0 -e query {FOR_PORTS}"),
            Operation("through the other port", "mstconfig -d $PF1 query NUM_OF_VFS"),
            Operation("a parameter that depends on another", "mstconfig -d $PF0 query PF_NUM_OF_VF"),
            Operation("a parameter that no card has", "mstconfig -d $PF0 query NO_SUCH_PARAMETER"),
        ),
    ),
)
