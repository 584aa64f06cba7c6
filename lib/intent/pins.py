# SPDX-License-Identifier: Apache-2.0
"""By what certificate each switch is trusted, NAME=SHA256: in an option, in a file, on a command line."""

import re
from collections.abc import Iterable

from converge.shape import InvalidValue

PAIRS = "pairs such as Leaf0-1=9F:86:…; that is a switch and the SHA-256 of its certificate"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}", re.ASCII)
"""A switch's."""


def read(where: str, text: str) -> dict[str, str]:
    """Read the pins: 64 hexadecimal digits in lower case, by switch.

    The fingerprint may be the whole line that openssl prints: ``sha256 Fingerprint=9F:86:…``.
    """
    found: dict[str, str] = {}
    for item in re.sub(r"sha256\s+fingerprint=", "", text, flags=re.IGNORECASE).split():
        name, _, fingerprint = item.partition("=")
        digits = fingerprint.replace(":", "").lower()
        if not NAME.fullmatch(name) or not re.fullmatch(r"[0-9a-f]{64}", digits) or name in found:
            raise InvalidValue(where, item, PAIRS)
        found[name] = digits
    return found


def given(file: str, words: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the pins of a file for --pins, which may have comments, and those of each --pin."""
    kept = read("--pins", " ".join(line.partition("#")[0] for line in file.splitlines()))
    more = read("--pin", " ".join(words))
    if twice := kept.keys() & more.keys():
        raise InvalidValue("--pin", min(twice), "switches that --pins does not name")
    return kept, more
