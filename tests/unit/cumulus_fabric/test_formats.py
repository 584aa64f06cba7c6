# SPDX-License-Identifier: Apache-2.0
"""Trees as files and the fabric as text: what other programs, and people, make of them."""

import json
import re

import pytest
import yaml
from converge import Severity
from intent.model import Dialect
from output import formats, tables
from output.told import Told
from tree import render
from unit.cumulus_fabric.fabrics import SIX, fabric
from yamlfile import reader

OLD, NEW = Dialect.UNTIL_5_14, Dialect.FROM_5_15


def digits(data):
    """Values that YAML 1.1 takes for something else."""
    data["leaves"]["segment-mac"] = "44:38:39:22:01:18"
    data["leaves"]["anycast-mac"] = "00:00:00:00:00:01"
    for number, text in enumerate(["on", "1e3", "0x1F", "12:30", "~", "null", "- x", "a: b", "#1", "y"]):
        port = {"leaf": 1, "port": f"swp{number + 1}", "description": text}
        data["racks"][0]["single-homed"][f"trap-{number}"] = port


@pytest.mark.parametrize("dialect", Dialect)
def test_yaml_1_1_and_1_2_parsers_read_the_same(dialect):
    traps = fabric("rdg", digits)
    for name in SIX:
        tree = render.tree(traps, traps.switch(name), dialect)
        text = formats.as_yaml(tree)
        assert yaml.safe_load(text) == [{"set": tree}]
        found = yaml.load(text, reader.CORE)  # noqa: S506 - a safe loader
        assert found == [{"set": tree}]


def test_text_that_looks_like_a_number_is_quoted():
    traps = fabric("rdg", digits)
    text = formats.as_yaml(render.tree(traps, traps.switch("Leaf0-1"), OLD))
    assert "mac-address: '44:38:39:22:01:18'" in text
    assert "anycast-mac: '00:00:00:00:00:01'" in text
    assert "enable: 'on'" in text
    assert "description: '1e3'" in text
    assert re.search(r"^ +'3000': \{\}$", text, flags=re.MULTILINE)
    assert "autonomous-system: 65101" in text
    assert "&id" not in text


def test_json_is_the_tree():
    rdg = fabric()
    tree = render.tree(rdg, rdg.switch("Spine0"), NEW)
    assert json.loads(formats.as_json(tree)) == tree


def test_commands_to_type_come_first_and_implied_ones_are_comments():
    rdg = fabric()
    typed, implied = formats.write(rdg, rdg.switch("Spine0"), OLD, "nv").split("\n\n")
    assert all(line.startswith("nv set ") for line in typed.splitlines())
    assert all(line.startswith("# ") for line in implied.splitlines())


def test_a_description_with_spaces_is_quoted_for_the_shell():
    def spaced(data):
        data["racks"][0]["bonds"]["bond_ext"]["description"] = "to the 'outside' world"

    rdg = fabric("rdg", spaced)
    text = formats.write(rdg, rdg.switch("Leaf0-1"), OLD, "nv")
    assert """nv set interface bond_ext description 'to the '"'"'outside'"'"' world'""" in text


# The fabric as text.

HEALTH = {
    "Leaf0-2": Severity.HELD,
    "Leaf1-1 swp32": Severity.BLOCKED,
    "Leaf0-1 bond2": Severity.WARNING,
    "Spine0": Severity.INFO,
}


def test_the_text_names_every_switch_link_and_host():
    rdg = fabric()
    text = tables.as_text(Told(rdg))
    for switch in rdg.switches:
        assert f"\n{switch.name} " in text
        for link in switch.links:
            assert f"{link.port} {link.peer}" in text
    assert re.search(r"bond_ext +Leaf0-1 swp22, Leaf0-2 swp22 +public\* +03:44:38:39:be:ef:01:00:00:09", text)
    assert re.search(r"Leaf0-1 swp23 +Leaf0-1 swp23 +public oam\* +- +juju", text)


def test_the_text_marks_what_is_unhealthy():
    text = tables.as_text(Told(fabric(), HEALTH))
    assert "Leaf0-2 (held)" in text
    assert "swp32 Spine1 (blocked)" in text
    assert "Leaf0-1 swp10 (warning)" in text
    assert "Spine0 (" not in text
