# SPDX-License-Identifier: Apache-2.0
"""A unit's life: from a new node to a converged one, idle hooks, refresh, adoption, reboots, removal."""

import subprocess
import sys
from collections.abc import Callable
from types import ModuleType

import pytest
from boot import files
from exporter import facts, install
from hostnic.boot import bootcopy
from lab.modelled import FakeHost, card
from ops import testing
from unit.hostunit import ROUTES
from unit.sriov_switchdev.node import APPROVE, PF0, PF1, Node, compute_node, nic

EVENTS = ("config_changed", "update_status", "start", "leader_elected", "upgrade_charm")


def state(host: FakeHost) -> list[tuple[str, int, list[str | None]]]:
    return [
        (port.eswitch_mode, len(port.vfs), [vf.driver for vf in port.vfs]) for port in host.network.ports()
    ]


# From a new node to a converged one.


def test_a_new_node_is_prepared_waits_for_approval_reboots_once_and_is_converged(node: Node) -> None:
    status = node.deploy(reboot_settle=0)
    assert status.name == "blocked"
    assert status.message == (
        "run: juju run sriov-switchdev/leader approve-reboot; reboot: needed for 3b:00: 8+8 VFs and VF-LAG"
    )
    assert state(node.host) == [("legacy", 0, [])] * 2
    assert set(files.PATHS) <= set(node.host.disk.content)
    assert node.action("approve-reboot")["approved"] == "sriov-switchdev/0"
    assert node.reboots_asked == 0, "an action cannot reboot"
    node.emit("update_status")
    assert node.reboots_asked == 1
    assert node.boot().name == "active"
    assert state(node.host) == [("switchdev", 8, ["mlx5_core"] * 8)] * 2
    assert node.host.cards[0].lag == "switchdev"
    assert node.emit("update_status").name == "active"
    assert node.reboots_asked == 1


def test_under_when_idle_a_node_with_an_instance_waits(node: Node) -> None:
    node.host.disk.install("/run/libvirt/qemu/instance-00000007.xml", b"<domstatus/>", 0o600)
    status = node.deploy(reboot_policy="when-idle")
    assert node.reboots_asked == 0
    assert status.name == "waiting"
    assert "instance-00000007 running" in node.log
    node.host.disk.remove("/run/libvirt/qemu/instance-00000007.xml")
    node.emit("update_status")
    assert node.reboots_asked == 1


def test_a_host_without_members_gives_the_lock_back_once_it_verifies(node: Node) -> None:
    node.deploy(reboot_policy="always", reboot_settle=300)
    assert node.boot().name == "active"
    assert "no unit holds the reboot lock" in node.failure("release-reboot-lock")


def test_the_lock_of_a_host_with_an_osd_is_kept_until_the_settle_time_is_over(node: Node) -> None:
    node.host.disk.install("/var/lib/ceph/osd/ceph-0/whoami", b"0\n", 0o600)
    node.deploy(reboot_policy="always", reboot_settle=300)
    status = node.boot()
    assert status.name == "waiting"
    assert "settles for another 5 min" in status.message
    node.host.sleep(301)
    assert node.emit("update_status").name == "active"


def test_the_leader_frees_a_lock_whose_holder_never_came_back(node: Node) -> None:
    node.deploy(reboot_policy="always")
    assert node.action("release-reboot-lock")["released"] == "sriov-switchdev/0"
    assert "no unit holds the reboot lock" in node.failure("release-reboot-lock")


# Idle hooks.


def test_a_converged_node_is_not_searched_for_uses_of_its_vfs(converged: Node) -> None:
    converged.host.network.addresses["enp59s0f0v2"] = ["10.10.10.2"]
    assert converged.emit("update_status").name == "active"
    assert converged.host.spawned == []


