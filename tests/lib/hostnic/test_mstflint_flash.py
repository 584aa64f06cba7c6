# SPDX-License-Identifier: Apache-2.0
"""The client against the stand-in for mstflint as a process of its own: slow burns, refusals, power loss."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hostnic.firmware import mstflint
from hostnic.firmware.msterrors import MstError
from hostnic.machine import Machine
from lab import mstflint as stand_in

PF = "0000:3b:00.0"
NEW = "22.39.1002"


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the stand-in first on the PATH, and a card in its first boot."""
    tool = tmp_path / "bin/mstflint"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nexec {sys.executable} {stand_in.__file__} "$@"\n')
    tool.chmod(0o755)
    (tmp_path / "boot_id").write_text("boot 1\n")
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("LAB_FLASH", str(tmp_path / "flash"))
    monkeypatch.setenv("LAB_BOOT_ID", str(tmp_path / "boot_id"))
    monkeypatch.setenv("LAB_BURN_SECONDS", "0.1")
    return tmp_path


def image(bench: Path, psid: str = "MT_0000000359", version: str = NEW, damaged: bool = False) -> str:
    path = bench / f"{version}.bin"
    path.write_bytes(stand_in.image(psid, version, damaged=damaged))
    return str(path)


def burn(path: str) -> str:
    """As the unit of systemd's runs it."""
    return Machine().run(["mstflint", "-d", PF, "-i", path, "-y", "burn"])


def versions() -> tuple[str, str]:
    flash = mstflint.read_flash(Machine(), PF)
    return flash.version, flash.running


def test_a_burn_is_in_flash_at_once_and_runs_from_the_next_boot_on(bench: Path) -> None:
    path = image(bench)
    assert mstflint.read_image(Machine(), path).version == NEW
    mstflint.verify_image(Machine(), path)
    said = burn(path)
    assert mstflint.PROGRESS.findall(said)[-1] == ("Writing Boot image component", "OK")
    assert "To load new FW run mstfwreset or reboot machine" in said
    assert versions() == (NEW, "22.35.2000")
    (bench / "boot_id").write_text("boot 2\n")
    assert versions() == (NEW, NEW)


def test_after_a_power_cut_the_old_image_boots_and_a_second_burn_completes(
    bench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_BURN_SECONDS", "60")
    path = image(bench)
    tool = subprocess.Popen(
        ["mstflint", "-d", PF, "-i", path, "-y", "burn"], stdout=subprocess.PIPE, start_new_session=True
    )
    assert tool.stdout is not None
    while b"Writing" not in tool.stdout.read(64):
        time.sleep(0.01)
    os.killpg(tool.pid, signal.SIGKILL)
    tool.stdout.close()
    tool.wait()
    (bench / "boot_id").write_text("boot 2\n")
    assert versions() == ("22.35.2000", "22.35.2000")
    monkeypatch.setenv("LAB_BURN_SECONDS", "0.1")
    burn(path)
    assert versions()[0] == NEW


@pytest.mark.parametrize(
    ("psid", "damaged", "says"),
    [
        ("MT_0000000547", False, "PSID mismatch. The PSID on flash (MT_0000000359) differs"),
        ("MT_0000000359", True, "Burning FS4 image failed: Bad CRC"),
    ],
)
def test_a_refused_burn_does_not_change_flash(bench: Path, psid: str, damaged: bool, says: str) -> None:
    with pytest.raises(OSError, match="mstflint failed") as refused:
        burn(image(bench, psid, damaged=damaged))
    assert says in str(refused.value)
    assert versions() == ("22.35.2000", "22.35.2000")


def test_a_damaged_image_does_not_verify(bench: Path) -> None:
    path = image(bench, damaged=True)
    with pytest.raises(MstError, match="FW image verification failed: Bad CRC"):
        mstflint.verify_image(Machine(), path)


def test_the_same_version_says_so(bench: Path) -> None:
    assert "the same as the current FW version on flash" in burn(image(bench, version="22.35.2000"))


def test_wrong_usage(bench: Path) -> None:
    assert stand_in.main(["-d", PF]) == 5
    assert stand_in.main([]) == 5
