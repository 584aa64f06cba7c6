# SPDX-License-Identifier: Apache-2.0
"""A refresh from each recorded release: what its charm left on a host and in its databags, read by this code.

``release_<version>.json`` beside a charm's tests has the text of each file and databag that this version of
the charm leaves on the modelled host, before its reboot (`prepared`) and after it (`converged`). BOOT-ID
stands for the running boot's, NOW for the time, and STAMP for the digest of the boot copy's code. To record
what the code at hand leaves, as the version in the charm's pyproject.toml::

    python -m pytest --override-ini="pythonpath=lib tests charms/nic-firmware/src" \\
        tests/unit/nic_firmware/test_refresh.py --record

A version that was published keeps its recording: raise the version before you record another one.
"""

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from exporter import facts
from hostnic import handover

CHARMS = ("nic-firmware", "sriov-switchdev", "roce-qos")
STAGES = ("prepared", "converged")
OWN = ("install ", "remove ", "run systemctl ")
TIME = re.compile(r"\b1[6-9][0-9]{8}\b")
"""A number of seconds since the epoch."""

TESTS = Path(__file__).parent
Left = dict[str, dict[str, str]]
"""The text of each file by its path, and of each databag by its owner."""


def recordings(charm: str) -> list[Path]:
    """The recordings of a charm, the newest version last."""
    found = (TESTS / charm.replace("-", "_")).glob("release_*.json")
    return sorted(found, key=lambda path: [int(part) for part in _version(path).split(".")])


def _version(recording: Path) -> str:
    return recording.stem.removeprefix("release_")


def current_version(charm: str) -> str:
    """The version in the charm's pyproject.toml."""
    text = (TESTS.parents[1] / "charms" / charm / "pyproject.toml").read_text()
    return text.partition('version = "')[2].partition('"')[0]


def is_ours(path: str) -> bool:
    """Whether a charm of this project has left a file."""
    return "ovn-offload" in path


def left_by(node: Any) -> Left:
    """Return the files and databags that the unit has left on its host."""

    def neutral(text: str) -> str:
        return TIME.sub("NOW", text.replace(node.host.boot_id, "BOOT-ID"))

    files = {
        path: "STAMP" if path.endswith(("/stamp", "/exporter.stamp")) else neutral(content.decode())
        for path, content in sorted(node.host.disk.content.items())
        if is_ours(path) and not path.endswith(".pyz") and not path.startswith(facts.DIRECTORY)
    }
    peer = getattr(node, "peer", None)
    if peer is None:
        return {"files": files, "databags": {}}
    peer = node.state.get_relation(peer.id)
    bags = {"unit": peer.local_unit_data, "app": peer.local_app_data}
    return {"files": files, "databags": {owner: neutral(bag["reboot"]) for owner, bag in bags.items()}}


def of_now(node: Any, text: str) -> str:
    """A recorded text as it would be in this boot; the boot copy is of other code."""
    text = "0" * 64 if text == "STAMP" else text
    return text.replace("BOOT-ID", node.host.boot_id).replace("NOW", str(int(time.time())))


def go_back(node: Any, left: Left) -> None:
    """Exchange everything that the charm left for what a release left in the same place."""
    disk = node.host.disk
    for path in [path for path in disk.content if is_ours(path)]:
        disk.remove(path)
    for path, text in left["files"].items():
        disk.install(path, of_now(node, text).encode(), 0o600)
    bags = {owner: {"reboot": of_now(node, text)} for owner, text in left["databags"].items()}
    if bags:
        peer = node.state.get_relation(node.peer.id)
        peer = replace(peer, local_unit_data=bags["unit"], local_app_data=bags["app"])
        others = {relation for relation in node.state.relations if relation.id != peer.id}
        node.state = replace(node.state, relations={*others, peer})


def refreshed(node: Any) -> list[str]:
    """Run the two hooks of a refresh; what they wrote outside of what the charm owns."""
    writes = list[str]()
    for event in ("upgrade_charm", "config_changed"):
        node.emit(event)
        writes += [line for line in node.writes if not line.startswith(OWN)]
    return writes


def _converge(node: Any) -> None:
    node.boot()
    assert node.emit("update_status").name == "active"


class FromRelease:
    """A charm's test class derives from it, and has a fixture ``node``."""

    charm: ClassVar[str]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Each test with each recording; a recording is made without any."""
        if "recording" in metafunc.fixturenames:
            found = recordings(self.charm)
            metafunc.parametrize("recording", found, ids=map(_version, found))

    def prepare(self, node: Any) -> None:
        """The hooks of a new unit, of a charm that needs a reboot."""
        node.deploy(reboot_policy="always", reboot_settle=0)

    def reach(self, node: Any, stage: str) -> None:
        """A new unit, before its host's reboot or after it."""
        self.prepare(node)
        if stage == "converged":
            _converge(node)

    def test_the_newest_recording_is_what_this_code_leaves(
        self, node: Any, pytestconfig: pytest.Config
    ) -> None:
        self.prepare(node)
        left = {"prepared": left_by(node)}
        _converge(node)
        left["converged"] = left_by(node)
        if pytestconfig.getoption("--record"):
            path = TESTS / self.charm.replace("-", "_") / f"release_{current_version(self.charm)}.json"
            path.write_text(json.dumps(left, indent=1, sort_keys=True) + "\n")
        newest = recordings(self.charm)[-1]
        assert json.loads(newest.read_text()) == left, f"{newest.name} is of other code: see {__file__}"

    @pytest.mark.parametrize("stage", STAGES)
    def test_the_refresh_changes_only_what_the_charm_owns(
        self, node: Any, recording: Path, stage: str
    ) -> None:
        self.reach(node, stage)
        before = node.state.unit_status
        go_back(node, json.loads(recording.read_text())[stage])
        assert refreshed(node) == []
        assert node.state.unit_status == before
        assert node.emit("update_status") == before
        assert node.writes == []

    @pytest.mark.parametrize("stage", STAGES)
    def test_no_file_is_left_that_this_code_does_not_have(
        self, node: Any, recording: Path, stage: str
    ) -> None:
        self.reach(node, stage)
        ours = {path for path in node.host.disk.content if is_ours(path)}
        go_back(node, json.loads(recording.read_text())[stage])
        refreshed(node)
        assert {path for path in node.host.disk.content if is_ours(path)} - ours == set()

    @pytest.mark.parametrize("stage", STAGES)
    def test_the_next_boot_ends_converged_with_one_reboot_at_most(
        self, node: Any, recording: Path, stage: str
    ) -> None:
        self.reach(node, stage)
        go_back(node, json.loads(recording.read_text())[stage])
        refreshed(node)
        asked = getattr(node, "reboots_asked", 0)
        assert node.boot().name == "active"
        assert node.action("verify")["verified"] == "true"
        assert getattr(node, "reboots_asked", 0) == asked

    @pytest.mark.parametrize("stage", STAGES)
    def test_it_reads_what_the_machines_other_charms_hand_over_whichever_is_refreshed_first(
        self, node: Any, stage: str
    ) -> None:
        """Of a charm that is still to be refreshed that is an older recording, else the newest one."""
        for other in (charm for charm in CHARMS if charm != self.charm):
            path = handover.path_of(other)
            node.host.disk.install(f"/var/lib/juju/agents/unit-{other}-0/agent.conf", b"", 0o600)
            for recording in recordings(other):
                text = json.loads(recording.read_text())[stage]["files"][path]
                node.host.disk.install(path, of_now(node, text).encode(), 0o600)
                found, malformed = handover.read_others(node.host, self.charm)
                assert malformed == ()
                assert other in {each.charm for each in found}
