# SPDX-License-Identifier: Apache-2.0
"""The counters of a modelled port: those of mlx5 that the virtual card has, too (tests/lab/card/stats.c)."""

from hostnic.devices.lag import release
from hostnic.netlink.measured import Traffic

from lab.modelled.nic.model import FakePort, FakeVf

KERNEL = ("rx_packets", "rx_bytes", "tx_packets", "tx_bytes")
REPRESENTOR = (*KERNEL, *(f"vport_{name}" for name in KERNEL))
"""The packets through the kernel, and all that the VF sent and received."""
RDMA = tuple(
    f"{way}_vport_rdma_{cast}_{what}"
    for cast in ("unicast", "multicast")
    for what in ("packets", "bytes")
    for way in ("rx", "tx")
)
WITH_RDMA = (6, 4)
"""The first kernel whose mlx5 shows the VF's RoCE there (en_rep.c: vport_rep_stats_desc)."""
PORT = (
    "rx_ecn_mark", "rx_out_of_buffer", "rx_steer_missed_packets", "tx_packets_phy", "rx_packets_phy",
    "rx_crc_errors_phy", "tx_bytes_phy", "rx_bytes_phy", "rx_discards_phy", "tx_discards_phy",
    "tx_errors_phy", "link_down_events_phy", "rx_pcs_symbol_err_phy", "rx_corrected_bits_phy",
    "rx_pci_signal_integrity",
    "tx_pci_signal_integrity", "outbound_pci_stalled_rd", "outbound_pci_stalled_wr",
    "outbound_pci_stalled_rd_events", "outbound_pci_stalled_wr_events",
)  # fmt: skip
MODULE = ("module_unplug", "module_bus_stuck", "module_high_temp", "module_bad_shorted")
TRAFFIC = ("rx_{}_bytes", "rx_{}_packets", "rx_{}_discards", "tx_{}_bytes", "tx_{}_packets")
PAUSE = (
    *("rx_{}_pause", "rx_{}_pause_duration", "tx_{}_pause", "tx_{}_pause_duration"),
    "rx_{}_pause_transition",
)


VPORT = ("vport_out_of_sequence", "vport_out_of_buffer", "vport_local_ack_timeout_err")
"""Of a VF's RoCE, in the RDMA port of its representor (hw/mlx5/counters.c: vport_basic_q_cnts)."""


def representor(kernel: str) -> tuple[str, ...]:
    """The names in ``ethtool -S`` of a representor."""
    return (*REPRESENTOR, *(RDMA if release(kernel) >= WITH_RDMA else ()))


def traffic(vf: FakeVf, now: float) -> Traffic:
    """Return a representor's counters of its VF."""
    return Traffic(*(int(vf.growth.get(name, 0) * now) for name in Traffic._fields))


def shown(port: FakePort, now: float) -> dict[str, int]:
    """``ethtool -S`` of an uplink: pauses only where they are on (mlx5e_query_pfc_combined of en_stats.c).

    Drivers of other makers have other names.
    """
    if port.dcb.driver != "mlx5_core":
        return dict.fromkeys(KERNEL, 0)
    paused = [f"prio{prio}" for prio in sorted(port.dcb.pfc)] + ["global"] * port.pause
    names = [
        *KERNEL,
        *PORT,
        *(name.format(f"prio{prio}") for prio in range(8) for name in TRAFFIC),
        *(name.format(whose) for whose in paused for name in PAUSE),
        *MODULE,
    ]
    return {name: int(port.growth.get(name, 0) * now) for name in names} | port.dcb.pauses()
