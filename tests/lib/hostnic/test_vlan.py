# SPDX-License-Identifier: Apache-2.0
"""Kernel VLAN devices: read from /proc, their egress map set as a whole."""

import pytest
from converge import StepError
from hostnic.devices import vlan
from hostnic.devices.vlan import Vlan
from hostnic.ops.marking import SetEgressMap
from hostnic.system import CommandError
from lab.modelled import FakeHost
from lab.modelled.tools import add_vlan


@pytest.fixture
def host() -> FakeHost:
    host = FakeHost()
    add_vlan(host.disk, "storage", 2, "bond0")
    add_vlan(host.disk, "bond0.77", 77, "bond0")
    return host


def test_devices_by_name(host: FakeHost) -> None:
    assert vlan.devices(host) == (Vlan("bond0.77", 77, "bond0"), Vlan("storage", 2, "bond0"))
    assert vlan.devices(FakeHost()) == ()


def test_the_whole_map_is_set_once(host: FakeHost) -> None:
    for _ in range(2):
        SetEgressMap("storage", 5).run(host)
    assert vlan.devices(host)[1].egress == (5,) * 8
    (command,) = host.spawned
    assert command[:9] == ("ip", "link", "set", "dev", "storage", "type", "vlan", "egress-qos-map", "0:5")


def test_a_refusal_and_a_map_that_does_not_stay_are_reported(host: FakeHost) -> None:
    host.answers["ip", "link"] = CommandError(["ip"], "ip failed (2): Operation not permitted")
    with pytest.raises(StepError, match=r"the egress map of storage: .*Operation not permitted"):
        SetEgressMap("storage", 5).run(host)
    host.answers["ip", "link"] = ""
    with pytest.raises(StepError, match="reads back differently"):
        SetEgressMap("storage", 5).run(host)
