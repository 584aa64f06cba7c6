# SPDX-License-Identifier: Apache-2.0
"""Images and flash through mstflint; what the real tool can do offline is asked of the real one."""

import hashlib
import shutil
from pathlib import Path

import pytest
from hostnic.firmware import mstflint
from hostnic.firmware.msterrors import MstError
from hostnic.firmware.mstflint import Flash, Image
from hostnic.machine import Machine
from lab.modelled import FakeHost
from lab.modelled.nic.flash import image

PF = "0000:3b:00.0"
QUERY = """\
Image type:            FS4
FW Version:            22.35.2000
FW Version(Running):   22.31.1014
FW Release Date:       18.8.2022
Product Version:       22.31.1014
Rom Info:              type=UEFI version=14.28.15 cpu=AMD64,AARCH64
Description:           UID                GuidsNumber
Base GUID:             b8cef603001a2b3c        4
Base MAC:              b8cef61a2b3c            4
PSID:                  MT_0000000359
Security Attributes:   N/A
"""


def test_flash_that_waits_for_a_restart() -> None:
    host = FakeHost()
    host.answers[("mstflint",)] = QUERY
    assert mstflint.read_flash(host, PF) == Flash("MT_0000000359", "22.35.2000", "22.31.1014")
    assert host.trace == []


def test_a_cross_flashed_nic_takes_images_for_its_present_psid() -> None:
    host = FakeHost()
    host.cards[0].orig_psid = "DEL0000000015"
    assert mstflint.read_flash(host, PF).psid == "MT_0000000359"
    host.answers[("mstflint",)] = QUERY.replace("Security", "Orig PSID:             DEL0000000015\nSecurity")
    assert mstflint.read_flash(host, PF) == Flash("MT_0000000359", "22.35.2000", "22.31.1014")


def test_flash_that_runs() -> None:
    assert mstflint.read_flash(FakeHost(), PF) == Flash("MT_0000000359", "22.35.2000", "22.35.2000")


def test_an_image() -> None:
    host = FakeHost()
    host.disk.install("/tmp/fw.bin", image(), 0o600)
    digest = hashlib.sha256(image()).hexdigest()
    wanted = Image("/tmp/fw.bin", "MT_0000000359", "22.39.1002", digest)
    assert mstflint.read_image(host, "/tmp/fw.bin") == wanted
    assert host.trace == []


def test_an_answer_without_a_psid_is_named() -> None:
    host = FakeHost()
    host.answers[("mstflint",)] = "FW Version: 22.35.2000\n"
    with pytest.raises(MstError, match="reports no version and PSID"):
        mstflint.read_flash(host, PF)


@pytest.mark.parametrize(
    "psid", ["\0" * 16, "\ufffd" * 16, "\x1b[2J", ""], ids=["NUL", "0xff", "escape", "blank"]
)
def test_a_psid_that_is_no_text_reads_as_blank(psid: str) -> None:
    """Damaged flash may have anything there, and Juju is told what it has."""
    host = FakeHost()
    host.answers[("mstflint",)] = QUERY.replace("MT_0000000359", psid)
    assert mstflint.read_flash(host, PF) == Flash("", "22.35.2000", "22.31.1014")


@pytest.mark.parametrize("said", ["", "\n", "/tmp/fw.bin: no such digest\n"])
def test_a_digest_that_sha256sum_does_not_print_is_an_error(said: str) -> None:
    host = FakeHost()
    host.answers[("sha256sum",)] = said
    with pytest.raises(MstError, match=r"^sha256sum printed no digest of /tmp/fw\.bin$"):
        mstflint.digest(host, "/tmp/fw.bin")


def test_a_name_that_sha256sum_escapes_is_no_part_of_the_digest(tmp_path: Path) -> None:
    path = tmp_path / "fw\n.bin"
    path.write_bytes(b"x")
    assert mstflint.digest(Machine(), str(path)) == hashlib.sha256(b"x").hexdigest()


@pytest.mark.parametrize("status", ["[not set]", "²", "9" * 5000, ""])
def test_a_failed_burn_whose_exit_status_systemd_does_not_tell(status: str) -> None:
    host = FakeHost()
    host.answers[("systemctl", "show")] = f"ActiveState=failed\nSubState=failed\nExecMainStatus={status}\n"
    host.answers[("systemctl",)] = host.answers[("systemd-run",)] = ""
    with pytest.raises(MstError, match=r"^mstflint failed \(1\): no message$"):
        mstflint.burn(host, PF, "/tmp/fw.bin", lambda _: None)


@pytest.mark.parametrize(
    ("psid", "vendor"),
    [
        ("MT_0000000359", "NVIDIA"),
        ("NVD0000000087", "NVIDIA"),
        ("DEL0000000015", "Dell"),
        ("HPE00", "HPE"),
        ("XY", "an unknown vendor"),
    ],
)  # fmt: skip
def test_vendors(psid: str, vendor: str) -> None:
    assert mstflint.vendor(psid) == vendor


@pytest.mark.parametrize(
    ("one", "other", "newer"),
    [
        ("22.39.1002", "22.35.2000", True),
        ("22.35.2000", "22.35.2000", False),
        ("22.4.1", "22.35.2000", False),
    ],
)
def test_versions_are_numbers(one: str, other: str, newer: bool) -> None:
    assert mstflint.newer(one, other) is newer


@pytest.mark.skipif(not shutil.which("mstflint"), reason="mstflint is not installed here")
@pytest.mark.parametrize("content", [b"", b"abcd" * 100, b"MTFW" + b"\0" * 4096])
def test_the_real_tool_refuses_a_file_that_is_not_an_image_in_one_sentence(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "fw.bin"
    path.write_bytes(content)
    for ask in (mstflint.read_image, mstflint.verify_image):
        with pytest.raises(MstError) as refused:
            ask(Machine(), str(path))
        assert refused.value.reason.startswith("mstflint: ")
        assert "\n" not in refused.value.reason


def test_a_blank_version_that_runs_is_the_one_in_flash() -> None:
    host = FakeHost()
    host.answers[("mstflint",)] = QUERY.replace("22.31.1014\nFW Rel", "\nFW Rel")
    assert mstflint.read_flash(host, PF) == Flash("MT_0000000359", "22.35.2000", "22.35.2000")


def test_an_image_without_a_psid_is_refused() -> None:
    host = FakeHost()
    host.answers[("mstflint",)] = QUERY.replace("MT_0000000359", "")
    with pytest.raises(MstError, match="has no PSID"):
        mstflint.read_image(host, "/tmp/fw.bin")