def test_a_hook_leaves_the_number_of_flows_and_connections_without_a_process(converged: Node) -> None:
    converged.host.ovs.flows = "ufid:1, offloaded:yes, dp:tc\nufid:2, offloaded:no, dp:ovs\nufid:3, dp:ovs\n"
    for port, connections in zip(converged.host.network.ports(), (40, 2)):
        port.connections = connections
    converged.host.sleep(facts.FRESH)
    converged.emit("update_status")
    told = facts.read(converged.host, "sriov-switchdev")
    assert told
    assert told.flows == (1, 2, 200000, 42)
    assert converged.host.spawned == []


def test_an_ovs_that_does_not_answer_is_no_finding_of_a_hook(converged: Node) -> None:
    converged.host.fail("control", "upcall/show", TimeoutError("timed out"), times=None)
    converged.host.sleep(facts.FRESH)
    assert converged.emit("update_status").name == "active"
    told = facts.read(converged.host, "sriov-switchdev")
    assert told
    assert told.flows is None


@pytest.mark.parametrize("event", EVENTS)
def test_a_hook_on_a_converged_node_writes_nothing_and_starts_no_process(converged: Node, event: str) -> None:
    before = state(converged.host)
    assert converged.emit(event).name == "active"
    assert converged.writes == []
    assert converged.host.spawned == []
    assert state(converged.host) == before


def test_relation_events_of_a_converged_node_write_nothing(converged: Node) -> None:
    for relation in list(converged.state.relations):
        current = next(r for r in converged.state.relations if r.id == relation.id)
        converged.emit("relation_created", current)
        assert converged.writes == []


# Refresh.


def test_a_refresh_with_other_code_replaces_the_boot_copy_and_touches_no_nic(
    converged: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootcopy, "stamp", lambda copy: "0" * 64)
    assert converged.emit("upgrade_charm").name == "active"
    stamps = files.COPY.stamp_path, install.copy_of("sriov-switchdev").stamp_path
    assert converged.writes == [
        *(f"install {stamp}" for stamp in stamps),
        f"run systemctl restart {install.UNIT}",
    ]


def test_a_file_that_somebody_changed_is_put_right(converged: Node) -> None:
    converged.host.disk.install(files.RULE, b"", 0o644)
    converged.emit("update_status")
    assert converged.writes == [f"install {files.RULE}"]


# Adoption of a node that ovn-chassis converged.


@pytest.fixture
def adopted(monkeypatch: pytest.MonkeyPatch) -> Node:
    """As the RDG leaves a node: netplan made VFs and switchdev at boot, instances use VFs."""
    host = compute_node()
    text = "network:\n  version: 2\n  ethernets:\n    enp59s0f0np0:\n      virtual-function-count: 8\n"
    host.disk.install("/etc/netplan/150-charm-ovn.yaml", text.encode(), 0o600)
    host.reboot(boot=[netplan_at_boot], after_network=[netplan_rebind])
    host.sleep(10)
    host.start_instance("0000:3b:00.2")
    host.trace.clear()
    return Node(host, monkeypatch)


def netplan_at_boot(host: FakeHost) -> None:
    for bdf in (PF0, PF1):
        host.files.write(f"/sys/bus/pci/devices/{bdf}/sriov_drivers_autoprobe", "0")
        host.files.write(f"/sys/bus/pci/devices/{bdf}/sriov_numvfs", "8")
        host.devlink.set_eswitch_mode(bdf, "switchdev")


def netplan_rebind(host: FakeHost) -> None:
    host.sleep(5)
    for port in host.network.ports():
        host.files.write(f"/sys/bus/pci/devices/{port.bdf}/sriov_drivers_autoprobe", "1")
        for vf in port.vfs:
            host.files.write("/sys/bus/pci/drivers/mlx5_core/bind", vf.bdf)


