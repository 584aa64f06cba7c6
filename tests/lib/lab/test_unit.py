# SPDX-License-Identifier: Apache-2.0
"""A unit's hooks through ops.testing, over the socket that the guest has, without a guest."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab.juju import service
from lab.juju.remote import HookError, Unit

ROOT = Path(__file__).parents[3]
SERVE = """
import sys
from pathlib import Path
from lab.juju import service

home, service.SOURCES, service.SYSTEMD_FIRST_SOCKET = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
service.UNITS, service.AGENTS, service.TRACES = home / "units", home / "agents", home
service.serve()
"""
META = """
name: tiny
summary: A few lines
description: A few lines
type: charm
subordinate: true
requires: {host: {interface: juju-info, scope: container}}
peers: {peers: {interface: tiny}}
resources: {image: {type: file, filename: image}}
config: {options: {size: {type: int, default: 1}}}
actions: {show: {params: {word: {type: string}}}, forbidden: {}}
"""
CHARM = """
import os
import ops
from hostnic.machine import Machine

class Tiny(ops.CharmBase):
    def __init__(self, framework):
        super().__init__(framework)
        framework.observe(self.on.config_changed, self._configure)
        framework.observe(self.on.update_status, self._reboot)
        framework.observe(self.on.forbidden_action, self._reboot)
        framework.observe(self.on.stop, self._fail)
        framework.observe(self.on.show_action, self._show)
        framework.observe(self.on.peers_relation_changed, self._hear)
        framework.observe(self.on.peers_relation_departed, self._lose)

    def _configure(self, event):
        self.model.get_relation("peers").data[self.unit]["size"] = str(self.config["size"])
        if self.config["size"] == 7:
            Machine().files.install(os.path.abspath("seven"), b"7")
        self.unit.status = ops.ActiveStatus(f"size {self.config['size']}")

    def _reboot(self, event):
        self.unit.reboot()

    def _fail(self, event):
        self.unit.status = ops.BlockedStatus("never seen")
        raise RuntimeError("broken on purpose")

    def _hear(self, event):
        self.unit.status = ops.ActiveStatus(f"heard of {event.unit.name if event.unit else event.app.name}")

    def _lose(self, event):
        leads = "leads" if self.unit.is_leader() else "follows"
        self.unit.status = ops.ActiveStatus(f"{event.departing_unit.name} leaves {event.unit.name}; {leads}")

    def _show(self, event):
        event.set_results({"word": event.params["word"]})
"""


class Guest:
    """Where the service runs: this machine."""

    boot_id = service.BOOT_ID.read_text().strip()

    def run(self, command: list[str], stdin: str, timeout: float) -> Any:
        ask = [sys.executable, *command[1:]]
        return subprocess.run(ask, input=stdin, text=True, check=True, stdout=subprocess.PIPE)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the service keeps its units, and the charm lies in ``tiny``."""
    home = tmp_path_factory.mktemp("home")
    (home / "tiny/src").mkdir(parents=True)
    (home / "tiny/charmcraft.yaml").write_text(META)
    with socket.socket(socket.AF_UNIX) as listener, pytest.MonkeyPatch.context() as patch:
        patch.setattr(service, "SOCKET", str(home / "socket"))
        listener.bind(service.SOCKET)
        listener.listen()
        arguments = [str(home), str(ROOT), str(listener.fileno())]
        environment = os.environ | {"PYTHONPATH": str(ROOT / "tests"), "PYTHONDONTWRITEBYTECODE": "1"}
        with subprocess.Popen(
            [sys.executable, "-c", SERVE, *arguments], env=environment, pass_fds=[listener.fileno()]
        ) as serving:
            yield home
            serving.kill()


@pytest.fixture
def tiny(home: Path) -> Unit:
    (home / "tiny/src/charm.py").write_text(CHARM)
    return Unit(Guest(), "tiny", path=str(home / "tiny"), config={"size": 3})


def own(result: Any) -> dict[str, Any]:
    """Return the data that a unit has written for its peers."""
    return next(each["local_unit_data"] for each in result.relations if each["endpoint"] == "peers")


def test_a_new_unit_has_its_peers_and_its_principal(tiny: Unit) -> None:
    assert [each["endpoint"] for each in tiny.known["relations"]] == ["peers", "host"]
    result = tiny.start()
    assert (result.status, result.reboot_requested, result.writes) == (("active", "size 3"), False, [])
    assert own(result)["size"] == "3"


