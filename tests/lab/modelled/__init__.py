# SPDX-License-Identifier: Apache-2.0
"""A modelled host for tests: stateful, refusing what mlx5 refuses, with faults at every call.

host = FakeHost()                                   # two plain PFs in bond0
host.fail("set_eswitch_mode", "0000:3b:00.1", OSError(errno.EINVAL, "…"))
host.reboot(boot=[early], after_network=[late])
assert host.trace == [...]
"""

from lab.modelled.files import FakeDisk
from lab.modelled.host import FakeHost
from lab.modelled.network import FakeBond, FakeNetwork
from lab.modelled.nic.model import FakeCard, FakePort, FakeVf, Firmware, at_two_slots, card, hca
from lab.modelled.tools import FakeOvs

__all__ = [
    "FakeBond",
    "FakeCard",
    "FakeDisk",
    "FakeHost",
    "FakeNetwork",
    "FakeOvs",
    "FakePort",
    "FakeVf",
    "Firmware",
    "at_two_slots",
    "card",
    "hca",
]
