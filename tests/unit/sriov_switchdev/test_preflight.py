# SPDX-License-Identifier: Apache-2.0
"""Obstacles are found before anything is written, and each finding has its remedy."""

import errno

import pytest
from hostnic.system import CommandError, Link
from lab.modelled import FakeHost, card
from unit.sriov_switchdev.node import PF0, PF1, Arrange, Node, compute_node, nic


def firmware(count: int, after: int, on: bool = True, on_after: bool = True) -> Arrange:
    def arrange(host: FakeHost) -> None:
        for port in host.network.ports():
            port.firmware.num_of_vfs, port.firmware.sriov_en = count, on
            port.total_vfs = count if on else 0
            port.firmware.next_num_of_vfs, port.firmware.next_sriov_en = after, on_after

    return arrange


def per_pf(own: int) -> Arrange:
    """A number of VFs for each PF, which voids NUM_OF_VFS."""

    def arrange(host: FakeHost) -> None:
        for port in host.network.ports():
            port.firmware.per_pf = port.firmware.next_per_pf = True
            port.firmware.pf_num_of_vf = port.firmware.next_pf_num_of_vf = port.total_vfs = own

    return arrange


def both(*arranges: Arrange) -> Arrange:
    return lambda host: [arrange(host) for arrange in arranges]


def file(path: str, text: str) -> Arrange:
    return lambda host: host.disk.install(path, text.encode(), 0o600)


def subfunction(host: FakeHost) -> None:
    """A port that somebody brought to switchdev mode for an SF, without VFs."""
    host.cards[0].ports[0].eswitch_mode = "switchdev"
    host.network.others["eth88"] = Link(
        "eth88", 0, None, None, 1500, True, True, None, None, "1070fd03003b0000", "pf0sf88", PF0
    )


def instance_on_a_legacy_vf(host: FakeHost) -> None:
    host.files.write(f"/sys/bus/pci/devices/{PF0}/sriov_numvfs", "4")
    host.start_instance("0000:3b:00.2")


OVN_CHASSIS = """\
network:
  version: 2
  ethernets:
    enp59s0f0np0:
      virtual-function-count: 8
      embedded-switch-mode: switchdev
      delay-virtual-functions-rebind: true
"""
SENTINEL = "# Config managed by ovn-chassis charm\nnetwork:\n  version: 2\n"

BLOCKED: dict[str, tuple[Arrange, str, str]] = {
    "too few VFs now and after the next boot": (
        firmware(4, 4),
        "the firmware offers 4 VFs, 8 are asked for, and 4 after the next boot",
        "set NUM_OF_VFS of nic-firmware to 8 or more, or lower num-vfs",
    ),
    "the firmware's number is current and the driver offers fewer": (
        lambda host: [setattr(port, "total_vfs", 4) for port in host.network.ports()],
        "the firmware is set to 8 VFs, now and for the next boot, but the driver offers 4, and 8 are asked "
        "for; a reboot changes nothing",
        "power-cycle the machine",
    ),
    "a number per PF that is too small": (
        per_pf(4),
        "the firmware offers 4 VFs, 8 are asked for, and 4 after the next boot",
        "set NUM_OF_VFS of nic-firmware to 8 or more, or lower num-vfs",
    ),
    "SR-IOV off in firmware for good": (
        firmware(8, 8, on=False, on_after=False),
        "the firmware offers 0 VFs, 8 are asked for, and 0 after the next boot",
        "PF_NUM_OF_VF_VALID off and SRIOV_EN on",
    ),
    "too few VFs and firmware access denied": (
        both(
            firmware(4, 8),
            lambda host: host.answers.update(
                {
                    ("mstconfig",): CommandError(
                        ["mstconfig"],
                        "mstconfig failed (3)",
                        3,
                        "-E- Failed to open the device 3b:00.0. Operation not permitted\n",
                    )
                }
            ),
        ),
        "it cannot be asked about the next boot (mstconfig: Failed to open the device",
        "set NUM_OF_VFS of nic-firmware to 8 or more",
    ),
    "ovn-chassis still sets VFs": (
        file("/etc/netplan/150-charm-ovn.yaml", OVN_CHASSIS),
        "ovn-chassis sets VFs too",
        "juju config ovn-chassis sriov-numvfs=none:0",
    ),
    "netplan sets VFs": (
        file("/etc/netplan/60-site.yaml", OVN_CHASSIS),
        "netplan sets VFs or eswitch modes too",
        "remove virtual-function-count and embedded-switch-mode and delay-virtual-functions-rebind from",
    ),
    "netplan sets VFs in flow style": (
        file(
            "/etc/netplan/60-site.yaml",
            "network: {version: 2, ethernets: {enp59s0f0np0: {virtual-function-count: 4}}}\n",
        ),
        "netplan sets VFs or eswitch modes too",
        "remove virtual-function-count from the ethernets of this file (enp59s0f0np0)",
    ),
    "netplan sets the mode with quoted keys": (
        file(
            "/etc/netplan/60-site.yaml",
            'network:\n  ethernets:\n    enp59s0f0np0:\n      "embedded-switch-mode": legacy\n',
        ),
        "netplan sets VFs or eswitch modes too",
        "remove embedded-switch-mode from",
    ),
    "netplan declares VFs": (
        file("/etc/netplan/60-site.yaml", "network: {ethernets: {vf0: {link: enp59s0f0np0}}}\n"),
        "netplan sets VFs or eswitch modes too",
        "remove link from the ethernets of this file",
    ),
    "a netplan file that is no YAML may set VFs": (
        file(
            "/etc/netplan/60-site.yaml",
            "network:\n  ethernets: {pf: {virtual-function-count: 4\n  wifis: {w: {password: hunter2}}\n",
        ),
        "cannot be read (no valid YAML in line 3), and may set VFs or eswitch modes too",
        "do not run netplan apply",
    ),
    "ovn-chassis still sets VFs in flow style": (
        file("/etc/netplan/150-charm-ovn.yaml", "{network: {version: 2, 'ethernets': {}}}\n"),
        "ovn-chassis sets VFs too",
        "juju config ovn-chassis sriov-numvfs=none:0",
    ),
    "a VF in use in legacy mode": (
        instance_on_a_legacy_vf,
        "going from 4 to 8 VFs would destroy VFs in use: VF 0000:3b:00.2 by instance-0000002a",
        "move the instances to another host first",
    ),
    "subfunctions on the eswitch": (
        subfunction,
        "going from 0 to 8 VFs would destroy subfunctions: pf0sf88",
        "delete them (devlink port del); make them again afterwards; or take it out of option devices",
    ),
}


