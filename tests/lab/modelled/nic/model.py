# SPDX-License-Identifier: Apache-2.0
"""A modelled NIC: what its firmware, its PCI functions and mlx5 hold, and what they refuse.

The refusals are those of the project's virtual card (``tests/lab/card``) with all of its strictness
on; ``tests/functional/test_hostnic.py`` runs the same scenario on both and compares.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hostnic.netlink.dcb import Coalescing, Rings
from hostnic.netlink.measured import Health

from lab.modelled.nic.dcb import FakeDcb
from lab.modelled.nic.mst import FakeParameter, factory, of_function

CPUS = 8
REPORTERS = ("fw", "fw_fatal")
MOST_VFS_WITH_LAG = 64
CONNECTX4 = ("15b3:1013", "15b3:1015")
INFINIBAND = 1
"""Value of LINK_TYPE."""
NIC_RINGS = Rings(1024, 1024)
NIC_COALESCING = Coalescing(8, 128, 8, 128, adaptive_rx=True, adaptive_tx=True)
UPLINK_COALESCING = NIC_COALESCING._replace(adaptive_rx=False, adaptive_tx=False)


@dataclass
class FakeVdpa:
    """A vDPA device; ``minor`` is the number of its ``/dev/vhost-vdpa-N`` while vhost_vdpa has it."""

    name: str
    driver: str | None
    minor: int


@dataclass
class FakeVf:
    """A VF: ``ready`` is the time at which its device appears, ``deferred`` how long mlx5 puts its probe off.

    ``growth`` is what it counts in a second: ``packets``, ``bytes``, what the kernel handled of them as
    ``software_packets``, ``software_bytes``, and ``vport_…`` as RDMA has it.
    """

    index: int
    bdf: str
    ready: float
    never_probes: bool = False
    deferred: float = 0.0
    probed_at: float | None = None  # when the kernel probes it again by itself
    driver: str | None = None
    mac: str | None = None  # that its netdev has, and names its permanent one, once it was given one
    netns: bool = False
    vdpa: FakeVdpa | None = None
    inode: int = 0  # of its files in sysfs, of which no other VF has any
    growth: dict[str, float] = field(default_factory=dict[str, float])


@dataclass
class Firmware:
    """The settings of one PF that matter here, as running and as after the next boot."""

    num_of_vfs: int = 8
    sriov_en: bool = True
    next_num_of_vfs: int = 8
    next_sriov_en: bool = True
    # PF_NUM_OF_VF_VALID, which all PFs of a NIC share: `pf_num_of_vf` counts, not `num_of_vfs`
    per_pf: bool = False
    next_per_pf: bool = False
    pf_num_of_vf: int = 0
    next_pf_num_of_vf: int = 0

    @property
    def offered(self) -> int:
        """VFs that the PF offers from its next start on."""
        if not self.sriov_en:
            return 0
        return self.pf_num_of_vf if self.per_pf else self.num_of_vfs

    def apply(self) -> None:
        """Make the values current that were set."""
        self.num_of_vfs, self.sriov_en = self.next_num_of_vfs, self.next_sriov_en
        self.per_pf, self.pf_num_of_vf = self.next_per_pf, self.next_pf_num_of_vf


@dataclass
class FakePort:
    """A PF with its uplink netdev and its embedded switch."""

    bdf: str
    number: int
    netdev: str
    mac: str
    firmware: Firmware = field(default_factory=Firmware)
    siblings: int = 2  # how many ports its card has, itself included
    altnames: tuple[str, ...] = ()  # further names of its netdev
    total_vfs: int = 0  # what the firmware offers since boot
    driver: str | None = "mlx5_core"
    autoprobe: bool = True
    vfs: list[FakeVf] = field(default_factory=list[FakeVf])
    vfs_made: int = 0  # since the model began
    none_mode: bool = False  # its driver has no eswitch mode without VFs, as mlx5 before kernel 5.19
    eswitch_mode: str = "legacy"
    inline_mode: str = "none"
    encap_mode: str = "basic"
    steering_mode: str = "smfs"
    hw_tc_offload: bool = False
    rules: int = 0  # offloaded rules at its uplink, which keep its eswitch busy
    rdma: bool = True  # its RDMA device is not switched off (devlink parameter enable_rdma)
    rdma_netns: bool = False  # its RDMA device is in another network namespace (`rdma dev set … netns`)
    # Of an InfiniBand port: `4: ACTIVE` with a LID, `2: INIT` while no subnet manager gives one
    link: str = "1: DOWN"
    lid: int = 0  # that one
    # What its driver counts in a second, by the counter's name
    growth: dict[str, float] = field(default_factory=dict[str, float])
    counted: float = 0.0  # when its firmware last told the driver its counters
    # Tracked ones that the NIC forwards; None where the driver does not tell (before 5.19)
    connections: int | None = 0
    pause: bool = True  # global pause frames, which mlx5 has on at start
    most_channels: int = 63  # combined queues that the firmware allows
    channels: int = CPUS  # the netdev's queues; a change of the eswitch's mode sets them anew
    rings: Rings = NIC_RINGS
    coalescing: Coalescing = NIC_COALESCING
    dcb: FakeDcb = field(default_factory=FakeDcb)  # its data centre bridging
    # devlink's health reporters by name
    reporters: dict[str, Health] = field(default_factory=lambda: dict.fromkeys(REPORTERS, Health(True, 0, 0)))
    temperature: float | None = None  # of its transceiver, where the driver has hwmon (6.7 and later)
    # The firmware's parameters that each PF has for itself
    settings: dict[str, FakeParameter] = field(default_factory=of_function)
    vf_delay: float = 0.0  # a fault: seconds until new VFs appear
    # A fault: seconds after a change of mode, or after a VF has appeared, until the uplink has its switch id
    # and each VF its representor
    netdevs_delay: float = 0.0
    netdevs_at: float = 0.0  # when they are there after the last change of mode
    never_probing: set[int] = field(default_factory=set[int])  # a fault: indexes of VFs whose probe fails
    silent: bool = False  # a fault: the firmware answers no command, whatever the link does
    mode_fails: bool = False  # faults: mode switchdev refused, no room for VFs, no device
    no_mmio: bool = False
    mode_time: float = 0.0  # seconds that a change of the eswitch's mode takes
    changing: tuple[float, str] | None = None  # when a change that outlived its answer ends, and its mode
    gone: bool = False
    # Its firmware takes mode switchdev only while there is no VF, as 26.42.1000 of ConnectX-6 Lx
    # (sriov-network-operator 1015)
    switchdev_first: bool = False
    locked_until: float = 0.0  # a fault: the time until which another operation holds the eswitch
    mrrs: int = 2  # read request size, 2 for 512 bytes, 5 for 4096
    semaphore: int = 0  # the ticket of the tool that asks the firmware, or of one that was killed then

    def boot(self) -> None:
        """Everything that lives in memory is as after power-on; faults stay."""
        self.total_vfs = self.firmware.offered
        self.autoprobe = True
        self.vfs = []
        self.eswitch_mode, self.inline_mode, self.steering_mode = self.mode_at_start, "none", "smfs"
        self.changing = None
        self.hw_tc_offload = False
        self.rules = 0
        self.mrrs = 2
        self.pause = True
        self.nic_profile()
        self.dcb.power_on()

    @property
    def mode_at_start(self) -> str:
        """The eswitch mode without VFs; the one that says "none" does not tell it (EOPNOTSUPP)."""
        return "none" if self.none_mode else "legacy"

    def nic_profile(self) -> None:
        """The queues that mlx5 gives a netdev in legacy mode (mlx5e_build_nic_params)."""
        self.channels = min(CPUS, self.most_channels)
        self.rings, self.coalescing = NIC_RINGS, NIC_COALESCING

    def uplink_profile(self) -> None:
        """Those of an uplink in switchdev mode (mlx5e_build_rep_params): one queue, nothing kept."""
        self.channels = 1
        self.rings, self.coalescing = NIC_RINGS, UPLINK_COALESCING

    def present(self, now: float) -> list[FakeVf]:
        """VFs whose device exists."""
        return [vf for vf in self.vfs if vf.ready <= now]

    def vf_address(self, index: int) -> str:
        """BDF of a VF: the VFs of the first port follow all PFs, those of the second follow these."""
        head, _, rest = self.bdf.partition(":")
        bus, _, slot_function = rest.partition(":")
        slot, _, function = slot_function.partition(".")
        offset = self.siblings + self.number * (self.total_vfs - 1)
        routing = (int(bus, 16) << 8) + (int(slot, 16) << 3) + int(function) + offset + index
        return f"{head}:{routing >> 8:02x}:{(routing >> 3) & 0x1F:02x}.{routing & 7}"


@dataclass
class FakeCard:
    """A NIC with its ports."""

    slot: str  # domain, bus and slot: `0000:3b:00`
    ports: list[FakePort]  # its PFs
    device: str = "15b3:101d"  # PCI ids, board id, running firmware
    psid: str = "MT_0000000359"
    serial: str = ""  # as its vital product data has it; empty for one that does not tell
    version: str = "22.35.2000"
    # Board id that it was made with, of a card flashed with another maker's image; else empty
    orig_psid: str = ""
    numa_node: int = 0
    switch_id: str = "1070fd0300b2a3c4"
    rdma: bool = False  # RDMA devices exist (`rdma-core` and mlx5_ib are there)
    # The type of the LAG that is active (`switchdev`, `roce`, `multiport_eswitch`) or None
    lag: str | None = None
    lag_hash: bool = False  # it selects ports by hash
    shared_fdb: bool = True  # its VF-LAG has one FDB for both ports; without, each port keeps its RDMA device
    lag_object: bool = True  # the firmware offers one while no port has too many VFs
    paired: bool = True  # its driver takes its ports for those of one card, even if they are at two PCI slots
    lag_ports: int = 4  # how many ports its driver's LAG object has at most, and VF-LAG
    vf_lag_ports: int = 4
    lag_in_firmware: bool = False  # the firmware has a LAG; outlives a deactivation that failed
    lag_never: bool = False  # a fault: no LAG ever forms
    lag_delay: float = 0.2  # seconds between an event and what mlx5 makes of it
    multiport_param: bool = True  # its driver has the devlink parameter `esw_multiport`
    # The firmware's parameters by name, apart from those of `FakePort.firmware`
    settings: dict[str, FakeParameter] = field(default_factory=dict[str, FakeParameter])
    # Parameters that mstconfig knows and this firmware does not have
    lacks: set[str] = field(default_factory=set[str])
    atc: int = 0  # the register of its ATC that GPUDirect needs on AMD hosts
    flash: str = ""  # version in flash when it is another than the one that runs; empty otherwise
    stuck: bool = False  # a warm reboot does not apply what is set for the next boot
    one_trigger: bool = False  # the firmware refuses the two triggers of mstconfig 4.33; a warm reboot works
    infiniband_only: bool = False  # its firmware has no LINK_TYPE and is InfiniBand
    recovery_class: str = "0x020000\n"  # what it calls itself in flash recovery

    def __post_init__(self) -> None:
        self.settings = self.settings or factory(len(self.ports))

    @property
    def offers_lag(self) -> bool:
        """The driver has a LAG object (lag/lag.h: mlx5_lag_is_supported)."""
        few = all(port.total_vfs <= MOST_VFS_WITH_LAG for port in self.ports)
        return self.lag_object and few and 2 <= len(self.ports) <= self.lag_ports and self.paired

    @property
    def one_fdb(self) -> bool:
        """A LAG is active that leaves the second port without RDMA device."""
        return self.lag is not None and (self.lag != "switchdev" or self.shared_fdb)

    @property
    def multiport(self) -> bool:
        """One eswitch spans both ports: devlink parameter ``esw_multiport``."""
        return self.lag == "multiport_eswitch"

    def is_infiniband(self, port: FakePort) -> bool:
        """The firmware runs the port as InfiniBand. A netdev named ib… is IPoIB's; another is not there."""
        kind = self.settings.get(f"LINK_TYPE_P{port.number + 1}")
        return kind.current == INFINIBAND if kind else self.infiniband_only

    def has_netdev(self, port: FakePort) -> bool:
        """Ethernet, or InfiniBand with ib_ipoib."""
        return port.netdev.startswith("ib") or not self.is_infiniband(port)

    def boot(self) -> None:
        """Power-on state of all ports."""
        self.lag, self.lag_hash, self.lag_in_firmware = None, False, False
        self.atc = 0
        if not self.stuck:
            self.apply()
        for port in self.ports:
            port.boot()
            if port.netdev.startswith("ib") and not self.is_infiniband(port):
                port.netdev = f"en{port.netdev[2:]}np{port.number}"

    def apply(self) -> None:
        """The firmware restarts: what was set becomes current."""
        self.version, self.flash = self.flash or self.version, ""
        for port in self.ports:
            port.firmware.apply()
        for settings in (self.settings, *(port.settings for port in self.ports)):
            for parameter in settings.values():
                parameter.current = parameter.next_boot


