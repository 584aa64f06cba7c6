# SPDX-License-Identifier: Apache-2.0
"""Values that the firmware refuses for good, lacks, or cannot tell as it does not run: each with a remedy."""

import hashlib
from collections.abc import Callable

import pytest
from hostnic.download import PROGRAM
from hostnic.firmware.mstdatabase import Database
from hostnic.system import failure
from lab.modelled import FakeHost, card, tools
from lab.modelled.nic import mst
from lab.modelled.nic.flash import image
from unit.nic_firmware.images import NEW, flash
from unit.nic_firmware.node import PF0, Node, machine, nics, rdg

DENIED = "-E- Failed to set configuration: Access denied\n"
DEAD = "0000:5e:00.0"
"""The first port of a second NIC."""


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[list[str]], str | None]], None]:
    """Have mstconfig fail with what a function says of its arguments, where it says something."""

    def install(says: Callable[[list[str]], str | None]) -> None:
        def tool(host: FakeHost, argv: list[str]) -> str:
            if said := says(argv):
                raise failure(argv, 3, said, "")
            return mst.mstconfig(host, argv)

        monkeypatch.setitem(tools.TOOLS, ("mstconfig",), tool)

    return install


def sets(node: Node) -> list[str]:
    return [line for line in node.writes if "-y set" in line]


# A set that is refused.


@pytest.mark.parametrize(
    "said",
    [DENIED, "-E- Device doesn't support any configuration changes\n", "-E- Something new: code 0x17\n"],
)
def test_it_is_given_up_with_the_reason(node: Node, answering, said: str) -> None:
    answering(lambda argv: said if "set" in argv else None)
    node.deploy(reboot_policy="manual")
    for _ in range(3):
        status = node.emit("update_status")
    assert sets(node) == []
    assert status.name == "blocked"
    assert "the firmware has refused NUM_VF_MSIX=63 LAG_RESOURCE_ALLOCATION=1" in node.findings()
    assert f"to try again, on the host: mstconfig -d {PF0} set NUM_VF_MSIX=63" in node.findings()
    node.emit("update_status")
    assert node.writes == []


def test_another_value_is_tried_and_so_are_those_that_were_refused_with_the_old_one(
    node: Node, answering
) -> None:
    answering(lambda argv: "-E- Unknown value 63\n" if "NUM_VF_MSIX=63" in argv else None)
    node.deploy(reboot_policy="manual")
    for _ in range(3):
        node.emit("update_status")
    assert sets(node) == []
    node.configure(parameters="NUM_VF_MSIX=31").emit()
    assert (node.next_boot("NUM_VF_MSIX"), node.next_boot("NUM_OF_VFS")) == (31, 8)


def test_one_more_value_is_set_beside_those_that_were_refused(node: Node, answering) -> None:
    answering(lambda argv: DENIED if "NUM_VF_MSIX=63" in argv else None)
    node.deploy(reboot_policy="manual")
    for _ in range(3):
        node.emit("update_status")
    node.configure(parameters="ATS_ENABLED=1").emit()
    assert sets(node) == [f"run mstconfig -d {PF0} -y set ATS_ENABLED=1"]


@pytest.mark.parametrize(
    "said",
    [
        "-E- Failed to open the device\n",
        "-E- The semaphore is locked\n",
        "-E- Error when trying to check if NV access registers are supported\n",
    ],
)
def test_a_firmware_that_was_not_reached_is_asked_again(node: Node, answering, said: str) -> None:
    answering(lambda argv: said if "set" in argv else None)
    node.deploy(reboot_policy="manual")
    for _ in range(4):
        node.emit("update_status")
        assert sets(node)


def test_the_reboot_of_another_nic_does_not_wait_for_what_is_given_up(
    database: Database, monkeypatch: pytest.MonkeyPatch, answering
) -> None:
    node = Node(machine(cards=nics("3b", "5e")), database, monkeypatch)
    answering(lambda argv: DENIED if "set" in argv and PF0 in argv else None)
    node.deploy(reboot_policy="always", reboot_settle=0)
    for _ in range(3):
        node.emit("update_status")
    assert node.next_boot("NUM_OF_VFS", DEAD) == 8
    assert node.reboots_asked == 1


def test_a_hidden_parameter_is_not_tried_behind_a_gate_that_is_given_up(node: Node, answering) -> None:
    answering(lambda argv: DENIED if "ADVANCED_PCI_SETTINGS=1" in argv else None)
    node.deploy(reboot_policy="manual", profile="throughput")
    for _ in range(3):
        node.emit("update_status")
    node.configure(parameters="ATS_ENABLED=1").emit()
    assert node.next_boot("ATS_ENABLED") == 1
    assert node.wakes_in_a_minute is False
    assert "failed to set" not in node.log
    assert "the firmware has refused ADVANCED_PCI_SETTINGS=1" in node.findings()


