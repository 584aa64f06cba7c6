# SPDX-License-Identifier: Apache-2.0
"""Hosts as Nova's parser of whitelists sees them: their sysfs, and the devices that libvirt reports."""

import json
import subprocess
from pathlib import Path

from lab.neutron.processes import ServiceError

SCRIPT = Path(__file__).with_name("whitelist.py")
VFS = 2
"""VFs of each port."""
GPU = {"address": "0000:b1:00.0", "parent_addr": None, "vendor_id": "10de", "product_id": "20f1"}


def devices(sysfs, ports):
    """A host with a NIC and a GPU: writes its sysfs into a folder, and returns the devices.

    Args:
        sysfs: an empty folder.
        ports: the names of the NIC's ports, by PCI address.

    """
    found = [GPU]
    for name, address in ports.items():
        device = sysfs / "devices/pci0000:3a/0000:3a:00.0" / address
        (device / "net" / name).mkdir(parents=True)
        (device / "sriov_totalvfs").write_text("16\n")
        (device / "net" / name / "device").symlink_to(f"../../../{address}")
        for folder, key, target in (
            ("class/net", name, device / "net" / name),
            ("bus/pci/devices", address, device),
        ):
            (sysfs / folder).mkdir(parents=True, exist_ok=True)
            (sysfs / folder / key).symlink_to(target)
        nic = {"vendor_id": "15b3", "product_id": "101d"}
        found.append({"address": address, "parent_addr": None, **nic})
        slot, number = address[:8], int(address[-1])
        for vf in range(VFS):
            place = f"{slot}0{number}.{2 + vf}"
            found.append({"address": place, "parent_addr": address, **nic, "product_id": "101e"})
    return found


def ask(python, questions):
    """Return the answer of Nova's code to each question; see whitelist.py.

    Args:
        python: the interpreter that imports it.
        questions: see there.

    """
    command = [str(python), "-I", str(SCRIPT)]
    done = subprocess.run(command, input=json.dumps(questions), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ServiceError(f"Nova's code failed: {done.stderr.strip()[-800:]}")
    return json.loads(done.stdout)
