# SPDX-License-Identifier: Apache-2.0
"""IOMMU groups: a node with them whose VF vfio-pci holds, as an instance does, and a node without them."""

import json

import pytest
from functional.kinds import WITH_IOMMU
from functional.sriov_switchdev.node import Node, is_converged, nic
from lab.guest import Guest

PF0, PF1, VF = "0000:3b:00.0", "0000:3b:00.1", "0000:3b:00.2"
DEVICE = f"/sys/bus/pci/devices/{VF}"
TO_VFIO = f"""
modprobe vfio-pci
echo vfio-pci > {DEVICE}/driver_override
echo {VF} > {DEVICE}/driver/unbind
echo {VF} > /sys/bus/pci/drivers_probe
"""
BACK = TO_VFIO.replace("modprobe vfio-pci", "").replace("echo vfio-pci", "echo")
# What QEMU does before an instance runs: the group into a container, its IOMMU, the device.
HOLD = """
import fcntl, os, struct, sys, time
SET_IOMMU, GROUP_SET_CONTAINER, GROUP_GET_DEVICE = (0x3B64 + 2, 0x3B64 + 4, 0x3B64 + 6)  # linux/vfio.h
TYPE1 = 1
container = os.open("/dev/vfio/vfio", os.O_RDWR)
group = os.open(sys.argv[1], os.O_RDWR)
fcntl.ioctl(group, GROUP_SET_CONTAINER, struct.pack("i", container))
fcntl.ioctl(container, SET_IOMMU, TYPE1)
fcntl.ioctl(group, GROUP_GET_DEVICE, sys.argv[2].encode() + b"\\0")
print("held", flush=True)
time.sleep(1e6)
"""

pytestmark = pytest.mark.thorough


def group(machine: Guest, bdf: str) -> str:
    return machine.run(f"basename $(readlink /sys/bus/pci/devices/{bdf}/iommu_group)").stdout.strip()


def checked(node: Node) -> dict[str, str]:
    """Return check-host's row on the IOMMU."""
    rows = json.loads(node.unit.action("check-host", {"format": "json"}).results["host"])
    (row,) = [row for row in rows if row["check"] == "IOMMU"]
    return row


@WITH_IOMMU
def test_with_an_iommu_each_vf_has_a_group_and_no_warning_is_given(machine: Guest, converged: Node) -> None:
    vfs = machine.run("basename -a $(readlink /sys/bus/pci/devices/0000:3b:00.[01]/virtfn*)").stdout.split()
    groups = [group(machine, bdf) for bdf in (*vfs, PF0)]
    assert all(groups)
    assert len(set(groups)) == len(vfs) + 1
    assert group(machine, PF1) == group(machine, PF0), "functions of a card without ACS share one"
    assert "IOMMU" not in converged.findings()
    result = converged.hook()
    assert result.status[0] == "active"
    assert "IOMMU" not in result.status[1]
    row = checked(converged)
    assert row["verdict"] == "ok"
    assert row["found"] == "enp59s0f0np0, enp59s0f1np1: passthrough for the host"


@WITH_IOMMU
def test_an_iommu_that_translates_for_the_host_is_advised_against(machine: Guest, prepared: Node) -> None:
    if machine.release.linux < (6, 8):
        pytest.skip("Linux 6.1 changes the type of a group only if it has one device")
    driver = "/sys/bus/pci/drivers/mlx5_core"
    machine.run(
        f"for pf in {PF0} {PF1}; do echo $pf > {driver}/unbind; done\n"
        f"echo DMA > /sys/kernel/iommu_groups/{group(machine, PF0)}/type\n"
        f"for pf in {PF0} {PF1}; do echo $pf > {driver}/bind; done; udevadm settle"
    )
    row = checked(prepared)
    assert row["found"] == "enp59s0f0np0, enp59s0f1np1: DMA"
    assert "boot with iommu=pt" in row["remedy"]
    assert "no IOMMU group" not in prepared.findings()


@WITH_IOMMU
def test_a_vf_that_vfio_holds_open_is_in_use_until_it_is_given_back(machine: Guest, converged: Node) -> None:
    machine.run(TO_VFIO)
    file = f"/dev/vfio/{group(machine, VF)}"
    machine.write("/run/hold.py", HOLD)
    machine.run(f"systemd-run --quiet --unit=instance python3 /run/hold.py {file} {VF}")
    machine.run("until journalctl --unit=instance --output=cat | grep -qx held; do sleep 0.5; done")
    assert "busy" in machine.run(["cat", file], check=False).stderr
    before = converged.state()
    assert f"{PF0} virtfn0 vfio-pci" in before
    for allow_live in (False, True):
        result = converged.configure(num_vfs=1, allow_live=allow_live)
        assert result.status[0] == "blocked"
        assert f"would destroy VFs in use: VF {VF} by vfio-pci" in converged.findings()
        assert nic(result.writes) == []
        assert converged.state() == before
    assert machine.run("systemctl is-active instance").stdout == "active\n"
    machine.run(f"systemctl stop instance\n{BACK}")
    result = converged.configure(num_vfs=1, allow_live=True)
    assert result.status[0] == "active", result.logs
    assert is_converged(converged.state(), vfs=1)


def test_without_an_iommu_the_warning_names_the_remedy_and_is_true(machine: Guest, converged: Node) -> None:
    result = converged.hook()
    assert result.status[0] == "active"
    assert "no IOMMU group: instances cannot take VFs" in result.status[1]
    assert "boot with intel_iommu=on iommu=pt" in converged.findings()
    row = checked(converged)
    assert row["verdict"] == "advice"
    assert row["found"] == "enp59s0f0np0, enp59s0f1np1: off"
    assert "intel_iommu=on iommu=pt" in row["remedy"]
    machine.run(TO_VFIO, check=False)
    assert f"{PF0} virtfn0 \n" in converged.state(), "vfio-pci took a VF without an IOMMU group"
