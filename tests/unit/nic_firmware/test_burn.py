# SPDX-License-Identifier: Apache-2.0
"""Firmware images are fetched, checked and burned once; interrupted burns are completed."""

import hashlib
import json

import pytest
import record
from hostnic.firmware.mstdatabase import Database
from hostnic.system import failure
from lab.modelled.nic.flash import image
from ops import testing
from unit.nic_firmware.images import NEW, OLD, STAGES, flash, offer, spawned
from unit.nic_firmware.node import RESOURCE, Node, machine, nics, rdg


def test_the_action_burns_and_one_reboot_runs_it(node: Node) -> None:
    offer(node).emit()
    assert node.action("burn")["burned"] == f"burn firmware {NEW} into 3b:00"
    assert flash(node) == (NEW, "22.35.2000")
    log = node.context.action_logs
    assert any("verifying" in line for line in log)
    assert [line for line in log if "Writing Boot image component" in line][-1].endswith("100%")
    status = node.emit("update_status")
    assert status.name == "blocked"
    assert f"3b:00: firmware {NEW}" in status.message
    node.action("approve-reboot")
    node.emit("update_status")
    assert node.reboots_asked == 1
    assert node.boot().name == "active"
    assert flash(node) == (NEW, NEW)
    assert node.emit().name == "active"
    assert node.writes == []


def test_list_firmware_shows_board_versions_and_the_image_for_it(node: Node) -> None:
    offer(node).emit()
    row = {"nic": "0000:3b:00", "psid": "MT_0000000359", "running": "22.35.2000", "flash": "22.35.2000"}
    assert json.loads(node.action("list-firmware", format="json")["firmware"])[0] == {**row, "image": "-"}
    node.action("burn")
    assert json.loads(node.action("list-firmware", format="json")["firmware"])[0] == {
        **row,
        "flash": NEW,
        "image": NEW,
    }


def test_auto_burns_sets_parameters_and_needs_one_reboot_for_both(node: Node) -> None:
    offer(node, firmware_policy="auto", reboot_policy="always", parameters="ATS_ENABLED=1").emit()
    assert flash(node)[0] == NEW
    assert node.next_boot("ATS_ENABLED") == 1
    assert node.reboots_asked == 1
    assert node.boot().name == "active"
    assert node.reboots_asked == 1
    assert node.emit().name == "active"
    assert node.writes == []
    assert not spawned(node, "-c")


@pytest.mark.parametrize("policy", ["action", "auto"])
def test_an_image_without_parameters_also_gets_its_reboot(node: Node, policy: str) -> None:
    offer(node, firmware_policy=policy, reboot_policy="always", profile="").emit()
    if policy == "action":
        node.action("burn")
        node.emit("update_status")
    assert flash(node)[0] == NEW
    assert node.reboots_asked == 1
    assert node.boot().name == "active"


