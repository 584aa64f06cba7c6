# SPDX-License-Identifier: Apache-2.0
"""Takes out of a text what tells one machine from another, and puts in names that each machine has."""

import re
from collections.abc import Iterable

PATTERNS = (
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE), "UUID"),
    (re.compile(r"\b[0-9a-f]{2}(?::[0-9a-f]{2}){5,19}\b", re.IGNORECASE), "MAC"),
    (re.compile(r"\b(?:0x)?(?:[0-9a-f]{16}|[0-9a-f]{4}(?::[0-9a-f]{4}){3})\b", re.IGNORECASE), "GUID"),
    (re.compile(r"(\bserial[ ._-]?(?:number|no)\b\s*[:=]?\s*)\S+", re.IGNORECASE), r"\1SERIAL"),
    (re.compile(r"\bMT\d{4}[A-Z]\w{4,}\b"), "SERIAL"),
    (re.compile(r"\b(?!192\.0\.2\.)\d{1,3}(?:\.\d{1,3}){3}\b"), "ADDRESS"),
    (re.compile(r"\b(?:fe80|f[cd][0-9a-f]{2}|2[0-9a-f]{3}):[0-9a-f:]*:[0-9a-f:]+", re.IGNORECASE), "ADDRESS"),
    (re.compile(r"\(pid \d+\)"), "(pid N)"),
)
"""The texts to look for, and those to put in their place.

Serial numbers as devlink and mstflint print them, and as they are on NVIDIA's labels (MT2116X01234). A PSID
(MT_0000000359) names a model, and stays. 192.0.2.0/24 is what the sequences themselves use.
"""


class Anonymiser:
    """Replaces names, longest first, and then everything that :data:`PATTERNS` finds.

    Args:
        names: the machine's own, with what each is called in a recording.
        hosts: names of the host.

    """

    def __init__(self, names: dict[str, str], hosts: Iterable[str] = ()) -> None:
        self._names = {**names, **dict.fromkeys(hosts, "HOST")}
        words = sorted(filter(None, self._names), key=len, reverse=True)
        # A name ends where a letter or digit does not go on: 3b:00.1 is no part of 3b:00.10.
        self._known = (
            re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, words))})(?![\w-])") if words else None
        )

    def text(self, text: str) -> str:
        """The text without what it must not tell."""
        if self._known:
            text = self._known.sub(lambda found: self._names[found[0]], text)
        for pattern, name in PATTERNS:
            text = pattern.sub(name, text)
        return text

    def lines(self, text: str) -> list[str]:
        """The same by lines, without empty ones and spaces at their ends."""
        return [line.rstrip() for line in self.text(text).splitlines() if line.strip()]
