# SPDX-License-Identifier: Apache-2.0
"""Without switches: what the integration tests expect before and after the application has its secret."""

from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import charm
import pytest
from integration.said import INTENT, credentials
from intent import expand, schema
from lab.juju.alone import Alone, context
from lab.modelled import FakeHost
from lab.nvue import SimulatedTime
from ops import testing
from rest.client import Nvue
from rest.fleet import Fleet
from unit.cumulus_fabric.online.unit import METADATA, of_one_type
from unit.said import Fresh, OnAMachineWithoutConnectX

CLOSED = 9
"""A port of this machine at which nothing listens (discard)."""


class NoSwitches(Alone):
    """A unit whose switches do not exist."""

    def __init__(self, folder: Path) -> None:
        self.host = FakeHost([], bonded=False)
        self.context = context(charm.CumulusFabricCharm, of_one_type())
        nothing = folder / "intent.yaml"
        nothing.write_text("")
        resource = testing.Resource(name="intent", path=nothing)
        self.state = testing.State(leader=True, resources={resource})


class TestCumulusFabric(OnAMachineWithoutConnectX):
    charm, metadata = "cumulus-fabric", METADATA

    @pytest.fixture
    def unit(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> NoSwitches:
        alone = NoSwitches(tmp_path)
        monkeypatch.setattr(charm.CumulusFabricCharm, "machine", staticmethod(lambda: alone.host))
        return alone

    @pytest.fixture
    def fresh(self) -> Fresh:
        return []  # no machine's NIC is any of its business

    def test_one_step_after_the_other_until_only_the_switches_are_missing(
        self, unit: NoSwitches, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def nowhere(fabric: Any, access: Any, limit: int) -> Fleet:
            quick = replace(access, clock=SimulatedTime())
            names = [switch.name for switch in fabric.switches]
            return Fleet({name: Nvue(name, "127.0.0.1", quick, CLOSED) for name in names}, limit, quick.clock)

        monkeypatch.setattr(charm.CumulusFabricCharm, "connect", staticmethod(nowhere))
        expected = credentials()
        assert unit.set({"intent": INTENT.read_text()}).emit().message.startswith(expected["unset"])
        secret = testing.Secret({"user": "cumulus", "password": "one"})
        unit.set({"credentials": secret.id})
        assert unit.emit().message.startswith(expected["unreadable"])
        unit.state = replace(unit.state, secrets={testing.Secret({"user": "cumulus"}, id=secret.id)})
        assert unit.emit().message.startswith(expected["unusable"])
        unit.state = replace(unit.state, secrets={secret})
        assert unit.emit().message.startswith(expected["unreachable"])

    def test_the_intent_is_sound_and_no_connection_leaves_the_machine(self) -> None:
        fabric = expand.expand(schema.parse(INTENT.read_text()))
        assert [switch.name for switch in fabric.switches] == ["Spine0", "Leaf0-1", "Leaf0-2"]
        assert all(ip_address(str(switch.management)).is_loopback for switch in fabric.switches)
