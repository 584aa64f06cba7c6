# SPDX-License-Identifier: Apache-2.0
"""From factory settings to the RDG's with one reboot, through the distribution's own mstconfig."""

import json

import pytest
from functional.nic_firmware.conftest import PF, Pair

WANTED = {
    "SRIOV_EN": "True(1)",
    "NUM_OF_VFS": "8",
    "NUM_VF_MSIX": "63",
    "LAG_RESOURCE_ALLOCATION": "PRE_ALLOCATION(1)",
    "ADVANCED_PCI_SETTINGS": "True(1)",
    "MAX_ACC_OUT_READ": "44",
    "ATS_ENABLED": "True(1)",
}


def current(pair: Pair) -> dict[str, str]:
    """The wanted parameters as they are active, by the charm's own action."""
    rows = json.loads(pair.firmware.action("query", {"format": "json"}).results["parameters"])
    return {
        row["parameter"]: row["current"] for row in rows if row["port"] == PF and row["parameter"] in WANTED
    }


@pytest.mark.thorough
def test_one_reboot_serves_both_charms_and_a_second_run_writes_nothing(pair: Pair) -> None:
    first = pair.firmware.start()
    assert not first.reboot_requested, "sriov-switchdev has not said yet what it needs"
    handed = json.loads(pair.guest.read("/run/ovn-offload/nic-firmware.json"))
    assert handed["reboot_owner"] == "nic-firmware"
    result = pair.sriov.start()
    assert "nic-firmware asks for it" in result.status[1]
    assert not pair.sriov.reboot_requested
    assert pair.soon(lambda: pair.firmware.reboot_requested), pair.firmware.known["status"]

    firmware, sriov = pair.start()
    assert current(pair) == WANTED
    assert pair.soon(lambda: pair.sriov.emit("update_status").status[0] == "active"), pair.sriov.known[
        "status"
    ]
    assert (firmware.reboot_requested, sriov.reboot_requested) == (False, False)
    again = pair.firmware.emit("config_changed")
    assert again.status == ("active", "")
    assert again.writes == []
    assert pair.firmware.action("verify").results["verified"] == "true"
    assert pair.firmware.action("plan").results["plan"] == "Nothing to do: everything is as declared."
    assert pair.guest.read("/sys/bus/pci/devices/0000:3b:00.0/sriov_numvfs") == "8\n"
