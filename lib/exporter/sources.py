# SPDX-License-Identifier: Apache-2.0
"""The exporter's sources on a host: netlink, sysfs and the driver's counters.

Nothing here takes a lock of Open vSwitch, dumps flows, starts a process or writes. Each function is one
source (:mod:`exporter.workers`); those of a port are apart, since a driver that hangs in one call usually
answers others.
"""

import errno
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial

from hostnic.devices import lag, rdma
from hostnic.devices.pci import DEVICES
from hostnic.devices.port import representors_of, uplink_of
from hostnic.handover import AGENTS
from hostnic.ops.members import is_distributing
from hostnic.system import Link, System, if_told, list_names, read_text

from exporter.catalogue import HOST, PREFIX
from exporter.facts import Counted, Fabric, Facts, PortFacts, Reboot
from exporter.workers import Sample, Source

NODES = "/sys/devices/system/node"
CONNTRACK = "/proc/sys/net/netfilter/nf_conntrack_"
REPORTERS = ("fw", "fw_fatal")
NO_DEVLINK = (errno.ENODEV, errno.EOPNOTSUPP, errno.ENOENT)
"""The kernel's answers if it has no devlink, the driver has none, or its devlink does not tell this: no fault
of the firmware."""
PARTNER_AGGREGATES = 0x04
"""The bit of a partner's state for bonding; the kernel's default without a partner lacks it (bond_3ad.c)."""

