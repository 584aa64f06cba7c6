# SPDX-License-Identifier: Apache-2.0
"""A node that was converged by hand: what is done to it, in which order, and what must not change."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from lab.rack import adopt, byhand
from lab.rack.traffic import Traffic

STATE = "0000:3b:00.0: 8 VFs, mode switchdev, VF-LAG active\nboot-1\n"


class Hand:
    """A guest: notes what is done to it, and checks the syntax of what its shell is given."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.files: dict[str, str] = {}

    def run(self, command: str, **_: Any) -> None:
        subprocess.run(["sh", "-n"], input=command, text=True, check=True)
        self.done.append(command)

    def reboot(self, timeout: float) -> None:
        self.done.append("reboot")

    def write(self, path: str, content: str, mode: int) -> None:
        self.files[path] = content


class Rack:
    """One node that is there, and a blank one; its only charm says what is expected of it."""

    def __init__(self, states: list[str]) -> None:
        self.states = states
        self.count = 1
        self.guests = {name: Hand() for name in ("node-0", "node-1", "fabric")}
        self.display = SimpleNamespace(phase=lambda name: None)
        self.floor = SimpleNamespace(each=self._each, work=lambda done, patience: done())
        unit = SimpleNamespace(
            machine=SimpleNamespace(name="node-1"), status=("blocked", f"1: {adopt.BESIDE}")
        )
        self.controller = SimpleNamespace(down=[], units={"sriov-switchdev/1": unit})

    @property
    def nodes(self) -> dict[str, int]:
        return {f"node-{number}": number for number in range(self.count)}

    def option(self, name: str, default: Any) -> Any:
        return default

    def on(self, machine: str, command: str, **_: Any) -> str:
        return self.states.pop(0) if command == byhand.STATE else ""

    def _each(self, what: str, work: dict[str, Any]) -> None:
        for machine, each in work.items():
            each(self.guests[machine])


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of nodes that were handed to the charms, and of those that lost their power then."""
    seen: list[str] = []

    @contextmanager
    def traffic(rack: Any, one: str, other: str) -> Iterator[Traffic]:
        yield Traffic(sent=100, lost=0)

    monkeypatch.setattr(adopt, "traffic", traffic)
    monkeypatch.setattr(adopt, "deploy_node", lambda rack, name: seen.append(f"{name} deployed"))
    monkeypatch.setattr(adopt, "settled", lambda rack: adopt.equal("charms", "all units settle", "", ""))
    monkeypatch.setattr(adopt, "verify", lambda rack: [])
    monkeypatch.setattr(
        adopt, "power_cycled", lambda rack, names: seen.append(f"{' '.join(names)} booted") or []
    )
    return seen


def test_the_node_is_converged_before_any_charm_is_there(deployed: list[str]) -> None:
    rack: Any = Rack([STATE] * 3)
    assert all(check.holds for check in adopt.adopt(rack))
    done = "\n".join(rack.guests["node-1"].done)
    order = ["ovn-encap-ip=172.16.0.52", "NUM_OF_VFS=8", "MAX_ACC_OUT_READ=44", "reboot", "mode switchdev"]
    order += ["drivers/mlx5_core/bind", "prio-pfc", "ip netns add instance"]
    places = [done.index(each) for each in order]
    assert places == sorted(places)
    assert "instance-1" in rack.guests["fabric"].done[0]
    assert rack.guests["node-1"].files == {byhand.NETPLAN: byhand.SENTINEL}
    assert deployed == ["node-1 deployed", "node-1 booted"]


def test_what_changes_is_named(deployed: list[str]) -> None:
    rack: Any = Rack([STATE, STATE, STATE.replace("boot-1", "boot-2")])
    wrong = [check for check in adopt.adopt(rack) if not check.holds]
    assert [(check.subject.partition(": ")[0], check.found) for check in wrong] == [
        ("node-1 afterwards", "boot-2")
    ]