def test_adoption_waits_for_ovn_chassis_then_takes_over_without_a_nic_write_or_a_reboot(
    adopted: Node,
) -> None:
    assert adopted.host.cards[0].lag == "switchdev"
    before = state(adopted.host)
    # 1. Deployed beside ovn-chassis: it says what to do, and leaves the machine alone.
    assert adopted.deploy(reboot_policy="always", reboot_settle=0).name == "blocked"
    assert "sriov-numvfs=none:0" in adopted.action("verify")["findings"]
    # 2. juju config ovn-chassis sriov-numvfs=none:0
    adopted.host.disk.install("/etc/netplan/150-charm-ovn.yaml", b"# comments only\n", 0o600)
    # 3. The next hook takes over.
    assert adopted.emit("update_status").name == "active"
    assert nic(adopted.writes) == []
    assert adopted.reboots_asked == 0
    assert state(adopted.host) == before
    # 4. From the next boot on it is this charm that sets VFs.
    adopted.host.disk.remove("/run/libvirt/qemu/instance-0000002a.xml")
    assert adopted.boot().name == "active"
    assert state(adopted.host) == [("switchdev", 8, ["mlx5_core"] * 8)] * 2


def test_adoption_with_another_number_of_vfs_is_refused_while_one_is_in_use(adopted: Node) -> None:
    adopted.host.disk.install("/etc/netplan/150-charm-ovn.yaml", b"# comments only\n", 0o600)
    before = state(adopted.host)
    for allow_live in (False, True):
        status = adopted.configure(num_vfs=4, allow_live=allow_live).emit()
        assert status.name == "blocked"
        assert "VF 0000:3b:00.2 by instance-0000002a" in adopted.action("verify")["findings"]
        assert nic(adopted.writes) == []
        assert state(adopted.host) == before


# Resizing.


VF_ROUTE = "enp59s0f0v2\t000A0A0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"


def dpdk(host: FakeHost) -> None:
    """A process of DPDK has the RDMA device of the first port's third VF open."""
    host.cards[0].rdma = True
    host.open_rdma("0000:3b:00.4", 4711, "dpdk-testpmd")


