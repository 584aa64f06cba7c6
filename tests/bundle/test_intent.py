# SPDX-License-Identifier: Apache-2.0
"""One intent, one reading: what the charm refuses, every tool refuses, with the same sentence."""

from pathlib import Path

import pytest
from bundle.intents import audited
from check import checker
from lab.maassite import SITE
from maas.__main__ import main as maas

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "bundles/ovn-offload-jammy-caracal.yaml"
EXAMPLE = ROOT / "charms/cumulus-fabric/examples/rdg.yaml"
VLAN = "is not allowed; expected a VLAN from 1 to 4094"
WRONG = {
    "a second key": (
        "networks:\n  provider: {vlan: 101}\n  provider: {vlan: 102}\n",
        3,
        "the key provider stands twice in one mapping; remove or rename one of them",
    ),
    "an octal number": ("networks:\n  oam: {vlan: 0144}\n", 2, f"networks.oam.vlan: '0144' {VLAN}"),
    "a tab": (
        "networks:\n\toam: {vlan: 9}\n",
        2,
        "this is not YAML: found character '\\t' that cannot start any token",
    ),
}


@pytest.fixture(params=WRONG.values(), ids=WRONG)
def refused(request, tmp_path):
    """An intent in a file, where it is wrong, and the sentence about it."""
    text, line, said = request.param
    intent = tmp_path / "fabric.yaml"
    intent.write_text(text)
    return intent, f"{intent}:{line}", said


def test_the_charms_command_line_refuses_it(refused):
    intent, place, said = refused
    assert audited(intent) == (2, f"{place}: {said}.\n")


def test_the_bundles_checker_refuses_it(refused, capsys):
    intent, place, said = refused
    overlay = intent.with_name("overlay.yaml")
    overlay.write_text("applications: {cumulus-fabric: {options: {intent: include-file://fabric.yaml}}}\n")
    assert checker.main([str(BUNDLE), "--overlay", str(overlay)]) == 1
    assert f"{place}: fabric-intent: {said}. " in capsys.readouterr().out


def test_the_bundles_checker_refuses_it_in_the_bundle_itself(refused, capsys):
    intent, place, said = refused
    overlay = intent.with_name("overlay.yaml")
    text = intent.read_text().replace("\n", "\n        ")
    overlay.write_text(f"applications:\n  cumulus-fabric:\n    options:\n      intent: |\n        {text}\n")
    line = 4 + int(place.rpartition(":")[2])
    assert checker.main([str(BUNDLE), "--overlay", str(overlay)]) == 1
    assert f"{overlay}:{line}: fabric-intent: {said}. " in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["overlay", "verify"])
def test_the_tools_of_maas_refuse_it(refused, verb, capsys):
    intent, place, said = refused
    site = intent.with_name("site.yaml")
    site.write_text(SITE.read_text().replace("../../charms/cumulus-fabric/examples/rdg.yaml", "fabric.yaml"))
    assert maas([verb, str(site)]) == 2
    assert capsys.readouterr().err == f"{place}: {said}.\n"
