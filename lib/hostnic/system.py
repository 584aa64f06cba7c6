# SPDX-License-Identifier: Apache-2.0
"""The one way to the machine: a :class:`System` with a door for each thing that a charm talks to.

Everything that reads or changes a host goes through a System, so that a test can hand in a modelled host,
and a recorder can prove that a second run writes nothing. The real one is :class:`hostnic.machine.Machine`,
whose doors are the clients of :mod:`hostnic.netlink`; the modelled one is :class:`hostnic.testing.FakeHost`.

All methods raise ``OSError`` where the kernel does; its ``strerror`` carries the kernel's extended-ack text
when there is one. Each says which command does the same from a shell.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from converge import Step

if TYPE_CHECKING:
    from hostnic.netlink.dcb import App, Dcb

BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Link(NamedTuple):
    """A netdev as rtnetlink reports it.

    Attributes:
        kind: ``bond``, ``bridge``, ``vlan``, ``openvswitch`` …; None for a plain device.
        master: name of the bond or bridge (``ovs-system`` for a port of Open vSwitch).
        pci: PCI address of the parent device, from IFLA_PARENT_DEV_NAME, or sysfs below 5.15.
        bond_mode, xmit_hash_policy, partner_mac: for bonds only.

    """

    name: str
    ifindex: int
    mac: str | None
    permanent_mac: str | None
    mtu: int
    up: bool
    carrier: bool | None
    kind: str | None
    master: str | None
    switch_id: str | None
    port_name: str | None
    pci: str | None
    bond_mode: str | None = None
    xmit_hash_policy: str | None = None
    partner_mac: str | None = None


class DeviceInfo(NamedTuple):
    """``devlink dev info``: the running firmware version and the board's PSID."""

    firmware: str | None
    psid: str | None


class Pause(NamedTuple):
    """Global pause frames (IEEE 802.3x) of a netdev."""

    rx: bool
    tx: bool


class Call(NamedTuple):
    """How records and injected faults spell a door's method.

    Attributes:
        verb: ``write``, ``set_eswitch_mode`` …
        writes: it changes the machine.
        words: what they say of its arguments.

    """

    verb: str
    writes: bool
    words: Callable[..., Sequence[str]]


CALLS: dict[str, Call] = {}
"""The doors' methods by ``Door.method``. ``exists`` is not here: it cannot fail and is not recorded."""

F = TypeVar("F", bound=Callable[..., object])


def _plain(*arguments: object) -> Sequence[str]:
    return [str(argument) for argument in arguments]


def _reads(verb: str) -> Callable[[F], F]:
    return _call(verb, False, _plain)


def _writes(verb: str, words: Callable[..., Sequence[str]] = _plain) -> Callable[[F], F]:
    return _call(verb, True, words)


def _call(verb: str, writes: bool, words: Callable[..., Sequence[str]]) -> Callable[[F], F]:
    def enter(method: F) -> F:
        CALLS[method.__qualname__] = Call(verb, writes, words)
        return method

    return enter


def _path(path: str, *_: object) -> Sequence[str]:
    return [path]


def _master(link: str, master: str | None) -> Sequence[str]:
    return link, master or "none"


def _up(link: str, up: bool) -> Sequence[str]:
    return link, "up" if up else "down"


def _on(link: str, *switches: bool) -> Sequence[str]:
    return link, *("on" if switch else "off" for switch in switches)


def _settings(link: str, wanted: "Dcb") -> Sequence[str]:
    from hostnic.netlink.dcb import setting_names  # only for a record

    return link, *setting_names(wanted)


def _count(link: str, apps: "Sequence[App]") -> Sequence[str]:
    return link, str(len(apps))


def _dcbx(link: str, mode: int) -> Sequence[str]:
    from hostnic.netlink.dcb import dcbx_words  # only for a record

    return link, dcbx_words(mode)


