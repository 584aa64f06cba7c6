# SPDX-License-Identifier: Apache-2.0
"""MAAS commissioning: the same verbs, MAAS's metadata and exit rules, one file for a bare Python."""

import json
import subprocess
import sys
from pathlib import Path

import commission
import pytest
import yaml
from commission import commission as run
from config import PROFILES, Options
from hostnic.firmware.mstdatabase import Database
from hostnic.system import failure
from lab.modelled import FakeHost, card
from pack import commissioning
from unit.nic_firmware.node import PF0, machine, nics, rdg


def test_a_new_machine_is_set_for_its_next_boot(host: FakeHost, database: Database) -> None:
    status, results = run(host, database, Options(profile="ovn-offload,throughput", num_vfs=16))
    assert (status, results) == ("passed", {"nics": "3b:00", "left": "nothing", "network-boot": "no warning"})
    assert host.port(PF0).firmware.next_num_of_vfs == 16
    assert host.cards[0].settings["MAX_ACC_OUT_READ"].next_boot == 44
    assert not [line for line in host.trace if "mstconfig" not in line]


def test_a_second_run_writes_nothing(host: FakeHost, database: Database) -> None:
    run(host, database, Options())
    host.trace.clear()
    assert run(host, database, Options())[0] == "passed"
    assert host.trace == []


def test_a_dry_run_writes_nothing(
    host: FakeHost, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(host, database, Options(), dry_run=True)[0] == "passed"
    assert host.trace == []
    assert (
        f"set NUM_VF_MSIX=63 LAG_RESOURCE_ALLOCATION=1 SRIOV_EN=1 NUM_OF_VFS=8 on {PF0}"
        in capsys.readouterr().out
    )


def test_a_value_that_needs_a_power_cycle_passes_since_maas_does_that(
    host: FakeHost, database: Database
) -> None:
    host.cards[0].stuck = True  # mstconfig says "Please power cycle machine"
    for _ in range(2):
        assert run(host, database, Options()) == (
            "passed",
            {"nics": "3b:00", "left": "nothing", "network-boot": "no warning"},
        )
    assert host.port(PF0).firmware.next_num_of_vfs == 8


def test_a_machine_without_a_nic_is_skipped(database: Database) -> None:
    assert run(machine(cards=[], bonded=False), database, Options())[0] == "skipped"


def test_gpudirect_sets_the_firmware_and_leaves_the_ephemeral_host_alone(
    host: FakeHost, database: Database
) -> None:
    assert run(host, database, Options(profile="gpudirect"))[0] == "passed"
    assert host.cards[0].settings["ATS_ENABLED"].next_boot == 1
    assert not [line for line in host.trace if line.startswith(("install", "run systemctl", "run setpci"))]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"parameters": "NUM_VF_MSIX=5000"}, "a whole number from 0 to 1023"),
        ({"parameters": "MAX_ACC_OUT_READ=44"}, "also set ADVANCED_PCI_SETTINGS=1"),
        ({"num_vfs": 120}, "Illegal constraint"),
    ],
)
def test_a_value_that_cannot_be_set_fails_with_its_reason(
    host: FakeHost, database: Database, options: dict, says: str
) -> None:
    status, results = run(host, database, Options(**options))
    assert status == "failed"
    assert says in results["left"]


@pytest.mark.parametrize("dry", [False, True])
@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("-E- Device in Livefish mode is not supported\n", "livefish"),
        ("-E- Failed to open the device\n", "Failed to open the device"),
    ],
)
def test_one_failing_nic_fails_the_script_and_the_others_are_set(
    database: Database, said: str, left: str, dry: bool
) -> None:
    host = machine(cards=nics("3b", "5e"))
    host.fail("run", "-d 0000:5e:00", failure(["mstconfig"], 3, said, ""), times=None)
    status, results = run(host, database, Options(), dry_run=dry)
    assert status == "failed"
    assert left in results["left"]
    assert host.port(PF0).firmware.next_num_of_vfs == (4 if dry else 8)


def test_a_nic_in_flash_recovery_fails_the_script(database: Database) -> None:
    host = machine(cards=[*nics("3b"), card("5e", ports=1, device="15b3:0212")])
    status, results = run(host, database, Options())
    assert status == "failed"
    assert "mstflint -d 0000:5e:00.0 -i IMAGE burn" in results["left"]
    assert host.port(PF0).firmware.next_num_of_vfs == 8


def main(monkeypatch: pytest.MonkeyPatch, host: FakeHost, *arguments: str) -> int:
    monkeypatch.setattr(commission, "Machine", lambda: host)
    return commission.main(arguments)


