# SPDX-License-Identifier: Apache-2.0
"""NICs and firmware in trouble: each said in one sentence, with what helps, and nothing half done."""

import json
import sys
from collections.abc import Sequence
from types import ModuleType

import pytest
from converge import StepError
from desired import Setting
from hostnic.devices import lag
from hostnic.firmware.mstconfig import NO_CURRENT
from hostnic.firmware.mstdatabase import Database
from hostnic.ops.bonding import JoinBond, LeaveBond
from hostnic.system import CommandError, failure
from hostnic.testing import FakeHost, states
from nic.changes import SetNextBoot
from unit.nic_firmware.node import PF0, PF1, Node, machine, nics, rdg

SAID = {
    "-E- Failed to open the device": "see the kernel log for this NIC",
    "-E- Failed to identify the device": "mstflint does not know this device",
    "-E- Unsupported device": "mstflint does not know this device",
    "-E- Device in Livefish mode is not supported": "the NIC is in livefish mode",
    "-E- Device doesn't support any configuration changes.": "the firmware allows no change of parameters",
    "write counter to semaphore: Permission denied": "another tool holds the NIC's semaphore",
    "-E- The Rule TLV configuration nv_x is not supported by FW": "update the firmware",
    "-E- Something quite new": "mstconfig: Something quite new",
}


@pytest.mark.parametrize("said", SAID)
def test_an_error_of_mstconfig_becomes_a_sentence_and_a_remedy(node: Node, said: str) -> None:
    node.host.answers[("mstconfig",)] = failure(["mstconfig"], 3, f"{said}\n", "")
    status = node.emit()
    assert status.name == "blocked"
    assert SAID[said] in node.findings()
    assert node.mst() == []


def test_an_error_that_nobody_knows_leads_to_the_command_that_said_it(node: Node) -> None:
    argv = ["mstconfig", "-d", PF0, "-e", "query", "SRIOV_EN"]
    node.host.answers[("mstconfig",)] = failure(argv, 3, "-E- Something quite new\n", "")
    node.emit()
    assert f"run on the host: {' '.join(argv)}" in node.findings()


class Apt:
    """charmhelpers refuses to be imported outside Ubuntu: a stand-in whose mirror may be away."""

    def __init__(self, host: FakeHost) -> None:
        self.host, self.asked, self.lists, self.mirror = host, list[str](), False, True

    def update(self, fatal: bool = False) -> None:
        self.asked.append("update")
        self.lists = self.mirror

    def install(self, packages: list[str], fatal: bool = False) -> None:
        self.asked.append(f"install {' '.join(packages)}")
        if self.lists:
            self.host.disk.install("/usr/bin/mstconfig", b"", 0o755)
            self.host.answers.clear()


class Shows(FakeHost):
    """Its mstconfig 4.26 shows a row of its own in place of a parameter's."""

    mstconfig_version = "4.26"
    name, row = "NUM_VF_MSIX", ""

    def query(self, argv: Sequence[str], timeout: float = 60.0) -> str:
        lines = super().query(argv, timeout).splitlines(keepends=True)
        return "".join(self.row if self.name in line.split() else line for line in lines)


def test_a_current_value_that_the_firmware_does_not_tell_is_no_reboot_without_effect(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = machine(Shows)
    rdg(host)
    host.row = "*           NUM_VF_MSIX         11         N/A         63\n"
    node = Node(host, database, monkeypatch)
    assert node.deploy(reboot_policy="always").name == "active", node.findings()
    assert node.reboots_asked == 0


class TellsNext(FakeHost):
    """Its firmware tells no default and no current values: mstconfig leaves these columns out."""

    def query(self, argv: Sequence[str], timeout: float = 60.0) -> str:
        said = super().query([word for word in argv if word != "-e"], timeout)
        return f"{said}Device Firmware {NO_CURRENT}\n" if "-e" in argv else said


def test_what_was_set_waits_for_a_reboot_if_the_firmware_tells_no_current_values(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(machine(TellsNext), database, monkeypatch)
    status = node.deploy(reboot_policy="manual", reboot_settle=0)
    assert "reboot: needed for 3b:00: NUM_OF_VFS=8 and 3 more" in status.message
    assert "NUM_OF_VFS (now unknown, then 8)" in node.findings()
    written = list(node.mst())
    node.emit()
    assert node.mst() == written, "the next hook sets nothing again, and still asks"
    assert "NUM_OF_VFS (now unknown, then 8)" in node.findings()
    assert node.boot().name == "active", "the reboot counts as what applied it"
    assert "No finding" in node.findings()
    assert node.mst() == written


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (
            "      RO    NUM_VF_MSIX         11          11         11\n",
            "keeps NUM_VF_MSIX at 11, which cannot",
        ),
        (
            "            NUM_VF_MSIX         N/A        N/A        N/A\n",
            "keeps NUM_VF_MSIX at N/A, which cannot",
        ),
    ],
)
def test_a_parameter_that_nobody_can_change_keeps_no_other_from_being_set(
    database: Database, monkeypatch: pytest.MonkeyPatch, row: str, says: str
) -> None:
    host = machine(Shows)
    host.row = row
    node = Node(host, database, monkeypatch)
    node.deploy()
    assert node.next_boot("NUM_OF_VFS") == 8
    assert node.next_boot("NUM_VF_MSIX") == 11
    assert says in node.findings()
    assert node.configure(parameters="NUM_VF_MSIX=63").emit().name == "blocked"


