# SPDX-License-Identifier: Apache-2.0
"""What guests are made of: Ubuntu's archive is believed by one key, and no package without a signature."""

import base64
import hashlib
from itertools import takewhile

import pytest
from lab.image import CHOSEN
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


def test_the_default_is_a_release_that_can_be_built() -> None:
    assert set(CHOSEN) <= set(RELEASES)
