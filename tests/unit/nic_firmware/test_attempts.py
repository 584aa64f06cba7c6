# SPDX-License-Identifier: Apache-2.0
"""Burns that fail or are interrupted: which version is burned again, how often, and what the status says."""

import contextlib
import hashlib

import pytest
import record
from converge import StepError
from hostnic.firmware.mstdatabase import Database
from hostnic.firmware.mstflint import Image
from hostnic.system import failure
from lab.modelled.nic.flash import image
from nic.changes import Burn
from ops import testing
from record import Record
from unit.nic_firmware.images import NEW, OLD, STAGES, flash, offer
from unit.nic_firmware.node import PF0, Node, machine, nics

DIGEST = hashlib.sha256(image()).hexdigest()

SLOT = "0000:3b:00"
RUNS = "22.35.2000"
NEWER = "22.41.1000"
FAILED = f"{STAGES}-E- Burning FS4 image failed: Flash write failed\n"
REFUSED = f"{STAGES}-E- Burning FS4 image failed: Rejected authentication\n"
INDEX = "/var/lib/ovn-offload/firmware"


class PowerCut(Exception):
    """Nothing catches it: the process ends where it stands."""


def interrupt(node: Node, event: str = "config_changed") -> None:
    """A hook that is killed while its burn is at work; the burn itself goes on."""
    node.host.fail("run", "systemctl show", PowerCut(), skip=3)
    with pytest.raises(testing.errors.UncaughtCharmError):
        node.emit(event)


def cut_power(node: Node) -> None:
    """The machine starts again; a unit of systemd's does not outlive that."""
    node.host.faults.clear()
    node.host.flash.burns.clear()
    node.host.reboot()


def attempts(node: Node, slot: str = SLOT) -> list[tuple[str, int]]:
    """Versions, and how often a burn of them was begun without success."""
    found = record.read(node.host).attempts.get(slot, {}).values()
    return [(each.version, each.tries) for each in found]


# Which version is burned again.


def test_auto_burns_no_older_image_after_an_interrupted_burn(node: Node) -> None:
    offer(node, firmware_policy="auto")
    interrupt(node)
    cut_power(node)
    assert offer(node, image(version=OLD)).emit("start").name == "blocked"
    assert node.host.flash.begun == [NEW]
    assert flash(node) == (RUNS, RUNS)
    assert f"the burn of firmware {NEW} did not come to its end" in node.findings()
    assert f"flash has {RUNS}, newer than the image's {OLD}" in node.findings()
    assert f"flash has {RUNS}, newer than the image's {OLD}" in node.failure("burn")
    assert node.host.flash.begun == [NEW]


def test_auto_does_not_burn_the_version_in_flash_after_an_interrupted_burn_of_another(node: Node) -> None:
    offer(node, firmware_policy="auto")
    interrupt(node)
    cut_power(node)
    offer(node, image(version=RUNS)).emit("start")
    assert node.host.flash.begun == [NEW]
    assert node.action("burn")["burned"] == f"burn firmware {RUNS} into 3b:00"
    assert node.emit().name == "active", "the operator has a way out that keeps this version"
    assert record.read(node.host).burns == {}


def test_auto_completes_an_interrupted_burn_even_of_an_older_version(node: Node) -> None:
    offer(node, image(version=OLD)).emit()
    node.host.fail("run", "systemctl show", PowerCut(), skip=3)
    with pytest.raises(testing.errors.UncaughtCharmError):
        node.action("burn", allow_older=True)
    cut_power(node)
    node.configure(firmware_policy="auto").emit("start")
    assert node.host.flash.begun == [OLD, OLD]
    assert flash(node)[0] == OLD


# How often.


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (FAILED, "mstflint: Burning FS4 image failed: Flash write failed"),
        (REFUSED, "mstflint: Burning FS4 image failed: Rejected authentication"),
    ],
)
def test_after_two_failed_burns_the_unit_is_blocked_and_gives_the_reason(
    node: Node, said: str, why: str
) -> None:
    offer(node, firmware_policy="auto")
    for _ in range(4):
        node.host.flash.breaks = said
        status = node.emit("update_status")
    assert node.host.flash.begun == [NEW, NEW]
    assert status.name == "blocked"
    assert f"3b:00: 2 burns of firmware {NEW} did not succeed, the last one: mstflint" in node.log
    assert f"2 burns of firmware {NEW} did not succeed, the last one: {why}" in node.findings()
    assert "run action burn, or attach another image" in node.findings()
    assert node.action("verify")["verified"] == "false"
    assert node.boot().name == "blocked"
    assert node.emit().name == "blocked"
    assert node.host.flash.begun == [NEW, NEW], "a reboot does not start the count anew"


def test_a_burn_that_leaves_the_old_version_in_flash_is_tried_twice(node: Node) -> None:
    offer(node, firmware_policy="auto", reboot_policy="always")
    node.host.flash.in_vain = True
    for _ in range(4):
        status = node.emit("update_status")
    assert node.host.flash.begun == [NEW, NEW]
    assert status.name == "blocked"
    assert f"the last one: flash of {PF0} has {RUNS} after the burn of {NEW}" in node.findings()
    assert node.reboots_asked == 0, "nothing in flash waits for one"


def test_the_action_names_the_version_in_flash_after_a_burn_without_effect(node: Node) -> None:
    offer(node).emit()
    node.host.flash.in_vain = True
    assert f"flash of {PF0} has {RUNS} after the burn of {NEW}" in node.failure("burn")
    assert node.emit().name == "blocked"
    assert f"did not come to its end (flash of {PF0} has {RUNS}" in node.findings()


