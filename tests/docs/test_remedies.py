# SPDX-License-Identifier: Apache-2.0
"""`juju status` shows what helps: no remedy is longer than what a status message has room for."""

from collections.abc import Iterator

import pytest
from messages import messages
from reference import ROOT
from texts import OPEN

FITS = 75
"""Of the 100 characters of a status message (charmkit.status.LONGEST), beside the longest usual subject,
`option reboot-parallel`."""
ALTERNATIVE = "; "
"""Ends the first way to mend it, which a status shows; `verify` has all."""
NAME = "0000:3b:00.0"
"""Stands for each part of a remedy that differs from host to host."""
FOLDERS = [
    *sorted(ROOT.glob("charms/*/src")),
    *(ROOT / "lib" / name for name in ("charmkit", "converge", "hostnic")),
]


def too_long(folder) -> Iterator[str]:
    for message in messages(folder):
        first = message.remedy.partition(ALTERNATIVE)[0]
        if len(first.replace(OPEN, NAME)) > FITS:
            yield message.remedy


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(ROOT).as_posix())
def test_a_remedy_fits_into_a_status_message_beside_its_subject(folder) -> None:
    assert sorted(set(too_long(folder))) == []