class Files(Protocol):
    """Files of the host, sysfs, procfs and configfs among them. Paths are absolute."""

    @_reads("read")
    def read(self, path: str) -> str:
        """``cat PATH``."""
        ...

    @_reads("listdir")
    def listdir(self, path: str) -> list[str]:
        """``ls -A PATH``, in no order."""
        ...

    @_reads("readlink")
    def readlink(self, path: str) -> str:
        """``readlink PATH``."""
        ...

    def exists(self, path: str) -> bool:
        """``test -e PATH``."""
        ...

    @_writes("write")
    def write(self, path: str, value: str) -> None:
        """``echo -n VALUE > PATH``: one :manpage:`write(2)` to an attribute of the kernel."""
        ...

    @_writes("install", _path)
    def install(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """``install -D -m MODE``: replace a file atomically, durable across a power cut."""
        ...

    @_writes("remove")
    def remove(self, path: str) -> None:
        """``rm PATH``, or ``rmdir PATH`` of an empty directory."""
        ...

    @_writes("mkdir")
    def mkdir(self, path: str) -> None:
        """``mkdir PATH`` in configfs, where a directory is a request to the kernel."""
        ...


class Links(Protocol):
    """The netdevs of this network namespace: rtnetlink."""

    @_reads("links")
    def all(self) -> list[Link]:
        """``ip -details link show``: every netdev, by index."""
        ...

    @_reads("addresses")
    def addresses(self, link: str) -> list[str]:
        """``ip address show dev LINK``: IPv4 and IPv6, link-local ones included."""
        ...

    @_writes("set_master", _master)
    def set_master(self, link: str, master: str | None) -> None:
        """``ip link set dev LINK master MASTER``, or ``nomaster`` for None."""
        ...

    @_writes("set_up", _up)
    def set_up(self, link: str, up: bool) -> None:
        """``ip link set dev LINK up``, or ``down``."""
        ...


class Ethtool(Protocol):
    """Features and flow control of netdevs: ethtool netlink."""

    @_reads("hw_tc_offload")
    def hw_tc_offload(self, link: str) -> bool | None:
        """``ethtool -k LINK``, the feature hw-tc-offload; None where the device cannot have it."""
        ...

    @_writes("set_hw_tc_offload", _on)
    def set_hw_tc_offload(self, link: str, on: bool) -> None:
        """``ethtool -K LINK hw-tc-offload on``, or ``off``."""
        ...

    @_reads("pause")
    def pause(self, link: str) -> Pause | None:
        """``ethtool -a LINK``; None where the driver does not tell."""
        ...

    @_writes("set_pause", _on)
    def set_pause(self, link: str, rx: bool, tx: bool) -> None:
        """``ethtool -A LINK rx on tx on``, or ``off``."""
        ...


class DataCentreBridging(Protocol):
    """Data centre bridging of netdevs: dcbnl.

    What is None is left as it is. A driver without an operation for something accepts it silently, so that
    reading back is the caller's duty.
    """

    @_reads("dcb")
    def get(self, link: str) -> "Dcb":
        """``dcb ets show dev LINK``, and the same for pfc, app, maxrate, buffer and dcbx."""
        ...

    @_writes("set_dcb", _settings)
    def set(self, link: str, wanted: "Dcb") -> None:
        """``dcb ets set dev LINK …``, and the same for what else ``wanted`` has; dcbx is not among it."""
        ...

    @_writes("delete_dcb_apps", _count)
    def delete_apps(self, link: str, apps: "Sequence[App]") -> None:
        """``dcb app del dev LINK …``."""
        ...

    @_writes("set_dcbx", _dcbx)
    def set_dcbx(self, link: str, mode: int) -> None:
        """``dcb dcbx set dev LINK …``."""
        ...


class Devlink(Protocol):
    """PCI functions as devlink shows them, by address."""

    @_reads("eswitch_mode")
    def eswitch_mode(self, bdf: str) -> str | None:
        """``devlink dev eswitch show pci/BDF``; None where the driver has no eswitch."""
        ...

    @_writes("set_eswitch_mode")
    def set_eswitch_mode(self, bdf: str, mode: str) -> None:
        """``devlink dev eswitch set pci/BDF mode MODE``; takes as long as the NIC takes."""
        ...

    @_writes("set_inline_mode")
    def set_inline_mode(self, bdf: str, mode: str) -> None:
        """``devlink dev eswitch set pci/BDF inline-mode MODE``."""
        ...

    @_reads("devlink_param")
    def param(self, bdf: str, name: str) -> str | bool | int | None:
        """``devlink dev param show pci/BDF name NAME``: its runtime value."""
        ...

    @_writes("set_devlink_param")
    def set_param(self, bdf: str, name: str, value: str | bool | int) -> None:
        """``devlink dev param set pci/BDF name NAME value VALUE cmode runtime``."""
        ...

    @_reads("device_info")
    def info(self, bdf: str) -> DeviceInfo:
        """``devlink dev info pci/BDF``."""
        ...


class System(Protocol):
    """What the four verbs may do to a host."""

    @property
    def files(self) -> Files: ...
    @property
    def links(self) -> Links: ...
    @property
    def ethtool(self) -> Ethtool: ...
    @property
    def dcb(self) -> DataCentreBridging: ...
    @property
    def devlink(self) -> Devlink: ...

    def query(self, argv: Sequence[str], timeout: float = 60.0) -> str:
        """Run a command that only reads, and return its standard output.

        Raises:
            CommandError: it could not be started, took longer than ``timeout`` seconds, or failed
                (:mod:`hostnic.process`).

        """
        ...

    def run(self, argv: Sequence[str], timeout: float = 60.0) -> str:
        """Run a command that changes the machine; otherwise as :meth:`query`."""
        ...

    def now(self) -> float:
        """Seconds on a clock that nobody sets."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


HostStep = Step[System]


def read_boot_id(system: System) -> str:
    """What changes at each boot."""
    return system.files.read(BOOT_ID).strip()
