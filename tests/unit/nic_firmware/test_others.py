# SPDX-License-Identifier: Apache-2.0
"""Events of other machines' units: Juju 4.0.15 runs the hooks of juju-info on every machine."""

from dataclasses import replace
from typing import Any

import charm
import pytest
from lab.modelled import FakeHost
from ops import testing
from unit.nic_firmware.node import Node


class Watched:
    """A host that notes what is asked of it: files, processes and all else of a System."""

    def __init__(self, host: FakeHost) -> None:
        self.host = host
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        return getattr(self.host, name)


@pytest.fixture
def watched(node: Node, monkeypatch: pytest.MonkeyPatch) -> Watched:
    found = Watched(node.host)
    monkeypatch.setattr(charm.NicFirmwareCharm, "machine", staticmethod(lambda: found))
    return found


@pytest.mark.parametrize("event", ["relation_joined", "relation_changed"])
def test_a_hook_about_another_machines_unit_reads_nothing_and_starts_no_process(
    node: Node, watched: Watched, event: str
) -> None:
    principal = testing.SubordinateRelation("juju-info", remote_app_name="nova-compute", remote_unit_id=7)
    others = {relation for relation in node.state.relations if relation.endpoint != "juju-info"}
    node.state = replace(node.state, relations={*others, principal})
    node.emit("config_changed")
    assert {"files", "run"} <= set(watched.asked), watched.asked
    status = node.state.unit_status
    watched.asked.clear()
    assert node.emit(event, principal) == status
    assert (watched.asked, node.host.spawned) == ([], [])
