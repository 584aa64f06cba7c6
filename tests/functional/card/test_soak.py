# SPDX-License-Identifier: Apache-2.0
"""Random sequences of operations without a kernel warning; see soak.py for what they are.

``LAB_SOAK_SEED=<seed>`` repeats a run. Both run at night: thirty sequences with ``-m thorough``, five hundred
longer ones with ``-m soak``.
"""

import os
import secrets
from pathlib import Path

import pytest

SEED = os.environ.get("LAB_SOAK_SEED") or secrets.token_hex(4)
AT_ONCE = 10  # sequences per command, so that a hang is noticed


def soak(card, sequences, operations):
    print(f"LAB_SOAK_SEED={SEED}")
    card.machine.write("/root/soak.py", Path(__file__).with_name("soak.py").read_text())
    for first in range(0, sequences, AT_ONCE):
        done = card.run(
            ["python3", "/root/soak.py", SEED, str(first), str(AT_ONCE), str(operations)],
            check=False,
            timeout=900,
        )
        print(done.stdout, done.stderr)
        assert done.returncode == 0, f"LAB_SOAK_SEED={SEED}"
        card.run("modprobe mlx5_core && udevadm settle")


@pytest.mark.thorough
def test_thirty_random_sequences(card):
    soak(card, 30, operations=4)


@pytest.mark.soak
def test_five_hundred_random_sequences(card):
    soak(card, 500, operations=8)