def test_the_action_resets_the_count(node: Node) -> None:
    offer(node, firmware_policy="auto")
    for _ in range(3):
        node.host.flash.breaks = FAILED
        node.emit()
    assert "Flash write failed" in node.failure("burn")
    assert attempts(node) == [(NEW, 1)]
    node.host.flash.breaks = FAILED
    node.emit()
    node.emit()
    assert len(node.host.flash.begun) == 4
    assert attempts(node) == [(NEW, 2)]
    assert node.action("burn")["burned"] == f"burn firmware {NEW} into 3b:00"
    assert flash(node)[0] == NEW
    assert attempts(node) == []
    assert "did not succeed" not in node.findings()


def test_each_image_has_its_own_count(node: Node) -> None:
    offer(node, firmware_policy="auto")
    for version in (NEW, NEWER, NEW):
        offer(node, image(version=version))
        for _ in range(3):
            node.host.flash.breaks = FAILED
            node.emit()
        node.host.flash.breaks = ""
    assert node.host.flash.begun == [NEW, NEW, NEWER, NEWER]
    offer(node, b"PK\n" + image() + b"\n" + image("MT_0000000547", "26.39.1002")).emit()
    assert node.host.flash.begun == [NEW, NEW, NEWER, NEWER], "the same image in another archive"


def test_failed_burns_of_one_nic_do_not_stop_the_burns_of_others(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(machine(cards=nics("3b", "5e")), database, monkeypatch)
    offer(node, firmware_policy="auto")
    for _ in range(2):
        node.host.flash.breaks = FAILED
        node.emit()
    assert node.emit().name == "blocked"
    assert (flash(node, 0)[0], flash(node, 1)[0]) == (RUNS, NEW)
    assert attempts(node) == [(NEW, 2)]
    assert attempts(node, "0000:5e:00") == []


def test_failed_burns_are_not_reported_once_flash_has_that_version_or_a_newer_one(node: Node) -> None:
    offer(node, firmware_policy="auto")
    for _ in range(2):
        node.host.flash.breaks = REFUSED
        node.emit()
    node.host.cards[0].flash = NEWER
    node.boot()
    assert "did not succeed" not in node.findings()
    assert f"flash has {NEWER}, newer than the image's {NEW}" in node.findings()


def test_a_burn_that_systemd_did_not_start_does_not_count(node: Node) -> None:
    offer(node, firmware_policy="auto")
    said = failure(["systemd-run"], 1, "", "Failed to connect to bus: No such file or directory\n")
    node.host.fail("run", "systemd-run", said, times=3)
    for _ in range(3):
        assert node.emit().name == "blocked"
        assert "Failed to connect to bus" in node.log
    assert record.read(node.host) == Record()
    node.emit()
    assert flash(node)[0] == NEW


# A hook that is killed, and power that is lost.


def test_a_burn_whose_hook_was_killed_is_followed_and_counts_once(node: Node) -> None:
    offer(node, firmware_policy="auto")
    node.host.flash.breaks = FAILED
    node.emit()
    interrupt(node)
    assert attempts(node) == [(NEW, 2)]
    node.emit()
    assert node.host.flash.begun == [NEW, NEW], "followed, not begun"
    assert flash(node)[0] == NEW
    assert "did not succeed" not in node.findings()
    assert "did not come to its end" not in node.findings()


def test_a_burn_of_another_image_under_way_is_followed_and_does_not_count_for_this_one(
    node: Node,
) -> None:
    offer(node, firmware_policy="auto")
    interrupt(node)
    offer(node, image(version=NEWER)).emit()
    assert flash(node)[0] == NEW
    assert attempts(node) == []
    node.emit()
    assert node.host.flash.begun == [NEW, NEWER]
    assert flash(node)[0] == NEWER


def test_a_burn_is_counted_before_it_begins(node: Node) -> None:
    offer(node, firmware_policy="auto").emit()
    lines = [line for line in node.writes if "nic-firmware.json" in line or "systemd-run" in line]
    assert lines[0] == f"install {record.PATH}"
    assert lines[1].startswith("run systemd-run")


def test_after_two_power_cuts_only_the_operator_starts_a_third_burn(node: Node) -> None:
    offer(node, firmware_policy="auto")
    for event in ("config_changed", "start"):
        interrupt(node, event)
        cut_power(node)
    assert node.emit("start").name == "blocked"
    assert node.host.flash.begun == [NEW, NEW]
    assert f"2 burns of firmware {NEW} did not succeed, the last one: it was interrupted" in node.findings()
    node.action("burn")
    assert flash(node)[0] == NEW


@pytest.mark.parametrize("call", range(16))
def test_a_power_cut_at_any_call_allows_no_third_burn(node: Node, call: int) -> None:
    offer(node).set_up()
    node.configure(firmware_policy="auto")
    node.host.flash.in_vain = True
    for _ in range(4):
        for verb in ("install", "remove", "run"):
            node.host.fail(verb, "", PowerCut(), skip=call)
        with contextlib.suppress(testing.errors.UncaughtCharmError):
            node.emit("start")
        cut_power(node)
    for _ in range(3):
        assert node.emit("update_status").name == "blocked"
    assert len(node.host.flash.begun) <= 2
    assert f"2 burns of firmware {NEW} did not succeed" in node.findings()


# The step itself.


def test_the_operation_refuses_an_image_for_another_board(node: Node) -> None:
    node.host.disk.install("/tmp/fw.bin", image("DEL0000000015"), 0o600)
    burn = Burn(SLOT, PF0, Image("/tmp/fw.bin", "DEL0000000015", NEW, "d"))
    with pytest.raises(
        StepError, match="the image is for DEL0000000015, the NIC is MT_0000000359"
    ) as refused:
        burn.run(node.host)
    assert refused.value.remedy == "attach the image of the NIC's own vendor"
    assert node.host.flash.begun == []
    assert record.read(node.host) == Record()
