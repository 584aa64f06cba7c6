# SPDX-License-Identifier: Apache-2.0
"""The lists of a real MAAS are read as they are, and the simulated region lists the same of the same site."""

import json
import re

import pytest
import recorded.maas
from lab.maas import RefusedError, Region
from lab.maassite import connect
from maas import answers
from maas.answers import LISTS

RECORDED = json.loads(recorded.maas.LISTS.read_text())
KINDS = [kind for kind in RECORDED if kind in LISTS]
IDS = ("id", "resource_uri", "system_id", "primary_rack", "user", "fabric_id")
"""The fields that a region numbers by itself; their type is compared, not their value."""
NAMES = ("hostname", "cidr", "start_ip", "architecture", "name", "mode", "index")
"""The fields that tell the objects of a list apart: the first of these that they have."""
OWN = ("memory", "subarches")
"""Values of the simulated hardware and images, which a test chooses."""


class Recorded(Region):
    """A region that answers what was recorded."""

    def answer(self, method, words, op, data):
        assert method == "GET"
        match words:
            case ["maas"]:
                return RECORDED["config"][data["name"]]
            case ["machines"] if op == "power_parameters":
                return RECORDED["power_parameters"]
            case ["boot-resources", number]:
                return {**RECORDED["boot-resources/1"], "id": int(number)}
            case ["nodes", _, "devices"]:
                return RECORDED["nodes/node1/devices"]
            case [kind] if op is None and kind in RECORDED:
                return RECORDED[kind]
        raise RefusedError(404, f"Unknown API endpoint: /MAAS/api/2.0/{'/'.join(words)}/.")


@pytest.fixture
def recorded_site(site, tmp_path, monkeypatch):
    """The example with the machines that were recorded, without the intent, which has ports for all."""
    text = re.sub("^intent:.*\n", "", site.read_text(), flags=re.MULTILINE)
    site.write_text(text[: text.index("  node2:\n    tag")])
    (tmp_path / "bmc-password").write_text("PASSWORD\n")
    connect(monkeypatch, Recorded())
    return site


@pytest.mark.parametrize("kind", KINDS)
def test_every_recorded_list_is_read(kind):
    assert len(LISTS[kind].read("", RECORDED[kind])) == len(RECORDED[kind])


def test_what_is_read_besides_lists():
    answers.POWER.read("", RECORDED["power_parameters"])
    answers.IMAGE.read("", RECORDED["boot-resources/1"])
    answers.DEVICES.read("", RECORDED["nodes/node1/devices"])


@pytest.mark.parametrize("later", [{}, {"error_description": ""}], ids=["3.4", "3.5"])
def test_the_recorded_region_is_as_the_example_says(recorded_site, run, monkeypatch, later):
    """MAAS 3.5 has one field more in machines."""
    machines = [{**body, **later} for body in RECORDED["machines"]]
    monkeypatch.setitem(RECORDED, "machines", machines)
    assert "Nothing to do: everything is as declared." in run("plan")
    assert "No finding: MAAS is as the site file says." in run("verify")


@pytest.mark.parametrize("kind", KINDS)
def test_the_simulated_region_lists_what_maas_does(built, kind):
    listed = json.loads(json.dumps(built.answer("GET", [kind], None, {})))
    LISTS[kind].read("", listed)
    assert [*differing(listed, RECORDED[kind], kind)] == []


@pytest.mark.parametrize(
    ("has", "said"),
    [
        ({"name": "v9"}, ["VLANs.name: 'v9', and 'untagged' in MAAS"]),
        ({"name": "untagged", "mtu": "9000"}, ["VLANs.mtu: '9000', and 9000 in MAAS"]),
        ({"colour": "red"}, ["VLANs.colour: MAAS has no such field"]),
        ({"id": 7}, []),
        ({"id": None}, ["VLANs.id: None, and 2 in MAAS"]),
    ],
)
def test_a_difference_would_be_seen(has, said):
    assert [*differing(has, RECORDED["subnets"][0]["vlan"], "VLANs")] == said


def differing(has, real, where):
    """Places where the simulated answer has a field, a type or a value that the real one does not have."""
    if isinstance(has, dict) and isinstance(real, dict):
        for key, value in has.items():
            if key not in real:
                yield f"{where}.{key}: MAAS has no such field"
            elif key not in OWN:
                yield from differing(value, real[key], f"{where}.{key}")
    elif isinstance(has, list) and isinstance(real, list):
        for one in has:
            if (same := alike(one, real)) is not None:
                yield from differing(one, same, f"{where}[{name_of(one)}]")
    elif type(has) is not type(real) or (where.rpartition(".")[2] not in IDS and has != real):
        yield f"{where}: {has!r}, and {real!r} in MAAS"


def name_of(one):
    return next((one[key] for key in NAMES if key in one), "") if isinstance(one, dict) else one


def alike(one, real):
    """The recorded object of that name; machines that were not recorded have none."""
    return next((each for each in real if name_of(each) == name_of(one)), None)
