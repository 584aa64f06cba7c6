# SPDX-License-Identifier: Apache-2.0
"""A node with the charm on it, and what its kernel says of the NIC.

Linux 5.15 shows no mode of a port without VFs, and tells of VF-LAG in its log alone.
"""

import re

from functional.node import CharmedNode
from lab.juju.remote import Result

VFS = 2
CONFIG = {"num-vfs": VFS, "reboot-policy": "always", "reboot-settle": 0}

OFFLOADING = "ovs-vsctl --no-wait set Open_vSwitch . other_config:hw-offload=true"
"""The command of ovn-chassis for its option enable-hardware-offload; without it the unit is blocked."""

LAG = """lag() {
    if [ -d /sys/kernel/debug/mlx5/$1/lag ]; then cat /sys/kernel/debug/mlx5/$1/lag/state
    else dmesg | grep -q 'lag map port .* shared_fdb:1' && echo active; fi
}
"""
"""A shell function: whether VF-LAG is active, or has been since the boot where only the log tells."""

STATE = f"""{LAG}
for pf in 0000:3b:00.0 0000:3b:00.1; do
    cd /sys/bus/pci/devices/$pf || continue
    mode=$(devlink dev eswitch show pci/$pf 2>/dev/null | grep -o ': mode [a-z]*')
    echo "$pf numvfs $(cat sriov_numvfs) autoprobe $(cat sriov_drivers_autoprobe)" \\
        "${{mode#: }} lag $(lag $pf)"
    for vf in $(ls -d virtfn* 2>/dev/null | sort -V); do
        driver=$(readlink $vf/driver)
        echo "$pf $vf ${{driver##*/}}"
    done
done
echo "bond0 $(cat /sys/class/net/bond0/bonding/slaves)"
ip -br link show type bond | cut -d' ' -f1
"""


class Node(CharmedNode):
    """Its state is VFs and their drivers, modes, LAG and bond, as the kernel has them."""

    STATE = STATE

    def reboot(self) -> Result:
        """Reboot the guest, and run the hook that Juju runs then."""
        self.guest.reboot()
        return self.unit.emit("start")


def nic(writes: list[str]) -> list[str]:
    """Only the writes that change a NIC or the network."""
    return [line for line in writes if line.startswith(("write ", "set_"))]


def without_vfs(state: str) -> int:
    """How many ports have none, and are in legacy mode."""
    return len(re.findall(r"numvfs 0 autoprobe 1 (?:mode legacy)? lag", state))


def is_converged(state: str, vfs: int = VFS) -> bool:
    """Both ports as declared."""
    ports = [line for line in state.splitlines() if " numvfs " in line]
    bound = [line for line in state.splitlines() if line.endswith(" mlx5_core")]
    return (
        len(ports) == 2
        and all(f"numvfs {vfs} autoprobe 1 mode switchdev lag active" in line for line in ports)
        and len(bound) == 2 * vfs
        and "bond0 enp59s0f0np0 enp59s0f1np1"
        in state.replace("enp59s0f1np1 enp59s0f0np0", "enp59s0f0np0 enp59s0f1np1")
    )
