# SPDX-License-Identifier: Apache-2.0
"""A node with the driver of Linux 5.15, jammy's GA kernel: it converges, and VF-LAG stays unknown."""

import pytest
from functional.once import once
from functional.sriov_switchdev.node import CONFIG, VFS, Node, nic
from lab.guest import Guest

PERSONALITY = """
echo 'options mlx5_core esw_none=Y' >/etc/modprobe.d/linux-5.15.conf
echo 5.15.0-119-generic >/etc/lab-osrelease
cat >/etc/systemd/system/lab-osrelease.service <<'END'
[Unit]
DefaultDependencies=no
After=local-fs.target
Before=sysinit.target
[Service]
Type=oneshot
ExecStart=mount --bind /etc/lab-osrelease /proc/sys/kernel/osrelease
[Install]
WantedBy=sysinit.target
END
systemctl -q enable lab-osrelease.service
"""
"""The card has the driver's part; by the release the charm knows which driver that is."""

NO_MODE = "kernel answers: Operation not supported"


@pytest.fixture
def old(machine: Guest) -> Node:
    """Before its first boot with the charm."""

    def make() -> Node:
        machine.run(PERSONALITY)
        machine.reboot()
        assert machine.read("/proc/sys/kernel/osrelease") == "5.15.0-119-generic\n"
        shown = machine.run("devlink dev eswitch show pci/0000:3b:00.0", check=False)
        assert NO_MODE in shown.stderr
        unit = machine.unit("sriov-switchdev", config=CONFIG)
        unit.start()
        assert unit.reboot_requested, unit.known["status"]
        return Node(machine, unit)

    return once(machine, "sriov-linux-5.15", make)


@pytest.mark.thorough
def test_a_node_with_linux_5_15_converges_through_a_reboot(machine: Guest, old: Node) -> None:
    result = old.reboot()
    ports = [line for line in old.state().splitlines() if " numvfs " in line]
    assert len(ports) == 2
    for port in ports:
        assert f"numvfs {VFS} autoprobe 1 mode switchdev" in port
    assert old.state().count(" mlx5_core") == 2 * VFS
    assert old.reachable()
    log = machine.run("dmesg").stdout
    assert "lag map port 1:1 port 2:2 shared_fdb:1" in log  # the driver's own words: there is a VF-LAG
    assert result.status[0] == "active", (result.status, old.findings())
    assert "VF-LAG active" not in old.findings()
    assert nic(old.hook().writes) == []