_COUNTERS = {
    metric.source.removeprefix("ethtool "): metric.name.removeprefix(PREFIX)
    for metric in HOST.values()
    if metric.labels == ("port",) and metric.source.startswith("ethtool ")
}
_WIRE = re.compile(r"([rt]x)_(bytes|packets)_phy")
_PRIORITY = re.compile(r"([rt]x)_(?:prio(\d)|global)_(pause|pause_duration|discards|marked)")
_VF = re.compile(r"(?:c\d+)?pf\d+vf(\d+)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_UNIT = re.compile(r"unit-([a-z][a-z0-9-]*)-(\d+)")
_SIDES = {"rx": "received", "tx": "sent"}
_ROCE = {
    "vport_out_of_sequence": "vf_roce_out_of_sequence",
    "vport_out_of_buffer": "vf_roce_out_of_buffer",
    "vport_local_ack_timeout_err": "vf_roce_timeouts",
}


class Hardware:
    """The part of a VF's traffic that did not pass in software: a difference that is kept from falling.

    mlx5 refreshes the total in the background, and counts at once what passes in software (en_rep.c:
    mlx5e_rep_get_stats). Without traffic in hardware the difference falls now and then, and to Prometheus a
    counter that falls has begun anew: all of its value would be new traffic in hardware.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[str, ...], tuple[int, int]] = {}

    def of(self, count: tuple[str, ...], total: int, software: int) -> int:
        """The present value of a count; a total that falls has begun anew."""
        before, least = self._seen.get(count, (0, 0))
        value = max(total - software, least if total >= before else 0)
        self._seen[count] = total, value
        return value


def of_host(ports: Iterable[PortFacts], hardware: Hardware) -> dict[str, Source]:
    """All sources of a host with these declared ports, by name; none of another machine."""
    declared = tuple(ports)
    if not declared:
        return {}
    every = [
        Source("netdevs", partial(netdevs, ports=declared, hardware=hardware)),
        Source("rdma", partial(roce, ports=declared)),
        Source("vf_lag", partial(vf_lag, ports=declared)),
        Source("memory", memory),
        Source("units", units),
    ]
    for port in declared:
        label = (port.netdev,)
        silent = Sample("firmware_answers", label, 0.0)
        every += [
            Source(f"link {port.netdev}", partial(link, port=port)),
            Source(f"settings {port.netdev}", partial(settings, port=port)),
            Source(f"counters {port.netdev}", partial(counters, port=port)),
            Source(f"firmware {port.netdev}", partial(firmware, port=port), (silent,)),
            Source(f"health {port.netdev}", partial(health, port=port)),
        ]
    return {source.name: source for source in every}


def netdevs(system: System, ports: Iterable[PortFacts], hardware: Hardware) -> Iterator[Sample]:
    """Carriers of uplinks and representors, and what passed the latter in hardware and in software."""
    links, traffic = system.links.all(), system.links.traffic()
    for port in ports:
        uplink = uplink_of(links, port.bdf)
        yield Sample("port_present", (port.netdev,), float(uplink is not None))
        yield Sample("port_carrier", (port.netdev,), float(bool(uplink and uplink.carrier)))
        for vf, representor in _representors(links, port):
            label = (port.netdev, vf)
            yield Sample("vf_carrier", label, float(bool(representor.carrier)))
            if seen := traffic.get(representor.ifindex):
                for metric, total, software in (
                    ("vf_packets", seen.packets, seen.software_packets),
                    ("vf_bytes", seen.bytes, seen.software_bytes),
                ):
                    yield Sample(metric, (*label, "hardware"), hardware.of((metric, *label), total, software))
                    yield Sample(metric, (*label, "software"), software)


def _representors(links: list[Link], port: PortFacts) -> Iterator[tuple[str, Link]]:
    """The representors of a port's VFs, with the VF's number."""
    for found in representors_of(links, port.bdf):
        if vf := _VF.fullmatch(found.port_name or ""):
            yield vf[1], found


def roce(system: System, ports: Iterable[PortFacts]) -> Iterator[Sample]:
    """The RoCE counters of VFs, which the ports of the uplink's RDMA device have."""
    netdevs = system.links.rdma()
    if not netdevs:
        return
    links = system.links.all()
    labels = {found.name: (port.netdev, vf) for port in ports for vf, found in _representors(links, port)}
    for (device, number), netdev in netdevs.items():
        if netdev in labels:
            directory = f"{rdma.CLASS}/{device}/ports/{number}/hw_counters"
            for name, metric in _ROCE.items():
                if text := read_text(system, f"{directory}/{name}"):
                    yield Sample(metric, labels[netdev], int(text))


def memory(system: System) -> Iterator[Sample]:
    """Huge pages and tracked connections."""
    for node in list_names(system, NODES):
        for pool in list_names(system, f"{NODES}/{node}/hugepages"):
            label = node.removeprefix("node"), pool.removeprefix("hugepages-").removesuffix("kB")
            for name, metric in ("nr", "huge_pages"), ("free", "huge_pages_free"):
                text = system.files.read(f"{NODES}/{node}/hugepages/{pool}/{name}_hugepages")
                yield Sample(metric, label, int(text))
    for name, metric in ("count", "connections_tracked"), ("max", "connections_limit"):
        text = read_text(system, CONNTRACK + name)
        if text and (name == "count" or text != "0"):  # a limit of 0 is none
            yield Sample(metric, (), int(text))


def units(system: System) -> Iterator[Sample]:
    """The Juju units of the machine: a planned reboot takes all of them away."""
    for name in list_names(system, AGENTS):
        if found := _UNIT.fullmatch(name):
            yield Sample("machine_unit", (f"{found[1]}/{found[2]}",), 1.0)


def link(system: System, port: PortFacts) -> Iterator[Sample]:
    """Read a port's attributes in sysfs: flaps, LACP, its PCIe link, the transceiver's temperature."""
    label, directory = (port.netdev,), f"/sys/class/net/{port.netdev}"
    if changes := read_text(system, f"{directory}/carrier_changes"):
        yield Sample("port_carrier_changes", label, int(changes))
    if port.bond:
        state = read_text(system, f"{directory}/bonding_slave/ad_partner_oper_port_state") or ""
        if state.isdecimal():
            yield Sample("port_lacp_partner", label, float(bool(int(state) & PARTNER_AGGREGATES)))
        yield Sample("port_distributing", label, float(is_distributing(system, port.bond, port.netdev)))
    for metric, value in _pci_link(system, port.bdf):
        yield Sample(metric, label, value)
    for monitor in list_names(system, f"{DEVICES}/{port.bdf}/hwmon"):
        yield from _temperature(system, f"{DEVICES}/{port.bdf}/hwmon/{monitor}", label)


def _pci_link(system: System, bdf: str) -> Iterator[tuple[str, float]]:
    """The PCIe link as it is, and as both its ends can be (Documentation/ABI/testing/sysfs-bus-pci)."""
    card = f"{DEVICES}/{bdf}"
    for name, metric in ("width", "port_pci_lanes"), ("speed", "port_pci_gigatransfers"):
        now, card_has, slot_has = (
            float(found[0]) if (found := _NUMBER.match(read_text(system, path) or "")) else 0.0
            for path in (
                f"{card}/current_link_{name}",
                f"{card}/max_link_{name}",
                f"{card}/../max_link_{name}",
            )
        )
        if now and card_has:
            yield metric, now
            yield f"{metric}_limit", min(card_has, slot_has or card_has)


def _temperature(system: System, directory: str, label: tuple[str]) -> Iterator[Sample]:
    """The first transceiver of a monitor; thousandths of a degree (Documentation/hwmon/sysfs-interface)."""
    for name in list_names(system, directory):
        text = read_text(system, f"{directory}/{name}") if name.endswith("_label") else None
        if text and text.lower().startswith("module"):
            sensor = f"{directory}/{name.removesuffix('_label')}"
            now, most = (int(read_text(system, f"{sensor}_{part}") or 0) for part in ("input", "crit"))
            if now:  # without a transceiver, or with one that does not measure, all is 0
                yield Sample("port_module_temperature_celsius", label, now / 1000)
            if most:
                yield Sample("port_module_temperature_limit_celsius", label, most / 1000)
            return


def settings(system: System, port: PortFacts) -> Iterator[Sample]:
    """Read the actual values of the declared settings, as far as anyone may read them."""
    declared, seen = port.declared, dict(port.actual)
    if "switchdev" in declared:
        seen["switchdev"] = int(system.devlink.eswitch_mode(port.bdf) == "switchdev")
    if "vfs" in declared:
        seen["vfs"] = int(system.files.read(f"{DEVICES}/{port.bdf}/sriov_numvfs"))
    if "hw_tc_offload" in declared and (on := system.ethtool.hw_tc_offload(port.netdev)) is not None:
        seen["hw_tc_offload"] = int(on)
    if "queues" in declared and (channels := system.ethtool.channels(port.netdev)):
        seen["queues"] = channels.combined
    for name, value in seen.items():
        if name in declared and name != "vf_lag":
            yield Sample("actual", (port.netdev, name), value)


def vf_lag(system: System, ports: Iterable[PortFacts]) -> Iterator[Sample]:
    """Whether declared VF-LAGs are there. One question for all netdevs: it costs most of a scrape."""
    declared = [port for port in ports if "vf_lag" in port.declared]
    links = system.links.all() if declared else []
    for port in declared:
        # debugfs is root's: where the RDMA devices do not tell, a hook's word stands as bond and mode do.
        found, uplink = port.actual.get("vf_lag"), uplink_of(links, port.bdf)
        with suppress(OSError):  # of this port alone
            if (
                system.devlink.eswitch_mode(port.bdf) != "switchdev"
                or not uplink
                or uplink.master != port.bond
            ):
                found = 0
            elif lag.one_rdma_device(system, port.bdf, links):
                found = 1
            if found is not None:
                yield Sample("actual", (port.netdev, "vf_lag"), found)


def counters(system: System, port: PortFacts) -> Iterator[Sample]:
    """The driver's counters of a port and of its priorities, and the link's speed: all from the firmware."""
    speed = read_text(system, f"/sys/class/net/{port.netdev}/speed") or ""
    if speed.isdecimal() and speed != "0":  # without a link the driver says -1
        yield Sample("port_speed_megabits", (port.netdev,), int(speed))
    for name, value in system.ethtool.statistics(port.netdev).items():
        if metric := _COUNTERS.get(name):
            yield Sample(metric, (port.netdev,), value)
        elif wire := _WIRE.fullmatch(name):
            yield Sample(f"port_{wire[2]}", (port.netdev, _SIDES[wire[1]]), value)
        elif found := _PRIORITY.fullmatch(name):
            label, side = (port.netdev, found[2] or "all"), _SIDES[found[1]]
            if found[3] == "pause":
                yield Sample("priority_pause_frames", (*label, side), value)
            elif found[3] == "pause_duration":
                yield Sample("priority_pause_seconds", (*label, side), value / 1e6)
            elif side == "received":
                yield Sample(
                    "priority_discards" if found[3] == "discards" else "priority_ecn_marked", label, value
                )


def firmware(system: System, port: PortFacts) -> Iterator[Sample]:
    """Whether the firmware answers: its version is asked for by a command like any other."""
    if if_told(lambda: system.devlink.info(port.bdf), NO_DEVLINK):
        yield Sample("firmware_answers", (port.netdev,), 1.0)


def health(system: System, port: PortFacts) -> Iterator[Sample]:
    """The driver's own watch over its firmware."""
    for reporter in REPORTERS:
        if found := if_told(lambda name=reporter: system.devlink.health(port.bdf, name), NO_DEVLINK):
            label = (port.netdev, reporter)
            yield Sample("health_reporter_healthy", label, float(found.healthy))
            yield Sample("health_reporter_errors", label, found.errors)
            yield Sample("health_reporter_recoveries", label, found.recoveries)


def of_hooks(all_facts: Iterable[Facts], ports: Iterable[PortFacts], now: float) -> Iterator[Sample]:
    """Return the samples of the facts that hooks have written."""
    for port in ports:
        yield Sample("port_info", (port.netdev, port.bdf, port.bond), 1.0)
        yield Sample("port_used", (port.netdev,), float(port.used))
        for name, value in port.declared.items():
            yield Sample("declared", (port.netdev, name), value)
    for facts in all_facts:
        yield Sample("charm_look_age_seconds", (facts.charm, facts.unit), max(now - facts.at, 0.0))
        yield Sample("charm_held_steps", (facts.charm,), facts.held)
        for severity, number in facts.findings.items():
            yield Sample("charm_findings", (facts.charm, severity), number)
        if facts.reboot:
            yield from _reboot(facts.charm, facts.reboot, now)
        if flows := facts.flows:
            yield Sample("flows", ("hardware",), flows.inside)
            yield Sample("flows", ("software",), flows.others)
            yield Sample("flows_limit", (), flows.limit)
            if flows.connections is not None:
                yield Sample("connections_offloaded", (), flows.connections)
        if facts.fabric:
            yield from _fabric(facts.fabric, now)


def _reboot(charm: str, reboot: Reboot, now: float) -> Iterator[Sample]:
    yield Sample("reboot_needed", (charm,), float(reboot.needed))
    yield Sample("maintenance", (charm,), float(reboot.maintenance))
    yield Sample("reboot_lock_limit_seconds", (charm,), reboot.limit)
    for unit, since in reboot.held.items():
        yield Sample("reboot_lock_age_seconds", (charm, unit), max(now - since, 0.0))
    if reboot.queue is not None:
        yield Sample("reboot_queue", (charm,), reboot.queue)


def _fabric(fabric: Fabric, now: float) -> Iterator[Sample]:
    yield Sample("fabric_look_age_seconds", (), max(now - fabric.at, 0.0))
    for switch in fabric.switches:
        label = (switch.name,)
        yield Sample("fabric_switch_answers", label, float(switch.answers))
        yield Sample("fabric_switch_drained", label, float(switch.drained))
        yield Sample("fabric_drift", label, switch.drift)
        yield Sample("fabric_miswired", label, switch.miswired)
        for metric, numbers in ("fabric_declared", switch.declared), ("fabric_actual", switch.actual):
            for name, number in numbers.items():
                yield Sample(metric, (switch.name, name), number)
        for port in switch.counted:
            yield from _counted((switch.name, port.port), port)
    for unit, differences in fabric.hosts.items():
        for about, number in differences.items():
            yield Sample("fabric_host_differences", (unit, about), number)


def _counted(at: tuple[str, str], port: Counted) -> Iterator[Sample]:
    yield Sample("fabric_port_ecn_marked", at, port.marked)
    for way, micro in port.paused.items():
        yield Sample("fabric_port_pause_seconds", (*at, way), micro / 1e6)
    for lane in port.lanes:
        which = (*at, lane.kind, lane.way)
        yield Sample("fabric_port_frames", which, lane.frames)
        yield Sample("fabric_port_drops", which, lane.dropped)
        yield Sample("fabric_port_buffer_peak_bytes", which, lane.peak)