@pytest.mark.parametrize("case", BLOCKED)
def test_what_blocks_is_named_with_its_remedy_and_nothing_is_written(node: Node, case: str) -> None:
    arrange, fact, remedy = BLOCKED[case]
    arrange(node.host)
    status = node.emit("config_changed")
    assert status.name == "blocked"
    assert nic(node.writes) == []
    assert not node.host.disk.exists("/etc/systemd/system/ovn-offload-sriov-early.service")
    findings = node.action("verify")["findings"]
    assert fact in findings
    assert remedy in findings


def test_subfunctions_beside_vfs_as_declared_are_no_finding(node: Node) -> None:
    node.converge(reboot_settle=0)
    subfunction(node.host)
    assert node.emit("update_status").name == "active"
    assert "No finding" in node.findings()
    assert nic(node.writes) == []


def test_devices_that_no_host_of_this_kind_has(node: Node) -> None:
    status = node.configure(devices="enp63s0f0:8 enp63s0f1:8").emit()
    assert status.name == "blocked"
    assert "enp63s0f0 enp63s0f1" in status.message
    assert nic(node.writes) == []


def test_names_of_other_hosts_are_ignored(node: Node) -> None:
    node.configure(devices="enp63s0f0:8 enp63s0f1:8 enp59s0f0np0:4 enp59s0f1np1:4").emit()
    assert '"num_vfs": 4' in node.host.files.read("/etc/ovn-offload/sriov-switchdev.json")
    assert "not on this host: enp63s0f0, enp63s0f1" in node.action("verify")["findings"]


@pytest.mark.parametrize("devices", ["bond0:4", "0000:3b:00.0:4 3b:00.1:4", "enp59s0f0np0:4 0000:3B:00.1:4"])
def test_the_forms_of_devices(node: Node, devices: str) -> None:
    node.configure(devices=devices).emit()
    text = node.host.files.read("/etc/ovn-offload/sriov-switchdev.json")
    assert text.count('"num_vfs": 4') == 2
    assert text.count('"lag": true') == 2


def test_enough_vfs_only_after_the_next_boot_installs_the_boot_files_and_holds_for_the_reboot(
    node: Node,
) -> None:
    firmware(4, 8)(node.host)
    status = node.deploy(reboot_policy="manual", allow_live=True)
    assert status.name == "blocked"
    assert "reboot" in status.message
    assert nic(node.writes) == []
    assert node.host.disk.exists("/etc/systemd/system/ovn-offload-sriov-early.service")
    plan = node.action("plan")["plan"]
    assert "the firmware offers 4 VFs now and 8 after the next boot" in plan
    node.configure(reboot_policy="always").emit()
    assert node.reboots_asked == 1
    node.configure(reboot_settle=0)
    assert node.boot().name == "active"
    assert [len(port.vfs) for port in node.host.network.ports()] == [8, 8]


