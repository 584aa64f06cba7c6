# SPDX-License-Identifier: Apache-2.0
"""What is shown while a rack works: a table that is redrawn on a terminal, lines elsewhere."""

import io
from types import SimpleNamespace

from lab.rack import display
from lab.rack.controller import Unit
from lab.rack.deployment import Application
from lab.rack.display import Display
from lab.rack.machine import Done, Job, Machine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(out: io.StringIO) -> tuple[Display, Machine, Unit]:
    machine = Machine("node-0", SimpleNamespace())
    unit = Unit(Application("nic-firmware", "nic-firmware", {}, {}, ("0",)), 0, machine)
    watched = Display({"node-0": machine}, out)
    watched.units = {unit.name: unit}
    return watched, machine, unit


def test_a_terminal_shows_what_juju_status_would_and_what_runs_now(monkeypatch) -> None:
    monkeypatch.setattr(display.shutil, "get_terminal_size", lambda: SimpleNamespace(columns=100))
    watched, machine, unit = shown(out := Terminal())
    watched.phase("nodes")
    unit.status = ("blocked", "a reason " * 20)
    machine.job = Job("nic-firmware/0 config-changed", lambda guest: None)
    watched.tick()
    first, headings, row = out.getvalue().splitlines()
    assert "nodes" in first
    assert headings.split() == ["unit", "machine", "status", "since", "doing", "message"]
    assert row.startswith("\x1b[31mnic-firmware/0  node-0   blocked")
    assert "config-changed 0.0 s  a reason a" in row
    assert len(row) < 100 + len("\x1b[31m\x1b[0m")
    machine.job = Job("reboot", lambda guest: None)
    watched.say("a line that stays")
    watched.tick()
    assert "\x1b[3A\x1b[Ja line that stays\n" in out.getvalue()
    assert out.getvalue().splitlines()[-1].startswith("node-0: reboot ")


def test_elsewhere_each_change_and_each_job_is_a_line() -> None:
    watched, machine, unit = shown(out := io.StringIO())
    watched.tick()
    watched.tick()
    machine.done += [Done("nic-firmware/0 start", 61.0, 0.0), Done("", 3.0, 61.0)]
    unit.status = ("active", "")
    watched.tick()
    assert [" ".join(line.split()[2:]) for line in out.getvalue().splitlines()] == [
        "nic-firmware/0 node-0 waiting: for its machine",
        "node-0: nic-firmware/0 start, 1 min 01 s",
        "nic-firmware/0 node-0 active",
    ]


def test_phases_are_timed() -> None:
    watched, _, _ = shown(out := io.StringIO())
    watched.phase("one")
    watched.phase("two")
    watched.phase("")
    assert [name for name, _ in watched.phases] == ["one", "two"]
    assert "== two: 0.0 s" in out.getvalue()
