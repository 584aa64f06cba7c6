# SPDX-License-Identifier: Apache-2.0
from functools import partialmethod

import pytest


@pytest.fixture
def prompt_logins(monkeypatch: pytest.MonkeyPatch) -> None:
    """netmiko gives an Onyx switch two seconds to end its greeting; ours is one packet."""
    from netmiko.mellanox import MellanoxMlnxosSSH  # a second to load

    quick = partialmethod(MellanoxMlnxosSSH.read_channel_timing, last_read=0.1)
    monkeypatch.setattr(MellanoxMlnxosSSH, "read_channel_timing", quick)
