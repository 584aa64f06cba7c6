# SPDX-License-Identifier: Apache-2.0
"""Faults, one at a time: which alert fires after how long, that no other does, that it clears."""

import time
from collections.abc import Callable
from typing import NamedTuple

from converge import render

from lab.observed.watch import Lab, Watch
from lab.rack.ovn import REPRESENTOR
from lab.site import BOND, BRIDGE, GATEWAY, PFS

NODE = "node-0"
(ONE, OTHER), (P0, P1) = PFS.keys(), PFS.values()
DEBUG = "/sys/kernel/debug/vcx"
COUNTS = "counts.service"


def counted(*lines: str) -> str:
    """Each second, the first port's counters grow: ``rx_discards_phy 100``, or ``vf0:…`` of a VF.

    Without a variable of the shell: systemd-run expands these itself, to nothing.
    """
    writes = "\n".join(f'echo "{line}" >{DEBUG}/{ONE}/counters' for line in lines)
    return f"systemd-run -q --unit={COUNTS} sh -c 'while sleep 1; do\n{writes}\ndone'"


COUNTED_NO_MORE = f"systemctl stop {COUNTS}"
VFS = " ".join(f"/sys/bus/pci/devices/{bdf}/virtfn*" for bdf in PFS)
EACH_VF = f"for vf in $(basename -a $(readlink -f {VFS})); do"
DRIVER = "/sys/bus/pci/drivers/mlx5_core"
TENANT, ADDRESS = "tenant", "192.168.25.60"
SENDS = f"""import socket, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    for _ in range(150):
        sender.sendto(b"0", ("{GATEWAY}", 9))
    time.sleep(0.05)
"""
"""More packets than OffloadFlowsInSoftware asks for; also what an emulated processor makes of it."""
SENT = f"""set -e
vf=$(ls /sys/bus/pci/devices/{ONE}/virtfn0/net) rep=$({REPRESENTOR})
ip netns add {TENANT}
ip link set $vf netns {TENANT} name eth0
ip -n {TENANT} address add {ADDRESS}/24 dev eth0
ip -n {TENANT} link set eth0 up
ip link set $rep up
ovs-vsctl add-port {BRIDGE} $rep
cat >/run/{TENANT}.py <<'END'
{SENDS}END
systemd-run -q --unit={TENANT} ip netns exec {TENANT} python3 /run/{TENANT}.py
"""
"""A tenant of the first VF of the first port, who sends all the time from then on."""
# While an instance has a VF, the charms neither change the number of VFs nor reboot the node.
TENANT_ENDED = f"ovs-vsctl del-port $({REPRESENTOR}); systemctl stop {TENANT}; ip netns del {TENANT}"
OFFLOADED = f"ethtool -K $({REPRESENTOR}) hw-tc-offload {{}} && ovs-appctl revalidator/purge"
OFFLOADING = "ovs-vsctl set Open_vSwitch . other_config:hw-offload=true && systemctl restart ovs-vswitchd"
"""The option that ovn-chassis sets on a node of a cloud."""
CONFIG = "/sys/kernel/config"
IN_USE = f"""set -e
mountpoint -q {CONFIG} || mount -t configfs none {CONFIG}
modprobe mlx5_ib
echo 4 >/proc/sys/vm/nr_hugepages
"""
"""The parts of every compute node with ConnectX NICs: RDMA devices, configfs, huge pages."""
PAGES = "/run/pages"
PAGES_USED = f"""mkdir -p {PAGES} && mount -t hugetlbfs none {PAGES}
free=$(cat /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages)
fallocate -l $((2 * free))M {PAGES}/all
"""
"""Somebody takes all huge pages, so that no more instance with large pages starts."""
LIMIT = 600.0
"""Seconds, as the guests could use them, until an alert must fire, and until it must have cleared."""

Act = Callable[[Lab], object]


class Fault(NamedTuple):
    """A fault, and the alert that has to fire.

    Attributes:
        name: of the fault.
        alert: the one that has to fire.
        about: what it may be about; see :func:`lab.observed.watch.about`.
        begins, ends: what makes it and what mends it.

    """

    name: str
    alert: str
    about: tuple[str, ...]
    begins: Act
    ends: Act


def on(machine: str, script: str) -> Act:
    """A command on a machine."""
    return lambda lab: lab.run(machine, script)