def test_maas_gets_its_exit_code_and_its_result(monkeypatch: pytest.MonkeyPatch, host: FakeHost) -> None:
    monkeypatch.setenv("RESULT_PATH", "/run/result.yaml")
    assert main(monkeypatch, host, "--num-vfs=8") == 0
    assert yaml.safe_load(host.files.read("/run/result.yaml"))["status"] == "passed"
    host.port(PF0).gone = True
    host.fail(
        "run", "mstconfig", failure(["mstconfig"], 3, "-E- Failed to open the device\n", ""), times=None
    )
    assert main(monkeypatch, host) == 1
    assert json.loads(host.files.read("/run/result.yaml"))["status"] == "failed"


def test_a_bus_that_cannot_be_read_fails_the_script_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, host: FakeHost, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RESULT_PATH", "/run/result.yaml")
    host.fail("listdir", "/sys/bus/pci/devices", OSError(5, "Input/output error"), times=None)
    assert main(monkeypatch, host) == 1
    said = "the host cannot be read: Input/output error"
    assert json.loads(host.files.read("/run/result.yaml")) == {"status": "failed", "results": {"left": said}}
    assert capsys.readouterr().err == f"{said}\n"


@pytest.mark.parametrize(
    "argument",
    [
        "--num-vfs=", "--num-vfs=0", "--num-vfs=many", "--num-vfs=-8", "--num-vfs=8.5", "--num-vfs=9999",
        "--profile=all", "--profile=ovn", "--parameters=NUM_OF_VFS", "--parameters=a=1",
        "--allow-ethernet-loss=yes", "--allow-ethernet-loss=",
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, host: FakeHost, argument: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(monkeypatch, host, argument) == 2
    assert host.trace == []
    assert argument.partition("=")[0].removeprefix("--") in capsys.readouterr().err


def test_the_metadata_is_what_maas_reads() -> None:
    lines = commissioning.script().splitlines()
    first, last = (lines.index(f"# --- {word} MAAS 1.0 script metadata ---") for word in ("Start", "End"))
    assert lines[0] == "#!/usr/bin/env python3"
    block = yaml.safe_load("\n".join(line.removeprefix("# ") for line in lines[first + 1 : last]))
    assert block["script_type"] == "commissioning"
    assert block["name"] == commissioning.TARGET.stem
    assert block["packages"] == {"apt": "mstflint"}
    formats = {name: item["argument_format"] for name, item in block["parameters"].items()}
    assert formats == {
        "profile": "--profile={input}",
        "num_vfs": "--num-vfs={input}",
        "parameters": "--parameters={input}",
        "devices": "--devices={input}",
        "allow_ethernet_loss": "--allow-ethernet-loss={input}",
    }
    assert all(profile in block["parameters"]["profile"]["description"] for profile in PROFILES)


def test_the_script_needs_nothing_but_python(tmp_path: Path) -> None:
    assert commissioning.outside() == set()
    path = tmp_path / "50-nic-firmware.py"
    path.write_text(commissioning.script())
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(path), "--num-vfs=many"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == "num-vfs: 'many' is not allowed; expected a whole number from 1 to 1000\n"


@pytest.mark.parametrize(("argument", "status"), [("--help", 0), ("--hlep", 2), ("build", 2)])
def test_the_command_that_makes_it_takes_no_argument_but_help(
    monkeypatch: pytest.MonkeyPatch, argument: str, status: int
) -> None:
    target = commissioning.ROOT / "build/not-made.py"
    monkeypatch.setattr(commissioning, "TARGET", target)
    with pytest.raises(SystemExit) as ended:
        commissioning.main([argument])
    assert ended.value.code == status
    assert not target.exists()


def test_a_nic_that_is_left_alone_is_not_called_as_declared(
    host: FakeHost, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    host.cards[0].lacks.add("ATS_ENABLED")
    name = "EXP_ROM_UEFI_x86_ENABLE"
    assert run(host, database, Options(parameters=f"ATS_ENABLED=1 {name}=1"))[0] == "failed"
    assert "everything is as declared" not in capsys.readouterr().out
    assert run(host, database, Options(parameters=f"{name}=1"))[0] == "passed"
    assert host.cards[0].settings[name].next_boot == 1


def test_a_machine_with_the_right_values_passes_without_a_write(database: Database) -> None:
    host = machine()
    rdg(host)
    assert run(host, database, Options())[0] == "passed"
    assert host.trace == []
