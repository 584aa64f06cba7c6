# SPDX-License-Identifier: Apache-2.0
"""The sources of guests: Ubuntu's archive is believed by one key, and no package without a signature."""

import base64
import hashlib
from itertools import takewhile

import pytest
from lab import host, image
from lab.cloud.cloud import Cloud
from lab.releases import RELEASES, UBUNTU_KEY


def fingerprint(armored: str) -> str:
    """Of the key that a file begins with: SHA-1 over its first packet (RFC 4880, 4.2.1 and 12.2)."""
    lines = iter(armored.split("\n\n", 1)[1].splitlines())
    packets = base64.b64decode("".join(takewhile(lambda line: not line.startswith("="), lines)))
    assert packets[0] == 0x99, "a public key whose length has two bytes"
    length = int.from_bytes(packets[1:3], "big")
    return hashlib.sha1(packets[: 3 + length], usedforsecurity=False).hexdigest().upper()


def test_the_key_of_ubuntus_archive_is_the_one_that_its_file_is_named_after() -> None:
    assert fingerprint(UBUNTU_KEY.read_text()) == UBUNTU_KEY.stem


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
def test_packages_without_a_valid_signature_are_not_taken(release) -> None:
    options = " ".join(release.mmdebstrap)
    assert not any(word in options.lower() for word in ("trusted=yes", "unauthenticated", "insecure"))
    assert release.ubuntu == (f"--keyring={UBUNTU_KEY}" in release.mmdebstrap)


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """An empty cache, and an mmdebstrap that gets packages only of these suites."""
    program = tmp_path / "bin/mmdebstrap"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("LAB_RELEASES", raising=False)
    monkeypatch.setattr(host, "require", lambda: None)

    def has(*suites: str) -> None:
        program.write_text(
            "#!/bin/sh\nfor last; do before=$suite suite=$last; done\n"
            f"""case " {" ".join(suites)} " in *" $before "*) : >"$last" ; exit ;; esac\n"""
            'echo "E: apt-get update failed"; exit 1\n'
        )
        program.chmod(0o755)

    has()
    return has


def test_guests_run_jammy_where_ubuntus_archive_answers_and_later_without_it(archive, capsys) -> None:
    archive("jammy")
    assert image.choose() == ["jammy"]
    assert "Guests run" not in capsys.readouterr().out
    archive()
    assert image.chosen() == image.choose() == ["jammy"]
    assert Cloud().openstack.version == "Yoga"


def test_without_ubuntus_archive_guests_run_debian_and_one_line_says_so(archive, capsys) -> None:
    assert image.choose() == image.chosen() == ["trixie"]
    why = "Ubuntu 22.04 with kernel 6.8 could not be installed (E: apt-get update failed)"
    assert capsys.readouterr().out.splitlines()[-1] == f"Guests run Debian 13: {why}."
    assert Cloud().openstack.version == "2025.1"


def test_what_lab_releases_names_is_run_without_asking_for_anything_else(archive, monkeypatch) -> None:
    monkeypatch.setenv("LAB_RELEASES", "noble,trixie")
    assert image.choose() == ["noble", "trixie"]