def test_a_change_in_the_applications_databag_is_of_no_unit(tiny: Unit) -> None:
    peers = {"relations": [{"id": 0, "endpoint": "peers", "peers_data": {1: {}, 2: {}}}]}
    said = tiny.emit("peers_relation_changed", told={"JUJU_REMOTE_UNIT": ""}, **peers).status
    assert said == ("active", "heard of tiny")
    assert tiny.emit("peers_relation_changed", remote_unit=2, **peers).status == ("active", "heard of tiny/2")


def test_a_change_of_the_applications_databag_reaches_a_unit_that_no_peer_has_joined(tiny: Unit) -> None:
    alone = {"relations": [{"endpoint": "peers", "id": 7, "peers_data": {}}]}
    said = tiny.emit("peers_relation_changed", told={"JUJU_REMOTE_UNIT": ""}, **alone).status
    assert said == ("active", "heard of tiny")


def test_a_unit_is_told_who_departs_and_whether_it_leads(tiny: Unit) -> None:
    peers = {"relations": [{"id": 0, "endpoint": "peers", "peers_data": {1: {}}}]}
    departed = {"remote_unit": 1, "told": {"JUJU_DEPARTING_UNIT": "tiny/0"}, **peers}
    said = tiny.emit("peers_relation_departed", leader=False, **departed).status
    assert said == ("active", "tiny/0 leaves tiny/1; follows")
    departed["told"] = {"JUJU_DEPARTING_UNIT": "tiny/1"}
    said = tiny.emit("peers_relation_departed", leader=True, planned_units=2, **departed).status
    assert said == ("active", "tiny/1 leaves tiny/1; leads")
    assert tiny.known["planned_units"] == 2


def test_a_removed_unit_leaves_no_agent(tiny: Unit, home: Path) -> None:
    tiny.start()
    tiny.remove()
    assert not (home / "agents/unit-tiny-0").exists()
    assert not (home / "units/tiny.json").exists()


def test_hooks_are_counted_by_what_they_did(tiny: Unit) -> None:
    tiny.start()
    tiny.emit("config_changed", config={"size": 7})
    tiny.action("show", {"word": "x"})
    once = {"ran": 1, "observed": 0, "wrote": 0}
    assert tiny.known["hooks"] == {
        "install": once,
        "leader_elected": once,
        "config_changed": {"ran": 2, "observed": 2, "wrote": 1},
        "start": once,
    }


def test_a_request_for_a_reboot_is_the_hooks_and_the_boots(tiny: Unit) -> None:
    assert tiny.emit("update_status").reboot_requested
    assert not tiny.emit("config_changed").reboot_requested
    assert tiny.reboot_requested


def test_a_hook_that_fails_leaves_nothing_with_the_controller(tiny: Unit) -> None:
    tiny.start()
    with pytest.raises(HookError, match="broken on purpose"):
        tiny.emit("stop")
    assert tiny.known["status"] == ["active", "size 3"]
    with pytest.raises(HookError, match="juju-reboot is not supported when running an action"):
        tiny.action("forbidden")


def test_a_hooks_writes_are_told_and_those_of_all_hooks_are_kept_until_the_next_boot(
    tiny: Unit, home: Path
) -> None:
    written = f"install {home}/agents/unit-tiny-0/charm/seven"
    trace = home / "lab-tiny.trace"
    trace.unlink(missing_ok=True)  # as a boot does
    assert tiny.emit("config_changed", config={"size": 7}).writes == [written]
    assert tiny.emit("update_status").writes == []
    # A hook that the charm has dispatched itself tells nobody; what it wrote is known all the same.
    assert service.juju_exec(["-u", "tiny/0", "JUJU_DISPATCH_PATH=hooks/config-changed ./dispatch"]) == 0
    kept = [json.loads(line) for line in trace.read_text().splitlines()]
    assert [" ".join([each["verb"], *each["arguments"]]) for each in kept] == [written] * 2


def test_what_is_kept_of_a_unit_is_one_line_for_whoever_looks(tiny: Unit, home: Path) -> None:
    tiny.start()
    (line,) = (home / "units/tiny.json").read_text().splitlines(keepends=True)
    assert line.endswith("\n")
    assert json.loads(line) == tiny.known
    assert (tiny.known["app"], tiny.known["status"]) == ("tiny", ["active", "size 3"])


def test_what_cannot_be_served_says_why(tiny: Unit) -> None:
    with pytest.raises(RuntimeError, match="no_such_event"):
        tiny.emit("no_such_event")
    with pytest.raises(RuntimeError, match="nowhere"):
        Unit(Guest(), "tiny", path="/nowhere")
