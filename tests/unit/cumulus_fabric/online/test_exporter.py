# SPDX-License-Identifier: Apache-2.0
"""The metrics on the fabric's unit: the state at the last look, and how long ago that was."""

import errno
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import ops
import pytest
from charmkit.fabric import Host, PortReport
from exporter import facts, install
from exporter.main import Exporter
from hostnic.boot import units
from lab.nvue import Fault, merge
from ops import testing
from unit.cumulus_fabric.online.test_charm_status import spoil
from unit.cumulus_fabric.online.unit import Unit

NO_VLAN_40 = {"bridge": {"domain": {"br_default": {"vlan": {"40": None}}}}}
OTHER_SEGMENT = {"interface": {"bond1": {"evpn": {"multihoming": {"segment": {"local-id": 77}}}}}}
PATH = facts.path_of("cumulus-fabric")
Series = Mapping[tuple[str, ...], float]


def scrape(unit: Unit) -> Series:
    """Values by the series' name, without its prefix, and its labels' values; asks no switch."""
    unit.rack.forget()
    found = {
        (sample.name.removeprefix("ovn_offload_"), *sample.labels.values()): sample.value
        for family in Exporter(lambda: unit.host, 5.0).collect()
        for sample in family.samples
    }
    assert not [call for server in unit.rack.servers.values() for call in server.calls]
    return found


def behind_nvue(unit: Unit, name: str, change: dict[str, Any]) -> None:
    """Change what runs on a switch; its configuration does not show it."""
    member = unit.rack.wires.members[name]
    member.apply(merge(member.tree, change))


def missing(series: Series) -> dict[tuple[str, str], float]:
    """Return the differences from the declaration, by switch and object."""
    declared = {key[1:]: value for key, value in series.items() if key[0] == "fabric_declared"}
    actual = {key[1:]: value for key, value in series.items() if key[0] == "fabric_actual"}
    assert declared.keys() == actual.keys()
    return {(key[0], key[1]): declared[key] - actual[key] for key in declared if declared[key] != actual[key]}


def test_a_fabric_as_declared(running: Unit) -> None:
    running.emit()
    series = scrape(running)
    assert missing(series) == {}
    leaf = {key[2]: value for key, value in series.items() if key[:2] == ("fabric_declared", "Leaf0-1")}
    assert leaf == {"links": 1, "sessions": 1, "segments": 2, "vnis": 5}
    spine = {key[2]: value for key, value in series.items() if key[:2] == ("fabric_declared", "Spine0")}
    assert spine == {"links": 2, "sessions": 2, "segments": 0, "vnis": 0}
    for name in ("Spine0", "Leaf0-1", "Leaf0-2"):
        assert series["fabric_switch_answers", name] == 1
        for fault in ("fabric_drift", "fabric_miswired", "fabric_switch_drained"):
            assert series[fault, name] == 0
    assert series["charm_findings", "cumulus-fabric", "blocked"] == 0


def test_nothing_of_a_host_is_read_on_the_fabrics_unit(running: Unit) -> None:
    running.host.disk.install("/proc/sys/net/netfilter/nf_conntrack_count", b"7", 0o444)
    running.emit()
    assert not [key for key in scrape(running) if key[0].startswith(("connections", "source", "port"))]


def test_the_age_is_that_of_the_look_at_the_switches(running: Unit) -> None:
    running.emit()
    running.host.sleep(100)
    assert scrape(running)["fabric_look_age_seconds",] == pytest.approx(100, abs=1)
    running.configure(canary="Leaf9-9").emit()  # an option that cannot be used: no switch is asked
    running.host.sleep(7)
    series = scrape(running)
    assert series["charm_look_age_seconds", "cumulus-fabric", "cumulus-fabric/0"] == pytest.approx(7, abs=1)
    assert series["fabric_look_age_seconds",] == pytest.approx(107, abs=1)
    assert series["charm_findings", "cumulus-fabric", "blocked"] == 1
    assert series["fabric_declared", "Leaf0-1", "segments"] == 2


def test_a_change_by_hand_is_counted_as_drift(running: Unit) -> None:
    spoil(running)
    running.emit()
    series = scrape(running)
    assert (series["fabric_drift", "Leaf0-1"], series["fabric_drift", "Leaf0-2"]) == (1, 0)
    running.action("apply")
    assert scrape(running)["fabric_drift", "Leaf0-1"] == 0


def test_a_switch_that_does_not_answer_has_no_state(running: Unit) -> None:
    running.rack.servers["Leaf0-1"].inject(Fault("reset", times=0))
    running.emit()
    series = scrape(running)
    answers = [series["fabric_switch_answers", name] for name in ("Spine0", "Leaf0-1", "Leaf0-2")]
    assert answers == [1, 0, 1]
    assert not [key for key in series if key[:2] == ("fabric_actual", "Leaf0-1")]
    assert series["fabric_declared", "Leaf0-1", "sessions"] == 1


