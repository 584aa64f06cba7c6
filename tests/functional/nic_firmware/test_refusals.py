# SPDX-License-Identifier: Apache-2.0
"""The real tool's refusals, and a NIC in trouble: each is one sentence, and nothing is half done."""

import re

import pytest
from functional.nic_firmware.conftest import PF, Pair, firmware_writes

FAULTS = "/sys/kernel/debug/vcx"


@pytest.fixture
def alone(pair: Pair) -> Pair:
    """nic-firmware alone: no reboot waits for anybody."""
    pair.guest.run("rm -r /var/lib/juju/agents/unit-sriov-switchdev-0")
    return pair


def offline(parameters: str, says: str) -> object:
    """Unit tests show these with the same database and the tool's own output; here they run at night."""
    return pytest.param(parameters, says, marks=pytest.mark.thorough)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        offline("NUM_VF_MSIX=2000", "'2000' is not allowed; it takes a whole number from 0 to 1023"),
        offline("LINK_TYPE_P1=fast", "'fast' is not allowed; it takes IB (1), ETH (2)"),
        ("NUM_OF_VFS=1000", "larger than maximum allowed 127"),
        offline("NUM_OF_VFS=65 NUM_VF_MSIX=63", "Illegal constraint"),
        offline("NUM_OF_VF=8", "mstflint's database has no NUM_OF_VF; similar names: NUM_OF_VFS"),
        offline("INTERNAL_CPU_OFFLOAD_ENGINE=1", "the firmware does not offer INTERNAL_CPU_OFFLOAD_ENGINE"),
        ("MAX_ACC_OUT_READ=44", "also set ADVANCED_PCI_SETTINGS=1, which makes the firmware offer it"),
    ],
)
def test_an_impossible_setting_is_refused_in_one_sentence(alone: Pair, parameters: str, says: str) -> None:
    before = alone.mstconfig("query")
    result = alone.firmware.emit("config_changed", config={"profile": "", "parameters": parameters})
    assert result.status[0] == "blocked", result.status
    assert not [line for _, line in result.logs if "Traceback" in line]
    assert any(says in line for _, line in result.logs), result.logs
    assert alone.mstconfig("query") == before


def test_a_locked_down_nic_and_one_that_vanished_are_named_and_nothing_is_written(alone: Pair) -> None:
    for fault in ("lockdown", "surprise_remove"):
        alone.guest.run(f"echo Y > {FAULTS}/{PF}/fault_{fault}")
        result = alone.firmware.emit("config_changed")
        assert result.status[0] == "blocked", (fault, result.status)
        assert PF in result.status[1]
        assert firmware_writes(result.writes) == []
        alone.guest.run(f"echo N > {FAULTS}/{PF}/fault_{fault}")


SEMAPHORE = "cc.l"
"""Of the virtual card's vendor-specific capability, as setpci names it."""
CUT_SHORT = """
from hostnic.machine import Machine
from hostnic.system import CommandError
for tenths in range(2, 14):
    try:
        Machine().query(["mstconfig", "-d", "{nic}", "-e", "query"], timeout=tenths / 10)
    except CommandError as error:
        print(error)
print(Machine().query(["mstconfig", "-d", "{nic}", "query", "SRIOV_EN"], timeout=300))
"""


@pytest.mark.thorough
def test_a_semaphore_that_nobody_gives_back_is_freed_by_the_command_in_the_finding(alone: Pair) -> None:
    alone.guest.run(f"setpci -s {PF} {SEMAPHORE}=7")
    assert alone.firmware.emit("config_changed").status[0] == "blocked"
    findings = alone.firmware.action("verify").results["findings"]
    assert "the NIC's semaphore is taken, by a tool that runs or by one that was killed" in findings
    (command,) = set(re.findall("mstmcra -c [0-9a-f:.]+", findings))
    assert "cleared successfully" in alone.guest.run(command).stdout
    alone.firmware.emit("config_changed")
    assert "semaphore" not in alone.firmware.action("verify").results["findings"]


@pytest.mark.thorough
def test_a_tool_whose_time_is_over_gives_the_semaphore_back(alone: Pair) -> None:
    """At any moment of a query: the next one is answered."""
    python = "env PYTHONPATH=/opt/ovn-offload/lib:/opt/site-packages python3"
    said = alone.guest.run([*python.split(), "-c", CUT_SHORT.format(nic=PF)], timeout=600).stdout
    assert "did not end within" in said, "no query was cut short"
    assert "SRIOV_EN" in said


@pytest.mark.thorough
def test_no_reboot_is_requested_if_mstconfig_requires_a_power_cycle(alone: Pair) -> None:
    alone.guest.run("echo N > /sys/module/mlx5_core/parameters/warm_reboot_applies")
    result = alone.firmware.start()
    assert result.status[0] == "blocked", result.status
    assert not alone.firmware.reboot_requested
    findings = alone.firmware.action("verify").results["findings"]
    assert "the firmware says that a warm reboot does not apply it" in findings
    assert "maas PROFILE machine power-off SYSTEM_ID" in findings


@pytest.mark.thorough
def test_actions_set_back_up_reset_and_restore(alone: Pair) -> None:
    config = {"profile": "", "parameters": ""}
    assert alone.firmware.emit("config_changed", config=config).status[0] == "active"
    saved = alone.firmware.action("backup").results["backup-0000-3b-00-0"]
    assert "NUM_VF_MSIX=11\n" in saved
    done = alone.firmware.action("set-parameters", {"parameters": "NUM_VF_MSIX=31 CNP_DSCP_P2=26"})
    assert "set NUM_VF_MSIX=31 CNP_DSCP_P2=26" in done.results["done"]
    query = alone.firmware.action("query", {"devices": PF}).results["parameters"].splitlines()
    (changed,) = [line for line in query if line.startswith(f"{PF}  NUM_VF_MSIX ")]
    assert changed.split() == [PF, "NUM_VF_MSIX", "11", "11", "31", "next", "boot"]
    print(
        "",
        *(line for line in query if line.startswith("port") or "NUM_" in line or "CNP_DSCP" in line),
        sep="\n",
    )
    restored = alone.firmware.action("restore", {"device": PF, "backup": saved})
    assert restored.failure is None, restored.failure
    assert "NUM_VF_MSIX=11" in restored.results["done"]
    alone.firmware.action("set-parameters", {"parameters": "CNP_DSCP_P1=20"})
    assert alone.firmware.action("reset-parameters", {"devices": PF}).failure.endswith(
        "run it again with confirm=true"
    )
    alone.firmware.action("reset-parameters", {"devices": PF, "confirm": True})
    assert " 48" in alone.mstconfig("query", "CNP_DSCP_P1")
