# SPDX-License-Identifier: Apache-2.0
"""mstflint is installed where it is missing, and its errors become sentences with a remedy."""

import sys
from types import ModuleType

import pytest
from hostnic.system import CommandError, failure
from lab.modelled import FakeHost
from unit.nic_firmware.node import PF0, Node

SAID = {
    "-E- Failed to open the device": "see the kernel log for this NIC",
    "-E- Error when trying to check if NV access registers are supported": "power-cycle the machine",
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
