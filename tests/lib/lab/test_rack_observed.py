# SPDX-License-Identifier: Apache-2.0
"""The faults in the rack's scenario `observed`, and the units that are scraped there, without a guest."""

import json
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from intent import expand
from lab.nvue import Certificate, Server, Switch
from lab.rack import deployment, layout, observed
from lab.rack.build import Rack
from lab.rack.common import by_hand
from lab.rack.controller import Controller
from lab.rack.display import Display
from lab.rack.machine import Floor, Machine

BUNDLE = deployment.ROOT / "bundles/ovn-offload-jammy-caracal.yaml"
SHIPPED = json.loads((resources.files("exporter") / "cos" / "alerts.json").read_text())


@pytest.fixture
def rack() -> Rack:
    """The rack of a bundle with all of its units, and no guest."""
    wanted = deployment.read(BUNDLE, [], 2)
    floor = Floor([Machine(name, SimpleNamespace()) for name in ("node-0", "node-1", "fabric")], lambda: None)
    place = {machine: f"node-{number}" for number, machine in enumerate(wanted.nodes)}
    place |= {
        each: "fabric" for app in wanted.applications.values() for each in app.machines if each not in place
    }
    controller = Controller(wanted, floor, place)
    controller.units.update(controller.planned)
    return Rack(wanted, floor, controller, Display(floor.machines), 2)


def test_each_fault_of_the_rack_expects_an_alert_that_is_shipped(rack: Rack) -> None:
    found = observed.faults_of(rack)
    assert {fault.alert for fault in found} <= {
        rule["alert"] for group in SHIPPED["groups"] for rule in group["rules"]
    }
    about = {fault.alert: fault.about for fault in found}
    assert "sriov-switchdev/1" in about["OffloadRebootLockStuck"]
    assert about["OffloadFabricSegmentsMissing"] == ("fabric Leaf0-1", "fabric Leaf0-2")


def test_the_leaf_that_is_drained_has_no_machine_with_a_single_leg(rack: Rack) -> None:
    """The charm would refuse to drain the leaf behind which the controller is."""
    (about,) = {fault.alert: fault.about for fault in observed.faults_of(rack)}["OffloadFabricSwitchDrained"]
    fabric = expand.read(next(o["intent"] for o in _options(rack) if "intent" in o))
    leaf = fabric.switch(about.partition(" ")[2])
    assert leaf is not None
    assert leaf.single_homed == ()


def _options(rack: Rack) -> list[dict[str, Any]]:
    return [app.options for app in rack.deployment.applications.values()]


def test_each_machine_of_the_rack_is_scraped_for_the_unit_whose_exporter_runs(rack: Rack) -> None:
    units = [observed.exporting(rack, name) for name in ("node-0", "node-1", "fabric")]
    assert units == ["sriov-switchdev/0", "sriov-switchdev/1", "cumulus-fabric/0"]


def test_the_cables_of_two_ports_to_the_spines_are_exchanged() -> None:
    ports = {port: f"cable of {port}" for port in ("swp31", "swp32")}
    for old, new in re.findall(r"link set (\S+) name (\S+)", observed.EXCHANGED):
        ports[new] = ports.pop(old)
    assert ports == {"swp31": "cable of swp32", "swp32": "cable of swp31"}
    ends = {(port, far) for one, port, far, _ in layout.wiring().cables if one == observed.LEAF}
    assert ends >= {("swp31", "Spine0"), ("swp32", "Spine1")}


def test_a_setting_is_changed_on_a_switch_as_by_hand(tmp_path: Path) -> None:
    address = "127.7.7.7"  # nobody else's: the program knows only NVUE's own port
    certificate = Certificate.make(tmp_path, names=(f"IP:{address}",))
    switch = Switch()
    with Server(switch, certificate, address=address, port=8765):
        switch.applied["qos"] = {"roce": {"enable": "on", "mode": "lossless"}}
        own = layout.wiring().switches[observed.LEAF].partition("/")[0]
        places = {
            own: address,
            layout.CERTIFICATE: str(certificate.certificate),
            "/opt/ovn-offload": str(deployment.ROOT),
            "python3": sys.executable,
        }
        command = by_hand(observed.LEAF, observed.DRIFT)
        for place, here in places.items():
            command = command.replace(place, here)
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert switch.applied["qos"]["roce"]["mode"] == "lossy"
