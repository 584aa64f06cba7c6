# SPDX-License-Identifier: Apache-2.0
"""A compute node as the RDG has an operator converge it: mstconfig, a reboot, netplan's VFs, QoS by hand.

The RDG's netplan file makes VFs and VF-LAG at boot: netplan waits 5 seconds for VF-LAG and binds the VFs
then in any case, so that under emulation it would come too late. The commands here leave the same state, in
the order that works; the file lies there all the same, since it is what a charm sees of ovn-chassis.
"""

from lab.guest import Guest
from lab.site import BOND, PFS

NETPLAN = "/etc/netplan/150-charm-ovn.yaml"
SENTINEL = "# Config managed by ovn-chassis charm\n"
"""The rest of ovn-chassis' file once its option sriov-numvfs is ``none:0``."""

STATE = f"""
for pf in {" ".join(PFS)}; do
    cd /sys/bus/pci/devices/$pf
    mode=$(devlink dev eswitch show pci/$pf | grep -o 'mode [a-z]*' | head -1)
    echo "$pf: $(cat sriov_numvfs) VFs, $mode, VF-LAG $(cat /sys/kernel/debug/mlx5/$pf/lag/state)"
    for vf in $(ls -d virtfn* | sort -V); do
        driver=$(readlink $vf/driver)
        echo "$pf $vf $(basename $(readlink $vf)) ${{driver##*/}} $(ls $vf/net 2>/dev/null)"
    done
done
cat /sys/class/net/{BOND}/bonding/slaves
cat /proc/sys/kernel/random/boot_id
"""
"""Prints what no adoption may change: VFs, who drives them, their netdevs, modes, the bond, the boot."""


def firmware(guest: Guest, vfs: int) -> None:
    """Set the parameters of profile ovn-offload,throughput,gpudirect; they are current after a reboot.

    MAX_ACC_OUT_READ is hidden until ADVANCED_PCI_SETTINGS is set, and that is each port's own.
    """
    shared = f"SRIOV_EN=1 NUM_OF_VFS={vfs} NUM_VF_MSIX=63 LAG_RESOURCE_ALLOCATION=1"
    for bdf in PFS:
        words = f"{shared} ADVANCED_PCI_SETTINGS=1 ATS_ENABLED=1"
        guest.run(f"mstconfig -d {bdf} -y set {words}", timeout=300)
        shared = ""
    guest.run(f"mstconfig -d {next(iter(PFS))} -y set MAX_ACC_OUT_READ=44", timeout=300)


def vfs(guest: Guest, number: int) -> None:
    """VFs, switchdev and VF-LAG, then the VFs bound; ends when LACP has taken both ports again."""
    guest.write(NETPLAN, netplan(number), 0o600)
    guest.run(
        f"""set -e
for port in {" ".join(PFS.values())}; do ip link set $port nomaster; done
for pf in {" ".join(PFS)}; do
    echo 0 >/sys/bus/pci/devices/$pf/sriov_drivers_autoprobe
    echo {number} >/sys/bus/pci/devices/$pf/sriov_numvfs
    devlink dev eswitch set pci/$pf mode switchdev
done
for port in {" ".join(PFS.values())}; do
    ethtool -K $port hw-tc-offload on
    ip link set $port down
    ip link set $port master {BOND}
    ip link set $port up
done
for pf in {" ".join(PFS)}; do
    until grep -q active /sys/kernel/debug/mlx5/$pf/lag/state; do sleep 0.2; done
    echo 1 >/sys/bus/pci/devices/$pf/sriov_drivers_autoprobe
    for vf in $(ls -d /sys/bus/pci/devices/$pf/virtfn* | sort -V); do
        basename $(readlink $vf) >/sys/bus/pci/drivers/mlx5_core/bind
    done
done
udevadm settle
until grep -q 'Number of ports: 2' /proc/net/bonding/{BOND}; do sleep 0.5; done
""",
        timeout=600,
    )


def netplan(number: int) -> str:
    """ovn-chassis' file, as the RDG prints it."""
    port = "    {}:\n      virtual-function-count: {}\n      embedded-switch-mode: switchdev\n"
    port += "      delay-virtual-functions-rebind: true\n"
    ports = "".join(port.format(netdev, number) for netdev in PFS.values())
    return f"{SENTINEL}network:\n  version: 2\n  ethernets:\n{ports}"


def qos(guest: Guest) -> None:
    """Of mlnx_qos with ``--trust=dscp --pfc=0,0,0,1,0,0,0,0`` what iproute2 has a word for."""
    for netdev in PFS.values():
        guest.run(f"dcb pfc set dev {netdev} prio-pfc all:off 3:on", timeout=120)
    guest.run("ovs-vsctl set Open_vSwitch . external_ids:ovn-encap-tos=inherit", timeout=120)
