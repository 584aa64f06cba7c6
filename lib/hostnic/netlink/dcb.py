# SPDX-License-Identifier: Apache-2.0
"""Settings of a netdev: data centre bridging, with what NIC drivers do with it, and queues. Pure.

Sources: include/uapi/linux/dcbnl.h; of the drivers, in drivers/net/ethernet of Linux 6.12:
mellanox/mlx5/core/en_dcbnl.c, broadcom/bnxt/bnxt_dcb.c, qlogic/qed/qed_dcbx.c, and those at ``DRIVERS``.
"""

from typing import NamedTuple

from hostnic.devices.port import MLX5

CLASSES = 8
"""Priorities, and traffic classes."""
DSCPS = 64

STRICT, CBS, ETS, VENDOR = "strict", "cbs", "ets", "vendor"
TSA = {0: STRICT, 1: CBS, 2: ETS, 255: VENDOR}
"""Transmission selection algorithms (IEEE 802.1Q, table 8-5)."""
UNKNOWN_TSA = "unknown"

ETHERTYPE, STREAM_PORT, DATAGRAM_PORT, ANY_PORT, DSCP = 1, 2, 3, 4, 5
"""Selectors of an APP entry: what its protocol number is."""
ROCE_V1, ROCE_V2 = 0x8915, 4791
"""Ethertype of RoCE v1; UDP port of RoCE v2."""

HOST, LLD_MANAGED, CEE, IEEE, STATIC = 0x01, 0x02, 0x04, 0x08, 0x10
"""Bits of the DCBX mode: who negotiates, and in which version."""


class Rings(NamedTuple):
    """Descriptors of each receive and transmit queue."""

    rx: int
    tx: int


class Coalescing(NamedTuple):
    """When the NIC interrupts: microseconds and frames per direction, or adaptive moderation."""

    rx_usecs: int
    rx_frames: int
    tx_usecs: int
    tx_frames: int
    adaptive_rx: bool
    adaptive_tx: bool


class Ets(NamedTuple):
    """Enhanced transmission selection: eight entries each."""

    prio_tc: tuple[int, ...]  # traffic class by priority
    tsa: tuple[str, ...]  # algorithm by traffic class, in the words of `TSA`
    # Percent by traffic class with algorithm `ets`; 0 for the others, whatever a driver reports: mlx5 reports
    # 100 for them (en_dcbnl.c, mlx5e_build_tc_tx_bw)
    bandwidth: tuple[int, ...]


class Pfc(NamedTuple):
    """Priority flow control."""

    priorities: tuple[int, ...]  # those that are lossless, ascending
    delay: int = 0  # allowance; mlx5 reads it as cable length in metres, 0 leaves it as it is
    # Pause frames that were sent and received, by priority, since the driver started; mlx5 reports what it
    # read last, and only `ethtool -S` makes it read (en_stats.c: group per_prio is in no periodic update)
    sent: tuple[int, ...] = (0,) * CLASSES
    received: tuple[int, ...] = (0,) * CLASSES


class App(NamedTuple):
    """Packets with this ``protocol`` of this ``selector`` have this ``priority``."""

    selector: int
    protocol: int
    priority: int


class Dcb(NamedTuple):
    """What a driver reports, or what to set. None: the driver does not report it, or it stays as it is."""

    ets: Ets | None = None  # one request may set this, `pfc` and `apps` together
    pfc: Pfc | None = None
    apps: tuple[App, ...] = ()
    dcbx: int | None = None  # bits of the DCBX mode; set by a request of its own

    @property
    def names(self) -> tuple[str, ...]:
        """What it has, as records of writes spell it: ``ets``, ``apps 64``, ``pfc 3``."""
        words = ["ets"] if self.ets is not None else []
        if self.apps:
            words.append(f"apps {len(self.apps)}")
        if self.pfc is not None:
            words.append(f"pfc {','.join(map(str, self.pfc.priorities)) or 'none'}")
        return tuple(words)


def priorities(mask: int) -> tuple[int, ...]:
    """The priorities whose bits are set."""
    return tuple(priority for priority in range(CLASSES) if mask >> priority & 1)


def dcbx_words(mode: int) -> str:
    """A DCBX mode in words: ``host ieee``."""
    names = {HOST: "host", LLD_MANAGED: "firmware", CEE: "cee", IEEE: "ieee", STATIC: "static"}
    return " ".join(name for bit, name in names.items() if mode & bit) or "none"


MODE, SHARES, ENTRIES, PAUSE = "dcbx", "ets", "apps", "pause"
"""Settings of a port besides PFC, as :attr:`Driver.flaps` names them."""


