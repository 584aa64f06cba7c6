# SPDX-License-Identifier: Apache-2.0
"""The rack's Juju without guests: what it takes from a bundle, in which order it tells units what."""

import copy
import json
import socket
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from lab.cable import Nic
from lab.guest import GuestError
from lab.juju.model import Relation
from lab.juju.remote import HookError, Result
from lab.rack import controller as juju
from lab.rack import layout
from lab.rack.controller import Controller
from lab.rack.deployment import ROOT, Application, Deployment, read
from lab.rack.hands import Hands
from lab.rack.machine import Floor, Job, Machine

BUNDLE = ROOT / "bundles/ovn-offload-jammy-caracal.yaml"
ADDRESSES = {"a": "192.168.25.51", "b": "192.168.25.52"}
META = {"peers": {"peers": {}}, "provides": {"link": {}}, "actions": {}}


class FakeGuest:
    """Answers the look at its units, and counts its reboots."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.units: dict[str, dict[str, Any]] = {}
        self.reboots = 0
        self.powered = True

    def run(self, command: str) -> Any:
        lines = [json.dumps({"app": app, **known}) for app, known in self.units.items()]
        return SimpleNamespace(stdout="\n".join([f"boot-{self.reboots}", *lines, ""]))

    def reboot(self, timeout: float) -> None:
        self.reboots += 1

    def power_cycle(self) -> None:
        self.powered = True
        self.reboot(0)

    def cut_power(self) -> None:
        self.powered = False

    def kill(self) -> None:
        pass

    def processes(self) -> list[int]:
        return []


class FakeRunner:
    """A charm that counts its peers, reboots its machine once and writes down what it hears."""

    heard: ClassVar[list[str]] = []

    def __init__(self, guest: FakeGuest, app: str, **known: Any) -> None:
        self.guest, self.known = guest, {"status": ["waiting", ""], **known}
        self.name = f"{app}/{known['number']}"
        guest.units[app] = self.known

    def emit(
        self,
        event: str,
        config: dict[str, Any],
        relations: list[dict[str, Any]],
        remote_unit: int | None = None,
        **_: Any,
    ) -> Result:
        self.known["config"] = dict(config)
        if not self.guest.powered:
            raise GuestError("QEMU is gone")
        self.heard.append(f"{self.name} {event}" + (f" {remote_unit}" if remote_unit is not None else ""))
        for new in relations:
            old = next(each for each in self.known["relations"] if each["id"] == new["id"])
            old.update(copy.deepcopy(new))
        for relation in self.known["relations"]:
            peers = relation.get("peers_data", {}) | relation.get("remote_units_data", {})
            relation["local_unit_data"] |= {"name": self.name, "sees": str(sorted(peers))}
        reboot = event == "start" and not self.guest.reboots
        self.known["status"] = ["active", ""] if self.guest.reboots else ["waiting", "for the reboot"]
        if event == "start" and self.name == "one/1" and f"{self.name} failed" not in self.heard:
            self.heard.append(f"{self.name} failed")
            raise HookError("Traceback\nRuntimeError: broken on purpose")
        return Result(tuple(self.known["status"]), reboot, self.known["relations"], [], [], {}, None)

    def action(self, action: str, params: dict[str, Any], timeout: float) -> Result:
        self.heard.append(f"{self.name} {action}")
        status, relations = tuple(self.known["status"]), self.known["relations"]
        return Result(status, False, relations, [], [], {"done": f"{action} {params}"}, None)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    monkeypatch.setattr(juju, "Runner", FakeRunner)
    monkeypatch.setattr(juju, "LOOK_AGAIN", 0.0)
    FakeRunner.heard = []
    return FakeRunner.heard


def model() -> tuple[Controller, dict[str, FakeGuest]]:
    """Application one on two machines, two on the second of them, related."""
    guests = {name: FakeGuest(name) for name in ("a", "b")}
    floor = Floor([Machine(name, guest, ADDRESSES[name]) for name, guest in guests.items()], lambda: None)
    apps = {
        "one": Application("one", "one", META, {}, ("0", "1")),
        "two": Application("two", "two", META, {}, ("1",)),
    }
    relations = (
        Relation(0, {"one": "peers"}),
        Relation(1, {"one": "link", "two": "link"}),
    )
    controller = Controller(Deployment(apps, relations, ("0", "1")), floor, {"0": "a", "1": "b"})
    floor.tick = controller.due
    return controller, guests


def test_update_status_comes_for_all_while_one_waits_and_for_none_afterwards(
    heard: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(juju, "UPDATE_STATUS", 0.05)
    controller, guests = model()
    controller.deploy(*controller.planned)
    assert controller.floor.work(lambda: controller.settled, 30)
    heard.clear()
    controller.floor.work(lambda: False, 0.5)
    assert heard == []
    guests["a"].reboots = 0
    controller.queue(controller.units["one/0"], "config_changed")
    updates = {f"{name} update_status" for name in controller.units}
    assert controller.floor.work(lambda: updates <= set(heard), 30)
    assert controller.units["one/0"].status[0] == "waiting"
    controller.floor.stop()


def juju_of(controller: Controller) -> Hands:
    """The client that the operator's commands have on a rack."""
    nodes = {"a": 0, "b": 1}
    rack: Any = SimpleNamespace(controller=controller, nodes=nodes, deployment=controller.deployment)
    return Hands(rack, lambda address: ("", ""))


