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
from hostnic.testing import FakeHost
from hostnic.testing.nic.flash import image
from hypothesis import given
from hypothesis import strategies as st

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
    ("psid", "vendor"),
    [("MT_0000000359", "NVIDIA"), ("DEL0000000015", "Dell"), ("HPE00", "HPE"), ("XY", "an unknown vendor")],
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


@given(st.text(), st.text())
def test_any_two_texts_compare(one: str, other: str) -> None:
    assert not (mstflint.newer(one, other) and mstflint.newer(other, one))


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
