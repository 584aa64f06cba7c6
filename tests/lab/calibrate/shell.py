# SPDX-License-Identifier: Apache-2.0
"""A host with a shell, and the card that is in it."""

import re
from dataclasses import dataclass
from typing import Protocol

from lab.calibrate.sequence import FUNCTIONS
from lab.guest import Completed, Guest

LONGEST = 300.0
"""Seconds for one command: a mode change with 127 VFs takes minutes on a real card."""

PREPARE = """
systemctl -q stop systemd-networkd.socket systemd-networkd-varlink.socket systemd-networkd 2>/dev/null
ovs-vsctl --if-exists del-br br-nvda
ip link delete bond0 2>/dev/null
modprobe -a cls_flower act_mirred act_gact
"""
"""Takes the guest's own network from the card, and loads what rules need."""
PORTS = """
for device in /sys/bus/pci/drivers/mlx5_core/*:*:*.*; do
    [ -e $device/sriov_totalvfs ] || continue
    for name in $device/net/*/phys_port_name; do
        case "$(cat $name 2>/dev/null)" in p[0-9]*) ;; *) continue ;; esac
        case "$(cat $name)" in *f*) ;; *) echo "${device##*/} $(basename ${name%/*})" ;; esac
    done
done
"""
NAMES = """
for port in 0 1; do
    pf=PF$port; pf=${!pf}
    for link in /sys/bus/pci/devices/$pf/virtfn*; do
        [ -e $link ] || continue
        index=${link##*virtfn}
        echo "$(vf $pf $index) PF${port}VF$index"
        for device in $link/net/*; do [ ! -e $device ] || echo "${device##*/} NET${port}VF$index"; done
    done
    for name in /sys/bus/pci/devices/$pf/net/*/phys_port_name; do
        says $name; name=${name%/*}
        case $said in *vf*) echo "${name##*/} REP${port}VF${said##*vf}" ;; esac
    done
done
"""
"""Prints what each VF, its netdev and its representor is called, and what a recording calls it."""


class Shell(Protocol):
    """A host on which root runs commands."""

    def run(self, script: str, timeout: float) -> Completed:
        """Run a script of bash to its end, within as many seconds, whatever its exit status."""
        ...


class GuestShell:
    """The shell of a guest of this machine."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest

    def run(self, script: str, timeout: float) -> Completed:
        return self._guest.run(["bash", "-c", script], check=False, timeout=timeout)


class CardError(RuntimeError):
    """The host has no card that can be calibrated; the message is one sentence that says what to do."""


@dataclass(frozen=True)
class Card:
    """A card with two ports.

    Attributes:
        shell: of the host that has it.
        addresses: of the ports on PCI, with their domain.
        netdevs: of the ports, in the same order.

    """

    shell: Shell
    addresses: tuple[str, str]
    netdevs: tuple[str, str]

    def run(self, script: str, timeout: float = LONGEST) -> Completed:
        """Run a script that uses the names of :data:`lab.calibrate.sequence.FUNCTIONS`."""
        names = "".join(
            f"PF{port}={address} NET{port}={netdev}\n"
            for port, (address, netdev) in enumerate(zip(self.addresses, self.netdevs))
        )
        return self.shell.run(f"{names}{FUNCTIONS}\n{script}", timeout)

    def called(self, names: str) -> dict[str, str]:
        """Return a recording's name for each of the host's names of the card's parts, by :data:`NAMES`."""
        called = {}
        for port, (address, netdev) in enumerate(zip(self.addresses, self.netdevs)):
            called |= {address: f"PF{port}", netdev: f"NET{port}"}
        called |= dict(line.split() for line in names.splitlines())
        short = {name[5:]: to for name, to in called.items() if re.match("0000:..:", name)}
        return called | short


def find(shell: Shell, nic: str = "") -> Card:
    """The first card with two ports, or the one with a port at this PCI address.

    Args:
        shell: of the host.
        nic: "0000:3b:00.0", or without the domain "3b:00.0".

    Raises:
        CardError: there is none.

    """
    wanted = nic if nic.count(":") == 2 else f"0000:{nic}"
    cards: dict[str, list[tuple[str, str]]] = {}
    for line in shell.run(PORTS, LONGEST).stdout.splitlines():
        address, netdev = line.split()
        cards.setdefault(address.partition(".")[0], []).append((address, netdev))
    for ports in cards.values():
        if len(ports) == 2 and (not nic or wanted in (address for address, _ in ports)):
            (first, net0), (second, net1) = sorted(ports)
            return Card(shell, (first, second), (net0, net1))
    if nic:
        shown = ", ".join(sorted(cards)) or "none"
        raise CardError(
            f"{nic} is no port of a card of which mlx5_core has both ports, each with its netdev; "
            f"mlx5_core has: {shown}"
        )
    raise CardError(
        "mlx5_core has no card with two ports on this host: insert one, or bind both its ports to the driver"
    )
