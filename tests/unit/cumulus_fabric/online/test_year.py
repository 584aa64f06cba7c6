# SPDX-License-Identifier: Apache-2.0
"""The page "A year with the fabric": each command that it shows is run, and prints what it shows."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from lab.nvue import Certificate, Fault
from lab.nvue.factory import HOSTNAME, factory
from ops import testing
from unit.cumulus_fabric.fabrics import CHARM, data, fabric
from unit.cumulus_fabric.online.site import rack
from unit.cumulus_fabric.online.test_approved import by_hand
from unit.cumulus_fabric.online.unit import Unit, managed

PAGE = CHARM.parents[1] / "docs/how-to/a-year-with-the-fabric.md"


def two_racks(content: dict[str, Any]) -> None:
    managed(content)
    content["spines"] |= {"count": 2, "downlinks": "swp13-16"}
    content["leaves"]["uplinks"] = "swp31-32"
    content["leaves"].pop("anycast-mac", None)
    content["host-names"] = True
    content["roce"] = {"mode": "off"}  # remarks of the audit would stand in each output
    first = {"number": 0, **content["racks"][0]}
    content["racks"] = [first, {"number": 1, "hosts": {"ports": "swp9", "names": ["node3"]}}]


def one_rack(content: dict[str, Any]) -> None:
    two_racks(content)
    del content["racks"][1]


def written(change: Any) -> str:
    content = data()
    change(content)
    return json.dumps(content)


@pytest.fixture
def unit(certificate: Certificate, monkeypatch: pytest.MonkeyPatch) -> Iterator[Unit]:
    """Two spines and four leaves as they come, of which the intent has one rack."""
    with rack(fabric(change=two_racks), certificate) as made:
        unit = Unit(made, certificate, monkeypatch, certificate.key.parent)
        yield unit.configure(intent=written(one_rack))


def replaced(unit: Unit, name: str) -> None:
    """A new switch in its place, with the factory's configuration."""
    box = unit.rack.servers[name].switch
    box.serial = "MT2516X00042"
    box.revisions[box.applied_id].tree = factory(HOSTNAME, new=False)
    box.backend.apply(box.applied)


def run(unit: Unit, action: str, **given: str) -> tuple[str, str]:
    """A command as the page shows it, and what it prints."""
    words = " ".join(f"{name.replace('_', '-')}={value}" for name, value in given.items())
    command = f"$ juju run cumulus-fabric/leader {action} {words}".rstrip()
    params = {name.replace("_", "-"): value for name, value in given.items()}
    try:
        told = unit.action(action, **params)
    except testing.ActionFailed as failed:
        return command, failed.message
    found = told.get("result") or told.get("findings") or told["plan"]
    found = re.sub(r"127\.0\.0\.1:\d{5}", "192.0.2.12:8765", found)  # where the simulated switches listen
    return command, "\n".join(line.rstrip() for line in found.splitlines())


def year(unit: Unit) -> Iterator[tuple[str, str]]:
    """The commands of the page in order, with what happens between them."""
    yield run(unit, "apply", switch="Spine0")
    yield run(unit, "apply")
    yield run(unit, "verify")
    unit.configure(intent=written(two_racks))
    yield run(unit, "apply")
    unit.rack.servers["Leaf0-2"].inject(Fault("reset", times=0))
    yield run(unit, "verify")
    unit.rack.servers["Leaf0-2"].faults.clear()
    replaced(unit, "Leaf0-2")
    yield run(unit, "apply", switch="Leaf0-2", replaced="Leaf0-2")
    yield run(unit, "drain", switch="Leaf0-1")
    yield run(unit, "drain", switch="Leaf0-2")
    yield run(unit, "verify")
    yield run(unit, "undrain", switch="Leaf0-1")
    bond = {"type": "bond", "bond": {"member": {"swp15": {}}}}
    by_hand(unit.rack, "Leaf1-1", {"interface": {"bond7": bond}})
    yield run(unit, "verify")
    command, said = run(unit, "plan", remove="bond7")
    yield command, said
    (digest,) = re.findall(r"\bplan=(p[0-9a-f]{16})\b", said)
    yield run(unit, "apply", remove="bond7", plan=digest)


def test_the_page_shows_what_the_commands_print(unit: Unit) -> None:
    shown = re.findall(r"```\n(\$ .*?)\n```", PAGE.read_text(), re.DOTALL)
    assert shown == [f"{command}\n{said}" for command, said in year(unit)]
