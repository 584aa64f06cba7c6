# SPDX-License-Identifier: Apache-2.0
"""The report's page and drawings, made of the JSON of racks that ran (`example.json`, `openstack.json`)."""

import copy
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from acceptance.measure.parse import Figure
from acceptance.measure.results import Results, RungResult, as_data
from lab.rack import drawing, example, page
from lab.rack.operator import MEASURES, WHOLE

RACK = Path(page.__file__).parent
Said = dict[str, Any]


@pytest.fixture
def said() -> Said:
    return json.loads((RACK / "example.json").read_text())


def wrong(said: Said, area: str, subject: str, found: str) -> Said:
    """The same rack, with one thing found otherwise."""
    changed = copy.deepcopy(said)
    (check,) = (c for c in changed["checks"] if (c["area"], c["subject"]) == (area, subject))
    check.update(found=found, holds=False)
    return changed


def words(svg: str) -> list[tuple[str, str]]:
    """Each text of a drawing, and its colour."""
    elements = ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return [(element.text or "", element.attrib["fill"]) for element in elements]


@pytest.mark.parametrize(
    ("name", "rack", "draw"),
    [
        ("nodes", "example", drawing.nodes),
        ("timeline", "example", drawing.timeline),
        ("openstack", "openstack", drawing.ladder),
    ],
)
def test_the_readmes_pictures_are_what_is_drawn(name: str, rack: str, draw: Any) -> None:
    """`PYTHONPATH=lib:tests python -m lab.rack.drawing` draws them again."""
    said = json.loads((RACK / f"{rack}.json").read_text())
    assert (RACK / f"{name}.svg").read_text() == draw(said)


def test_the_recorded_ladder_has_each_figure_that_the_scenario_wants() -> None:
    checks = json.loads((RACK / "openstack.json").read_text())["checks"]
    for rung, measures in MEASURES.items():
        (check,) = (check for check in checks if check["subject"] == f"rung {rung}")
        assert check["wanted"] == WHOLE
        assert tuple(re.findall(r"([\w-]+) [\d.]+ Gb/s, [\d.]+ host cores", check["found"])) == measures


def test_the_acceptance_report_of_a_rack_that_ran_can_be_made_again(tmp_path: Path) -> None:
    rungs = {"host": RungResult(figures={"tcp-1": Figure(0.2, "Gb/s", {})})}
    results = Results("rack", 1_795_000_000, 5, {"vm1": "node-0"}, rungs, substituted=("A namespace.",))
    (tmp_path / "openstack.json").write_text(json.dumps({"results": as_data(results)}))
    example.main(tmp_path / "openstack.json", tmp_path / "report.html")
    made = (tmp_path / "report.html").read_text()
    assert "<h1>Acceptance of rack: not measured</h1>" in made
    assert "Measured on 2026-11-18 11:06 UTC;" in made
    assert "A namespace." in made


def test_a_converged_rack_is_green_with_each_ports_state(said: Said) -> None:
    told = words(drawing.nodes(said))
    assert told.count(("switchdev", drawing.GOOD)) == told.count(("VF-LAG active", drawing.GOOD)) == 4
    assert told.count(("8 VFs, 8 bound", drawing.GOOD)) == 4
    assert ("bond0, LACP partner 44:38:39:be:ef:01", drawing.GOOD) in told
    assert ("Leaf1-2 swp9", drawing.GOOD) in told
    assert drawing.BAD not in drawing.nodes(said)


def test_what_does_not_hold_is_red_where_it_is_and_nowhere_else(said: Said) -> None:
    drawn = drawing.nodes(wrong(said, "VFs", "node-1 enp59s0f0np0: VFs bound", "3"))
    assert [text for text, colour in words(drawn) if colour == drawing.BAD] == ["8 VFs, 3 bound"]
    assert drawn.count(f'fill="{drawing.BAD}" stroke') == 3
    assert drawn.count(f'fill="none" stroke="{drawing.BAD}"') == 5


def test_what_was_not_checked_is_grey(said: Said) -> None:
    said["checks"] = []
    told = words(drawing.nodes(said))
    assert told.count(("VF-LAG not checked", drawing.UNKNOWN)) == 4
    assert drawing.GOOD not in drawing.nodes(said)


def test_areas_are_folded_unless_something_in_them_does_not_hold(said: Said) -> None:
    assert "<details open>" not in page.page(said, "")
    assert "all 71 checks hold" in page.page(said, "")
    told = page.page(wrong(said, "eswitch", "node-0 enp59s0f0np0: eswitch", "<legacy>"), "")
    (shown,) = re.findall(r"<details open><summary>(.*?)</summary>", told)
    assert shown == "<b>eswitch</b> <span class=bad>7 of 8 hold</span>"
    assert "1 of 71 checks do not hold" in told
    assert "&lt;legacy&gt;; wanted: mode switchdev" in told
