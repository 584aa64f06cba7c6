# SPDX-License-Identifier: Apache-2.0
"""The writes of hooks after a boot that should need none of them, and in a refresh to the same code."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lab.juju import service
from lab.rack import common, scenarios, writes
from lab.rack.checks import Check
from lab.rack.traffic import Traffic

HANDOVER = ["install", "/run/ovn-offload/nic-firmware.json"]
WAKE = [
    ["run", "systemctl", "stop", "ovn-offload-nic-firmware-dispatch-later.timer"],
    [
        *("run", "systemd-run", "--quiet", "--collect", "--unit=ovn-offload-nic-firmware-dispatch-later"),
        *("--on-active=300", "--timer-property=AccuracySec=5"),
        *("systemctl", "start", "--no-block", "ovn-offload-nic-firmware-dispatch.service"),
    ],
]
VFS = ["write", "/sys/bus/pci/devices/0000:3b:00.0/sriov_numvfs", "8"]
BOOT_COPY = ["install", "/usr/lib/ovn-offload/nic-firmware/boot.pyz"]


class Rack:
    """A node with a unit whose hooks write what a test says, and a fabric whose unit writes nothing."""

    nodes = ("node-0",)

    def __init__(self, directory: Path, *hooks: list[str]) -> None:
        self.trace = directory / "lab-nic-firmware.trace"
        self.hooks = list(hooks)
        self.display = SimpleNamespace(phase=lambda name: None, elapsed=0.0)
        self.floor = SimpleNamespace(each=self._each)
        places = {"nic-firmware": "node-0", "cumulus-fabric": "fabric"}
        units = {
            f"{app}/0": SimpleNamespace(
                name=f"{app}/0", app=SimpleNamespace(name=app), machine=SimpleNamespace(name=place)
            )
            for app, place in places.items()
        }
        self.controller = SimpleNamespace(units=units, down=[], queue=self._hook, refresh=self._hook)
        self.settle = lambda patience: True

    def on(self, machine: str, command: str, **_: Any) -> str:
        return ""

    def run(self, command: str, check: bool) -> Any:
        """Of the node: its shell, with the files of this machine."""
        return subprocess.run(["sh", "-c", command], text=True, check=check, capture_output=True)

    def power_cycle(self) -> None:
        """Of the node: what is below /run is gone."""
        self.trace.unlink(missing_ok=True)

    def write(self, words: list[str]) -> None:
        with self.trace.open("a") as trace:
            trace.write(json.dumps({"verb": words[0], "arguments": words[1:]}) + "\n")

    def _hook(self, *_: Any) -> None:
        while self.hooks:
            self.write(self.hooks.pop(0))

    def _each(self, what: str, work: dict[str, Any]) -> dict[str, Any]:
        blank = SimpleNamespace(run=lambda command, check: SimpleNamespace(stdout=""))
        return {name: each(self if name == "node-0" else blank) for name, each in work.items()}


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where hooks' writes are kept."""

    @contextmanager
    def traffic(rack: Any, one: str, other: str) -> Iterator[Traffic]:
        yield Traffic(sent=100, lost=0)

    monkeypatch.setattr(service, "TRACES", tmp_path)
    for module in (common, scenarios):
        monkeypatch.setattr(module, "verify", lambda rack: [])
    monkeypatch.setattr(scenarios, "traffic", traffic)
    return tmp_path


def told(found: list[Check], area: str) -> list[str]:
    return [f"{check.subject} {check.found}" for check in found if check.area == area]


def test_a_boot_after_which_no_hook_changes_anything_is_a_good_one(directory: Path) -> None:
    rack: Any = Rack(directory, HANDOVER, *WAKE)
    rack.write(VFS)  # before the boot
    found = scenarios.reboot_survival(rack)
    assert told(found, "boot") == ["nic-firmware/0, since the boot: writes 0"]
    assert all(check.holds for check in found)


def test_a_boot_that_a_hook_has_to_mend_is_not(directory: Path) -> None:
    rack: Any = Rack(directory, HANDOVER, VFS, BOOT_COPY)
    found = scenarios.reboot_survival(rack)
    assert told(found, "boot") == [f"nic-firmware/0, since the boot: writes 2, first: {' '.join(VFS)}"]
    assert not all(check.holds for check in found)


@pytest.mark.parametrize(
    ("wrote", "holds"), [([], True), ([HANDOVER], True), ([VFS], False), ([BOOT_COPY], False)]
)
def test_a_refresh_to_the_same_code_changes_no_node(
    directory: Path, wrote: list[list[str]], holds: bool
) -> None:
    rack: Any = Rack(directory, *wrote)
    rack.nodes = ("node-0", "fabric")  # traffic needs two ends
    rack.write(VFS)  # when it converged
    found = scenarios.refresh(rack)
    assert len(told(found, "refresh")) == 3
    assert all(check.holds for check in found) is holds


def test_once_more_means_not_even_a_note(directory: Path) -> None:
    rack: Any = Rack(directory)
    before = writes.written(rack, ["node-0", "fabric"])
    rack.write(HANDOVER)
    found = list(
        writes.none("charms", "once more", writes.since(before, writes.written(rack, ["node-0", "fabric"])))
    )
    assert told(found, "charms") == [
        f"nic-firmware/0, once more: writes 1, first: {' '.join(HANDOVER)}",
        "cumulus-fabric/0, once more: writes 0",
    ]
