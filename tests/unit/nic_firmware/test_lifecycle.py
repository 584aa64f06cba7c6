# SPDX-License-Identifier: Apache-2.0
"""A unit's life: from factory settings to declared ones by one reboot, idle hooks, hand-over, removal."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from charmkit.reboot.databag import KEY, decode_unit, encode
from charmkit.reboot.state import Cluster, Slot
from exporter import facts
from hostnic.firmware.mstdatabase import Database
from nic import before
from ops import testing
from unit.nic_firmware.node import PF0, PF1, Node, machine, nics, rdg

EVENTS = ("config_changed", "update_status", "start", "leader_elected", "upgrade_charm")


def test_from_factory_settings_to_the_rdgs_with_one_reboot(node: Node) -> None:
    status = node.deploy(profile="ovn-offload,throughput,gpudirect", reboot_settle=0)
    assert status.name == "blocked"
    assert "run: juju run nic-firmware/leader approve-reboot" in status.message
    wanted = {
        "SRIOV_EN": 1,
        "NUM_OF_VFS": 8,
        "NUM_VF_MSIX": 63,
        "LAG_RESOURCE_ALLOCATION": 1,
        "LINK_TYPE_P1": 2,
        "ADVANCED_PCI_SETTINGS": 1,
        "MAX_ACC_OUT_READ": 44,
        "ATS_ENABLED": 1,
    }
    assert {name: node.next_boot(name) for name in wanted} == wanted
    node.action("approve-reboot")
    assert node.reboots_asked == 0, "an action cannot reboot"
    node.emit("update_status")
    assert node.reboots_asked == 1
    assert node.boot().name == "active"
    assert node.action("verify")["verified"] == "true"
    assert node.action("plan")["plan"] == "Nothing to do: everything is as declared."
    node.emit("update_status")
    assert node.reboots_asked == 1
    assert node.writes == []


@pytest.mark.parametrize(
    ("driver", "expected"),
    [(None, ("enp59s0f0np0", "bond0", True)), ("vfio-pci", (PF0, "", False))],
)
def test_the_exporter_misses_the_netdev_of_a_port_that_has_lost_its_driver_alone(
    node: Node, driver: str | None, expected: tuple[str, str, bool]
) -> None:
    """Otherwise the next hook would end OffloadPortGone before it fires; vfio-pci has no netdevs."""
    node.set_up()
    node.emit("update_status")
    node.host.port(PF0).driver = driver
    for _ in range(2):
        node.emit("update_status")
    found = facts.read(node.host, "nic-firmware")
    ports = {port.bdf: (port.netdev, port.bond, port.used) for port in found.ports} if found else {}
    assert ports[PF0] == expected


def test_a_gate_is_set_in_a_call_before_the_parameter_that_it_hides(node: Node) -> None:
    node.set_up()
    node.configure(profile="throughput").emit()
    assert node.mst() == [
        f"run mstconfig -d {PF0} -y set ADVANCED_PCI_SETTINGS=1",
        f"run mstconfig -d {PF0} -y set MAX_ACC_OUT_READ=44",
    ]


def test_one_call_sets_all_parameters_of_a_port_and_shared_ones_are_set_on_one_port(
    node: Node,
) -> None:
    node.emit()
    words = "NUM_VF_MSIX=63 LAG_RESOURCE_ALLOCATION=1 SRIOV_EN=1 NUM_OF_VFS=8"
    assert node.mst() == [f"run mstconfig -d {PF0} -y set {words}"]


@pytest.mark.parametrize("event", EVENTS)
def test_a_hook_on_a_converged_node_writes_nothing(node: Node, event: str) -> None:
    node.converge()
    assert node.emit(event).name == "active"
    assert node.writes == []
    assert {argv[0] for argv in node.host.spawned} == {"mstconfig"}


def test_a_node_with_the_right_values_needs_no_write_and_no_reboot(node: Node) -> None:
    rdg(node.host)
    assert node.deploy(reboot_policy="always").name == "active"
    assert node.reboots_asked == 0
    assert not node.host.disk.exists("/var/lib/ovn-offload/nic-firmware.json")
    assert node.mst() == []


def test_more_vfs_than_requested_are_kept(node: Node) -> None:
    rdg(node.host)
    for port in node.host.network.ports():
        port.firmware.num_of_vfs = port.firmware.next_num_of_vfs = 32
    assert node.deploy().name == "active"
    assert node.next_boot("NUM_OF_VFS") == 32


def test_a_request_that_goes_away_does_not_lower_what_was_set(node: Node) -> None:
    node.hand_over("sriov-switchdev", vfs={PF0: 16})
    node.converge()
    node.host.disk.remove("/var/lib/juju/agents/unit-sriov-switchdev-0/agent.conf")
    node.emit()
    assert node.next_boot("NUM_OF_VFS") == 16
    assert node.mst() == []


# Hand-over.


@pytest.mark.parametrize(("asked", "option", "set_to"), [(16, 8, 16), (4, 8, 8), (0, 12, 12)])
def test_the_larger_of_the_option_and_what_sriov_switchdev_needs(
    node: Node, asked: int, option: int, set_to: int
) -> None:
    node.hand_over("sriov-switchdev", vfs={PF1: asked})
    node.configure(num_vfs=option).emit()
    assert node.next_boot("NUM_OF_VFS", PF0) == set_to
    assert node.next_boot("NUM_OF_VFS", PF1) == set_to


def test_what_sriov_switchdev_needs_counts_without_the_profile_too(node: Node) -> None:
    node.hand_over("sriov-switchdev", vfs={PF0: 6})
    node.configure(profile="").emit()
    assert node.mst() == [f"run mstconfig -d {PF0} -y set SRIOV_EN=1 NUM_OF_VFS=6"]


def test_requests_of_roce_qos_are_set(node: Node) -> None:
    node.hand_over("roce-qos", parameters={PF0: {"CNP_DSCP_P1": 26}, PF1: {"LLDP_NB_DCBX_P2": True}})
    node.configure(profile="").emit()
    assert node.next_boot("CNP_DSCP_P1") == 26
    assert node.next_boot("LLDP_NB_DCBX_P2") == 1


def test_an_option_takes_precedence_over_a_request_and_the_conflict_is_named(node: Node) -> None:
    node.hand_over("roce-qos", parameters={PF0: {"CNP_DSCP_P1": 26}})
    node.configure(profile="", parameters="CNP_DSCP_P1=40").emit()
    assert node.next_boot("CNP_DSCP_P1") == 40
    found = node.findings()
    assert "roce-qos needs CNP_DSCP_P1=26, but option parameters sets CNP_DSCP_P1=40" in found


def test_an_option_takes_precedence_over_a_profile(node: Node) -> None:
    node.configure(parameters="NUM_VF_MSIX=31").emit()
    assert node.next_boot("NUM_VF_MSIX") == 31


def test_fewer_vfs_by_option_than_sriov_switchdev_needs_is_refused(node: Node) -> None:
    node.hand_over("sriov-switchdev", vfs={PF0: 16})
    status = node.configure(parameters="NUM_OF_VFS=8").emit()
    assert status.name == "blocked"
    assert "NUM_OF_VFS=8 is fewer than the 16 VFs that sriov-switchdev needs" in node.log
    assert node.mst() == []


def test_a_malformed_file_is_a_warning(node: Node) -> None:
    node.host.disk.install("/run/ovn-offload/roce-qos.json", b"{", 0o600)
    node.emit()
    assert "/run/ovn-offload/roce-qos.json" in node.findings()


# Reboots.


def test_the_request_is_passed_to_sriov_switchdev_if_that_charm_requests_reboots(node: Node) -> None:
    node.hand_over("sriov-switchdev", owner="sriov-switchdev", vfs={PF0: 8})
    status = node.deploy(reboot_owner="sriov-switchdev", reboot_policy="always", reboot_settle=0)
    assert node.reboots_asked == 0
    assert status.name == "waiting"
    assert "sriov-switchdev asks for it" in status.message
    given = json.loads(node.host.files.read("/run/ovn-offload/nic-firmware.json"))
    assert given["reboot_owner"] == "sriov-switchdev"
    assert given["reboot"]["ready"] is True
    assert given["reboot"]["reasons"][0].startswith("3b:00: NUM_OF_VFS=8 and 3 more #")
    assert node.boot().name == "active"
    assert json.loads(node.host.files.read("/run/ovn-offload/nic-firmware.json"))["reboot"] is None


@pytest.mark.parametrize("owner", ["self", "sriov-switchdev"])
def test_the_approval_names_applications_as_they_are_deployed(node: Node, owner: str) -> None:
    node.deployed_as("firmware-rack2").beside("offload-rack2")
    node.hand_over("sriov-switchdev", owner="sriov-switchdev", unit="offload-rack2/0")
    node.deploy(reboot_owner=owner)
    asked = {"self": "firmware-rack2", "sriov-switchdev": "offload-rack2"}[owner]
    released = {each["release"] for each in json.loads(node.action("plan", format="json")["plan"])["held"]}
    assert released == {f"run: juju run {asked}/leader approve-reboot"}


def test_the_reboot_waits_until_the_other_charms_have_stated_their_needs(node: Node) -> None:
    node.beside("sriov-switchdev")
    node.deploy(reboot_policy="always")
    assert node.reboots_asked == 0
    assert "sriov-switchdev on this machine, which has not reported yet" in node.log
    node.hand_over("sriov-switchdev", vfs={PF0: 16})
    node.emit("update_status")
    assert node.reboots_asked == 1
    assert node.next_boot("NUM_OF_VFS") == 16


def test_another_charms_reboot_is_requested(node: Node) -> None:
    rdg(node.host)
    request = {"reasons": ["3b:00: 8+8 VFs and VF-LAG"], "since": 1, "ready": True}
    node.hand_over("sriov-switchdev", reboot=request)
    node.deploy(reboot_policy="always")
    assert node.reboots_asked == 1


def test_after_a_reboot_that_did_not_apply_the_values_the_status_names_the_power_cycle(node: Node) -> None:
    node.deploy(reboot_policy="always", reboot_settle=0)
    assert node.reboots_asked == 1
    node.host.cards[0].stuck = True
    status = node.boot()
    assert status.name == "blocked"
    assert "a restart of the host did not apply it: " in node.findings()
    assert "maas PROFILE machine power-off SYSTEM_ID" in node.findings()
    for _ in range(3):
        node.emit("update_status")
    node.boot()
    assert node.reboots_asked == 1, "never a second automatic reboot"
    node.host.cards[0].stuck = False
    assert node.boot().name == "active"
    assert not node.host.disk.exists("/var/lib/ovn-offload/nic-firmware.json")


def test_a_lost_record_leads_to_no_second_reboot_since_the_peers_know_of_the_first(node: Node) -> None:
    node.deploy(reboot_policy="always", reboot_settle=0)
    node.host.cards[0].stuck = True
    for _ in range(3):
        node.host.files.remove("/var/lib/ovn-offload/nic-firmware.json")
        status = node.boot()
        node.emit("update_status")
        assert "rebooted, and still needs a reboot for 3b:00" in status.message
    assert node.reboots_asked == 1


def test_the_loop_breaker_works_for_the_other_owner_too(node: Node) -> None:
    node.hand_over("sriov-switchdev", owner="sriov-switchdev")
    node.deploy(reboot_owner="sriov-switchdev")
    node.host.cards[0].stuck = True
    node.host.reboot()
    node.hand_over("sriov-switchdev", owner="sriov-switchdev")
    assert node.emit("start").name == "blocked"
    assert json.loads(node.host.files.read("/run/ovn-offload/nic-firmware.json"))["reboot"] is None


def test_another_charms_request_gets_no_second_reboot_while_that_charm_is_silent(node: Node) -> None:
    request = {PF0: {"CNP_DSCP_P1": 26}}
    node.hand_over("roce-qos", parameters=request)
    node.deploy(reboot_policy="always", reboot_settle=0)
    node.host.reboot()
    node.host.cards[0].settings["CNP_DSCP_P1"].current = 48
    node.emit("start")
    node.hand_over("roce-qos", parameters=request)
    assert node.emit("update_status").name == "blocked"
    assert "a restart of the host did not apply it: CNP_DSCP_P1 (now 48, then 26)" in node.findings()
    assert node.reboots_asked == 1


def test_values_that_no_charm_requests_any_more_are_forgotten(
    node: Node,
) -> None:
    node.hand_over("roce-qos", parameters={PF0: {"CNP_DSCP_P1": 26}})
    rdg(node.host)
    node.emit()
    node.hand_over("roce-qos")
    node.emit()
    assert not node.host.disk.exists("/var/lib/ovn-offload/nic-firmware.json")


def test_a_port_that_cannot_be_read_for_a_while_gets_no_second_reboot(node: Node) -> None:
    node.deploy(reboot_policy="always", reboot_settle=0)
    node.host.cards[0].stuck = True
    node.boot()
    node.host.fail("read", f"{PF0}/vendor", OSError(5, "Input/output error"), times=2)
    node.emit()
    node.emit()
    assert "a restart of the host did not apply it: " in node.findings()
    assert node.reboots_asked == 1


def test_no_reboot_is_requested_if_mstconfig_requires_a_power_cycle(node: Node) -> None:
    node.host.cards[0].stuck = True
    status = node.deploy(reboot_policy="always")
    assert node.reboots_asked == 0
    assert status.name == "blocked"
    assert "the firmware says that a warm reboot does not apply it" in node.findings()


def test_a_new_value_after_a_reboot_without_effect_gets_its_own_reboot(node: Node) -> None:
    node.deploy(reboot_policy="always", reboot_settle=0)
    node.host.reboot()
    node.host.cards[0].settings["NUM_VF_MSIX"].current = 11
    assert node.emit("start").name == "blocked"
    node.configure(parameters="NUM_VF_MSIX=31").emit()
    assert "NUM_VF_MSIX" in node.action("plan")["plan"]


def test_removal_deletes_its_files_and_leaves_the_firmware(node: Node) -> None:
    node.deploy()
    node.emit("stop")
    assert not [path for path in node.host.disk.content if "nic-firmware" in path and path.startswith("/run")]
    assert not node.host.disk.exists("/var/lib/ovn-offload/nic-firmware.json")
    assert node.mst() == []
    assert node.next_boot("NUM_OF_VFS") == 8


def test_a_removal_is_complete_where_juju_has_closed_the_session(
    node: Node, close_session: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    node.deploy()
    close_session()
    with pytest.raises(SystemExit) as ended:
        node.emit("stop")
    assert ended.value.code == 0
    left = [path for path in node.host.disk.content if "nic-firmware" in path and "/juju/" not in path]
    assert left == [before.PATH], "whoever comes back later needs it"
    assert "removed; the firmware keeps its parameters" in capsys.readouterr().err


def test_a_wake_up_service_that_gave_up_shows_in_status_and_verify(node: Node) -> None:
    rdg(node.host)
    node.deploy()
    node.host.disk.install("/run/ovn-offload/nic-firmware.dispatch-failed", b"ERROR no socket\n", 0o600)
    said = "the service that wakes this unit: gave up after 20 attempts: ERROR no socket"
    node.emit("update_status")
    assert said in node.log
    assert "gave up after 20 attempts: ERROR no socket" in node.findings()


# A wrong option in the middle of a rolling reboot.


def test_a_unit_with_a_wrong_option_gives_back_the_lock_that_it_has_not_used(node: Node) -> None:
    node.deploy()
    peers = node.state.get_relation(node.peer.id)
    assert isinstance(peers, testing.PeerRelation)
    cluster = encode(Cluster(grant=4, held={"nic-firmware/0": Slot(4, 1)}))
    told = replace(peers, local_app_data={KEY: cluster})
    node.state = replace(node.state, leader=False, relations={*node.state.relations - {peers}, told})
    status = node.configure(firmware_policy="soon").emit()
    assert status.name == "blocked"
    own = decode_unit(node.state.get_relation(node.peer.id).local_unit_data[KEY])
    assert (own.released, node.reboots_asked) == (4, 0)
    assert own.reasons, "what the unit needs is forgotten"


# Several NICs.


def test_eight_nics_are_each_set_and_share_one_reboot(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    buses = ["3b", "5e", "86", "af", "17", "18", "d8", "d9"]
    node = Node(machine(cards=nics(*buses)), database, monkeypatch)
    node.deploy(reboot_policy="always", reboot_settle=0)
    assert [node.next_boot("NUM_OF_VFS", f"0000:{bus}:00.0") for bus in buses] == [8] * 8
    assert node.reboots_asked == 1
    assert node.boot().name == "active"


def test_a_nic_that_vanished_is_named_and_the_others_go_on(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(machine(cards=nics("3b", "5e")), database, monkeypatch)
    node.host.fail("run", "-d 0000:5e:00", vanished(), times=None)
    status = node.deploy()
    assert status.name == "blocked"
    assert "0000:5e:00.0" in node.findings()
    assert node.next_boot("NUM_OF_VFS", PF0) == 8


def vanished() -> OSError:
    from hostnic.system import failure

    return failure(["mstconfig"], 3, "-E- Failed to open the device\n", "")
