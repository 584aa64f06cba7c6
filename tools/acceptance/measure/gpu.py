# SPDX-License-Identifier: Apache-2.0
"""The state of a server's GPUs before RDMA between them is measured. Nothing is changed there.

The RDG wants nvidia_peermem loaded and MIG off, without which the measurement is not made, and for throughput
GPU and VF below one PCIe bridge, persistence mode on, and the GPU's clock at its maximum.
"""

import re
from typing import NamedTuple

from acceptance.measure.shells import netdev_of

LOOK = """\
netdev={netdev}
echo "vf $(readlink -f /sys/class/net/$netdev/device)"
for device in /sys/bus/pci/devices/*; do
    grep -q 0x10de $device/vendor 2>/dev/null || continue
    case $(cat $device/class) in 0x03*) echo "gpu $(readlink -f $device)" ;; esac
done
[ -d /sys/module/nvidia_peermem ] && echo peermem
fields=index,mig.mode.current,mig.mode.pending,persistence_mode,clocks.gr,clocks.applications.gr,clocks.max.gr
timeout 60 nvidia-smi --format=csv,noheader,nounits --query-gpu=$fields 2>&1 |
    head -c 10000 | sed 's/^/smi /'
"""
"""Prints where the VF with an address and NVIDIA's display controllers are, and what the driver says."""
_ROW = re.compile(r"smi (\d{1,3}), ([^,]+), ([^,]+), ([^,]+), ([^,]+), ([^,]+), ([^,]+)")
_ADDRESS = re.compile(r"/([0-9a-f]{4,8}(?::[0-9a-f]{2}){2}\.[0-7])(?=/|$)")
ALIAS = (
    "see openstack flavor show NAME -c properties, and pci-alias of nova-cloud-controller and nova-compute"
)
CLOSE = 0.98
"""The part of the highest clock that is enough: a GPU rounds to the steps that it has."""


class Told(NamedTuple):
    """The changes that are needed, each as a sentence with the command that helps.

    Attributes:
        needs: without which the measurement is not made.
        costs: what costs throughput.

    """

    needs: list[str]
    costs: list[str]


def look(address: str) -> str:
    """The script for the VF with this address."""
    return LOOK.format(netdev=netdev_of(address))


def read(text: str) -> Told:
    """Read the output of the script."""
    vfs, gpus = (re.findall(rf"^{word} (/\S+)$", text, re.MULTILINE) for word in ("vf", "gpu"))
    lines = [line for line in text.splitlines() if line.startswith("smi ")]
    rows = [found.groups() for line in lines if (found := _ROW.fullmatch(line.strip()))]
    needs: list[str] = []
    if not gpus:
        needs.append(f"it has no NVIDIA GPU: {ALIAS}")
    elif not rows:
        said = lines[0].removeprefix("smi ")[:120] if lines else "it prints nothing"
        needs.append(f"nvidia-smi does not show its GPU ({said}): install NVIDIA's driver for this kernel")
    if "peermem" not in text.splitlines():
        needs.append("nvidia_peermem is not loaded: run sudo modprobe nvidia-peermem there")
    costs = [_apart(vf, gpu) for vf in vfs for gpu in gpus if not _together(vf, gpu)]
    for index, mig, pending, persistence, *clocks, highest in rows:
        if mig == "Enabled":
            again = "reboot it" if pending == "Disabled" else f"run sudo nvidia-smi -i {index} -mig 0 there"
            needs.append(f"MIG of GPU {index} is on: {again}")
        if persistence == "Disabled":
            costs.append(
                f"persistence mode of GPU {index} is off: run sudo nvidia-smi -i {index} -pm 1 there"
            )
        clock = max((int(each) for each in clocks if each.isdecimal()), default=0)
        if clock and highest.isdecimal() and clock < int(highest) * CLOSE:
            command = f"sudo nvidia-smi -i {index} -lgc {highest}"
            costs.append(f"GPU {index} runs at {clock} of {highest} MHz: run {command} there")
    return Told(needs, costs)


def _together(vf: str, gpu: str) -> bool:
    """Whether both are on one bus, as in the RDG's servers, or below one bridge."""
    above = [set(_ADDRESS.findall(path)[:-1]) for path in (vf, gpu)]
    return vf.rpartition("/")[0] == gpu.rpartition("/")[0] or bool(above[0] & above[1])


def _apart(vf: str, gpu: str) -> str:
    below = [f"{path.split('/')[-1]} is below {path.split('/')[-2]}" for path in (vf, gpu)]
    remedy = "openstack image set --property hw_machine_type=pc IMAGE puts both on one bus of a new server"
    return f"VF {below[0]} and GPU {below[1]}, not below one bridge: {remedy}"