def card(
    bus: str = "3b",
    ports: int = 2,
    total_vfs: int = 8,
    device: str = "15b3:101d",
    driver: str = "mlx5_core",
) -> FakeCard:
    """A NIC in slot 0 of ``bus`` (hexadecimal), with names as udev gives: ``enp59s0f0np0``."""
    slot = f"0000:{bus}:00"
    number = int(bus, 16)
    made = [
        FakePort(
            bdf=f"{slot}.{port}",
            number=port,
            netdev=f"enp{number}s0f{port}np{port}",
            mac=f"10:70:fd:{number:02x}:00:{port:02x}",
            firmware=Firmware(total_vfs, True, total_vfs, True),
            siblings=ports,
            driver=driver,
            dcb=FakeDcb(driver, headers_in_descriptors=device in CONNECTX4),
        )
        for port in range(ports)
    ]
    serial, switch_id = f"MT2116X{number:05}", f"1070fd0300{number:02x}0000"
    result = FakeCard(slot, made, device, serial=serial, switch_id=switch_id)
    result.boot()
    return result


def at_two_slots(second: str = "0002:3b:00.0") -> FakeCard:
    """A NIC whose second port is in another PCI domain, as those of GB200: ``enP2p59s0np1``."""
    result = card()
    port = result.ports[1]
    domain, bus = (int(part, 16) for part in second.split(":")[:2])
    port.bdf, port.netdev = second, f"enP{domain}p{bus}s0np1"
    return result


def hca(bus: str = "5c", ports: int = 2, lids: Sequence[int] = (), device: str = "15b3:1021") -> FakeCard:
    """A NIC whose ports are InfiniBand as it comes from the factory, with IPoIB: ``ibp92s0f0``.

    Args:
        bus: hexadecimal.
        ports: how many.
        lids: of the ports, whose links are active then.
        device: PCI vendor and device id.

    """
    result = card(bus, ports, device=device)
    for port in result.ports:
        port.netdev = f"ibp{int(bus, 16)}s0f{port.number}"
        if port.number < len(lids):
            port.link, port.lid = "4: ACTIVE", lids[port.number]
        kind = result.settings[f"LINK_TYPE_P{port.number + 1}"]
        kind.default = kind.current = kind.next_boot = INFINIBAND
    return result
