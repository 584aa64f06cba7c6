# SPDX-License-Identifier: Apache-2.0
"""NICs and firmware in trouble: each said in one sentence, with what helps, and nothing half done."""

import json
from collections.abc import Sequence

import pytest
from converge import StepError
from desired import Setting
from hostnic.firmware.mstdatabase import Database
from hostnic.system import CommandError, failure
from lab.modelled import FakeHost
from nic.changes import SetNextBoot
from unit.nic_firmware.node import PF0, PF1, Node, machine, nics, rdg


class Hangs(FakeHost):
    """Its first NIC's firmware answers mstconfig never."""

    def query(self, argv: Sequence[str], timeout: float = 60.0) -> str:
        if argv[0] == "mstconfig" and argv[2].startswith("0000:3b:00"):
            self.sleep(timeout)
            raise CommandError(argv, f"mstconfig did not end within {timeout:g} s")
        return super().query(argv, timeout)


def test_a_nic_that_hangs_costs_a_hook_one_deadline_and_the_other_nic_is_set(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(machine(Hangs, cards=nics("3b", "5e")), database, monkeypatch)
    node.configure(parameters="CNP_DSCP_P1=46 CNP_DSCP_P2=46").set_up()
    begin = node.host.now()
    assert node.emit("update_status").name == "blocked"
    assert node.host.now() - begin == 120
    assert node.next_boot("NUM_OF_VFS", "0000:5e:00.0") == 8
    assert "if the next hook says the same, power-cycle the machine" in node.findings()


def test_a_semaphore_that_a_killed_tool_has_left_taken_is_named_with_the_command_that_frees_it(
    node: Node,
) -> None:
    node.host.cards[0].ports[0].semaphore = 0x22807
    assert node.emit().name == "blocked"
    (finding,) = [line for line in node.findings().splitlines() if "semaphore" in line]
    assert "the NIC's semaphore is taken, by a tool that runs or by one that was killed" in finding
    command = finding.partition("run on the host: ")[2]
    assert command == f"mstmcra -c {PF0}"
    node.host.run(command.split())
    node.emit()
    assert node.next_boot("NUM_OF_VFS") == 8
    assert "semaphore" not in node.findings()


def test_secure_boot_is_named_when_something_must_change(node: Node) -> None:
    node.host.locked_down = True
    status = node.emit()
    assert status.name == "blocked"
    assert "the kernel is locked down (integrity, Secure Boot)" in node.findings()
    assert "mstflint-dkms" in node.findings()


def test_under_secure_boot_a_nic_that_offers_enough_vfs_is_not_blocked(node: Node) -> None:
    rdg(node.host)
    node.host.locked_down = True
    status = node.emit()
    assert status.name == "active"
    assert "it offers 8 VFs, and the other parameters are not checked" in node.findings()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"parameters": "ADVANCED_PCI_SETTINGS=0 MAX_ACC_OUT_READ=44"}, "needs ADVANCED_PCI_SETTINGS=1"),
        (
            {"profile": "throughput", "parameters": "ADVANCED_PCI_SETTINGS=false"},
            "needs ADVANCED_PCI_SETTINGS=1",
        ),
        ({"parameters": "SRIOV_EN=0"}, "NUM_OF_VFS=8 (option num-vfs) and SRIOV_EN=0 (option parameters)"),
        (
            {"profile": "", "parameters": "MAX_ACC_OUT_READ=44"},
            "also set ADVANCED_PCI_SETTINGS=1, which makes the firmware offer it",
        ),
        (
            {"parameters": "PF_NUM_OF_VF_VALID=1"},
            "NUM_OF_VFS=8 (option num-vfs) has no effect with PF_NUM_OF_VF_VALID=1 (option parameters)",
        ),
        (
            {"parameters": "PF_NUM_OF_VF_VALID=1 PF_NUM_OF_VF=4"},
            "also set PF_NUM_OF_VF to 8 or more",
        ),
        ({"parameters": "PF_NUM_OF_VF=16"}, "needs PF_NUM_OF_VF_VALID=1, but option num-vfs sets 0"),
        ({"devices": "enp1s0f0 bond7"}, "matches no device on this host (enp1s0f0 bond7)"),
    ],
)
def test_contradicting_settings_block_before_any_write(node: Node, options: dict, says: str) -> None:
    assert node.configure(**options).emit().name == "blocked"
    assert says in node.findings()
    assert node.mst() == []


def test_more_vectors_than_the_nic_has_is_the_firmwares_refusal_and_sets_nothing(node: Node) -> None:
    status = node.configure(num_vfs=120).emit()
    assert status.name == "blocked"
    assert "the values do not go together (The Parameter NUM_OF_VFS has Illegal constraint)" in node.log
    assert "lower NUM_OF_VFS or NUM_VF_MSIX" in node.log
    assert node.next_boot("NUM_VF_MSIX") == 11


