# SPDX-License-Identifier: Apache-2.0
"""One node converges through a reboot, stays as it is, is adopted, resized and left, on a real kernel."""

import json

import pytest
from functional.once import once
from functional.sriov_switchdev.node import LAG, OFFLOADING, VFS, Node, is_converged, nic, without_vfs
from lab.guest import Guest

NO_NOVA = "Nova is not configured yet"
USE_A_VF = "ip netns add guest; ip link set $(ls /sys/bus/pci/devices/0000:3b:00.0/virtfn0/net) netns guest"


@pytest.mark.every_release
def test_the_first_hooks_install_boot_files_and_leave_the_nic_alone(machine: Guest, prepared: Node) -> None:
    state = prepared.state()
    assert without_vfs(state) == 2
    assert prepared.reachable()
    assert nic(prepared.hook().writes) == []
    for unit in ("early", "bind"):
        verified = machine.run(f"systemd-analyze verify ovn-offload-sriov-{unit}.service", check=False)
        assert "ovn-offload" not in verified.stderr, verified.stderr
    assert machine.run("stat -c %a /etc/ovn-offload/sriov-switchdev.json").stdout == "600\n"


@pytest.mark.every_release
def test_a_reboot_converges_the_node_in_the_right_order(machine: Guest, converged: Node) -> None:
    assert is_converged(converged.state())
    assert converged.reachable()
    assert machine.run("systemctl list-units --failed --plain --no-legend").stdout == ""
    ends = machine.run(
        "for unit in ovn-offload-sriov-early.service network-pre.target systemd-networkd.service "
        "ovn-offload-sriov-bind.service; do systemctl show -P ActiveEnterTimestampMonotonic $unit; done"
    ).stdout.split()
    early, pre, network, bind = (int(end) for end in ends)
    assert early < pre < network < bind
    log = machine.run("journalctl --boot --dmesg --output=cat").stdout
    assert "Make sure all VFs are unbound" not in log
    # The VFs' names and the uplinks' are those that MAAS knows.
    links = machine.run("ip -br link").stdout
    assert "enp59s0f0np0 " in links
    assert "enp59s0f1np1 " in links


@pytest.mark.every_release
def test_a_second_run_writes_nothing_and_changes_nothing(converged: Node) -> None:
    before = converged.state()
    for event in ("config_changed", "update_status", "upgrade_charm", "start"):
        result = converged.hook(event)
        assert result.status[0] == "active"
        assert result.writes == []
    assert converged.state() == before
    assert "Nothing to do: everything is as declared." in converged.unit.action("plan").results["plan"]
    assert converged.unit.action("verify").results["verified"] == "true"


@pytest.mark.thorough
@pytest.mark.every_release
def test_another_reboot_ends_in_the_same_state_with_nothing_to_do(converged: Node) -> None:
    result = converged.reboot()
    assert result.status[0] == "active"
    assert nic(result.writes) == []
    assert not result.reboot_requested
    assert is_converged(converged.state())


@pytest.mark.thorough
@pytest.mark.every_release
def test_check_host_tells_what_the_kernel_shows(machine: Guest, converged: Node) -> None:
    answered = converged.unit.action("check-host", {"format": "json"})
    rows = {row["check"]: row for row in json.loads(answered.results["host"])}
    smt = machine.run("cat /sys/devices/system/cpu/smt/control", check=False).stdout.strip()
    assert rows["SMT"]["found"] == smt or rows["SMT"]["verdict"] == "unknown"
    assert rows["isolated CPUs"] == {**rows["isolated CPUs"], "verdict": "unknown", "found": NO_NOVA}
    assert rows["huge pages"]["found"] == "node 0: none"
    mtus = machine.run("cat /sys/class/net/enp59s0f?np?/mtu").stdout.split()
    assert all(f" {mtu}" in rows["MTU"]["found"] for mtu in mtus)
    assert answered.writes == []


@pytest.mark.every_release
def test_a_resize_is_refused_while_a_vf_is_in_use(machine: Guest, converged: Node) -> None:
    machine.run(USE_A_VF)
    before = converged.state()
    for allow_live in (False, True):
        result = converged.configure(num_vfs=1, allow_live=allow_live)
        assert result.status[0] == "blocked"
        assert "would destroy VFs in use" in converged.findings()
        assert nic(result.writes) == []
        assert converged.state() == before


@pytest.mark.every_release
def test_a_live_resize_of_free_vfs_keeps_the_node_reachable(converged: Node) -> None:
    result = converged.configure(num_vfs=1, allow_live=True)
    assert result.status[0] == "active", result.logs
    assert is_converged(converged.state(), vfs=1)
    assert converged.reachable()
    assert converged.hook().writes == []


ARM = """
import sys
sys.path[:0] = ["/opt/ovn-offload/lib", "/opt/ovn-offload/charms/sriov-switchdev/src", "/opt/site-packages"]
from hostnic.machine import Machine
from live import Arm
from observed import PortState
ports = {"0000:3b:00.0": "enp59s0f0np0", "0000:3b:00.1": "enp59s0f1np1"}
before = tuple(PortState(bdf, name, "legacy", 0, True, "bond0", 0, None) for bdf, name in ports.items())
Arm(before, "target").run(Machine())
"""
RECORDS = "/run/ovn-offload/sriov-switchdev"


