# SPDX-License-Identifier: Apache-2.0
"""Every metric that the exporter gives: name, kind, labels, help, and where its value comes from.

A name, a label or the port never changes: the name of a scrape job has a digest of the whole job in it, and a
renamed series looks like one that has ended. No rule names a host: what one would compare with is a metric,
too (``*_limit``, ``*_declared``, :data:`THRESHOLDS`).

Labels: ``port`` is the uplink's netdev as declared, ``vf`` the number of a virtual function of that port,
``charm`` the charm whose hook has seen it, ``switch`` the intent's name of a switch. Only declared ports have
series: nobody is told of a NIC that is not ours.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple, cast

PORT = 19560
"""Prometheus' list of default ports has none left from 9100 to 9999, and asks others
to stay out of that range; this one is assigned to nobody, and below those that Linux gives to connections."""
PREFIX = "ovn_offload_"


class Metric(NamedTuple):
    """A family of series."""

    name: str  # without the ending `_total` that a counter's series have
    kind: Literal["counter", "gauge"]  # of Prometheus
    labels: tuple[str, ...]  # their names, in order
    help: str  # one sentence, with the unit
    # Where the value comes from: `hook` is the file that the charm's last hook left, `ethtool NAME` that
    # counter of the driver
    source: str

    @property
    def series(self) -> str:
        """The name as a query has it."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


# A line: kind, name, labels | help | source. A line that begins with two spaces continues the one before it.
_HOST_TABLE = """
gauge source_up source | Whether this source answered in time when it was asked last: 1 or 0 | exporter
gauge source_age_seconds source | Seconds since this source answered, or was first asked; its values are as
  old | exporter
gauge threshold name | What rules compare with, by name | exporter
gauge charm_look_age_seconds charm,unit | Seconds since a hook of the charm's unit looked | hook
gauge charm_findings charm,severity | Findings of that look, by severity | hook
gauge charm_held_steps charm | Steps that wait for the operator or for a reboot | hook
gauge reboot_needed charm | Whether the host needs a reboot for what is declared: 1 or 0 | hook
gauge maintenance charm | Whether the host is in a planned reboot: it holds the reboot lock, or has not
  settled since its last boot: 1 or 0 | hook
gauge reboot_lock_age_seconds charm,unit | Seconds since this unit got the reboot lock; told by the leader
  and by the unit itself | hook
gauge reboot_lock_limit_seconds charm | Seconds after which a holder of the lock is called stuck | hook
gauge machine_unit unit | 1 for each Juju unit of this machine, those of other charms as well | agents
gauge reboot_queue charm | Units that wait for the reboot lock; told by the leader | hook
gauge declared port,setting | What is declared: vfs, queues (their numbers); switchdev, vf_lag, hw_tc_offload
  and qos (1 or 0); firmware_parameters (how many) | hook
gauge actual port,setting | What is there of it: vfs, switchdev, vf_lag, queues and hw_tc_offload now;
  firmware_parameters and qos at the last hook | sysfs, devlink, ethtool, hook
gauge port_info port,pci,bond | 1 for each declared port, with its PCI address and bond | hook
gauge port_present port | Whether the PCI function has its netdev: 1 or 0 | rtnetlink
gauge port_used port | Whether the port is to be in a bond, or is in a bond or bridge: 1 or 0 | hook
gauge port_carrier port | Whether the link is up: 1 or 0 | rtnetlink
counter port_carrier_changes port | Times that the link went up or down | sysfs carrier_changes
gauge port_lacp_partner port | Whether the port has an LACP partner: 1 or 0 | sysfs bonding_slave
gauge port_distributing port | Whether its bond sends on the port: 1 or 0 | sysfs bonding_slave
gauge port_module_temperature_celsius port | Temperature of the transceiver | sysfs hwmon
gauge port_module_temperature_limit_celsius port | Temperature that the transceiver allows | sysfs hwmon
gauge port_speed_megabits port | Megabits a second of the link; none without one | sysfs speed
gauge port_pci_lanes port | Lanes of the PCIe link | sysfs current_link_width
gauge port_pci_lanes_limit port | Lanes that both the card and what it is in can use | sysfs max_link_width
gauge port_pci_gigatransfers port | Gigatransfers a second of a PCIe lane | sysfs current_link_speed
gauge port_pci_gigatransfers_limit port | Those that both the card and what it is in can do
  | sysfs max_link_speed
gauge firmware_answers port | Whether the firmware answered a command in time: 1 or 0 | devlink info
gauge health_reporter_healthy port,reporter | Whether devlink's reporter is healthy: 1 or 0 | devlink health
counter health_reporter_errors port,reporter | Errors that the reporter has counted | devlink health
counter health_reporter_recoveries port,reporter | Recoveries that it has counted | devlink health
counter port_link_down port | Times that the physical link went down | ethtool link_down_events_phy
counter port_crc_errors port | Received frames with a wrong checksum | ethtool rx_crc_errors_phy
counter port_symbol_errors port | Received symbols that FEC could not correct
  | ethtool rx_pcs_symbol_err_phy
counter port_corrected_bits port | Received bits that FEC corrected | ethtool rx_corrected_bits_phy
counter port_received_discards port | Received frames that were dropped: the port's buffer was full
  | ethtool rx_discards_phy
counter port_sent_discards port | Frames to send that the port dropped | ethtool tx_discards_phy
counter port_out_of_buffer port | Received frames that were dropped: the host had no buffer ready
  | ethtool rx_out_of_buffer
counter port_pci_stalled_write_seconds port | Seconds in which PCIe held up what the NIC writes
  | ethtool outbound_pci_stalled_wr_events
counter port_pci_stalled_read_seconds port | Seconds in which PCIe held up what the NIC reads
  | ethtool outbound_pci_stalled_rd_events
counter port_module_too_hot port | Times that the transceiver became too hot | ethtool module_high_temp
counter port_module_unplugged port | Times that the transceiver was unplugged | ethtool module_unplug
counter port_module_silent port | Times that the transceiver did not answer | ethtool module_bus_stuck
counter port_module_damaged port | Times that the transceiver or cable was found damaged
  | ethtool module_bad_shorted
counter port_ecn_marked port | Received packets with a congestion mark | ethtool rx_ecn_mark
counter port_bytes port,direction | Bytes on the wire, received or sent | ethtool rx_bytes_phy, tx_bytes_phy
counter port_packets port,direction | Packets on the wire, received or sent
  | ethtool rx_packets_phy, tx_packets_phy
counter priority_pause_frames port,priority,direction | Pause frames; priority "all" is global pause.
  received: the network stops this host; sent: this host is slow | ethtool rx_prioN_pause and the like
counter priority_pause_seconds port,priority,direction | Seconds for which those pauses stopped the priority
  | ethtool rx_prioN_pause_duration (microseconds), ...
counter priority_discards port,priority | Received frames of the priority that were dropped
  | ethtool rx_prioN_discards
counter priority_ecn_marked port,priority | Received packets that the NIC marked: its buffer filled up
  | ethtool rx_prioN_marked
counter vf_bytes port,vf,path | Bytes of the VF in both directions, by path: hardware or software
  | rtnetlink, statistics of the representor
counter vf_packets port,vf,path | Packets of the VF in both directions, by path: hardware or software
  | rtnetlink, statistics of the representor
gauge vf_carrier port,vf | Whether the VF's representor has a link: 1 or 0 | rtnetlink
counter vf_roce_out_of_sequence port,vf | RoCE packets that the VF received out of sequence
  | RDMA vport_out_of_sequence
counter vf_roce_out_of_buffer port,vf | RoCE packets that were dropped: the VF had no receive buffer ready
  | RDMA vport_out_of_buffer
counter vf_roce_timeouts port,vf | RoCE acknowledgements for which the VF waited in vain
  | RDMA vport_local_ack_timeout_err
gauge flows path | Flows of Open vSwitch, by path: hardware or software | hook, upcall/show
gauge flows_limit - | Flows that Open vSwitch keeps at most now; mlx5 does not tell for how many rules it
  has room | hook, upcall/show
gauge connections_offloaded - | Tracked connections that the NICs handle | hook, debugfs ct/offloaded
gauge connections_tracked - | Connections that the kernel tracks | nf_conntrack_count
gauge connections_limit - | Connections that the kernel tracks at most | nf_conntrack_max
gauge huge_pages numa_node,size | Huge pages of this size, in kilobytes | sysfs nr_hugepages
gauge huge_pages_free numa_node,size | Those of them that are free | sysfs free_hugepages
"""