def test_an_operators_action_goes_to_the_leader_and_waits_for_no_machine_that_reboots(
    heard: list[str],
) -> None:
    controller, _ = model()
    controller.deploy(*controller.planned)
    assert controller.floor.work(lambda: controller.settled, 30)
    controller.lead("one/1")
    run = ["juju", "run", "--format", "json"]
    juju = juju_of(controller)
    done = juju([*run, "one/leader", "plan", "unit=one/0", "--wait=120s"], "", 5.0)
    assert json.loads(done.text)["one/1"]["results"] == {"done": "plan {'unit': 'one/0'}"}

    heard.clear()
    controller._reboot(controller.floor.machines["b"])
    status = json.loads(juju(["juju", "status", "--format", "json"], "", 5.0).text)
    units = status["applications"]["nova-compute"]["units"]
    agents = [units[f"nova-compute/{number}"]["subordinates"] for number in (0, 1)]
    assert agents[0]["one/0"]["juju-status"] == {"current": "idle"}
    assert {each["juju-status"]["current"] for each in agents[1].values()} == {"lost"}
    late = juju([*run, "one/1", "plan", "--wait=120s"], "", 5.0)
    assert (late.status, late.error) == (1, "ERROR timed out waiting for results: unit one/1")
    assert controller.floor.work(lambda: controller.settled, 30)
    assert "one/1 start" in heard
    assert "one/1 plan" not in heard
    controller.floor.stop()


def test_a_hook_in_which_the_power_failed_runs_again_before_start(heard: list[str]) -> None:
    controller, guests = model()
    controller.deploy(*controller.planned)
    assert controller.floor.work(lambda: controller.settled, 30)
    heard.clear()
    guests["a"].powered = False
    controller.queue(controller.units["one/0"], "config_changed")
    assert controller.floor.work(lambda: controller.settled, 30)
    assert heard[:2] == ["one/0 config_changed", "one/0 start"]
    assert (guests["a"].reboots, guests["b"].reboots) == (2, 1)
    controller.floor.stop()


def test_a_machine_without_power_does_nothing_until_it_is_back(heard: list[str]) -> None:
    controller, guests = model()
    controller.deploy(*controller.planned)
    assert controller.floor.work(lambda: controller.settled, 30)
    heard.clear()
    before = len(controller.down)
    controller.cut_power(["b"])
    controller.configure("one", {"size": 3})
    assert not controller.floor.work(lambda: controller.settled, 0.5)
    assert heard == ["one/0 config_changed"]
    waiting = [job.what for job in controller.floor.machines["b"].queue if job.what]
    assert waiting == ["one/1 config-changed"]
    controller.power_on(["b"])
    assert controller.floor.work(lambda: controller.settled, 30)
    after = [each for each in heard[1:] if each != "one/1 failed"]  # its first start does
    assert after.index("two/0 start") < after.index("one/1 config_changed")
    assert after.index("one/1 start") < after.index("one/1 config_changed")
    assert [guest.reboots for guest in guests.values()] == [1, 2]
    (down,) = controller.down[before:]
    assert down[0] == "b"
    assert down[2] - down[1] >= 0.5, "it was down since its power was cut"
    controller.floor.stop()


def test_a_reboot_that_was_asked_for_before_the_power_failed_is_not_made_after_it(heard: list[str]) -> None:
    controller, guests = model()
    controller.deploy("one/0")
    machine = controller.floor.machines["a"]
    assert controller.floor.work(lambda: any(job.what == juju.REBOOT for job in machine.queue), 30)
    controller.cut_power(["a"])
    assert guests["a"].reboots == 0
    controller.power_on(["a"])
    assert controller.floor.work(lambda: controller.settled, 30)
    assert guests["a"].reboots == 1
    assert [name for name, _, _ in controller.down] == ["a"]
    controller.floor.stop()


def test_a_hook_that_fails_with_the_power_does_not_switch_it_on(heard: list[str]) -> None:
    controller, guests = model()
    controller.deploy("one/0")
    assert controller.floor.work(lambda: controller.settled, 30)
    heard.clear()
    machine = controller.floor.machines["a"]
    began = threading.Event()

    def hook(_: object) -> None:
        began.set()
        while guests["a"].powered:
            time.sleep(0.01)
        raise GuestError("QEMU is gone")

    unit = controller.units["one/0"]
    job = Job("one/0 update-status", hook)
    job.failed = partial(controller._failed, unit, Job("one/0 update-status", lambda _: None))
    machine.queue.append(job)
    assert controller.floor.work(began.is_set, 30)
    controller.cut_power(["a"])
    assert [each.what for each in machine.queue if each.what] == [juju.POWER_ON, "one/0 update-status"]
    controller.floor.work(lambda: False, 0.3)
    assert guests["a"].reboots == 1, "without power"
    controller.power_on(["a"])
    assert controller.floor.work(lambda: controller.settled, 30)
    assert guests["a"].reboots == 2
    controller.floor.stop()