BROKEN: dict[str, tuple[Callable[[Unit], object], dict[tuple[str, str], float]]] = {
    "a cut uplink": (
        lambda unit: unit.rack.wires.cut.add(("Leaf0-2", "swp31")),
        {
            ("Leaf0-2", "links"): 1,
            ("Leaf0-2", "sessions"): 1,
            ("Spine0", "links"): 1,
            ("Spine0", "sessions"): 1,
        },
    ),
    "a session that does not come up": (
        lambda unit: behind_nvue(unit, "Leaf0-1", {"router": {"bgp": {"autonomous-system": 65199}}}),
        {("Leaf0-1", "sessions"): 1, ("Spine0", "sessions"): 1},
    ),
    "a missing VNI": (
        lambda unit: behind_nvue(unit, "Leaf0-1", NO_VLAN_40),
        {("Leaf0-1", "vnis"): 1},
    ),
    "another segment": (
        lambda unit: behind_nvue(unit, "Leaf0-2", OTHER_SEGMENT),
        {("Leaf0-1", "segments"): 1, ("Leaf0-2", "segments"): 1},
    ),
}


@pytest.mark.parametrize(("breaks", "lacks"), BROKEN.values(), ids=BROKEN)
def test_what_is_down_or_gone_is_missing(
    running: Unit, breaks: Callable[[Unit], object], lacks: dict[tuple[str, str], float]
) -> None:
    breaks(running)
    running.emit()
    assert missing(scrape(running)) == lacks


def test_a_wrong_cable_is_counted_at_both_ends(running: Unit) -> None:
    for leaf, port in (("Leaf0-1", "swp14"), ("Leaf0-2", "swp13")):
        running.rack.wires.cable((leaf, "swp31"), ("Spine0", port))
    running.emit()
    series = scrape(running)
    assert [series["fabric_miswired", name] for name in ("Spine0", "Leaf0-1", "Leaf0-2")] == [2, 1, 1]


def test_a_drained_switch_is_told_as_such(running: Unit) -> None:
    running.action("drain", switch="Leaf0-1", **{"cut-off": "swp9 swp10 node1 node2"})
    series = scrape(running)
    assert (series["fabric_switch_drained", "Leaf0-1"], series["fabric_switch_drained", "Leaf0-2"]) == (1, 0)


def test_a_drained_switch_that_is_off_for_the_work_on_it_is_still_drained(running: Unit) -> None:
    """Its neighbours lack their sessions with it meanwhile, which is no fault."""
    running.action("drain", switch="Leaf0-1", **{"cut-off": "swp9 swp10 node1 node2"})
    for name in "Leaf0-1", "Leaf0-2":
        running.rack.servers[name].inject(Fault("reset", times=0))
    for _ in range(2):
        running.emit()
    series = scrape(running)
    assert (series["fabric_switch_answers", "Leaf0-1"], series["fabric_switch_drained", "Leaf0-1"]) == (0, 1)
    assert (series["fabric_switch_answers", "Leaf0-2"], series["fabric_switch_drained", "Leaf0-2"]) == (0, 0)


def test_hosts_differ_by_what_it_is_about(running: Unit) -> None:
    def report(name: str, mtu: int) -> str:
        return Host(name, (PortReport("enp59s0f0np0", "0000:3b:00.0", "b8:3f:d2:00:00:01", mtu),)).to_json()

    running.hosts(report("node1", 9000), report("node2", 1500), "{").emit()
    told = {key[1:]: value for key, value in scrape(running).items() if key[0] == "fabric_host_differences"}
    assert {key: value for key, value in told.items() if value} == {
        ("roce-qos/1", "policy"): 1,
        ("roce-qos/2", "report"): 1,
    }
    assert len(told) == 9


def test_a_unit_that_does_not_lead_has_an_exporter_and_knows_nothing_of_the_switches(running: Unit) -> None:
    running.emit()
    running.state = replace(running.state, leader=False)
    running.emit()
    assert not [key for key in scrape(running) if key[0].startswith("fabric")]
    assert running.host.files.exists(install.copy_of("cumulus-fabric").path)


def test_the_exporter_comes_and_goes_with_the_charm(running: Unit) -> None:
    running.emit("start")
    assert f"run systemctl restart {install.UNIT}" in running.host.trace
    running.host.trace.clear()
    running.host.spawned.clear()
    running.host.sleep(60)
    running.emit("update_status")
    assert (running.host.trace, running.host.spawned) == ([], [])
    running.emit("stop")
    assert not [path for path in running.host.disk.content if "exporter" in path or path == PATH]
    assert not running.log


def test_prometheus_scrapes_the_units_address_while_it_is_related(running: Unit) -> None:
    def serves() -> str:
        return running.host.disk.content[units.path(install.UNIT)].decode().partition("exec")[2]

    running.configure(apply_policy="auto").emit()
    assert "exporter.pyz;" in serves()
    spoil(running)  # a scraper that comes or goes is no reason to change a switch
    relation = testing.Relation("metrics-endpoint", remote_app_name="prometheus")
    running.state = replace(running.state, relations={*running.state.relations, relation})
    running.emit("relation_created", relation)
    assert "exporter.pyz 192.0.2.0;" in serves()
    related = running.state.get_relation(relation.id)
    assert related.local_unit_data["prometheus_scrape_unit_address"] == "192.0.2.0"
    assert json.loads(related.local_app_data["alert_rules"])["groups"]
    assert running.writes == []
    running.emit("relation_broken", related)
    assert "exporter.pyz;" in serves()
    assert running.writes == []


def test_an_exporter_that_cannot_be_written_is_a_warning(running: Unit) -> None:
    running.host.fail("install", PATH, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), times=None)
    what = "the exporter: cannot be kept up to date: No space left on device; retried at the next hook"
    assert running.emit() == ops.ActiveStatus(what)
