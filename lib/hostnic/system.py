# SPDX-License-Identifier: Apache-2.0
"""The one way to the machine: a :class:`System` with a door for each thing that a charm talks to.

Everything that reads or changes a host goes through a System, so that a test can hand in a modelled host,
and a recorder can prove that a second run writes nothing. The real one is :class:`hostnic.machine.Machine`,
whose doors are the clients of :mod:`hostnic.netlink`; the modelled one is :class:`lab.modelled.FakeHost`.
All methods raise ``OSError`` where the kernel does; its ``strerror`` carries the kernel's extended-ack text
when there is one. Each says which command does the same from a shell.
"""

import errno
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from converge import Step, cause

if TYPE_CHECKING:
    from hostnic.netlink.dcb import App, Coalescing, Dcb, Rings
    from hostnic.netlink.measured import Health, Traffic

Value = TypeVar("Value")

MODE_CHANGE_TIME = 300.0  # seconds that a call about an eswitch waits, also for a change that still runs


class CommandError(OSError):
    """A command that could not be started, ran too long, or ended with a non-zero code.

    Attributes:
        argv: the command.
        returncode: its exit code; None when it could not be started or was stopped at its deadline.
        stdout, stderr: what it printed. Some tools (mstconfig) report errors on standard output.

    """

    def __init__(
        self,
        argv: Sequence[str],
        reason: str,
        returncode: int | None = None,
        stdout: str = "",
        stderr: str = "",
    ) -> None:
        super().__init__(errno.EIO, reason)
        self.argv, self.reason, self.returncode = tuple(argv), reason, returncode
        self.stdout, self.stderr = stdout, stderr

    def __str__(self) -> str:
        return self.reason


def failure(argv: Sequence[str], returncode: int, stdout: str, stderr: str) -> CommandError:
    """The error of a command that ended with ``returncode``: a part of a sentence, with its last words."""
    said = (stderr.strip() or stdout.strip()).splitlines()
    last = cause(said[-1].strip())[:1000] if said else "no message"
    return CommandError(argv, f"{argv[0]} failed ({returncode}): {last}", returncode, stdout, stderr)


class NotOwnError(PermissionError):
    """Others than root could have written a file, or made it lead elsewhere.

    Attributes:
        path: the file, or the directory above it.
        is_so: why, as the end of "it …".

    """

    def __init__(self, path: str, is_so: str) -> None:
        self.path = path
        self.is_so = f"{is_so}, but has to be root's own, which nobody else can write"
        super().__init__(errno.EPERM, f"{path} {self.is_so}")

    def __str__(self) -> str:
        return self.strerror or ""


class Link(NamedTuple):
    """A netdev as rtnetlink reports it."""

    name: str
    ifindex: int
    mac: str | None
    permanent_mac: str | None
    mtu: int
    up: bool
    carrier: bool | None
    kind: str | None  # `bond`, `bridge`, `vlan`, `openvswitch` …; None for a plain device
    master: str | None  # name of the bond or bridge (`ovs-system` for a port of Open vSwitch)
    switch_id: str | None
    port_name: str | None
    pci: str | None  # PCI address of the parent device (IFLA_PARENT_DEV_NAME, since kernel 5.14)
    bond_mode: str | None = None  # for bonds only
    partner_mac: str | None = None  # for bonds only
    altnames: tuple[str, ...] = ()  # further names, which udev gives; sysfs has only the first one


class DeviceInfo(NamedTuple):
    """``devlink dev info``: the running firmware version and the board's PSID."""

    firmware: str | None
    psid: str | None


class Pause(NamedTuple):
    """Global pause frames (IEEE 802.3x) of a netdev."""

    rx: bool
    tx: bool


class Channels(NamedTuple):
    """Combined receive and transmit queues of a netdev, and the most that its driver takes."""

    combined: int
    most: int


class FileStat(NamedTuple):
    """A file's size in bytes, the time of its last change in nanoseconds since the epoch, and its inode."""

    size: int
    mtime_ns: int
    inode: int