OF_A_NODE = (
    Fault(
        "a cable is cut", "OffloadLinkDown", (f"{NODE} {P0}",),
        on(NODE, f"echo Y >{DEBUG}/{ONE}/fault_link_down"),
        on(NODE, f"echo N >{DEBUG}/{ONE}/fault_link_down"),
    ),
    Fault(
        "a port has left the bond, so that there is no VF-LAG", "OffloadVfLagLost", (f"{NODE} {P1}",),
        on(
            NODE,
            f"{EACH_VF} echo $vf >{DRIVER}/unbind; done; ip link set {P1} nomaster; ip link set {P1} up",
        ),
        on(
            NODE,
            f"ip link set {P1} down; ip link set {P1} master {BOND}; ip link set {P1} up; sleep 3; "
            f"{EACH_VF} echo $vf >{DRIVER}/bind; done",
        ),
    ),
    Fault(
        "the network pauses the host for half of the time", "OffloadPausedByNetwork", (f"{NODE} {P0}",),
        # The card shows the counter of global pause frames, or those of the priorities with PFC.
        on(NODE, counted("rx_global_pause_duration 500000", "rx_prio3_pause_duration 500000")),
        on(NODE, COUNTED_NO_MORE),
    ),
    Fault(
        "FEC corrects a million bits and more a second", "OffloadFecAtItsLimit", (f"{NODE} {P0}",),
        on(NODE, counted("rx_corrected_bits_phy 20000000")),
        on(NODE, COUNTED_NO_MORE),
    ),
    Fault(
        "a port drops what it should send", "OffloadSentDiscards", (f"{NODE} {P0}",),
        on(NODE, counted("tx_discards_phy 1000")),
        on(NODE, COUNTED_NO_MORE),
    ),
    Fault(
        "a transceiver says once that it is too hot", "OffloadModuleTooHot", (f"{NODE} {P0}",),
        on(NODE, f'echo "module_high_temp 1" >{DEBUG}/{ONE}/counters'),
        on(NODE, "true"),
    ),
    Fault(
        "all huge pages are used", "OffloadHugePagesUsedUp", (NODE,),
        on(NODE, PAGES_USED),
        on(NODE, f"umount {PAGES}"),
    ),
    Fault(
        "hw-tc-offload is off, so that no new flow is offloaded", "OffloadTcOffloadOff", (f"{NODE} {P0}",),
        on(NODE, f"ethtool -K {P0} hw-tc-offload off"),
        on(NODE, f"ethtool -K {P0} hw-tc-offload on"),
    ),
    Fault(
        "somebody has changed a port's number of queues", "OffloadQueuesDiffer", (f"{NODE} {P1}",),
        on(NODE, f"ethtool -L {P1} combined 1"),
        on(NODE, f"ethtool -L {P1} combined $(nproc)"),
    ),
    Fault(
        "the firmware answers no command while the link is up", "OffloadFirmwareSilent", (f"{NODE} {P1}",),
        # Long enough for the alert: the first scrapes after each timeout wait for the next one, and are late.
        on(NODE, f"echo 40000 >{DEBUG}/{OTHER}/fault_cmd_timeout_ms"),
        on(NODE, f"echo 0 >{DEBUG}/{OTHER}/fault_cmd_timeout_ms"),
    ),
    Fault(
        "the exporter has ended", "OffloadExporterDown", (NODE,),
        on(NODE, "systemctl stop ovn-offload-exporter"),
        on(NODE, "systemctl start ovn-offload-exporter"),
    ),
    Fault(
        "a tenant's flows are no longer offloaded", "OffloadFlowsInSoftware", (f"{NODE} {P0}",),
        on(NODE, f"{SENT}sleep 20\n{OFFLOADED.format('off')}"),
        on(NODE, OFFLOADED.format("on")),
    ),
    Fault(
        "a tenant's RoCE packets are lost on their way", "OffloadRoceOutOfSequence", (f"{NODE} {P0}",),
        on(NODE, counted("vf0:vport_out_of_sequence 100")),
        on(NODE, f"{COUNTED_NO_MORE}; {TENANT_ENDED}"),
    ),
)  # fmt: skip


class Seen(NamedTuple):
    """The alerts that a fault led to.

    Attributes:
        fault: it.
        fired: seconds until its alert fired; None if it did not.
        others: alerts that fired besides.
        cleared: seconds until no alert fired any more; None if one went on.

    """

    fault: Fault
    fired: float | None
    others: tuple[str, ...]
    cleared: float | None

    @property
    def holds(self) -> bool:
        """Its alert came alone, and went."""
        return self.fired is not None and self.cleared is not None and not self.others

    @property
    def told(self) -> str:
        """The same in words."""
        fired, cleared, *others = _row(self)[2:]
        return f"fires after {fired} s, cleared after {cleared} s, others: {', '.join(others)}"


def quiet(watch: Watch) -> bool:
    """Whether all exporters come to answer, and no alert fires or waits."""
    return watch.lab.until(watch.quiet, LIMIT)


def try_out(watch: Watch, fault: Fault, meanwhile: Callable[[Fault], object] = lambda _: None) -> Seen:
    """Let the fault begin and end; wait for its alert to fire, do ``meanwhile``, wait for it to clear."""
    wanted = {(fault.alert, about) for about in fault.about}
    others = set[str]()

    def fires() -> bool:
        firing = watch.firing()
        others.update(" ".join(each).strip() for each in firing - wanted)
        return bool(wanted & firing)

    def clear() -> bool:
        return not fires() and watch.quiet()

    fault.begins(watch.lab)
    began = time.monotonic()
    try:
        fired = time.monotonic() - began if watch.lab.until(fires, LIMIT) else None
        meanwhile(fault)
    finally:
        fault.ends(watch.lab)
    ended = time.monotonic()
    cleared = time.monotonic() - ended if watch.lab.until(clear, LIMIT) else None
    return Seen(fault, fired, tuple(sorted(others)), cleared)


def table(seen: list[Seen], factor: int) -> str:
    """A line for each fault, and what the seconds mean."""
    head = ("fault", "alert", "seconds", "cleared after", "others")
    lines = render.table(head, [_row(each) for each in seen])
    told = f"Durations of the rules are divided by {factor}; the seconds are those of the clock."
    return f"{lines}\n{told}"


def _row(seen: Seen) -> tuple[str, ...]:
    times = ["never" if each is None else f"{each:.0f}" for each in (seen.fired, seen.cleared)]
    return (seen.fault.name, seen.fault.alert, *times, ", ".join(seen.others) or "none")
