# SPDX-License-Identifier: Apache-2.0
"""A file with a secret is read if nobody but its owner may read or write it."""

import os
import threading
from pathlib import Path

import pytest
from converge import StepError
from yamlfile import reader

TEXT = "cumulus:Correct-Horse-9\n"


def refusal(path: Path) -> tuple[str, str]:
    with pytest.raises(StepError) as refused:
        reader.private(path)
    return refused.value.reason, refused.value.remedy


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text(TEXT)
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_a_file_that_only_its_owner_can_read_is_read(secret: Path, mode: int) -> None:
    secret.chmod(mode)
    assert reader.private(secret) == TEXT


@pytest.mark.parametrize("mode", [0o640, 0o620, 0o610, 0o604, 0o602, 0o601, 0o644, 0o660, 0o666, 0o777])
def test_a_file_with_any_right_for_a_group_or_for_others_is_refused(secret: Path, mode: int) -> None:
    secret.chmod(mode)
    assert refusal(secret) == (f"{secret} can be read by others", f"run chmod 600 {secret}")


def test_the_rights_of_a_link_are_those_of_the_file_that_it_leads_to(secret: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(secret)
    assert reader.private(link) == TEXT
    secret.chmod(0o640)
    assert refusal(link)[0] == f"{link} can be read by others"


def test_the_file_that_is_read_is_the_one_that_was_checked(
    secret: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may write the directory could put another file there in between."""
    theirs = tmp_path / "theirs"
    theirs.write_text("cumulus:their-password\n")
    theirs.chmod(0o644)
    checked = os.fstat

    def exchanged(descriptor: int) -> os.stat_result:
        found = checked(descriptor)
        theirs.replace(secret)
        return found

    monkeypatch.setattr(os, "fstat", exchanged)
    assert reader.private(secret) == TEXT
    monkeypatch.undo()
    assert refusal(secret)[0].endswith("can be read by others")


def test_a_pipe_of_the_shell_is_read() -> None:
    """As from ``--credentials <(pass show switches)``."""
    end, start = os.pipe()
    writer = threading.Thread(target=lambda: (os.write(start, TEXT.encode()), os.close(start)))
    writer.start()
    assert reader.private(Path(f"/dev/fd/{end}")) == TEXT
    writer.join()
    os.close(end)


def test_what_cannot_be_read_is_one_sentence(secret: Path, tmp_path: Path) -> None:
    secret.write_bytes(b"\x1f\x8b")
    assert refusal(secret)[0] == f"{secret} cannot be read: it is not UTF-8 text"
    assert refusal(tmp_path)[0] == f"{tmp_path} cannot be read: Is a directory"
    assert refusal(tmp_path / "none")[0] == f"{tmp_path}/none cannot be read: No such file or directory"
