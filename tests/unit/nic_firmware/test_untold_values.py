# SPDX-License-Identifier: Apache-2.0
"""Parameters whose values the firmware does not tell, or lets nobody change."""

from collections.abc import Sequence

import pytest
from hostnic.firmware.mstconfig import NO_CURRENT
from hostnic.firmware.mstdatabase import Database
from lab.modelled import FakeHost
from unit.nic_firmware.node import Node, machine, rdg


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