def test_what_is_not_done_in_time_is_named_with_its_machine() -> None:
    done: list[str] = []
    floor = Floor([Machine(name, FakeGuest(name)) for name in "ab"], lambda: None)
    a, b = floor.machines.values()
    first, last = Job("first", lambda guest: guest.name, done.append), Job("last", lambda guest: guest.name)
    assert floor.do([(b, last), (a, first)], 10) == ["b", "a"]
    assert done == ["a"]
    with pytest.raises(TimeoutError, match="not done within 0 s: slow on b"):
        floor.do([(a, Job("quick", lambda _: None)), (b, Job("slow", lambda _: time.sleep(0.7)))], 0.1)
    floor.stop()


def test_the_bundles_own_applications_are_taken_with_options_places_and_relations() -> None:
    wanted = read(BUNDLE, [], 2)
    assert list(wanted.applications) == ["nic-firmware", "sriov-switchdev", "roce-qos", "cumulus-fabric"]
    sriov = wanted.applications["sriov-switchdev"]
    assert (sriov.machines, wanted.applications["cumulus-fabric"].machines) == (("0", "1"), ("2",))
    assert sriov.options == {
        "num-vfs": 8,
        "vf-lag": "required",
        "reboot-policy": "when-idle",
        "reboot-settle": 0,
    }
    ends = [relation.ends for relation in wanted.relations]
    assert {"roce-qos": "fabric", "cumulus-fabric": "fabric"} in ends
    assert {"sriov-switchdev": "reboot"} in ends
    assert [each.container for each in wanted.relations if "juju-info" in str(each.ends)] == [True] * 3


def test_an_overlay_decides_and_more_nodes_get_machines_of_their_own() -> None:
    wanted = read(BUNDLE, [ROOT / "overlays/no-fabric.yaml"], 4)
    assert list(wanted.applications) == ["nic-firmware", "sriov-switchdev", "roce-qos"]
    assert wanted.nodes == wanted.applications["roce-qos"].machines == ("0", "1", "3", "4")


def test_a_subordinate_is_only_where_its_principal_is() -> None:
    overlay = ROOT / "overlays/controller-nics.yaml"
    wanted = read(BUNDLE, [overlay], 3)
    assert wanted.left_out == ("nic-firmware-control",), "its principal is on the control node"
    assert (wanted.applications, wanted.nodes) == (read(BUNDLE, [], 3).applications, ("0", "1", "3"))
    ends = {name for relation in wanted.relations for name in relation.ends}
    assert ends == set(wanted.applications)


def test_a_principal_that_is_on_some_of_the_compute_nodes_has_its_subordinates_there(tmp_path: Path) -> None:
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text((ROOT / "overlays/controller-nics.yaml").read_text().replace('["2"]', '["1", "2"]'))
    assert read(BUNDLE, [overlay], 2).applications["nic-firmware-control"].machines == ("1",)
    assert read(BUNDLE, [overlay], 1).left_out == ("nic-firmware-control",)


def plugged(nic: Nic) -> socket.socket:
    """The socket that QEMU opens for a card."""
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    end.bind(("127.0.0.1", nic.here))
    end.settimeout(60)
    return end


def test_every_node_has_its_own_cables_and_addresses() -> None:
    with layout.cabled() as (fabric, nodes, control):
        far = [nic for node in nodes for nic in node]
        assert len(far) == 2 * layout.MOST
        assert control == []
        for number, (near, other) in enumerate(zip(fabric, far)):
            with plugged(near) as one, plugged(other) as another:
                one.sendto(b"frame %d" % number, ("127.0.0.1", near.there))
                assert another.recv(100) == b"frame %d" % number
    wired = {cable[3] for cable in layout.wiring().cables if cable[2] == "outside"}
    assert wired == {nic.mac for nic in fabric}
    assert len({layout.node_setup(node).script for node in range(layout.MOST)}) == layout.MOST


def test_a_control_plane_has_the_port_of_the_reference_designs_machine_maas() -> None:
    with layout.cabled(cloud=True) as (fabric, _, (control,)):
        assert (fabric[-1].here, fabric[-1].there) == (control.there, control.here)
    wiring = layout.wiring(cloud=True)
    assert ("Leaf0-1", "swp24", "outside", fabric[-1].mac) in wiring.cables
    assert "maas" not in wiring.hosts
    assert {cable[3] for cable in wiring.cables if cable[2] == "outside"} == {nic.mac for nic in fabric}