# A parameter that is not there.


def test_a_hidden_parameter_that_the_firmware_lacks_fails_no_hook(node: Node) -> None:
    node.host.cards[0].lacks.add("MAX_ACC_OUT_READ")
    status = node.configure(profile="ovn-offload,throughput", reboot_policy="manual").set_up()
    assert "failed to set" not in node.log
    assert status.name != "blocked" or "approve-reboot" in status.message, status
    assert node.next_boot("ADVANCED_PCI_SETTINGS") == 1
    assert "the firmware does not offer MAX_ACC_OUT_READ (profile throughput)" in node.findings()
    node.emit("update_status")
    assert sets(node) == []


def test_a_hidden_parameter_that_is_named_and_lacking_blocks_from_the_next_look_on(node: Node) -> None:
    node.host.cards[0].lacks.add("MAX_ACC_OUT_READ")
    node.configure(parameters="ADVANCED_PCI_SETTINGS=1 MAX_ACC_OUT_READ=44", reboot_policy="manual")
    status = node.set_up()
    assert "failed to set" not in node.log
    assert status.name == "blocked"
    assert "does not offer MAX_ACC_OUT_READ (option parameters)" in node.log
    assert node.next_boot("NUM_OF_VFS") == 8


def test_similar_names_come_in_the_status(node: Node) -> None:
    status = node.deploy(parameters="NUM_VF_MSIXX=31", reboot_policy="manual")
    assert status.name == "blocked"
    assert status.message.startswith("write NUM_VF_MSIX instead of NUM_VF_MSIXX; ")


# NUM_OF_VFS by name.


@pytest.mark.parametrize(("given", "asked"), [(0, 8), (4, 8), (7, 8), (8, 9), (8, 16)])
def test_fewer_vfs_than_another_charm_needs_block(node: Node, given: int, asked: int) -> None:
    rdg(node.host, 8)
    node.hand_over("sriov-switchdev", owner="nic-firmware", vfs={PF0: asked})
    status = node.deploy(parameters=f"NUM_OF_VFS={given}", reboot_policy="manual")
    assert status.name == "blocked"
    what = f"NUM_OF_VFS={given} is fewer than the {asked} VFs that sriov-switchdev needs on 3b:00"
    assert what in node.findings()
    assert sets(node) == []
    assert node.next_boot("NUM_OF_VFS") == 8


@pytest.mark.parametrize("given", [0, 4])
def test_fewer_vfs_than_num_vfs_are_set_with_a_warning(node: Node, given: int) -> None:
    rdg(node.host, 8)
    node.deploy(parameters=f"NUM_OF_VFS={given}", reboot_policy="manual")
    assert f"NUM_OF_VFS={given} takes precedence over num-vfs, which is 8" in node.findings()
    assert node.next_boot("NUM_OF_VFS") == given


@pytest.mark.parametrize(("given", "asked"), [(8, 8), (9, 8), (16, 16)])
def test_enough_vfs_by_name_are_no_conflict(node: Node, given: int, asked: int) -> None:
    node.hand_over("sriov-switchdev", owner="nic-firmware", vfs={PF0: asked})
    node.deploy(parameters=f"NUM_OF_VFS={given}", reboot_policy="manual")
    assert "fewer" not in node.findings()
    assert "precedence" not in node.findings()
    assert node.next_boot("NUM_OF_VFS") == given


# A NIC in flash recovery.


@pytest.mark.parametrize("kind", ["0x020000\n", "0x020700\n", "0x058000\n"])
@pytest.mark.parametrize("devices", ["auto", f"{PF0} {DEAD}"])
def test_a_nic_in_flash_recovery_hides_no_reboot_and_holds_no_lock(
    database: Database, monkeypatch: pytest.MonkeyPatch, kind: str, devices: str
) -> None:
    dead = card("5e", ports=1, device="15b3:0212")
    dead.recovery_class, dead.ports[0].driver = kind, None
    node = Node(machine(cards=[card("3b"), dead]), database, monkeypatch)
    node.deploy(reboot_policy="manual", devices=devices)
    found = node.findings()
    assert "livefish mode (flash recovery)" in found
    assert f"mstflint -d {DEAD} -i IMAGE burn" in found
    assert "set for the next boot, and not active yet" in found
    assert "blocked" not in found
    assert not [line for line in node.host.spawned if DEAD in line]
    assert "approve-reboot" in node.state.unit_status.message
    node.configure(reboot_policy="always", reboot_settle=0).emit()
    assert node.reboots_asked == 1
    status = node.boot()
    assert status.name == "blocked"
    assert f"mstflint -d {DEAD} -i IMAGE burn" in node.log
    assert "the host verifies" not in node.findings()