def test_more_than_64_vfs_on_bonded_ports_is_a_warning(node: Node) -> None:
    node.configure(num_vfs=100, parameters="NUM_VF_MSIX=11").emit()
    assert "some firmware refuses VF-LAG above 64 VFs" in node.findings()
    assert node.next_boot("NUM_OF_VFS") == 100


def test_a_profiles_parameter_that_the_firmware_lacks_is_a_warning(node: Node) -> None:
    node.host.cards[0].lacks.add("ATS_ENABLED")
    del node.host.cards[0].settings["ATS_ENABLED"]
    node.configure(profile="ovn-offload,gpudirect").emit()
    assert "the firmware does not offer ATS_ENABLED (profile gpudirect)" in node.findings()
    assert node.next_boot("NUM_OF_VFS") == 8


@pytest.mark.parametrize("parameters", ["", "LINK_TYPE_P1=ETH LINK_TYPE_P2=ETH"])
def test_a_nic_without_link_type_is_ethernet_only_and_gives_no_finding(node: Node, parameters: str) -> None:
    for name in ("LINK_TYPE_P1", "LINK_TYPE_P2"):
        node.host.cards[0].lacks.add(name)
        del node.host.cards[0].settings[name]
    node.converge(parameters=parameters)
    assert node.action("verify") == {
        "verified": "true",
        "findings": "No finding: everything is as declared.",
    }


def test_infiniband_on_a_nic_without_link_type_is_refused(node: Node) -> None:
    del node.host.cards[0].settings["LINK_TYPE_P1"]
    node.host.cards[0].lacks.add("LINK_TYPE_P1")
    assert node.configure(parameters="LINK_TYPE_P1=IB").emit().name == "blocked"
    assert "the firmware does not offer LINK_TYPE_P1" in node.findings()


def test_a_set_that_fails_is_named_and_finished_by_the_next_hook(node: Node) -> None:
    node.host.fail("run", "-y set", failure(["mstconfig"], 3, "-E- Failed to open the device\n", ""))
    assert node.emit().name == "blocked"
    assert "failed to set" in node.log
    node.emit("update_status")
    assert node.next_boot("NUM_OF_VFS") == 8


def test_a_failure_between_the_two_calls_leaves_the_first_one_set_and_asks_for_no_reboot(node: Node) -> None:
    node.configure(profile="throughput", reboot_policy="always")
    node.host.fail("run", "MAX_ACC_OUT_READ=44", failure(["mstconfig"], 3, "-E- Failed\n", ""))
    node.emit()
    assert (node.next_boot("ADVANCED_PCI_SETTINGS"), node.next_boot("MAX_ACC_OUT_READ")) == (1, 0)
    assert node.reboots_asked == 0
    node.emit("update_status")
    assert node.next_boot("MAX_ACC_OUT_READ") == 44
    assert node.reboots_asked == 1


def test_a_record_that_cannot_be_read_counts_as_none(node: Node) -> None:
    for text in (b"{", b"[]", b'{"version": 9}', b'{"version": 1, "waiting": 3, "burns": {}}'):
        node.host.disk.install("/var/lib/ovn-offload/nic-firmware.json", text, 0o600)
        assert node.emit().name == "blocked"
        assert json.loads(node.host.files.read("/var/lib/ovn-offload/nic-firmware.json"))["version"] == 1


def test_firmware_that_stops_answering_before_it_is_set_is_a_failed_step(node: Node) -> None:
    node.host.answers[("mstconfig",)] = failure(["mstconfig"], 1, "", "-E- Failed to open the device")
    with pytest.raises(StepError) as failed:
        SetNextBoot(PF0, (Setting("NUM_VF_MSIX", 63, "for this test"),)).run(node.host)
    assert "Failed to open the device" in failed.value.reason


def test_a_host_without_a_nic_says_so(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(machine(cards=[], bonded=False), database, monkeypatch)
    assert node.emit().name == "blocked"
    assert "this host has no Mellanox NIC" in node.findings()


def test_a_function_that_cannot_be_read_is_one_finding(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(machine(cards=nics("3b", "5e")), database, monkeypatch)
    node.host.fail("read", "0000:5e:00.0/vendor", OSError(5, "Input/output error"), times=None)
    node.emit()
    assert "0000:5e:00.0" in node.findings()
    assert node.next_boot("NUM_OF_VFS", "0000:5e:00.1") == 8


def test_names_that_match_no_device_here_are_skipped(node: Node) -> None:
    node.configure(devices=f"enp1s0f0 {PF1}").emit()
    assert node.next_boot("NUM_OF_VFS") == 8
    assert "not on this host: enp1s0f0" in node.findings()