USES: dict[str, tuple[Callable[[FakeHost], object], str]] = {
    "instance": (lambda host: host.start_instance("0000:3b:00.4"), "instance-0000002a"),
    "instance through vDPA": (lambda host: host.start_vdpa_instance("0000:3b:00.4"), "instance-0000002a"),
    "vDPA device for instances": (
        lambda host: host.add_vdpa("0000:3b:00.4"),
        "vDPA device vdpa2 (vhost_vdpa)",
    ),
    "vDPA device of the host": (
        lambda host: host.add_vdpa("0000:3b:00.4", "virtio_vdpa"),
        "vDPA device vdpa2 (virtio_vdpa)",
    ),
    "namespace": (lambda host: host.move_to_netns("0000:3b:00.4"), "network namespace"),
    "DPDK": (dpdk, "dpdk-testpmd (4711)"),
    "VLAN or macvtap": (lambda host: host.network.uppers.update({"vlan7": "enp59s0f0v2"}), "vlan7"),
    "address": (lambda host: host.network.addresses.update({"enp59s0f0v2": ["10.10.10.2"]}), "10.10.10.2"),
    "route": (
        lambda host: host.disk.install("/proc/net/route", (ROUTES + VF_ROUTE).encode(), 0o644),
        "the route to 10.10.10.0/24",
    ),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("allow_live", [False, True])
def test_a_resize_is_refused_while_a_vf_is_in_use(converged: Node, use: str, allow_live: bool) -> None:
    arrange, user = USES[use]
    arrange(converged.host)
    before = state(converged.host)
    status = converged.configure(num_vfs=4, allow_live=allow_live).emit()
    assert status.name == "blocked"
    assert "would destroy VFs in use" in converged.log
    assert f"VF 0000:3b:00.4 by {user}" in converged.log
    assert converged.writes == ["install /run/ovn-offload/sriov-switchdev.json"]
    assert '"num_vfs": 8' in converged.host.files.read("/etc/ovn-offload/sriov-switchdev.json")
    assert state(converged.host) == before
    # With the option back the unit is active again.
    assert converged.configure(num_vfs=8).emit().name == "active"


def test_a_resize_without_vfs_in_use_waits_for_a_reboot(converged: Node) -> None:
    converged.configure(num_vfs=4, reboot_policy="manual").emit()
    assert nic(converged.writes) == []
    assert state(converged.host)[0][1] == 8
    converged.configure(reboot_policy="always").emit()
    assert converged.boot().name == "active"
    assert state(converged.host) == [("switchdev", 4, ["mlx5_core"] * 4)] * 2


@pytest.mark.parametrize("use", USES)
def test_vf_lag_that_is_missing_is_never_forced_while_a_vf_is_in_use(converged: Node, use: str) -> None:
    arrange, user = USES[use]
    converged.configure(allow_live=True)
    converged.host.cards[0].lag = None
    arrange(converged.host)
    before = state(converged.host)
    converged.emit("update_status")
    assert nic(converged.writes) == []
    assert state(converged.host) == before
    assert f"VFs are in use: VF 0000:3b:00.4 by {user}; free them; then {APPROVE}" in converged.log


# Removal.


def test_removal_takes_away_what_was_installed_and_leaves_the_nic(converged: Node) -> None:
    before = state(converged.host)
    status = converged.emit("stop")
    assert status.name == "maintenance"
    assert "the NIC's VFs vanish at the next boot" in status.message
    assert state(converged.host) == before
    assert nic(converged.writes) == []
    left = [*converged.host.disk.content, *converged.host.disk.links, *converged.host.disk.directories]
    assert not [path for path in left if "ovn-offload/sriov" in path or "ovn-offload-sriov" in path]
    assert "/etc/ovn-offload/sriov-switchdev.json" not in left


def test_a_wake_up_service_that_gave_up_shows_in_status_and_verify(converged: Node) -> None:
    converged.host.disk.install(
        "/run/ovn-offload/sriov-switchdev.dispatch-failed", b"ERROR no socket\n", 0o600
    )
    said = "the service that wakes this unit: gave up after 20 attempts: ERROR no socket"
    converged.emit("update_status")
    assert said in converged.log
    assert "gave up after 20 attempts: ERROR no socket" in converged.action("verify")["findings"]


def test_removal_of_a_unit_that_never_converged(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node(bonded=False), monkeypatch)
    node.set_up()
    assert node.emit("stop").name == "maintenance"


# The package that asks the firmware.


@pytest.fixture
def apt(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """charmhelpers refuses to be imported outside Ubuntu: a stand-in that notes what is installed."""
    asked: list[list[str]] = []
    module = ModuleType("charmhelpers.fetch")

    def apt_install(packages: list[str], fatal: bool = False) -> None:
        asked.append(packages)
        if asked == [["update"], ["mstflint"]] * 2:
            raise subprocess.CalledProcessError(100, ["apt-get"])

    def apt_update(fatal: bool = False) -> None:
        asked.append(["update"])

    vars(module).update(apt_install=apt_install, apt_update=apt_update)
    monkeypatch.setitem(sys.modules, "charmhelpers.fetch", module)
    return asked


def test_mstflint_is_installed_when_it_is_missing_in_install_and_refresh_only(
    node: Node, apt: list[list[str]]
) -> None:
    node.set_up()
    assert apt == []
    node.host.disk.remove("/usr/bin/mstconfig")
    node.emit("config_changed")
    assert apt == []
    node.set_up()
    assert apt == [["update"], ["mstflint"]]


def test_a_host_without_mstflint_still_converges(node: Node, apt: list[list[str]]) -> None:
    node.host.disk.remove("/usr/bin/mstconfig")
    node.set_up()
    node.emit("upgrade_charm")
    assert "mstflint cannot be installed" in node.log
    assert node.converge(reboot_settle=0).name == "active"


def test_a_follower_rolls_with_its_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node(cards=[card(total_vfs=8)]), monkeypatch)
    node.state = testing.State(leader=False, relations=node.state.relations)
    status = node.configure(reboot_policy="always").set_up()
    assert node.reboots_asked == 0
    assert "waits for the leader to grant it" in node.log
    assert status.name == "waiting"
