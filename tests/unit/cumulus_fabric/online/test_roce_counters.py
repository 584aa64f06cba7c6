# SPDX-License-Identifier: Apache-2.0
"""Pauses, ECN marks, drops and buffers of switches: read by a look, exported, and told by show-health.

The trees are as `nv show interface swp16 qos roce counters` prints them in the Cumulus Linux user guide.
"""

import json
from typing import Any

from converge.document import LONGEST
from exporter.facts import Counted, Fabric, Facts, Lane, Switch, from_json, to_json
from lab.nvue import Fault
from roce.counters import LANES, MOST, counted, worst
from tree import Tree
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.test_exporter import scrape
from unit.cumulus_fabric.online.test_health import health
from unit.cumulus_fabric.online.unit import Unit

LEAF = ("Leaf0-1", "swp9")


def told(dropped: Any = 0, marked: Any = 0, paused: Any = 0, pauses: Any = 0, peak: Any = "0 Bytes") -> Tree:
    """A port's counters: frames of RoCE that it dropped sending, marked; microseconds of pauses."""
    return {
        "rx-stats": {
            "rx-non-roce-stats": {"non-roce-packets": 462975, "no-buffer-discard": 0, "pg-max-usage": 144},
            "rx-pfc-stats": {"pause-duration": paused, "pause-packets": 7},
            "rx-roce-stats": {"roce-packets": 5, "no-buffer-discard": 0, "pg-max-usage": "0 Bytes"},
        },
        "tx-stats": {
            "tx-cnp-stats": {"cnp-packets": 3, "unicast-no-buffer-discard": 0, "tc-max-usage": "0 Bytes"},
            "tx-ecn-stats": {"ecn-marked-packets": marked},
            "tx-pfc-stats": {"pause-duration": pauses, "pause-packets": 9},
            "tx-roce-stats": {
                "roce-packets": 803785675319,
                "unicast-no-buffer-discard": dropped,
                "tc-max-usage": peak,
                "tc-usage": "7.29 MB",
            },
        },
    }


def of_ports(unit: Unit) -> dict[tuple[str, ...], float]:
    """The series of the switches' ports."""
    found = {key: value for key, value in scrape(unit).items() if key[0].startswith("fabric_port")}
    return {(key[0].removesuffix("_total"), *key[1:]): value for key, value in found.items()}


def test_what_a_port_has_counted_is_exported_by_class_and_direction(running: Unit) -> None:
    running.rack.wires.counters[LEAF] = told(12, 693777677344, 3_200_000, 500_000, "16.02 MB")
    running.emit()
    series = of_ports(running)
    assert series["fabric_port_drops", "Leaf0-1", "swp9", "roce", "sent"] == 12
    assert series["fabric_port_frames", "Leaf0-1", "swp9", "roce", "sent"] == 803785675319
    assert series["fabric_port_frames", "Leaf0-1", "swp9", "other", "received"] == 462975
    assert series["fabric_port_drops", "Leaf0-1", "swp9", "cnp", "sent"] == 0
    assert series["fabric_port_ecn_marked", "Leaf0-1", "swp9"] == 693777677344
    assert series["fabric_port_pause_seconds", "Leaf0-1", "swp9", "received"] == 3.2
    assert series["fabric_port_pause_seconds", "Leaf0-1", "swp9", "sent"] == 0.5
    assert series["fabric_port_buffer_peak_bytes", "Leaf0-1", "swp9", "roce", "sent"] == 16_020_000
    assert {key[1:3] for key in series} == {LEAF}, "the others have counted nothing"


def test_a_port_that_lost_paused_and_marked_nothing_has_no_series(running: Unit) -> None:
    running.rack.wires.counters[LEAF] = told()
    running.emit()
    assert of_ports(running) == {}
    assert "Leaf0-1 swp9" not in running.action("show-health")["health"]


def test_show_health_tells_of_it_as_information(running: Unit) -> None:
    running.rack.wires.counters[LEAF] = told(12, 34, 3_200_000)
    running.emit()
    assert health(running)[0] == "ok"
    rows = json.loads(running.action("show-health", format="json")["health"])
    (row,) = (each for each in rows if each["about"] == "Leaf0-1 swp9")
    assert (row["state"], row["found"]) == (
        "info",
        "12 sent roce frames dropped, pauses received for 3.2 s, 34 frames marked since its counters began",
    )


def test_a_port_that_is_not_the_intents_is_left_out(running: Unit) -> None:
    running.rack.wires.counters["Leaf0-1", "swp20"] = told(12)
    running.emit()
    assert of_ports(running) == {}


def test_a_switch_that_does_not_answer_has_no_counters(running: Unit) -> None:
    running.rack.wires.counters[LEAF] = told(12)
    running.emit()
    assert of_ports(running)
    running.rack.servers["Leaf0-1"].inject(Fault("reset", times=0))
    running.emit("update_status")
    assert of_ports(running) == {}


def test_counters_alone_are_no_news_that_a_hook_writes(running: Unit) -> None:
    running.rack.wires.counters[LEAF] = told(12)
    running.emit()
    running.rack.wires.counters[LEAF] = told(13)
    running.host.trace.clear()
    running.host.sleep(60)
    running.emit("update_status")
    assert running.host.trace == []
    running.host.sleep(300)
    running.emit("update_status")
    assert of_ports(running)["fabric_port_drops", "Leaf0-1", "swp9", "roce", "sent"] == 13


def seen(counters: dict[str, Tree]) -> Tree:
    """A switch's state with these counters."""
    return {"interface": {port: {"qos": {"roce": {"counters": each}}} for port, each in counters.items()}}


def test_what_is_no_number_counts_as_nothing() -> None:
    leaf = fabric().switch("Leaf0-1")
    assert leaf is not None
    port = leaf.links[0].port
    (found,) = counted(leaf, seen({port: told("n/a", 5, None, {"a": 1}, "much")}))
    assert (found.marked, found.paused) == (5, {"received": 0, "sent": 0})
    assert {lane.dropped for lane in found.lanes} == {0}
    assert counted(leaf, seen({port: {"rx-stats": "off"}})) == ()
    (found,) = counted(leaf, seen({port: told(2**70, -3, peak="999999999999999999 GB")}))
    lane = next(each for each in found.lanes if each.dropped)
    assert (lane.dropped, lane.peak, found.marked) == (2**64 - 1, 2**64 - 1, 0)


def test_the_ports_that_lose_most_come_first_and_there_are_not_too_many() -> None:
    """However large the fabric is, what is told of its ports fits into the file that the exporter reads."""
    lanes = tuple(Lane(*each, 2**64 - 1, 2**60, 2**40) for each in LANES)
    ports = [Counted(f"swp{number}", number, {"sent": 2**60, "received": 0}, lanes) for number in range(64)]
    switches = [Switch(f"Leaf{rack}-1", answers=True, counted=tuple(ports)) for rack in range(66)]
    found = worst(switches)
    assert [each.name for each in found] == [each.name for each in switches]
    assert sum(len(each.counted) for each in found) == MOST
    assert {port.port for each in found for port in each.counted} == {"swp63"}
    assert [port.port for port in worst(switches[:1])[0].counted] == [f"swp{63 - at}" for at in range(MOST)]
    told = to_json(Facts("cumulus-fabric", "cumulus-fabric/0", 0, fabric=Fabric(0, found)))
    assert from_json("cumulus-fabric", told).fabric == Fabric(0, found)
    assert len(told) < LONGEST // 2
