# SPDX-License-Identifier: Apache-2.0
"""Which hosts lose a leg, their last one, or nothing: one judgement for plan, digest, drain and picture."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from attachments.ends import ends
from attachments.toll import Loses, Toll
from audit.foreign import Ownership
from charmkit.fabric import Host, Neighbour, PortReport
from maintenance import Maintenance
from online import Site
from output import picture, tables
from output.told import Told
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.drained import POLICY
from unit.cumulus_fabric.online.site import Rack, rack
from unit.cumulus_fabric.online.small import small
from unit.cumulus_fabric.online.unit import Unit, intent


def two_hosts(content: dict[str, Any]) -> None:
    """A rack with two hosts on both leaves, and a server at one leaf alone."""
    small(content)
    content["racks"][0]["hosts"] = {"ports": "swp9-10", "names": ["node1", "node2"]}
    content["racks"][0]["single-homed"] = {
        "probe": {"leaf": 1, "port": "swp21", "networks": ["public"], "mtu": 9000}
    }


def another_mtu(content: dict[str, Any]) -> None:
    """Interrupts each leg for a moment."""
    two_hosts(content)
    content["mtu"]["host"] = 9100
    content["racks"][0]["single-homed"]["probe"]["mtu"] = 9100


def one_host_less(content: dict[str, Any]) -> None:
    two_hosts(content)
    content["racks"][0]["hosts"] = {"ports": "swp9", "names": ["node1"]}


def another_network(content: dict[str, Any]) -> None:
    """Takes nothing from anybody."""
    two_hosts(content)
    content["networks"]["tenant"] = {"vlan": 77}


def without_the_server(content: dict[str, Any]) -> None:
    two_hosts(content)
    del content["racks"][0]["single-homed"]


BEFORE = fabric(change=two_hosts)
LEAVES = ("Leaf0-1", "Leaf0-2")


@pytest.fixture
def made() -> Iterator[Rack]:
    with rack(BEFORE, applied=True) as found:
        yield found


def changed(made: Rack, change: Any) -> Site:
    return replace(made.site, fabric=fabric(change=change), ownership=Ownership(made.site.survey().last))


def told(site: Site) -> list[str]:
    """Return what the plan says of hosts."""
    plan = site.plan(site.survey(state=True))
    return [
        each.sentence() for each in plan.findings if "these hosts" in each.what or each.subject == "hosts"
    ]


KEPT = "lose a leg for a moment, and keep another one"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            another_mtu,
            [
                "Leaf0-1: these hosts have no other leg, and are cut off for a moment: probe",
                f"Leaf0-1: these hosts {KEPT}: node1-2",
                f"Leaf0-2: these hosts {KEPT}: node1-2",
            ],
        ),
        (one_host_less, [f"{leaf}: these hosts lose their last leg: node2" for leaf in LEAVES]),
        (
            without_the_server,
            ["Leaf0-1: these hosts lose their last leg: probe"],
        ),
        (another_network, ["hosts: none loses a leg"]),
    ],
)
def test_a_plan_names_for_each_switch_the_hosts_that_lose_something(
    made: Rack, change: Any, said: list[str]
) -> None:
    assert told(changed(made, change)) == said


def test_a_host_whose_other_leg_is_down_loses_its_last_one(made: Rack) -> None:
    made.wires.cut.add(("Leaf0-2", "swp9"))
    assert told(changed(made, another_mtu))[:2] == [
        "Leaf0-1: these hosts lose their last leg: node1",
        "Leaf0-1: these hosts have no other leg, and are cut off for a moment: probe",
    ]


def test_the_digest_stands_for_each_outage_and_not_for_a_leg_that_comes_back(made: Rack) -> None:
    """A server that boots between plan and apply does not void the plan, unless that would cut it off."""
    site = changed(made, another_mtu)
    whole = site.survey(state=True)
    shares = whole.toll.shares
    assert {each.loses for each in shares} == {Loses.MOMENT, Loses.PAUSE}
    without = {
        loses: replace(whole, toll=Toll((), tuple(each for each in shares if each.loses is not loses)))
        for loses in (Loses.MOMENT, Loses.PAUSE)
    }
    assert without[Loses.MOMENT].digest == whole.digest
    assert without[Loses.PAUSE].digest != whole.digest


def test_a_drain_says_before_its_first_write_who_loses_a_leg(made: Rack) -> None:
    heard: list[tuple[str, int]] = []

    def hear(line: str) -> None:
        heard.append((line, len(made.writes())))

    made.forget()
    report = Maintenance(made.site, "Leaf0-2", replace(POLICY, announce=hear)).drain()
    said = "Leaf0-2: these hosts lose a leg, and keep another one: node1-2"
    assert report.applied
    assert heard[0] == (said, 0)
    assert [each.sentence() for each in report.reasons] == [said]


def test_the_picture_and_the_table_have_the_legs_of_the_plan(made: Rack) -> None:
    site = changed(made, another_mtu)
    drawn = site.survey(state=True).toll.drawn
    assert drawn["Leaf0-1 bond1"] == "pauses"
    assert drawn["Leaf0-1 swp21"] == "only leg pauses"
    svg = picture.as_svg(Told(site.fabric, {}, drawn))
    assert svg.count("stroke-dasharray") == 6, "five legs and the legend"
    assert "<title>Leaf0-1 swp9: pauses with apply</title>" in svg
    told = [svg.count(f">{word}<") for word in ("pauses", "only leg pauses")]
    assert told == [4, 1], "colour alone does not tell"
    assert "stroke-dasharray" not in picture.as_svg(Told(site.fabric, {}))
    assert "Leaf0-1 swp9 (pauses with apply), Leaf0-2 swp9 (pauses with apply)" in tables.as_text(
        Told(site.fabric, {}, drawn)
    )


def test_both_have_the_host_and_its_port_where_lldp_or_the_host_tells(made: Rack) -> None:
    survey = made.site.survey(state=True)
    seen = ends(made.site.fabric, survey.observed.switches, ())
    assert {end: tuple(far[:2]) for end, far in seen.items() if end == "Leaf0-1 swp9"} == {
        "Leaf0-1 swp9": ("node1", "")
    }
    port = PortReport("enp59s0f0np0", "0000:3b:00.0", "02:00:00:00:00:01", 9000)
    host = Host("node-7", (replace(port, neighbour=Neighbour("44:38:39:00:00:01", "swp9", "Leaf0-1")),))
    known = ends(made.site.fabric, survey.observed.switches, (host,))
    assert tuple(known["Leaf0-1 swp9"][:2]) == ("node-7", "enp59s0f0np0"), "the host knows it best"
    assert ">enp59s0f0np0<" in picture.as_svg(Told(made.site.fabric, {}, ends=known))


def test_the_actions_say_it(running: Unit) -> None:
    running.emit()
    running.configure(intent=intent(lambda content: content["mtu"].update(host=9100)))
    assert "lose a leg for a moment, and keep another one" in running.action("plan")["plan"]
    assert "pauses with apply" in running.action("show-fabric", health=True)["fabric"]
    assert "pauses with apply" in running.action("show-fabric", health=True, format="svg")["fabric"]