def test_a_switch_back_to_one_number_for_all_pfs_is_worth_a_reboot(node: Node) -> None:
    per_pf(4)(node.host)
    for port in node.host.network.ports():
        port.firmware.next_per_pf = False
    assert node.deploy(reboot_policy="manual").name == "blocked"
    assert "from the next boot on it offers 8" in node.action("verify")["findings"]
    node.configure(reboot_policy="always", reboot_settle=0).emit()
    assert node.boot().name == "active"


def test_the_firmware_is_not_asked_while_it_offers_enough(node: Node) -> None:
    node.emit("config_changed")
    assert not [argv for argv in node.host.spawned if argv[0] == "mstconfig"]


def test_no_iommu_is_a_warning(node: Node) -> None:
    node.host.iommu = False
    node.emit("config_changed")
    findings = node.action("verify")["findings"]
    assert "no IOMMU group: instances cannot take VFs" in findings
    assert "intel_iommu=on iommu=pt" in findings


def test_no_carrier_is_a_warning_and_keeps_nothing_from_running(node: Node) -> None:
    node.host.network.unplugged.add("enp59s0f1np1")
    assert node.converge(reboot_settle=0).name == "active"
    assert "enp59s0f1np1 has no carrier" in node.action("verify")["findings"]


@pytest.mark.parametrize(("vfs", "warns"), [(64, False), (65, True)])
def test_64_vfs_with_vf_lag_are_no_warning_and_65_are(
    monkeypatch: pytest.MonkeyPatch, vfs: int, warns: bool
) -> None:
    node = Node(compute_node(cards=[card(total_vfs=100)]), monkeypatch).configure(num_vfs=vfs)
    node.emit("config_changed")
    told = f"{vfs} VFs: some firmware refuses VF-LAG above 64"
    assert (told in node.action("verify")["findings"]) == warns


@pytest.mark.parametrize(("offered", "warns"), [(64, False), (65, True)])
def test_firmware_that_offers_64_vfs_is_no_warning_and_65_are(
    monkeypatch: pytest.MonkeyPatch, offered: int, warns: bool
) -> None:
    host = compute_node(cards=[card(total_vfs=offered)], kernel="5.15.0-119-generic")
    node = Node(host, monkeypatch)
    node.converge(num_vfs=4)
    assert ("some firmware refuses VF-LAG above 64" in node.action("verify")["findings"]) == warns


def test_firmware_with_more_than_64_vfs_is_a_warning_where_the_kernel_does_not_tell_of_vf_lag(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = compute_node(cards=[card(total_vfs=100)], kernel="5.15.0-119-generic")
    node = Node(host, monkeypatch)
    node.converge(num_vfs=4)
    assert (
        "the firmware offers 100 VFs; some firmware refuses VF-LAG above 64"
        in node.action("verify")["findings"]
    )


def test_a_nic_that_cannot_be_read_is_one_finding_and_the_other_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = compute_node(cards=[card("3b"), card("af")])
    host.fail("read", "0000:af:00.1/class", OSError(errno.EIO, "Input/output error"), times=None)
    node = Node(host, monkeypatch)
    node.configure(reboot_settle=0)
    assert node.converge(reboot_settle=0).name == "active"
    assert host.cards[0].lag == "switchdev"
    assert "0000:af:00.1" in node.action("verify")["findings"]


def test_the_sentinel_of_ovn_chassis_is_no_second_writer(node: Node) -> None:
    file("/etc/netplan/150-charm-ovn.yaml", SENTINEL)(node.host)
    node.emit("config_changed")
    assert "ovn-chassis" not in node.action("verify")["findings"]


@pytest.mark.parametrize("driver", [None, "vfio-pci"])
def test_of_a_port_without_mlx5_nothing_is_said_that_only_mlx5_tells(node: Node, driver: str | None) -> None:
    node.converge(reboot_settle=0)
    node.host.port(PF1).driver = driver
    node.emit("update_status")
    findings = node.findings()
    assert "None mode" not in findings
    assert "LAG state unknown" not in findings, "no debugfs helps there"


def test_a_port_that_lost_its_driver_is_named(node: Node) -> None:
    node.converge(reboot_settle=0)
    node.host.port(PF1).driver = None
    node.emit("update_status")
    assert "the port is bound to no driver, not to mlx5_core" in node.action("verify")["findings"]
    assert nic(node.writes) == []
