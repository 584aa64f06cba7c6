# SPDX-License-Identifier: Apache-2.0
"""The scenario `node-removed` without guests: what it tells Juju's part, and what it notices."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from lab.checks import Check, equal
from lab.juju.remote import Result
from lab.rack import controller as juju
from lab.rack import layout, removed
from lab.rack.build import Rack
from lab.rack.controller import Controller
from lab.rack.deployment import ROOT, read
from lab.rack.display import Display
from lab.rack.machine import Floor, Machine
from lab.rack.traffic import Traffic
from lib.lab.silent import SilentGuest, SilentRunner

BUNDLE = ROOT / "bundles/ovn-offload-jammy-caracal.yaml"
LEFT = "/etc/systemd/system/ovn-offload-sriov-early.service"


class Node(SilentGuest):
    """A node that has forgotten its charms; `left` is what it has not."""

    left = ""
    ports = "0\nmode legacy\n" * 2

    def run(self, command: str, *, check: bool = True, timeout: float = 0) -> Any:
        answers = {removed.FILES: self.left, removed.PORTS: self.ports, removed.ANSWERS: "yes\n"}
        if command in answers:
            return SimpleNamespace(stdout=answers[command])
        return super().run(command) if command == juju.LOOK else SimpleNamespace(stdout="")

    def reboot(self, timeout: float) -> None:
        pass


class Unit(SilentRunner):
    """The owner of the reboots wants one for each change of its options but the first."""

    def emit(self, event: str, **given: Any) -> Result:
        owns = self.known["app"] == "sriov-switchdev"
        again = owns and event == "config_changed" and "config-changed" in self.ran
        done = super().emit(event, **given)
        return Result(done.status, again, done.relations, [], [], {}, None)


@pytest.fixture
def rack(monkeypatch: pytest.MonkeyPatch) -> Iterator[Rack]:
    monkeypatch.setattr(juju, "Runner", Unit)
    monkeypatch.setattr(juju, "LOOK_AGAIN", 0.0)
    deployment = read(BUNDLE, [], 2)
    names = ["node-0", "node-1"]
    place = dict(zip(deployment.nodes, names, strict=True))
    machines = [Machine(name, Node(), "192.168.25.5") for name in [*names, layout.FABRIC]]
    for app in deployment.applications.values():
        for machine in app.machines:
            place.setdefault(machine, layout.FABRIC)
    floor = Floor(machines, lambda: None)
    controller = Controller(deployment, floor, place)
    floor.tick = controller.due
    controller.deploy(*controller.planned)
    assert floor.work(lambda: controller.settled, 30)

    @contextmanager
    def quiet(*_: Any) -> Iterator[Traffic]:
        yield Traffic(sent=50)

    monkeypatch.setattr(removed, "traffic", quiet)
    monkeypatch.setattr(removed.checks, "node", lambda guest, vfs: [equal("VFs", "VFs", "8", str(vfs))])
    monkeypatch.setattr(removed.ovn, "no_instance", lambda guest: None)
    monkeypatch.setattr(removed, "verify", lambda rack: [])
    yield Rack(deployment, floor, controller, Display(floor.machines, io.StringIO()), 2)
    floor.stop()


def wrong(found: list[Check]) -> list[str]:
    """List the checks that fail."""
    return [check.subject for check in found if not check.holds]


def test_after_a_clean_removal_all_holds_and_the_other_node_leads(rack: Rack) -> None:
    found = removed.node_removed(rack)
    assert wrong(found) == [], found
    led = {check.subject: check.found for check in found if check.subject.endswith("is led by")}
    assert led == {f"{app} is led by": f"{app}/0" for app in ("nic-firmware", "sriov-switchdev", "roce-qos")}
    assert sorted(rack.nodes) == ["node-0"]
    assert {unit.machine.name for unit in rack.controller.units.values()} == {"node-0", layout.FABRIC}


def test_what_is_left_or_stays_configured_is_noticed(rack: Rack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Node, "left", LEFT)
    monkeypatch.setattr(Node, "ports", "8\nmode switchdev\n" * 2)
    found = removed.node_removed(rack)
    assert wrong(found) == ["files of the charms on node-1", "node-1 VFs and modes after a boot"]
    assert LEFT in {check.found for check in found}