_FABRIC_TABLE = """
gauge fabric_look_age_seconds - | Seconds since the leader asked the switches; what the metrics below say of
  them is as old | hook
gauge fabric_switch_answers switch | Whether the switch could be read: 1 or 0 | hook
gauge fabric_switch_drained switch | Whether the switch is out of use for work on it: 1 or 0 | hook
gauge fabric_drift switch | Settings of the switch that differ from the intent | hook
gauge fabric_miswired switch | Ports of the switch with another neighbour than the intent's | hook
gauge fabric_declared switch,object | How many the intent has: links (to switches), sessions (of BGP, with
  EVPN), segments, vnis | hook
gauge fabric_actual switch,object | How many of them are up and as declared; missing while the switch does
  not answer | hook
gauge fabric_host_differences unit,about | In how many points the host of a unit of roce-qos differs from the
  fabric; about: policy (QoS, MTU, LACP), cables, report (it cannot be read) | hook
counter fabric_port_pause_seconds switch,port,direction | Seconds of PFC pauses of RoCE at the switch's port,
  sent or received; a port that has paused, marked and dropped nothing has no series | hook, qos roce counters
counter fabric_port_ecn_marked switch,port | RoCE frames that the port sent with a mark of congestion
  | hook, qos roce counters
counter fabric_port_frames switch,port,class,direction | Frames at the port by class: roce, cnp (RoCE's
  notifications of congestion) or other | hook, qos roce counters
counter fabric_port_drops switch,port,class,direction | Frames that the port dropped for want of buffers
  | hook, qos roce counters
gauge fabric_port_buffer_peak_bytes switch,port,class,direction | Bytes of buffers that frames of the class
  have used at most since the port's counters began | hook, qos roce counters
"""

THRESHOLDS = {
    "look_age_seconds": 3600.0,
    "source_age_seconds": 300.0,
    "pause_ratio": 0.1,
    "connections_ratio": 0.9,
}
"""Values of the metric ``threshold``, the same on every unit."""


def _read(table: str) -> Iterator[Metric]:
    for line in table.replace("\n  ", " ").strip().splitlines():
        first, text, source = (part.strip() for part in line.split("|"))
        kind, name, labels = first.split()
        names = () if labels == "-" else tuple(labels.split(","))
        yield Metric(PREFIX + name, cast("Literal['counter', 'gauge']", kind), names, f"{text}.", source)


HOST = {metric.name: metric for metric in _read(_HOST_TABLE)}
"""The metrics of a host, by name; those of charms and their hooks are the fabric's, too."""

FABRIC = {metric.name: metric for metric in _read(_FABRIC_TABLE)}
"""The metrics of the fabric alone."""

METRICS = HOST | FABRIC
