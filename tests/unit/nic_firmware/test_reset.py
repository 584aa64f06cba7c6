# SPDX-License-Identifier: Apache-2.0
"""A reset that fails and leaves the NIC unusable: the reboot that brings it back is requested, once."""

import json
from collections.abc import Callable

import pytest
import record
from hostnic.firmware.mstdatabase import Database
from hostnic.system import CommandError, failure
from lab.modelled import FakeHost, tools
from lab.modelled.nic import flash, mst
from unit.nic_firmware.images import NEW, offer
from unit.nic_firmware.node import PF0, PF1, Node, machine, nics

SAID = "-E- Device is not supported to save/load pci configurations\n"
OTHER = "0000:5e:00.0"
LOST = "3b:00: unusable since its reset failed"


class Breaking:
    """The first NIC as a reset leaves it that does not succeed: until the host boots, or for good."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.how, self.code, self.for_good, self.applies = "mute", 1, False, False
        self.resets, self.broken = list[str](), ""
        monkeypatch.setitem(tools.TOOLS, ("mstfwreset",), self.reset)
        monkeypatch.setitem(tools.TOOLS, ("mstconfig",), self.unless_mute(mst.mstconfig))
        monkeypatch.setitem(tools.TOOLS, ("mstflint",), self.unless_mute(flash.mstflint))

    def reset(self, host: FakeHost, argv: list[str]) -> str:
        self.resets.append(argv[argv.index("-d") + 1])
        if self.resets[-1] != PF0 or not self.how:
            return mst.mstfwreset(host, argv)
        self.broken = host.boot_id
        ports = host.cards[0].ports
        if self.applies:
            host.cards[0].apply()
        for port in {"gone": ports, "one port gone": ports[1:]}.get(self.how, []):
            port.gone = True
        for port in ports if self.how == "no driver" else []:
            port.driver = None
        if self.how == "killed":
            raise KeyboardInterrupt
        if self.code is None:
            raise CommandError(argv, "mstfwreset took longer than 300 s")
        if self.code:
            raise failure(argv, self.code, SAID, "")
        return "-I- FW was loaded successfully.\n"

    def unless_mute(self, tool: Callable[[FakeHost, list[str]], str]) -> Callable[[FakeHost, list[str]], str]:
        def answer(host: FakeHost, argv: list[str]) -> str:
            mute = (
                self.how in ("mute", "killed")
                and self.broken
                and (self.for_good or host.boot_id == self.broken)
            )
            if mute and any(word in (PF0, PF1) for word in argv):
                raise failure(argv, 3, "-E- Failed to open the device\n", "")
            return tool(host, argv)

        return answer


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> Breaking:
    return Breaking(monkeypatch)


@pytest.fixture
def node(breaking: Breaking, database: Database, monkeypatch: pytest.MonkeyPatch) -> Node:
    """A unit that resets its NIC in place, which nothing uses."""
    return Node(machine(bonded=False), database, monkeypatch)


def reboot(node: Node, *, back: bool = True) -> str:
    """The host boots, which brings the NIC's ports back unless they are dead; the status after it."""
    for port in node.host.cards[0].ports:
        port.gone = port.gone and not back
    return node.boot().name


WAYS = ("mute", "gone", "one port gone", "no driver")


@pytest.mark.parametrize("code", [1, 0, None])
@pytest.mark.parametrize("how", WAYS)
def test_the_reboot_that_brings_the_nic_back_is_requested_once(
    node: Node, breaking: Breaking, how: str, code: int | None
) -> None:
    breaking.how, breaking.code = how, code
    node.deploy(activation="reset", reboot_policy="always", reboot_settle=0)
    assert node.reboots_asked == 1
    assert reboot(node) == "active"
    assert breaking.resets == [PF0]
    node.emit("update_status")
    assert node.reboots_asked == 1
    assert not node.host.disk.exists(record.PATH)


@pytest.mark.parametrize("how", WAYS)
def test_a_nic_that_is_unusable_with_the_right_values_gets_its_reboot_too(
    node: Node, breaking: Breaking, how: str
) -> None:
    breaking.how, breaking.applies = how, True
    node.deploy(activation="reset", reboot_policy="always", reboot_settle=0)
    assert node.reboots_asked == 1
    assert reboot(node) == "active"
    assert not node.host.disk.exists(record.PATH)


@pytest.mark.parametrize("how", ["mute", "gone"])
def test_under_manual_the_status_names_the_approval(node: Node, breaking: Breaking, how: str) -> None:
    breaking.how = how
    node.deploy(activation="reset", reboot_settle=0)
    status = node.emit("update_status")
    assert "run: juju run nic-firmware/leader approve-reboot; reboot: needed for 3b:00: u" in status.message
    assert "bring back 3b:00" in node.action("plan")["plan"]
    assert "a reboot of the host brings it back" in node.findings()
    assert node.reboots_asked == 0
    node.action("approve-reboot")
    node.emit("update_status")
    assert node.reboots_asked == 1
    assert reboot(node) == "active"


