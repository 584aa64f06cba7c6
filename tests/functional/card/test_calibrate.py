# SPDX-License-Identifier: Apache-2.0
"""The virtual card still answers as its committed recording says."""

import pytest
from lab.calibrate import purposes
from lab.calibrate.__main__ import COMMITTED
from lab.calibrate.compare import compare
from lab.calibrate.recorder import Recorder
from lab.calibrate.recording import read
from lab.calibrate.sequences import SEQUENCES
from lab.calibrate.shell import PREPARE, GuestShell, find


@pytest.mark.thorough
def test_the_virtual_card_answers_as_its_recording_says(card):
    release = card.machine.release
    if release.name not in COMMITTED:
        pytest.skip(f"nothing was recorded on {release.name} yet: tox -e calibrate -- --record FILE")
    card.run(PREPARE)
    found = Recorder(find(GuestShell(card.machine))).record(SEQUENCES)
    comparison = compare(read(COMMITTED[release.name]), found, purposes.read())
    assert comparison.unexplained == [], comparison.text()
