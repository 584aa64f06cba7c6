# SPDX-License-Identifier: Apache-2.0
"""The NIC drivers that set data centre bridging, and the peculiarities of each. Pure.

Sources, in drivers/net/ethernet of Linux 6.12: mellanox/mlx5/core/en_dcbnl.c, broadcom/bnxt/bnxt_dcb.c,
qlogic/qed/qed_dcbx.c, and those at ``DRIVERS``.
"""

from typing import NamedTuple

from hostnic.devices.port import MLX5
from hostnic.netlink.dcb import CEE, ENTRIES, HOST, IEEE, MODE, PAUSE, SHARES, Dcb


class Driver(NamedTuple):
    """The behaviour of one driver towards dcbnl."""

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
