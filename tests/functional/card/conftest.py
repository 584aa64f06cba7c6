# SPDX-License-Identifier: Apache-2.0
"""The virtual card alone: no bond, no bridge, no network manager; two PFs cabled to the switch in tor."""

import shlex
from collections.abc import Callable, Iterator

import pytest
from functional.card.soak import ALARM
from functional.once import once
from lab.guest import Completed, Guest, GuestError

PFS = ("0000:3b:00.0", "0000:3b:00.1")
UPLINKS = ("enp59s0f0np0", "enp59s0f1np1")
DEVICES = "/sys/bus/pci/devices"
DRIVER = "/sys/bus/pci/drivers/mlx5_core"

ALONE = """
systemctl -q stop systemd-networkd.socket systemd-networkd-varlink.socket systemd-networkd 2>/dev/null
ovs-vsctl --if-exists del-br br-nvda
ip link del bond0
for i in enp59s0f0np0 enp59s0f1np1; do ip link set $i down; done
# An emulator without a processor for seconds stalls RCU; that is no alarm of the card's.
echo 1 >/sys/module/rcupdate/parameters/rcu_cpu_stall_suppress
# For each new netdev udev would start a systemd-sysctl and systemd make units, for nobody here.
mkdir -p /run/udev/rules.d
: >/run/udev/rules.d/99-systemd.rules
udevadm control --reload
dmesg -C
"""


class Card:
    """One virtual ConnectX-6 Dx in a guest, handled with the tools that a user of the real one has."""

    pfs = PFS
    uplinks = UPLINKS

    def __init__(self, machine: Guest) -> None:
        self.machine = machine
        self.run = machine.run

    def read(self, bdf: str, attribute: str) -> str:
        """An attribute of a PCI function, without the newline."""
        return self.run(["cat", f"{DEVICES}/{bdf}/{attribute}"]).stdout.rstrip("\n")

    def write(self, path: str, value: object, check: bool = True) -> Completed:
        """Write to a file of sysfs or debugfs; bash, unlike other shells, says what the kernel answered."""
        return self.run(["bash", "-c", 'echo "$1" >"$2"', "bash", str(value), path], check=check)

    def vfs(self, count: int, *, pfs: tuple[str, ...] = PFS, bound: bool = False) -> None:
        """Create VFs on each PF; unbound unless told."""
        self.run(
            f"set -e; for pf in {' '.join(pfs)}; do cd {DEVICES}/$pf; "
            f"echo {int(bound)} >sriov_drivers_autoprobe; echo {count} >sriov_numvfs; done"
        )

    def bind(self, *vfs: str) -> None:
        """Bind VFs to the driver; the PCI core refuses as long as autoprobe is off."""
        self.run(
            f"set -e; for pf in {' '.join(PFS)}; do echo 1 >{DEVICES}/$pf/sriov_drivers_autoprobe; done; "
            f"for vf in {' '.join(vfs)}; do echo $vf >{DRIVER}/bind; done; udevadm settle"
        )

    def set_mode(self, mode: str, *, pfs: tuple[str, ...] = PFS) -> None:
        self.run(
            f"set -e; for pf in {' '.join(pfs)}; do devlink dev eswitch set pci/$pf mode {mode}; done; "
            "udevadm settle"
        )

    def try_mode(self, bdf: str, mode: str) -> Completed:
        return self.run(["devlink", "dev", "eswitch", "set", f"pci/{bdf}", "mode", mode], check=False)

    def mode(self, bdf: str) -> str:
        words = self.run(["devlink", "dev", "eswitch", "show", f"pci/{bdf}"]).stdout.split()
        return words[words.index("mode") + 1]

    def bond(
        self, options: str = "mode 802.3ad lacp_rate fast", members: tuple[str, ...] = UPLINKS
    ) -> Completed:
        """A bond of the uplinks, as the switch at the wires' other end expects it; what `ip` said last."""
        return self.run(
            f"ip link add bond0 type bond miimon 50 {options}; for member in {' '.join(members)}; do "
            "ip link set $member down; ip link set $member master bond0 || exit; done; "
            "ip link set bond0 up && ip address add 192.168.25.51/24 dev bond0",
            check=False,
        )

    def lag(self, name: str, bdf: str = PFS[0]) -> str:
        """A file of mlx5's lag directory; some have nothing to say while LAG is off: "invalid"."""
        done = self.run(["cat", f"/sys/kernel/debug/mlx5/{bdf}/lag/{name}"], check=False)
        return done.stdout.rstrip("\n") if done.returncode == 0 else "invalid"

    def await_output(self, command: str, wanted: str, seconds: int = 20) -> None:
        """Wait until a command's output contains this text."""
        script = 'until case "$(eval "$1" 2>&1)" in *"$2"*) ;; *) false ;; esac; do sleep 0.1; done'
        try:
            self.run(["sh", "-c", script, "sh", command, wanted], timeout=seconds)
        except GuestError:
            last = self.run(command, check=False)
            pytest.fail(f"{command} did not say {wanted!r} within {seconds} s:\n{last.stdout}{last.stderr}")

    def await_lag(self, state: str) -> None:
        self.await_output(f"cat /sys/kernel/debug/mlx5/{PFS[0]}/lag/state", state)

    def fault(self, name: str, value: object, bdf: str = PFS[0]) -> None:
        self.write(f"/sys/kernel/debug/vcx/{bdf}/fault_{name}", value)

    def parameter(self, name: str, value: str) -> None:
        """Set a module parameter at run time."""
        self.write(f"/sys/module/mlx5_core/parameters/{name}", value)

    def reload(self, *parameters: str) -> None:
        """Load the module anew, with these parameters in place of the machine's."""
        self.run(f"rmmod mlx5_core && modprobe mlx5_core {shlex.join(parameters)} && udevadm settle")

    def log(self) -> str:
        """Return the kernel's log since the test began."""
        return self.run(["dmesg"]).stdout

    def alarms(self) -> str:
        """Return the kernel's log since its first alarm, if there was one."""
        log = self.log()
        alarm = ALARM.search(log)
        return log[alarm.start() :] if alarm else ""

    def ports(self) -> dict[str, str]:
        """The netdevs by their port names: p0, p1, pf0vf0, …"""
        # grep also says of the netdevs without a port name that there is none.
        shown = self.run("udevadm settle; grep -s . /sys/class/net/*/phys_port_name", check=False).stdout
        pairs = (line.split(":") for line in shown.splitlines())
        return {port: path.split("/")[4] for path, port in pairs}

    def vf_netdev(self, bdf: str) -> str:
        """The VF's netdev, by the name that udev gave it."""
        return self.run(f"udevadm settle; ls {DEVICES}/{bdf}/net").stdout.strip()


@pytest.fixture(scope="session")
def alone(booted: Guest) -> Card:
    def make() -> Card:
        booted.load("booted")
        booted.run(ALONE)
        return Card(booted)

    return once(booted, "card-alone", make)


Recipe = Callable[[Card], None]


@pytest.fixture
def prepared(alone: Card) -> Iterator[Callable[[str, Recipe], Card]]:
    """The card at a snapshot: what a recipe made of the freshly booted guest's, once for each guest.

    The test fails if the kernel warned of anything.
    """

    def go(name: str, recipe: Recipe) -> Card:
        def make() -> Card:
            alone.machine.load("card-alone")
            recipe(alone)
            return alone

        return once(alone.machine, name, make)

    yield go
    assert alone.alarms() == ""


@pytest.fixture
def card(prepared: Callable[[str, Recipe], Card]) -> Card:
    """A freshly booted guest's card."""
    return prepared("card-alone", lambda card: None)