def test_a_firmware_that_says_livefish_is_treated_alike(
    database: Database, monkeypatch: pytest.MonkeyPatch, answering
) -> None:
    node = Node(machine(cards=nics("3b", "5e")), database, monkeypatch)
    livefish = "-E- Device in Livefish mode is not supported\n"
    answering(lambda argv: livefish if DEAD in argv or "0000:5e:00.1" in argv else None)
    node.deploy(reboot_policy="always", reboot_settle=0)
    assert node.reboots_asked == 1
    status = node.boot()
    assert status.name == "blocked"
    assert f"mstflint -d {DEAD} -i IMAGE burn" in node.log
    assert "the host verifies" not in node.findings()


@pytest.mark.parametrize("devices", ["auto", PF0])
def test_a_host_whose_only_nic_is_in_flash_recovery_is_blocked(
    database: Database, monkeypatch: pytest.MonkeyPatch, devices: str
) -> None:
    dead = card("3b", ports=1, device="15b3:0212")
    dead.ports[0].driver = None
    node = Node(machine(cards=[dead]), database, monkeypatch)
    status = node.deploy(reboot_policy="manual", devices=devices)
    assert status.name == "blocked"
    assert f"mstflint -d {PF0} -i IMAGE burn" in node.log
    assert "livefish mode (flash recovery)" in node.findings()
    assert node.reboots_asked == 0
    assert "no Mellanox NIC" not in node.findings()


# A password in an address.


@pytest.mark.parametrize(
    "url",
    [
        "https://admin:s3cret@files.example/fw.zip",
        "https://s3cret@files.example/fw.zip",
        "http://admin:s3c/ret@files.example/fw.zip",
        "https://admin:p@s3cret@files.example/fw.zip",
        "admin:s3cret@files.example/fw.zip",
        "https://admin:s3cret @files.example/fw.zip",
    ],
)
def test_a_password_in_the_address_is_refused_and_not_shown(node: Node, url: str) -> None:
    status = node.deploy(firmware_url=url, firmware_sha256="0" * 64, reboot_policy="manual")
    assert status.name == "blocked"
    assert "firmware-url" in status.message
    assert not any(part in node.log + status.message for part in ("s3cret", "s3c", "admin"))
    if "://admin" in url and "/ret" not in url and " " not in url:
        assert "juju attach-resource nic-firmware firmware=FILE" in node.log


@pytest.mark.parametrize(
    "url",
    [
        "https://files.example/fw@22.zip",
        "http://192.0.2.7:8080/fw.zip?user=a@b",
        "https://[2001:db8::7]:8443/fw.zip",
        "https://files.example:443/",
    ],
)
def test_an_address_without_password_is_taken(node: Node, url: str) -> None:
    status = node.deploy(firmware_url=url, firmware_sha256="0" * 64, reboot_policy="manual")
    assert "firmware-url" not in status.message


# A token in the query of an address.

TOKEN = "X-Amz-Signature=5ecre7"


@pytest.mark.parametrize("served", [True, False], ids=["served", "missing"])
def test_a_token_in_the_address_reaches_no_command_and_no_message(node: Node, served: bool) -> None:
    url = f"https://files.example/fw.bin?X-Amz-Date=20260101&{TOKEN}"
    if served:
        node.host.flash.web[url] = image()
    digest = hashlib.sha256(image()).hexdigest()
    rdg(node.host)
    status = node.configure(firmware_url=url, firmware_sha256=digest, firmware_policy="auto").emit()
    assert any(PROGRAM in argv for argv in node.host.spawned)
    said = f"{node.host.spawned} {node.host.trace} {node.log} {status.message} {node.findings()}"
    assert TOKEN not in said
    assert "files.example" not in str(node.host.spawned)
    assert (flash(node)[0] == NEW) == served


@pytest.mark.parametrize(
    "url", ["ftp://files.example/fw?{}", "files.example/fw?{}", "https://files.example/a b?{}"]
)
def test_a_token_in_an_address_that_is_refused_is_not_shown(node: Node, url: str) -> None:
    status = node.deploy(firmware_url=url.format(TOKEN), firmware_sha256="0" * 64, reboot_policy="manual")
    assert (status.name, "option firmware-url" in status.message) == ("blocked", True)
    assert TOKEN not in node.log + status.message