@pytest.mark.every_release
def test_the_timer_of_a_live_change_that_nobody_confirms_restores_the_state_before(
    machine: Guest, converged: Node
) -> None:
    machine.run(["python3", "-"], stdin=ARM)
    machine.run("systemctl start ovn-offload-sriov-revert.service")  # as its timer does
    assert machine.until(lambda: "previous.json" not in machine.run(f"ls {RECORDS}").stdout, 300)
    assert without_vfs(converged.state()) == 2
    assert converged.reachable()
    assert "sriov-revert" not in machine.run("systemctl list-timers --all").stdout


def test_removal_leaves_the_nic_until_the_next_boot(machine: Guest, converged: Node) -> None:
    before = converged.state()
    result = converged.hook("stop")
    assert "the NIC's VFs vanish at the next boot" in result.status[1]
    assert nic(result.writes) == []
    assert converged.state() == before
    places = "/etc /usr/lib/ovn-offload /run/ovn-offload"
    left = f"find {places} -name '*ovn-offload-sriov*' -o -name 'sriov-switchdev*'"
    assert machine.run(left, check=False).stdout == ""


@pytest.mark.thorough
def test_the_boot_after_removal_has_no_vfs_and_the_network_comes_up(machine: Guest, converged: Node) -> None:
    converged.hook("stop")
    machine.reboot()
    assert without_vfs(converged.state()) == 2
    assert converged.reachable()


NETPLAN = """\
network:
  version: 2
  ethernets:
    enp59s0f0np0: &pf
      virtual-function-count: {vfs}
      embedded-switch-mode: switchdev
      delay-virtual-functions-rebind: true
    enp59s0f1np1:
      virtual-function-count: {vfs}
      embedded-switch-mode: switchdev
      delay-virtual-functions-rebind: true
""".replace(" &pf", "")


@pytest.fixture
def adopted(machine: Guest) -> Node:
    """The node after :func:`adopt`."""
    return once(machine, "sriov-adopted", lambda: adopt(machine))


def adopt(machine: Guest) -> Node:
    """Take over a node that is as netplan leaves it at boot; made by hand, and with netplan's file."""
    make = """
    for pf in 0000:3b:00.0 0000:3b:00.1; do echo 0 > /sys/bus/pci/devices/$pf/sriov_drivers_autoprobe; done
    ip link set enp59s0f0np0 nomaster; ip link set enp59s0f1np1 nomaster
    for pf in 0000:3b:00.0 0000:3b:00.1; do
        echo VFS > /sys/bus/pci/devices/$pf/sriov_numvfs
        devlink dev eswitch set pci/$pf mode switchdev
    done
    for port in enp59s0f0np0 enp59s0f1np1; do
        ethtool -K $port hw-tc-offload on
        ip link set $port down; ip link set $port master bond0; ip link set $port up
    done
    until [ "$(lag 0000:3b:00.0)" = active ]; do sleep 0.2; done
    for pf in 0000:3b:00.0 0000:3b:00.1; do echo 1 > /sys/bus/pci/devices/$pf/sriov_drivers_autoprobe; done
    for vf in /sys/bus/pci/devices/0000:3b:00.[01]/virtfn*; do
        basename $(readlink $vf) > /sys/bus/pci/drivers/mlx5_core/bind
    done
    """
    machine.run(LAG + make.replace("VFS", str(VFS)))
    machine.run(OFFLOADING)
    machine.run(USE_A_VF)
    machine.write("/etc/netplan/150-charm-ovn.yaml", NETPLAN.format(vfs=VFS), 0o600)
    unit = machine.unit(
        "sriov-switchdev", config={"num-vfs": VFS, "reboot-policy": "always", "reboot-settle": 0}
    )
    node = Node(machine, unit)
    before = node.state()
    # Beside ovn-chassis it says what to do and touches nothing.
    result = unit.start()
    assert result.status[0] == "blocked"
    assert "sriov-numvfs=none:0" in node.findings()
    assert node.state() == before
    # The sentinel leaves comments only; the next hook takes over, without a NIC write and without a reboot.
    machine.write("/etc/netplan/150-charm-ovn.yaml", "# Config managed by ovn-chassis charm\n", 0o600)
    result = node.hook()
    assert result.status[0] == "active"
    assert nic(result.writes) == []
    assert not result.reboot_requested
    assert node.state() == before
    return node


def test_a_node_that_ovn_chassis_converged_is_adopted_with_a_vf_in_use(adopted: Node) -> None:
    assert is_converged(adopted.state())


@pytest.mark.thorough
def test_the_boot_after_adoption_sets_the_vfs_by_this_charm(adopted: Node) -> None:
    assert adopted.reboot().status[0] == "active"
    assert is_converged(adopted.state())