class Files(Protocol):
    """Files of the host, sysfs, procfs and configfs among them. Paths are absolute."""

    def read(self, path: str) -> str:
        """``cat PATH``."""
        ...

    def listdir(self, path: str) -> list[str]:
        """``ls -A PATH``, in no order."""
        ...

    def readlink(self, path: str) -> str:
        """``readlink PATH``."""
        ...

    def stat(self, path: str) -> FileStat:
        """``stat --dereference PATH``, of a file."""
        ...

    def exists(self, path: str) -> bool:
        """``test -e PATH``."""
        ...

    def check_own(self, path: str) -> None:
        """``namei --long PATH``: refuse a file or directory that others than root could have written.

        Raises NotOwnError if it or a directory above it is another user's or can be written by others, or it
        is a link itself.
        """

    def write(self, path: str, value: str) -> None:
        """``echo -n VALUE > PATH``: one :manpage:`write(2)` to an attribute of the kernel."""

    def install(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """``install -D -m MODE``: replace a file or link atomically, durable across a power cut.

        Raises NotOwnError if others than root could change a directory above it.
        """

    def remove(self, path: str) -> None:
        """``rm PATH``, or ``rmdir PATH`` of an empty directory."""

    def lock(self, path: str) -> bool:
        """``flock --nonblock PATH``: until :meth:`unlock` or the process' end; False if another has it."""
        ...

    def unlock(self, path: str) -> None:
        """Free a lock that this process has; nothing without one."""

    def mkdir(self, path: str) -> None:
        """``mkdir PATH`` in configfs, where a directory is a request to the kernel."""


class Links(Protocol):
    """The netdevs of this network namespace: rtnetlink."""

    def all(self) -> list[Link]:
        """``ip -details link show``: every netdev, by index."""
        ...

    def addresses(self, link: str) -> list[str]:
        """``ip address show dev LINK``: IPv4 and IPv6, link-local ones included."""
        ...

    def traffic(self) -> "Mapping[int, Traffic]":
        """``ip stats show group offload subgroup cpu_hit``, and all: by index, of netdevs that have it."""
        ...

    def rdma(self) -> Mapping[tuple[str, int], str]:
        """``rdma link show``: the netdev of each RDMA device's port that has one."""
        ...

    def set_master(self, link: str, master: str | None) -> None:
        """``ip link set dev LINK master MASTER``, or ``nomaster`` for None."""

    def set_up(self, link: str, up: bool) -> None:
        """``ip link set dev LINK up``, or ``down``."""

    def await_change(self) -> None:
        """``ip monitor link``: until a netdev has changed since the last call; the first one only begins."""


class Ethtool(Protocol):
    """Features, flow control and queues of netdevs: ethtool netlink."""

    def hw_tc_offload(self, link: str) -> bool | None:
        """``ethtool -k LINK``, the feature hw-tc-offload; None where the device cannot have it."""

    def set_hw_tc_offload(self, link: str, on: bool) -> None:
        """``ethtool -K LINK hw-tc-offload on``, or ``off``."""

    def pause(self, link: str) -> Pause | None:
        """``ethtool -a LINK``; None where the driver does not tell."""

    def set_pause(self, link: str, rx: bool, tx: bool) -> None:
        """``ethtool -A LINK rx on tx on``, or ``off``."""

    def channels(self, link: str) -> Channels | None:
        """``ethtool -l LINK``; None where the driver has no combined queues, or does not tell."""

    def set_channels(self, link: str, combined: int) -> None:
        """``ethtool -L LINK combined N``; a driver may close and open the netdev for it."""

    def rings(self, link: str) -> "Rings | None":
        """``ethtool -g LINK``; None where the driver does not tell."""

    def set_rings(self, link: str, rings: "Rings") -> None:
        """``ethtool -G LINK rx N tx N``; as :meth:`set_channels`."""

    def coalescing(self, link: str) -> "Coalescing | None":
        """``ethtool -c LINK``; None where the driver does not tell all of it."""

    def set_coalescing(self, link: str, wanted: "Coalescing") -> None:
        """``ethtool -C LINK rx-usecs N … adaptive-rx on …``."""

    def statistics(self, link: str) -> Mapping[str, int]:
        """``ethtool -S LINK``: the driver's counters by name; none where it has none."""
        ...


class DataCentreBridging(Protocol):
    """Data centre bridging of netdevs: dcbnl.

    What is None is left as it is. A driver without an operation accepts it silently: callers read back.
    """

    def get(self, link: str) -> "Dcb":
        """``dcb ets show dev LINK``, and the same for pfc, app and dcbx."""
        ...

    def set(self, link: str, wanted: "Dcb") -> None:
        """``dcb ets set dev LINK …``, and the same for pfc and app; each only if ``wanted`` has it."""

    def delete_apps(self, link: str, apps: "Sequence[App]") -> None:
        """``dcb app del dev LINK …``."""

    def set_dcbx(self, link: str, mode: int) -> None:
        """``dcb dcbx set dev LINK …``."""


class Devlink(Protocol):
    """PCI functions as devlink shows them, by address."""

    def eswitch_mode(self, bdf: str) -> str | None:
        """``devlink dev eswitch show pci/BDF``; None where the driver has no eswitch."""

    def set_eswitch_mode(self, bdf: str, mode: str) -> None:
        """``devlink dev eswitch set pci/BDF mode MODE``; takes as long as the NIC takes."""

    def set_inline_mode(self, bdf: str, mode: str) -> None:
        """``devlink dev eswitch set pci/BDF inline-mode MODE``."""

    def encap_mode(self, bdf: str) -> str | None:
        """``devlink dev eswitch show pci/BDF``: ``none`` or ``basic``; None if the driver does not tell."""

    def param(self, bdf: str, name: str) -> str | bool | int | None:
        """``devlink dev param show pci/BDF name NAME``: its runtime value."""

    def set_param(self, bdf: str, name: str, value: str | bool | int) -> None:
        """``devlink dev param set pci/BDF name NAME value VALUE cmode runtime``."""

    def info(self, bdf: str) -> DeviceInfo:
        """``devlink dev info pci/BDF``."""
        ...

    def health(self, bdf: str, reporter: str) -> "Health | None":
        """``devlink health show pci/BDF reporter REPORTER``; None where the driver has none of that name."""


class System(Protocol):
    """The ways in which the four verbs may reach a host."""

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

        Raises CommandError if it could not be started, took longer than ``timeout`` seconds, or failed.
        """
        ...

    def run(self, argv: Sequence[str], timeout: float = 60.0, given: str = "") -> str:
        """Run a command that changes the machine; otherwise as :meth:`query`.

        ``given`` is its standard input: what no list of processes and no trace may show.
        """
        ...

    def answering(self, addresses: Collection[str], port: int, timeout: float) -> frozenset[str]:
        """``nc -z -w TIMEOUT IP PORT``, for each: those that accept or reset it in ``timeout`` seconds."""
        ...

    def control(self, command: str, timeout: float) -> str:
        """``ovs-appctl COMMAND`` without a process: what ovs-vswitchd answers in ``timeout`` seconds."""
        ...

    def database(self, table: str, columns: Sequence[str], timeout: float) -> str:
        """``ovs-vsctl --columns=… list TABLE`` without a process: the rows as JSON, in ``timeout`` seconds.

        Each is an object of columns, whose values are spelled as RFC 7047 does (section 5.1). Raises
        FileNotFoundError where Open vSwitch is not installed or its database server does not run.
        """
        ...

    def now(self) -> float:
        """Seconds on a clock that nobody sets."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""


HostStep = Step[System]
UNREADABLE = (OSError, ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)
"""The errors of reading a missing or damaged file of ours."""


def read_boot_id(system: System) -> str:
    """The id of this boot, which each boot changes."""
    return system.files.read("/proc/sys/kernel/random/boot_id").strip()


def read_own(system: System, path: str) -> str:
    """Read a file of ours; it is not believed if others than root could have written it.

    Raises NotOwnError if they could, and OSError if it cannot be read.
    """
    system.files.check_own(path)
    return system.files.read(path)


def read_text(system: System, path: str) -> str | None:
    """Read a file without the white space around its text; None where it cannot be read."""
    text = if_told(lambda: system.files.read(path))
    return None if text is None else text.strip()


def if_told(read: Callable[[], Value], unless: Collection[int] | None = None) -> Value | None:
    """Return the kernel's answer; None for an errno of ``unless``, or for any, as it then has none."""
    try:
        return read()
    except OSError as error:
        if unless is None or error.errno in unless:
            return None
        raise


def link_target(system: System, path: str) -> str | None:
    """The last name of what a symbolic link leads to; None where there is no link."""
    target = if_told(lambda: system.files.readlink(path))
    return None if target is None else target.rpartition("/")[2]


def list_names(system: System, directory: str) -> list[str]:
    """The names in a directory, sorted; none where it does not exist or cannot be read."""
    return sorted(if_told(lambda: system.files.listdir(directory)) or ())


def has_entries(system: System, directory: str) -> bool:
    """Whether a directory has an entry; also if that cannot be read. A missing one has none."""
    try:
        return bool(system.files.listdir(directory))
    except FileNotFoundError:
        return False
    except OSError:
        return True