@pytest.mark.parametrize("how", ["mute", "gone"])
def test_the_request_is_handed_to_the_charm_that_owns_reboots(
    node: Node, breaking: Breaking, how: str
) -> None:
    breaking.how = how
    node.hand_over("sriov-switchdev", owner="sriov-switchdev")
    node.deploy(activation="reset", reboot_owner="sriov-switchdev")
    given = json.loads(node.host.files.read("/run/ovn-offload/nic-firmware.json"))
    assert given["reboot"]["reasons"] == [LOST]
    assert given["reboot"]["ready"] is True
    assert node.reboots_asked == 0


@pytest.mark.parametrize("how", ["mute", "gone"])
def test_a_reboot_that_does_not_bring_the_nic_back_is_the_last_one(
    node: Node, breaking: Breaking, how: str
) -> None:
    breaking.how, breaking.for_good = how, True
    node.deploy(activation="reset", reboot_policy="always", reboot_settle=0)
    for _ in range(2):
        assert reboot(node, back=False) == "blocked"
        node.emit("update_status")
        assert "a reboot did not bring it back" in node.findings()
    assert node.reboots_asked == 1


def test_a_nic_that_was_taken_out_is_forgotten_once_the_others_are_named(
    breaking: Breaking, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(machine(cards=nics("3b", "5e"), bonded=False), database, monkeypatch)
    breaking.how = "gone"
    node.deploy(activation="reset", reboot_policy="always", reboot_settle=0)
    assert reboot(node, back=False) == "blocked"
    assert node.configure(devices=OTHER).emit().name == "active"
    assert not node.host.disk.exists(record.PATH)


@pytest.mark.parametrize("how", ["mute", "gone"])
def test_a_nic_whose_every_reset_fails_gets_no_second_one_if_the_reboot_applies_nothing(
    node: Node, breaking: Breaking, how: str
) -> None:
    breaking.how = how
    node.host.cards[0].stuck = True
    node.host.mstconfig_version = "4.33"  # which promises nothing about the reboot
    node.deploy(activation="reset", reboot_policy="always", reboot_settle=0)
    for _ in range(3):
        assert reboot(node) == "blocked"
        node.emit("update_status")
    assert "a restart of the host did not apply it: " in node.findings()
    assert breaking.resets == [PF0]
    assert node.reboots_asked == 1


@pytest.mark.parametrize("how", WAYS)
def test_the_other_nic_of_the_host_needs_no_reset_before_the_reboot(
    breaking: Breaking, database: Database, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    node = Node(machine(cards=nics("3b", "5e"), bonded=False), database, monkeypatch)
    breaking.how = how
    node.deploy(activation="reset", reboot_policy="always", reboot_settle=0)
    assert node.reboots_asked == 1
    assert reboot(node) == "active"
    assert node.host.cards[1].settings["NUM_VF_MSIX"].current == 63


def test_a_hook_that_is_killed_during_the_reset_leaves_its_note(node: Node, breaking: Breaking) -> None:
    breaking.how = "killed"
    node.configure(activation="reset", reboot_policy="always", reboot_settle=0)
    with pytest.raises(BaseException):  # noqa: B017, PT011 - ops.testing wraps it or not
        node.emit()
    node.emit("update_status")
    assert node.reboots_asked == 1
    assert breaking.resets == [PF0]


def test_a_reset_that_does_not_start_the_burned_firmware_has_failed(node: Node, breaking: Breaking) -> None:
    offer(node, firmware_policy="auto", activation="reset", profile="")
    breaking.how = "nothing"
    breaking.code = 0
    node.emit()
    assert f"the reset did not start firmware {NEW}: 22.35.2000 runs" in node.log
    node.emit("update_status")
    assert breaking.resets == [PF0]
    assert "no reset: one has already failed in this boot" in node.action("plan")["plan"]


def test_a_reset_that_is_refused_and_leaves_the_nic_as_it_was_revives_nothing(
    node: Node, breaking: Breaking
) -> None:
    breaking.how = "nothing"
    node.deploy(activation="reset")
    assert LOST not in node.findings()
    assert "bring back" not in node.action("plan")["plan"]


def test_an_action_on_a_mute_nic_is_refused(node: Node) -> None:
    node.deploy(activation="reset")
    assert "Failed to open the device" in node.failure("set-parameters", parameters="CNP_DSCP_P1=26")
