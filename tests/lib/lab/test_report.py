# SPDX-License-Identifier: Apache-2.0
"""The report's page and drawings, made of the JSON of racks that ran (`example.json`, `openstack.json`)."""

import copy
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from acceptance.measure.parse import Figure
from acceptance.measure.results import Results, RungResult, as_data
from lab.rack import drawing, example, page, report
from lab.rack.highlights import Highlight, highlights
from lab.rack.operator import MEASURES, WHOLE

RACK = Path(page.__file__).parent
ROOT = Path(__file__).parents[3]
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


CHARACTER = 6.9
"""Pixels of a character of the drawings' font, which has 11, on average at most."""


def covers(svg: str) -> Iterator[tuple[str, float, float, float, float]]:
    """Each text, and the box around it: left, top, right, bottom."""
    for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        x, y, text = float(element.attrib["x"]), float(element.attrib["y"]), element.text or ""
        yield text, x, y - 9, x + CHARACTER * len(text), y + 2


def test_no_cable_runs_through_a_word(said: Said) -> None:
    for drawn in (drawing.nodes(said), *(drawing.node(said, name) for name in said["nodes"])):
        cables = [tuple(map(int, found)) for found in re.findall(r'<path d="M(\d+) (\d+)V(\d+)"', drawn)]
        assert cables
        for text, left, top, right, bottom in covers(drawn):
            through = [x for x, y, far in cables if left < x < right and y < bottom and top < far]
            assert through == [], text


def test_a_share_of_14_percent_in_the_nic_is_not_green_where_it_is_as_expected() -> None:
    said = json.loads((RACK / "openstack.json").read_text())
    why = "OVS could not express it for the kernel's classifier"
    for check in said["checks"]:
        if check["subject"] == "rung north-south, in-nic":
            witnesses = "TCP: past the kernel sent 27.42%, received 99.10%; Open vSwitch 14.43%"
            check["found"] = f"failed: {witnesses} on node-1 (TCP, 1 iperf3 pair): {why}"
    told = dict(words(drawing.ladder(said)))
    assert told[f"14.43%: {why}"] == drawing.PARTLY
    assert told["100.00%"] == drawing.GOOD


def test_the_main_results_come_first(said: Said) -> None:
    """Reboots, VF-LAG, the share in the NIC, and the time."""
    shown = page.page(said, "")
    first = re.findall(r"<li><b class=(good|bad)>(.*?)</b> (.*)", shown)
    assert first == [
        ("good", "1", "reboot per node, one node after the other"),
        ("good", "4 of 4", "ports have an active VF-LAG"),
        ("good", "32 of 32", "VFs are bound"),
        ("good", "1 and 2", "flows of a node&#x27;s tunnel in the NIC, out and in"),
        ("good", "0", "writes when the charms run once more"),
        ("good", "7 min 01 s", "from power-on to verified"),
    ]
    assert shown.index("<ul class=first>") < shown.index("<svg") < shown.index("<h2>Checks")


def test_the_share_of_the_acceptance_test_is_a_main_result(said: Said) -> None:
    said["checks"] += json.loads((RACK / "openstack.json").read_text())["checks"]
    assert Highlight("100.00%", "of a VF's packets in the NIC", holds=True) in highlights(said)


def test_a_main_result_that_does_not_hold_says_so(said: Said) -> None:
    spoiled = wrong(said, "VF-LAG", "node-0 enp59s0f0np0: VF-LAG", "nothing")
    assert Highlight("3 of 4", "ports have an active VF-LAG", holds=False) in highlights(spoiled)
    assert "<b class=bad>3 of 4</b>" in page.page(spoiled, "")
    assert "  BAD     3 of 4  ports have an active VF-LAG" in report.text(whole(spoiled)).splitlines()


def test_what_was_not_measured_is_no_main_result(said: Said) -> None:
    assert highlights({**said, "checks": [], "seconds": {}}) == []


PHONE = 390 - 2 * 10
"""Pixels of a phone's width beside the page's margins."""


def test_on_a_phone_nothing_is_wider_than_the_page(said: Said) -> None:
    """A node's drawing fits; wider ones, and no tables, can be moved within their frame."""
    shown = page.page(said, (RACK / "fabric.svg").read_text())
    assert "width=device-width" in shown
    frames = re.split(r"<div class=wide>", shown)
    outside = [frames[0], *(frame.partition("</div>")[2] for frame in frames[1:])]
    widths = [int(width) for part in outside for width in re.findall(r'<svg [^>]*? width="(\d+)"', part)]
    assert len(widths) == len(said["nodes"])
    assert max(widths) <= PHONE
    (phone,) = re.findall(r"@media \(max-width:40rem\){(.*?)}}", shown, re.DOTALL)
    assert "td{display:block" in phone


def whole(said: Said) -> Said:
    """The report with the keys that a rack did not have when the example ran."""
    return {"hooks": {}, "elapsed": sum(said["seconds"].values()), **said}


def test_the_terminal_has_80_columns(said: Said) -> None:
    lines = report.text(whole(said)).splitlines()
    assert max(map(len, lines)) <= 80
    assert "                                                  group: instances cannot take" in lines


@pytest.mark.parametrize("document", ["README.md", "docs/tutorial/virtual-rack.md"])
def test_the_documents_terminal_is_of_a_racks_real_output(document: str, said: Said) -> None:
    """All but the last line, which is of the run whose time the document tells."""
    text = (ROOT / document).read_text()
    (shown,) = re.findall(r"```text\n(charms\n.*?)All holds; [^\n]*\n```", text, re.DOTALL)
    real = iter(report.text(whole(said)).splitlines())
    missing = [line for line in filter(None, shown.splitlines()) if not any(line == each for each in real)]
    assert missing == [], "not in the output, or not in this order"
    assert "In short" in shown


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