def test_a_backup_has_no_parameter_that_nobody_can_change(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = machine(Shows)
    host.row = "      RO    NUM_VF_MSIX         11          11         11\n"
    saved = Node(host, database, monkeypatch).action("backup")["backup-0000-3b-00-0"]
    assert "NUM_PF_MSIX=" in saved
    assert "NUM_VF_MSIX=" not in saved


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


@pytest.fixture
def apt(node: Node, monkeypatch: pytest.MonkeyPatch) -> Apt:
    """A machine as MAAS deploys it: no mstflint, and no list of packages."""
    apt, module = Apt(node.host), ModuleType("charmhelpers.fetch")
    vars(module).update(apt_update=apt.update, apt_install=apt.install)
    monkeypatch.setitem(sys.modules, "charmhelpers.fetch", module)
    node.host.disk.remove("/usr/bin/mstconfig")
    node.host.answers[("mstconfig",)] = CommandError(["mstconfig"], "mstconfig is not installed")
    return apt


def test_mstflint_is_installed_once_from_fresh_lists(node: Node, apt: Apt) -> None:
    assert node.set_up().name == "blocked"
    assert apt.asked == ["update", "install mstflint"]
    assert node.next_boot("NUM_OF_VFS") == 8
    node.emit()
    assert apt.asked == ["update", "install mstflint"]


def test_an_install_that_failed_is_named_and_tried_again_by_the_next_hook(node: Node, apt: Apt) -> None:
    apt.mirror = False
    assert node.set_up().name == "blocked"
    assert "mstflint cannot be installed now; tried again at the next hook" in node.log
    assert "mstconfig is not installed" in node.findings()
    assert "see juju debug-log for what apt-get said, or install it by hand" in node.findings()
    apt.mirror = True
    node.emit("update_status")
    assert node.next_boot("NUM_OF_VFS") == 8


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


def test_a_value_that_reads_back_differently_is_reported(node: Node) -> None:
    node.host.answers[("mstconfig", "-d", PF0, "-y", "set")] = "Applying... Done!\n"
    assert node.emit().name == "blocked"
    assert f"{PF0} did not keep the values that were set: 11 for NUM_VF_MSIX=63" in node.log
    assert "declare the value that the firmware keeps" in node.log


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


def one_number_per_pf(host: FakeHost, own: int) -> None:
    """A NIC whose former owner gave each PF its own number of VFs, which voids NUM_OF_VFS."""
    for port in host.network.ports():
        firmware = port.firmware
        firmware.per_pf = firmware.next_per_pf = True
        firmware.pf_num_of_vf = firmware.next_pf_num_of_vf = port.total_vfs = own


def test_numbers_per_pf_are_switched_off_since_they_void_num_of_vfs(node: Node) -> None:
    rdg(node.host)
    one_number_per_pf(node.host, 4)
    node.deploy(reboot_policy="always", reboot_settle=0)
    assert node.reboots_asked == 1
    assert node.boot().name == "active"
    assert [port.total_vfs for port in node.host.network.ports()] == [8, 8]
    assert not any(port.firmware.per_pf for port in node.host.network.ports())
    node.emit("update_status")
    assert node.writes == []


def test_numbers_per_pf_are_switched_off_in_the_same_call_that_sets_num_of_vfs(node: Node) -> None:
    one_number_per_pf(node.host, 0)
    node.hand_over("sriov-switchdev", vfs={PF1: 6})
    node.configure(profile="").emit()
    words = "SRIOV_EN=1 NUM_OF_VFS=6 PF_NUM_OF_VF_VALID=0"
    assert node.mst() == [f"run mstconfig -d {PF0} -y set {words}"]


def test_numbers_per_pf_stay_if_the_operator_asks_for_enough_of_them(node: Node) -> None:
    node.converge(parameters="PF_NUM_OF_VF_VALID=1 PF_NUM_OF_VF=16")
    assert [port.total_vfs for port in node.host.network.ports()] == [16, 16]
    assert node.emit().name == "active"
    assert node.writes == []


def test_firmware_without_numbers_per_pf_is_right_without_them(node: Node) -> None:
    node.host.cards[0].lacks.add("PF_NUM_OF_VF_VALID")
    assert node.converge().name == "active"
    assert node.findings() == "No finding: everything is as declared."


def lost_and_back(host: FakeHost) -> bool | None:
    """Whether the NIC has a VF-LAG after a port left its bond and came back, while VFs are bound."""
    states.converged(host)
    assert lag.read(host, PF0).vf_lag is True
    LeaveBond("enp59s0f1np1").run(host)
    host.sleep(2.0)
    assert lag.read(host, PF0).vf_lag is False
    JoinBond("enp59s0f1np1", "bond0").run(host)
    host.sleep(2.0)
    return lag.read(host, PF0).vf_lag


def test_vf_lag_returns_with_vfs_in_use_once_the_profile_is_current(node: Node) -> None:
    node.converge()
    assert lost_and_back(node.host) is True


def test_vf_lag_stays_lost_with_vfs_in_use_if_the_option_keeps_the_default(node: Node) -> None:
    node.converge(parameters="LAG_RESOURCE_ALLOCATION=DEVICE_DEFAULT")
    assert lost_and_back(node.host) is False


def test_firmware_without_lag_preallocation_gives_no_finding(node: Node) -> None:
    node.host.cards[0].lacks.add("LAG_RESOURCE_ALLOCATION")
    del node.host.cards[0].settings["LAG_RESOURCE_ALLOCATION"]
    assert node.converge().name == "active"
    assert node.findings() == "No finding: everything is as declared."


def test_lag_preallocation_in_the_option_is_missed_on_a_nic_without_it(node: Node) -> None:
    node.host.cards[0].lacks.add("LAG_RESOURCE_ALLOCATION")
    del node.host.cards[0].settings["LAG_RESOURCE_ALLOCATION"]
    assert node.configure(parameters="LAG_RESOURCE_ALLOCATION=1").emit().name == "blocked"
    assert "does not offer LAG_RESOURCE_ALLOCATION (option parameters)" in node.findings()
