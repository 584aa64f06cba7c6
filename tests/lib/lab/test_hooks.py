# SPDX-License-Identifier: Apache-2.0
"""The report's hooks: numbers for programs in the JSON, lines for people."""

import time
from types import SimpleNamespace

from lab.rack import hooks, report
from lab.rack.controller import Controller, Unit
from lab.rack.deployment import Application, Deployment
from lab.rack.machine import Floor, Machine

ONE = {
    "install": {"ran": 1, "observed": 1, "wrote": 1},
    "reboot_relation_changed": {"ran": 11, "observed": 4, "wrote": 0},
}


def test_a_line_for_each_unit_and_the_sums() -> None:
    lines = list(hooks.text({"one/0": ONE, "other/10": {"start": {"ran": 2, "observed": 2, "wrote": 1}}}))
    assert lines == [
        "",
        "Hooks: ran, looked at the machine, wrote there",
        "  one/0      12    5    1  install 1, reboot-relation-changed 11",
        "  other/10    2    2    1  start 2",
        "  all        14    7    2",
    ]
    assert list(hooks.text({})) == []


def test_the_controller_takes_them_from_the_machine_with_the_hooks_that_a_charm_had_dispatched() -> None:
    machine = Machine("a", SimpleNamespace())
    app = Application("one", "one", {}, {}, ("0",))
    controller = Controller(Deployment({"one": app}, (), ("0",)), Floor([machine], lambda: None), {"0": "a"})
    controller.units["one/0"] = unit = Unit(app, 0, machine, runner=object(), looked=time.monotonic())
    known = '{"app": "one", "status": ["active", ""], "relations": [], "hooks": {"start": {"ran": 3}}}'
    controller._looked(machine, f"boot-0\n{known}")
    assert unit.hooks == {"start": {"ran": 3}}


def test_the_report_for_programs_has_them_by_unit_and_event() -> None:
    unit = SimpleNamespace(machine=SimpleNamespace(name="a"), status=("active", ""), hooks=ONE)
    rack = SimpleNamespace(
        figures=[],
        substituted=(),
        nodes={},
        floor=SimpleNamespace(machines={}),
        controller=SimpleNamespace(units={"one/0": unit}, down=[]),
        display=SimpleNamespace(phases=[], elapsed=1.0),
    )
    assert report.as_json(rack, [])["hooks"] == {"one/0": ONE}
