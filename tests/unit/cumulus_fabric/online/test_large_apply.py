# SPDX-License-Identifier: Apache-2.0
"""An apply of 16 racks, 48 switches in waves of 16: what runs where after a failure in any of the waves."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import yaml
from apply import by_wave
from intent import expand
from intent.model import Dialect
from lab.juju.hooktools import Ran
from lab.nvue import Fault, Issue
from rest.connection import LOOK_S
from tree import render
from tree.merge import Goal
from unit.cumulus_fabric.online.site import InTurn
from unit.cumulus_fabric.online.test_killed import Killed
from unit.cumulus_fabric.online.test_many_hosts import Site, of_size

pytestmark = pytest.mark.thorough

PARALLEL, SETTLE, CONFIRM = 16, 900, 1860
REQUEST = 30.0
"""Seconds until a request times out: one may be under way when a run's time is up, before the last look."""


class Changed:
    """A site with an intent that every switch needs a change for."""

    def __init__(self, site: Site) -> None:
        self.site, self.rack = site, site.rack
        content = yaml.safe_load(site.options["intent"])
        content["networks"]["storage"] = {"vlan": 50}
        content["spines"]["asn"] = {"all": 65200}
        site.options |= {"intent": json.dumps(content), "parallel": PARALLEL}
        site.options |= {"settle-timeout": SETTLE, "confirm-timeout": CONFIRM}
        self.before = deepcopy(self.rack.applied)
        fabric = expand.read(site.options["intent"])
        self.wanted = {each.name: render.tree(fabric, each, Dialect.UNTIL_5_14) for each in fabric.switches}
        names = list(self.wanted)
        self.waves = by_wave(names, names[0], (), PARALLEL)

    def apply(self, **params: Any) -> Ran:
        return self.site.emit("apply", params=params)

    def unchanged(self) -> set[str]:
        """The switches that run what they ran before."""
        return {name for name, tree in self.rack.applied.items() if tree == self.before[name]}

    def converged(self) -> set[str]:
        """The switches that run the new intent."""
        return {name for name, tree in self.wanted.items() if not Goal(tree).patch(self.rack.applied[name])}

    def wait(self) -> None:
        """Until every switch has taken back what nobody has confirmed."""
        self.rack.clock.sleep(CONFIRM + REQUEST)


@pytest.fixture
def large(tmp_path: Path) -> Iterator[Changed]:
    with of_size(16, 32, 16, tmp_path, InTurn) as site:
        yield Changed(site)


def leads_on(large: Changed) -> None:
    """Apply without parameters ends with the new intent on all switches, and has nothing to do then."""
    ran = large.apply()
    assert (ran.failure, ran.results["applied"]) == ("", "true"), ran.results
    assert large.converged() == large.wanted.keys()
    assert large.apply().results["result"] == "fully applied: 0 switches changed"
    assert large.rack.writes() == []


def test_a_switch_that_refuses_its_change_has_every_switch_run_what_it_ran(large: Changed) -> None:
    assert [len(wave) for wave in large.waves] == [1, 16, 16, 15]
    begun: list[str] = []
    for wave in large.waves:
        begun += wave
        large.rack.wires.refuse[wave[-1]] = Issue("systemctl", "Unable to reload frr.service", "vrf.default")
        ran = large.apply()
        assert large.unchanged() == large.wanted.keys()
        rolled_back = "fully rolled back: every switch runs what it ran before"
        assert ran.failure.startswith(f"{rolled_back}: {wave[-1]}: apply_fail: vrf.default"), ran.failure
        assert ran.results["switches"].split("\n") == [f"{name}: rolled back" for name in sorted(begun)]
        large.rack.wires.refuse.clear()
    leads_on(large)


def test_a_switch_that_hangs_is_named_and_the_others_run_what_they_ran(large: Changed) -> None:
    for wave, call in zip(large.waves, ("confirm", "patch", "apply", "confirm"), strict=True):
        bad = wave[-1]
        large.rack.servers[bad].inject(Fault("hang", times=0, call=call))
        began = large.rack.clock.monotonic()
        ran = large.apply()
        assert large.rack.clock.monotonic() - began <= SETTLE + REQUEST + LOOK_S
        assert large.unchanged() >= large.wanted.keys() - {bad}
        assert f"the state of {bad} is unknown" in ran.failure
        assert f"{bad}: unknown" in ran.results["switches"].split("\n")
        ran = large.apply()
        assert ran.failure.startswith(f"nothing was sent to any switch: {bad}: ")
        assert large.rack.writes() == []
        large.rack.servers[bad].inject()
        large.wait()
        assert large.unchanged() == large.wanted.keys()
    leads_on(large)


class Until(list[Any]):
    """The calls of one switch; the unit is killed in its first call of this name, and asks nobody then."""

    def __init__(self, killed: Event, name: str = "") -> None:
        super().__init__()
        self.killed, self.name = killed, name

    def append(self, call: Any) -> None:
        super().append(call)
        if call.name == self.name:
            self.killed.set()
        if self.killed.is_set():
            raise Killed


def killed(large: Changed, name: str, call: str) -> None:
    """Kill the unit in this call of this switch, and wait until every switch has ended its wait."""
    event = Event()
    for each, server in large.rack.servers.items():
        server.calls = Until(event, call if each == name else "")
    with pytest.raises(Killed):
        large.apply()
    for server in large.rack.servers.values():
        server.calls = []
    large.wait()


def test_after_the_unit_was_killed_a_switch_runs_what_it_ran_or_what_was_confirmed(large: Changed) -> None:
    confirmed: set[str] = set()
    for number, call in enumerate(("apply", "confirm", "apply", "confirm")):
        left = [name for name in large.wanted if name not in confirmed]
        waves = by_wave(left, left[0], (), PARALLEL)[: number + 1]
        *before, wave = waves
        half = len(wave) // 2
        killed(large, wave[half], call)
        confirmed |= {name for each in before for name in each}
        confirmed |= {*wave[:half]} if call == "confirm" else set()
        assert large.converged() == confirmed
        assert large.unchanged() == large.wanted.keys() - confirmed
    leads_on(large)