class Driver(NamedTuple):
    """What one driver does with dcbnl."""

    name: str  # as the PCI device's `driver` link has it
    dscp: bool = True  # APP entries may map a DSCP to a priority, and the first one makes the port trust DSCP
    ports: bool = False  # APP entries are to map RoCE's ethertype and UDP port to its priority
    dcbx: int = HOST | IEEE  # bits of the DCBX mode without which the driver refuses to be set
    dcbx_ask: int = HOST | IEEE  # the mode to ask for when those are missing
    # What ends the control by its firmware, which refuses to hand it over; empty if the host may take it
    agent: str = ""
    limit: str = ""  # what it cannot do, in one sentence; empty if it can do all that this package sets
    # Settings whose change takes the link down for a moment. A change of PFC counts as one with every driver:
    # mlx5 toggles the link, i40e, ice and hns3 close the netdev, and firmware may train the link anew. Of a
    # driver that is not in the table nothing is known: each counts as one that takes the link down
    flaps: tuple[str, ...] = (MODE, SHARES, ENTRIES, PAUSE)
    # PCI ids of NICs for which the change of trust by the first or last DSCP takes the link down
    flaps_with_trust: tuple[str, ...] = ()
    roce: bool = False  # its NICs do RoCE, if their RDMA driver is loaded

    def may_set(self, found: Dcb) -> bool:
        """Whether the DCBX mode lets the host change settings; a driver without DCBX always does."""
        return found.dcbx is None or found.dcbx & self.dcbx == self.dcbx


DRIVERS = (
    # The first DSCP opens all queues anew where the NIC wants packet headers in descriptors, with the carrier
    # off meanwhile (mlx5e_set_trust_state, mlx5_query_min_inline, mlx5e_switch_priv_channels): ConnectX-4
    Driver(
        MLX5,
        dcbx=HOST,
        dcbx_ask=HOST | CEE | IEEE,
        flaps=(),
        flaps_with_trust=("15b3:1013", "15b3:1015"),
        roce=True,
    ),
    # intel/ixgbe/ixgbe_dcb_nl.c: ixgbe_dcbnl_ieee_setets -> ixgbe_setup_tc or ixgbe_dcbnl_devreset, which
    # close and open the netdev; ixgbe_dcbnl_setdcbx calls it; ixgbe_ethtool.c: ixgbe_set_pauseparam ->
    # ixgbe_reinit_locked; ixgbe_dcbnl_ieee_setapp uses no entry of RoCE
    Driver(
        "ixgbe",
        flaps=(MODE, SHARES, PAUSE),
        dscp=False,
        limit="ixgbe maps no DSCP and no UDP port: RoCE gets its priority from the VLAN tag",
    ),
    # intel/i40e/i40e_main.c: each of setets, setpfc, setapp and delapp ends in i40e_hw_dcb_config, which
    # closes the netdev (i40e_pf_quiesce_all_vsi); i40e_ethtool.c: i40e_set_pauseparam turns the carrier off
    Driver(
        "i40e",
        flaps=(SHARES, ENTRIES, PAUSE),
        dscp=False,
        ports=True,
        agent="run ethtool --set-priv-flags {} disable-fw-lldp on",
        limit="i40e maps no DSCP: RoCE gets its priority from the VLAN tag and from UDP port 4791",
    ),
    # intel/ice/ice_dcb_nl.c: setets, setpfc, setapp and delapp -> ice_pf_dcb_cfg (ice_dcb_lib.c), which stops
    # the netdev, and ice_dcbnl_devreset; ice_ethtool.c: ice_set_pauseparam -> ice_set_fc restarts the link
    Driver(
        "ice",
        roce=True,
        flaps=(SHARES, ENTRIES, PAUSE),
        agent="run ethtool --set-priv-flags {} fw-lldp-agent off",
        limit="ice takes no settings for a port in a bond, from kernel 6.6 on",
    ),
    # broadcom/bnxt/bnxt_dcb.c: bnxt_dcbnl_ieee_setets -> bnxt_setup_mq_tc (bnxt.c), which closes and opens
    # the netdev; bnxt.c: bnxt_hwrm_set_pause restarts autonegotiation where it has covered pause frames
    Driver(
        "bnxt_en",
        roce=True,
        flaps=(SHARES, PAUSE),
        ports=True,
        agent="switch off the NIC's LLDP agent with its vendor's tool",
        limit="bnxt_en takes settings only while the NIC's own LLDP agent is off, and has no buffers and no "
        "rate limits to set",
    ),
    # qlogic/qed/qed_dcbx.c: qed_dcbx_config_params is a command to the firmware; qede/qede_ethtool.c:
    # qede_set_pauseparam sets the link anew
    Driver(
        "qede",
        roce=True,
        flaps=(PAUSE,),
        dscp=False,
        ports=True,
        dcbx=IEEE,
        dcbx_ask=IEEE,
        limit="qede maps no DSCP: RoCE gets its priority from the VLAN tag and from UDP port 4791",
    ),
    # hisilicon/hns3/hns3pf/hclge_dcb.c: hclge_ieee_setets and hclge_ieee_setpfc take the netdev down
    # (HNAE3_DOWN_CLIENT); hclge_ieee_setapp and hclge_setdcbx do not
    Driver("hns3", flaps=(SHARES,), roce=True),
)


def driver(name: str | None) -> Driver:
    """The entry for this driver; for a driver that is not in the table, one without special needs."""
    return next((entry for entry in DRIVERS if entry.name == name), Driver(name or "unknown"))
