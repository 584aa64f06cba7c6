# SPDX-License-Identifier: Apache-2.0
"""Action show-health: what the last look saw and how old that is, worst first, without asking a switch."""

import json
from dataclasses import replace

from lab.nvue import Fault
from unit.cumulus_fabric.online.test_charm_status import spoil
from unit.cumulus_fabric.online.unit import Unit

Rows = list[tuple[str, str, str]]


def health(unit: Unit) -> tuple[str, Rows]:
    """The worst state, and the rows without information and what helps; no switch is asked."""
    told = unit.action("show-health", format="json")
    assert not [call for server in unit.rack.servers.values() for call in server.calls]
    rows = [row for row in json.loads(told["health"]) if row["state"] != "info"]
    return told["worst"], [(row["state"], row["about"], row["found"]) for row in rows]


def test_a_fabric_as_declared_is_eight_lines(running: Unit) -> None:
    running.emit()
    running.host.sleep(100)
    assert health(running) == (
        "ok",
        [
            ("ok", "configuration", "as declared"),
            ("ok", "switches", "all 3 answer"),
            ("ok", "links", "all 4 are as declared"),
            ("ok", "sessions", "all 4 are as declared"),
            ("ok", "segments", "all 4 are as declared"),
            ("ok", "vnis", "all 10 are as declared"),
            ("ok", "hosts", "0 report, and none differs"),
            ("ok", "last look", "100 s ago"),
        ],
    )


def test_a_switch_that_does_not_answer_comes_first(running: Unit) -> None:
    running.rack.servers["Leaf0-1"].inject(Fault("reset", times=0))
    running.emit()
    worst, rows = health(running)
    assert worst == rows[0][0] == "blocked"
    assert rows[0][1] == "Leaf0-1"
    assert {about for _, about, _ in rows if about in ("switches", "configuration", "links")} == set()


def test_a_change_since_the_last_look_is_not_known_yet(running: Unit) -> None:
    running.emit()
    spoil(running)
    assert health(running)[0] == "ok"
    running.emit("update_status")
    worst, rows = health(running)
    assert worst == rows[0][0] == "held"
    assert ("ok", "configuration", "as declared") not in rows


def test_a_host_that_differs_is_a_row(running: Unit) -> None:
    running.hosts("no report").emit()
    worst, rows = health(running)
    assert worst != "ok"
    assert "hosts" not in [about for _, about, _ in rows]


def test_an_option_that_cannot_be_used_is_told_beside_what_was_seen_before(running: Unit) -> None:
    running.emit()
    running.configure(canary="Leaf9-9").emit()
    worst, rows = health(running)
    assert (worst, rows[0][1]) == ("blocked", "option canary")
    assert ("ok", "switches", "all 3 answer") in rows


def test_a_look_of_more_than_an_hour_ago_is_a_warning(running: Unit) -> None:
    running.emit()
    running.host.sleep(3601)
    worst, rows = health(running)
    assert (worst, rows[0]) == ("warning", ("warning", "last look", "3601 s ago"))


def test_a_unit_that_has_not_looked_yet_names_the_action_that_does(running: Unit) -> None:
    assert health(running) == ("warning", [("warning", "last look", "none since the machine booted")])
    assert "juju run cumulus-fabric/0 verify" in running.action("show-health")["health"]


def test_another_unit_than_the_leader_names_the_leader(running: Unit) -> None:
    running.state = replace(running.state, leader=False)
    assert health(running) == ("ok", [("ok", "switches", "the leader looks at them")])
    assert "juju run cumulus-fabric/leader show-health" in running.action("show-health")["health"]


def test_a_site_where_every_host_differs_is_ten_lines_with_a_number(running: Unit) -> None:
    running.hosts(*["no report"] * 256).emit()
    lines = running.action("show-health")["health"].splitlines()
    assert len(lines) == 1 + 10
    (more,) = [line for line in lines if "more findings" in line]
    assert "juju run cumulus-fabric/0 verify shows them" in more
    told = running.action("show-health", format="json")["health"]
    assert len(json.loads(told)) == 200