def test_each_nic_is_reset_right_after_its_own_burn(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(machine(bonded=False, cards=nics("3b", "5e", "86")), database, monkeypatch)
    node.host.cards[0].psid = "MT_0000000547"  # there is no image for this NIC
    offer(node, firmware_policy="auto", activation="reset", parameters="ATS_ENABLED=1").emit()
    done = [line.partition(": ")[0] for line in node.log.splitlines() if ": " in line]
    assert [line for line in done if line.startswith(("burn", "reset"))] == [
        "reset 3b:00 to activate ATS_ENABLED",
        f"burn firmware {NEW} into 5e:00",
        f"reset 5e:00 to activate ATS_ENABLED, firmware {NEW}",
        f"burn firmware {NEW} into 86:00",
        f"reset 86:00 to activate ATS_ENABLED, firmware {NEW}",
    ]


def test_the_plan_shows_the_burn_and_fetches_nothing(node: Node) -> None:
    offer(node, firmware_policy="auto")
    node.action("plan")
    assert node.writes == []
    node.host.flash.breaks = "-E- Burning FS4 image failed: flash is write protected\n"
    assert node.emit().name == "blocked"
    plan = json.loads(node.action("plan", format="json")["plan"])
    assert [step["what"] for step in plan["steps"]] == [f"burn firmware {NEW} into 3b:00"]
    assert "firmware 22.39.1002" in plan["held"][0]["what"]


def test_the_resource_works_like_the_url(node: Node) -> None:
    rdg(node.host)
    node.host.disk.install(RESOURCE, image(), 0o600)
    node.emit()
    assert node.action("burn")["burned"] == f"burn firmware {NEW} into 3b:00"


@pytest.mark.parametrize("digest", ["", hashlib.sha256(image()).hexdigest()], ids=["any", "another"])
def test_an_empty_resource_counts_as_none(node: Node, digest: str) -> None:
    """Charmhub wants a revision of every resource, so that a charm without firmware has an empty one."""
    rdg(node.host)
    without = node.configure(firmware_policy="auto", firmware_sha256=digest).emit()
    node.host.disk.install(RESOURCE, b"", 0o600)
    assert node.emit() == without
    assert without.name == "active"
    assert "there is no image" in node.failure("burn")


def test_a_zip_gives_each_nic_the_image_for_its_psid(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(machine(cards=nics("3b", "5e")), database, monkeypatch)
    node.host.cards[1].psid = "MT_0000000547"
    archive = b"PK\n" + image() + b"\n" + image("MT_0000000547", "26.39.1002")
    offer(node, archive).emit()
    node.action("burn")
    assert flash(node, 0)[0] == NEW
    assert flash(node, 1)[0] == "26.39.1002"


def test_two_images_for_one_psid_are_refused(node: Node) -> None:
    offer(node, b"PK\n" + image() + b"\n" + image(version=OLD)).emit()
    assert "more than one image for MT_0000000359" in node.failure("burn")


def test_the_same_version_is_not_burned_again(node: Node) -> None:
    offer(node, image(version="22.35.2000")).emit()
    assert node.action("burn")["burned"] == "nothing: flash has this version"
    assert not spawned(node, "systemd-run")


def test_a_failed_reset_is_no_reason_to_burn_again(node: Node) -> None:
    offer(node, firmware_policy="auto", reboot_policy="always").emit()
    node.host.cards[0].stuck = True
    status = node.boot()
    assert status.name == "blocked"
    assert (
        f"a restart of the host did not help: firmware {NEW} is in flash, but 22.35.2000 runs"
        in node.findings()
    )
    for _ in range(3):
        node.emit()
        assert node.host.flash.begun == [NEW]
    assert node.reboots_asked == 1


def silence(node: Node, *bdf: str) -> None:
    said = "-E- Cannot open Device: 0000:3b:00.0. Failed to lock flash semaphore\n"
    node.host.answers[("mstflint", "-d", *bdf)] = failure(["mstflint"], 1, said, "")


def test_under_auto_a_flash_that_does_not_answer_does_not_stop_the_burn_of_another_nic(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(machine(cards=nics("3b", "5e")), database, monkeypatch)
    silence(node, "0000:3b:00.0")
    status = offer(node, firmware_policy="auto", parameters="ATS_ENABLED=1").emit()
    assert flash(node, 0)[0] == "22.35.2000"
    assert flash(node, 1)[0] == NEW
    assert node.next_boot("ATS_ENABLED") == 1
    assert status.name == "blocked"
    (finding,) = [line for line in node.findings().splitlines() if "no image is burned" in line]
    assert "mstflint: another tool holds the NIC's semaphore; retried at the next hook" in finding
    assert node.action("verify")["verified"] == "false"


def test_a_burned_image_still_needs_its_reboot_while_flash_cannot_be_read(node: Node) -> None:
    offer(node).emit()
    node.action("burn")
    node.emit("update_status")
    node.action("approve-reboot")
    silence(node)
    node.emit("update_status")
    assert "cannot tell whether the burned firmware 22.39.1002 runs: mstflint" in node.findings()
    assert node.reboots_asked == 1


def test_a_reboot_that_did_not_help_is_remembered_while_flash_cannot_be_read(node: Node) -> None:
    offer(node, firmware_policy="auto", reboot_policy="always").emit()
    node.host.cards[0].stuck = True
    node.boot()
    silence(node)
    node.configure(firmware_policy="action").emit()
    del node.host.answers[("mstflint", "-d")]
    assert node.emit().name == "blocked"
    assert "a restart of the host did not help" in node.findings()
    assert node.reboots_asked == 1


def test_an_older_image_needs_allow_older(node: Node) -> None:
    offer(node, image(version=OLD), firmware_policy="auto").emit()
    assert flash(node)[0] == "22.35.2000"
    assert "flash has 22.35.2000, newer than the image's 22.31.1014" in node.findings()
    assert "newer than the image's" in node.failure("burn")
    assert "to burn the older one, run action burn with allow-older=true" in node.findings()
    node.action("burn", allow_older=True)
    assert flash(node)[0] == OLD


def test_an_oem_nic_is_reported_with_its_vendor(node: Node) -> None:
    node.host.cards[0].psid = "DEL0000000015"
    offer(node, firmware_policy="auto").emit()
    said = "the image is for MT_0000000359, the NIC is DEL0000000015, a NIC of Dell"
    assert said in node.findings()
    assert said in node.failure("burn")
    assert flash(node) == ("22.35.2000", "22.35.2000")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (image(damaged=True), "FW image verification failed: Bad CRC"),
        (b"<html>login</html>", "is in the right format"),
        (b"PK\n", "the archive has no .bin file"),
        (b"", "is in the right format"),
    ],
)
def test_a_file_that_is_not_an_image_is_not_burned(node: Node, content: bytes, says: str) -> None:
    offer(node, content).emit()
    assert says in node.failure("burn")
    assert not spawned(node, "systemd-run")
    assert flash(node)[0] == "22.35.2000"


def test_another_digest_is_refused(node: Node) -> None:
    offer(node, **{"firmware-sha256": "0" * 64}).emit()
    assert f"not {'0' * 64}; see options firmware-url" in node.failure("burn")


def test_an_image_that_cannot_be_fetched_blocks_under_auto(node: Node) -> None:
    offer(node, firmware_policy="auto")
    node.host.flash.web.clear()
    assert node.emit().name == "blocked"
    assert "HTTP Error 404: Not Found" in node.log
    assert "see options firmware-url" in node.log


def test_firmware_policy_never_refuses_the_action(node: Node) -> None:
    offer(node, firmware_policy="never").emit()
    assert node.failure("burn") == "option firmware-policy is never: set it to action or auto"


def test_no_image_at_all(node: Node) -> None:
    assert "there is no image" in node.failure("burn")


@pytest.mark.parametrize(
    "said",
    [
        f"{STAGES}-E- Burning FS4 image failed: GENERAL ERROR\n",
        "\rFSMST_INITIALIZE - [..   ]\n-E- Burning FS4 image failed: Unexpected state\n",
        "-E- Burning FS4 image failed: Flash write failed: mfe_error\n",
        "-E- Burning FS4 image failed: Error while erasing the flash\n",
        "",
    ],
)
def test_a_burn_that_fails_is_reported_and_tried_again(node: Node, said: str) -> None:
    offer(node).emit()
    node.configure(parameters="ATS_ENABLED=1", reboot_policy="always")
    node.host.flash.breaks = said or "\n"
    assert said.rpartition("-E-")[2].strip() in node.failure("burn")
    assert node.emit().name == "blocked"
    assert f"the burn of firmware {NEW} did not come to its end" in node.findings()
    assert node.reboots_asked == 0, "not while a burn may go on"
    node.action("burn")
    assert flash(node)[0] == NEW
    node.emit("update_status")
    assert node.reboots_asked == 1
    assert "did not come to its end" not in node.findings()


REFUSALS = [
    "-E- PSID mismatch. The PSID on flash (MT_0000000359) differs from the PSID in the given image (X).\n",
    "-E- Cannot open Device: 0000:3b:00.0. Failed to lock flash semaphore\n",
    "\rFSMST_INITIALIZE - [..   ]\n-E- Burning FS4 image failed: Flash is write protected\n",
    f"{STAGES}-E- Burning FS4 image failed: The firmware image is not secured\n",
    f"{STAGES}-E- Burning FS4 image failed: Rejected authentication\n",
]


@pytest.mark.parametrize("said", REFUSALS)
@pytest.mark.parametrize("policy", ["action", "auto"])
def test_no_reboot_waits_for_a_refused_image(node: Node, said: str, policy: str) -> None:
    offer(node, firmware_policy=policy, parameters="ATS_ENABLED=1", reboot_policy="always")
    node.host.flash.breaks = said
    if policy == "action":
        node.failure("burn")
    node.emit()
    assert flash(node)[0] == "22.35.2000"
    assert "did not come to its end" not in node.findings()
    assert node.reboots_asked == 1
    assert node.next_boot("ATS_ENABLED") == 1


def test_a_refused_image_alone_needs_no_reboot(node: Node) -> None:
    offer(node, firmware_policy="auto", reboot_policy="always")
    node.host.flash.breaks = REFUSALS[0]
    assert node.emit().name == "blocked"
    assert "PSID mismatch" in node.log
    assert node.reboots_asked == 0


def test_a_refusal_does_not_clear_an_interrupted_burn(node: Node) -> None:
    offer(node).emit()
    node.host.flash.breaks = f"{STAGES}-E- Burning FS4 image failed: GENERAL ERROR\n"
    node.failure("burn")
    node.host.flash.breaks = REFUSALS[0]
    node.failure("burn")
    assert f"the burn of firmware {NEW} did not come to its end" in node.findings()


def test_a_failed_unit_of_an_earlier_burn_does_not_prevent_the_next_one(node: Node) -> None:
    offer(node).emit()
    node.host.flash.breaks = f"{STAGES}-E- Burning FS4 image failed: GENERAL ERROR\n"
    node.host.fail("run", "systemctl stop", OSError(4, "Interrupted system call"))
    node.failure("burn")
    node.action("burn")
    assert flash(node)[0] == NEW


def test_the_burn_of_a_nic_that_is_gone_is_forgotten(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(machine(cards=nics("3b", "5e")), database, monkeypatch)
    offer(node).emit()
    node.host.flash.breaks = f"{STAGES}-E- Burning FS4 image failed: GENERAL ERROR\n"
    assert "GENERAL ERROR" in node.failure("burn", devices="0000:5e:00.0")
    node.host.fail("read", "0000:5e:00.0/vendor", OSError(5, "Input/output error"))
    assert node.emit().name == "blocked", "it may be readable again"
    for port in node.host.cards[1].ports:
        port.gone = True
    assert node.emit().name == "active"
    assert record.read(node.host).burns == {}
    assert [each.tries for each in record.read(node.host).attempts["0000:5e:00"].values()] == [1]


def test_a_burn_that_loses_power_is_reported_and_completed(node: Node) -> None:
    offer(node).emit()
    node.host.fail("run", "systemctl show", OSError(4, "Interrupted system call"), skip=3)
    with pytest.raises(testing.ActionFailed):
        node.action("burn")
    node.host.flash.burns.clear()
    node.boot()
    assert flash(node)[0] == "22.35.2000", "the other image of the flash is whole"
    assert (
        f"the burn of firmware {NEW} did not come to its end; flash still has a bootable image"
        in node.findings()
    )
    node.action("burn")
    assert flash(node)[0] == NEW


def test_hooks_read_no_flash_without_an_image_or_a_burn(node: Node) -> None:
    rdg(node.host)
    node.emit()
    assert not [argv for argv in node.host.spawned if argv[0] == "mstflint"]
