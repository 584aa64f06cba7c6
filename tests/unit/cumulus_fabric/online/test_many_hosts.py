# SPDX-License-Identifier: Apache-2.0
"""The cost of a hook about one of many hosts: hook tools, switches and processor time, counted."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import audit
import charm
import pytest
import yaml
from bench import fabric as bench
from charmkit.fabric import Host, PortReport
from intent import expand
from intent.model import Fabric
from lab.juju.hooktools import Controller, Ran
from lab.modelled import FakeHost
from rest.connection import Access
from rest.fleet import Fleet
from tree import foreign, leaves
from tree.merge import Goal
from unit.cumulus_fabric.fabrics import CHARM
from unit.cumulus_fabric.fabrics import fabric as spelled_out
from unit.cumulus_fabric.online.site import PASSWORD, Rack, rack
from unit.cumulus_fabric.online.unit import intent, managed
from unit.cumulus_fabric.test_growth import calls, rendered

HOSTS, RACK = 256, 16
HERE = "cumulus-fabric/0"
SECOND = "cumulus-fabric/1"
HOUR = 1_000_000.0


def report(number: int, mtu: int = 9000) -> str:
    """Return the publication of a host with one port."""
    port = PortReport("enp59s0f0np0", "0000:3b:00.0", "b8:3f:d2:00:00:01", mtu)
    return Host(f"compute{number}", (port,)).to_json()


class Site:
    """The fabric's unit, its switches and the databags of many hosts; ``now`` is its clock."""

    def __init__(self, made: Rack, directory: Path, text: str) -> None:
        self.rack = made
        self.host = FakeHost([], bonded=False)
        self.now = HOUR
        self.controller = Controller(directory)
        self.options = self.controller.deploy(CHARM, charm.CumulusFabricCharm).config
        self.options |= {
            "intent": text,
            "credentials": "secret:1",
            "ca-certificate": "",
            "pinned-certificates": "",
        }
        self.options["pinned-certificates"] = " ".join(f"{name}={'0' * 64}" for name in made.servers)
        self.controller.secrets["secret:1"] = {"user": "cumulus", "password": PASSWORD}
        self.peers = self.controller.relate({"cumulus-fabric": "applied"})
        self.hosts = self.controller.relate({"cumulus-fabric": "fabric", "roce-qos": "fabric"})

    def connect(self, fabric: Fabric, access: Access, limit: int) -> Fleet:
        return replace(self.rack.site.fleet, limit=limit)

    def time(self) -> float:
        return self.now

    def publish(self, number: int, text: str) -> str:
        """A host's report; its unit."""
        unit = f"roce-qos/{number}"
        self.controller.databags[self.hosts.id][unit] = {"host": text, "ingress-address": "192.0.2.7"}
        return unit

    def emit(self, hook: str, **params: Any) -> Ran:
        self.rack.forget()
        return self.controller.run(HERE, hook, **params)

    def about(self, unit: str, kind: str = "changed") -> Ran:
        """A hook about a host."""
        self.rack.forget()
        return self.controller.run(HERE, f"relation-{kind}", self.hosts, unit)

    @property
    def asked(self) -> int:
        """Requests to switches in the last hook."""
        return sum(len(server.calls) for server in self.rack.servers.values())

    @property
    def status(self) -> tuple[str, str]:
        return self.controller.status[HERE]

    def deploy(self, hosts: int) -> int:
        """Racks that come up a minute apart, each host with two reports; how often switches are asked."""
        surveys, status = 0, self.now

        def count() -> None:
            nonlocal surveys
            self.now += 0.2  # of a hook
            surveys += self.asked > 0

        self.emit("config-changed")
        count()
        for start in range(0, hosts, RACK):
            numbers = range(start, start + RACK)
            for number in numbers:
                self.about(self.publish(number, ""), "joined")
                count()
            for mtu in (1500, 9000):
                for number in numbers:
                    self.about(self.publish(number, report(number, mtu=mtu)))
                    count()
            self.now = max(self.now, HOUR + 60.0 * (start // RACK + 1))
            if self.now - status >= 300.0:
                status = self.now
                self.emit("update-status")
                count()
        self.now += 300.0
        self.emit("update-status")
        count()
        return surveys


@contextmanager
def running(text: str, fabric: Fabric, directory: Path, fleet: type[Fleet] = Fleet) -> Iterator[Site]:
    """A site whose switches run the intent."""
    with rack(fabric, applied=True, fleet=fleet) as made, pytest.MonkeyPatch.context() as patch:
        found = Site(made, directory, text)
        patch.setattr(charm.CumulusFabricCharm, "connect", staticmethod(found.connect))
        patch.setattr(charm.CumulusFabricCharm, "machine", staticmethod(lambda: found.host))
        patch.setattr(charm, "time", found)
        yield found


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with running(intent(), spelled_out(change=managed), tmp_path) as found:
        yield found


@pytest.fixture
def full(site: Site) -> Site:
    """All hosts have been met and compared."""
    for number in range(HOSTS):
        site.publish(number, report(number))
    site.emit("config-changed")
    assert site.status == ("active", "")
    return site


def test_a_hook_that_changes_nothing_starts_four_hook_tools_and_asks_no_switch(full: Site) -> None:
    ran = full.about("roce-qos/7")
    assert ran.tools == {"relation-ids": 1, "relation-list": 1, "relation-get": 1, "is-leader": 1}
    assert full.asked == 0


def test_a_unit_that_has_published_nothing_costs_two_hook_tools_without_ops(full: Site) -> None:
    full.controller.databags[full.hosts.id]["roce-qos/999"] = {"ingress-address": "192.0.2.7"}
    ran = full.about("roce-qos/999")
    assert ran.early
    assert ran.tools == {"relation-get": 2}
    full.controller.databags[full.hosts.id]["roce-qos/999"]["host"] = report(7, mtu=1500)
    assert not full.about("roce-qos/999").early
    assert "MTU 1500" in full.status[1]


def test_a_unit_that_joins_starts_none(full: Site) -> None:
    ran = full.about("roce-qos/7", "joined")
    assert ran.early
    assert ran.tools == {}


def test_a_unit_that_does_not_lead_reads_no_report(full: Site) -> None:
    full.controller.leaders["cumulus-fabric"] = "cumulus-fabric/1"
    for kind, by_early in (("changed", {"relation-get": 1}), ("departed", {})):
        ran = full.about(full.publish(7, report(7, mtu=1500)), kind)
        assert ran.tools == {"relation-ids": 1, "relation-list": 1, "is-leader": 1, **by_early}
        assert full.asked == 0
    assert full.status == ("active", "")


def test_one_hosts_report_is_compared_at_once_and_without_the_others(full: Site) -> None:
    unit = full.publish(7, report(7, mtu=1500))
    ran = full.about(unit)
    assert full.status[0] == "waiting"
    assert "compute7 enp59s0f0np0: MTU 1500, the fabric expects 9000" in full.status[1]
    assert ran.tools["relation-get"] == 1
    assert full.asked == 0
    full.publish(7, report(7))
    full.about(unit)
    assert full.status == ("active", "")
    assert full.asked == 0


def test_a_host_that_departs_takes_its_findings_along(full: Site) -> None:
    full.about(full.publish(7, report(7, mtu=1500)))
    del full.controller.databags[full.hosts.id]["roce-qos/7"]
    full.about("roce-qos/7", "departed")
    assert full.status == ("active", "")


def test_the_switches_are_asked_once_for_many_reports(full: Site) -> None:
    asked = []
    for number in range(HOSTS):
        full.now += 4.0
        full.about(full.publish(number, report(number, mtu=1500)))
        asked += [full.now] if full.asked else []
    assert len(asked) == 1  # ten minutes after the last time, without update-status in between
    full.emit("update-status")
    assert full.asked > 0
    assert f"(+{HOSTS - 1} more, see verify)" in full.status[1]


def test_update_status_reads_no_report_that_a_hook_has_read(full: Site) -> None:
    full.about(full.publish(7, report(7, mtu=1500)))
    assert full.emit("update-status").tools["relation-get"] <= 3


@pytest.mark.parametrize("hook", ["config-changed", "leader-elected", "upgrade-charm"])
def test_rare_hooks_read_what_is_there_now(full: Site, hook: str) -> None:
    full.publish(7, report(7, mtu=1500))  # nobody has told of it
    full.emit(hook)
    assert "MTU 1500" in full.status[1]


def test_an_action_reads_what_is_there_now(full: Site) -> None:
    full.publish(7, report(7, mtu=1500))
    assert "MTU 1500" in full.emit("verify", params={"format": "json"}).results["findings"]
    assert "MTU 1500" in full.status[1]


def test_under_auto_neither_a_report_nor_drift_leads_to_an_apply(full: Site) -> None:
    full.options["apply-policy"] = "auto"
    box = full.rack.servers["Leaf0-1"].switch
    box.applied["interface"]["bond1"]["link"]["mtu"] = 1500
    box.backend.apply(box.applied)
    full.emit("update-status")
    assert full.rack.writes() == []
    full.about(full.publish(7, report(7, mtu=1500)))
    assert full.rack.writes() == []
    for hook in ("update-status", "update-status"):
        full.now += 3600.0
        full.emit(hook)
        assert full.rack.writes() == []
    full.about(full.publish(7, report(7)))  # the switches have not been asked for a while
    assert full.rack.writes() == []
    assert "Leaf0-1" in full.status[1]


@pytest.mark.parametrize("policy", ["manual", "auto"])
def test_what_a_host_reports_reaches_no_switch(full: Site, policy: str) -> None:
    """Under auto, too."""
    full.options["apply-policy"] = policy
    box = full.rack.servers["Leaf0-1"].switch
    wanted = json.loads(json.dumps(box.applied))
    for text in (
        report(7, mtu=1500),
        report(7).replace("enp59s0f0np0", "bond1"),
        '{"version": 1, "mtu": 1500}',
    ):
        full.about(full.publish(7, text))
        full.emit("update-status")
        assert full.rack.writes() == []
        assert box.applied == wanted
    box.applied["interface"]["bond1"]["link"]["mtu"] = 1500
    box.backend.apply(box.applied)
    full.about(full.publish(7, report(7, mtu=1500)))
    full.emit("update-status")
    assert box.applied != wanted


def test_why_no_switch_could_be_asked_stays_the_status_whatever_hosts_report(full: Site) -> None:
    full.options["canary"] = "Leaf9-9"
    full.emit("config-changed")
    full.about(full.publish(7, report(7, mtu=1500)))
    assert full.status[0] == "blocked"
    assert "option canary" in full.status[1]


def test_after_the_clock_was_set_back_the_switches_are_asked(full: Site) -> None:
    full.now -= 3600.0
    full.about(full.publish(7, report(7, mtu=1500)))
    assert full.asked > 0


@pytest.mark.parametrize("hook", ["config-changed", "update-status"])
def test_a_hook_that_asks_the_switches_audits_the_intent_once(full: Site, hook: str) -> None:
    assert calls(lambda: full.emit(hook), of=audit.audit) == 1
    assert full.asked


def test_the_switches_are_asked_20_times_at_most_while_256_hosts_come_up(site: Site) -> None:
    assert site.deploy(HOSTS) <= 20
    assert site.status == ("active", "")


def test_a_look_compares_each_switch_with_the_intent_once(full: Site) -> None:
    switches = len(full.rack.servers)
    assert calls(lambda: full.emit("update-status"), of=Goal.patch) == switches
    assert calls(lambda: full.emit("update-status"), of=foreign.objects) == 3 * switches


@contextmanager
def of_size(
    spines: int, leaves: int, hosts: int, tmp_path: Path, fleet: type[Fleet] = Fleet
) -> Iterator[Site]:
    """A fabric whose hosts all report, and whose switches have been asked once."""
    content = yaml.safe_load(bench.intent(spines, leaves, hosts))
    content["leaves"]["management"], content["spines"]["management"] = "192.0.2.1", "192.0.3.1"
    text, directory = yaml.safe_dump(content), tmp_path / str(hosts)
    directory.mkdir()
    with running(text, expand.read(text), directory, fleet) as site:
        for number in range(hosts):
            site.publish(number, report(number))
        site.emit("config-changed")
        yield site


def test_a_hook_about_a_host_costs_at_most_twice_for_16_times_the_hosts_and_switches(tmp_path: Path) -> None:
    def steps(*size: int) -> int:
        with of_size(*size, tmp_path) as site:
            unit = site.publish(7, report(7, mtu=1500))
            taken = calls(lambda: site.about(unit))
            assert "compute7" in site.status[1]
            assert not site.asked
            return taken

    few = steps(1, 2, RACK)
    assert steps(16, 32, HOSTS) <= 2 * few  # ops has an object for each unit in the relation


def test_a_survey_costs_as_much_for_each_setting_in_a_large_fabric_as_in_a_small_one(tmp_path: Path) -> None:
    def per_setting(*size: int) -> float:
        with of_size(*size, tmp_path) as site:
            settings = sum(1 for tree in rendered(site.options["intent"])[1] for _ in leaves(tree))
            return calls(lambda: site.emit("config-changed")) / settings

    assert per_setting(4, 8, 64) <= 1.05 * per_setting(1, 2, RACK)


@pytest.mark.parametrize("hook", ["update-status", "config-changed", "secret-changed", "leader-elected"])
def test_a_hook_reads_the_secret_once_and_writes_nothing_that_wakes_a_host(full: Site, hook: str) -> None:
    ran = full.emit(hook)
    assert ran.tools["secret-get"] == 1
    assert ran.changed == []


def test_update_status_starts_as_many_hook_tools_beside_256_hosts_as_beside_none(full: Site) -> None:
    ran = full.emit("update-status")
    assert sum(ran.tools.values()) == 11
    assert ran.tools["relation-get"] == 2  # the policy that hosts have, and the record


def test_a_second_unit_that_joins_asks_no_switch(full: Site) -> None:
    full.controller.databags[full.peers.id][SECOND] = {}
    full.rack.forget()
    ran = full.controller.run(HERE, "relation-joined", full.peers, SECOND)
    assert (ran.tools, full.asked) == ({}, 0)


def test_the_record_of_the_leader_leads_to_no_request_by_the_other_unit(full: Site) -> None:
    full.controller.leaders["cumulus-fabric"] = SECOND
    full.controller.databags[full.peers.id][SECOND] = {}
    full.rack.forget()
    ran = full.controller.run(HERE, "relation-changed", full.peers)
    assert sum(ran.tools.values()) <= 8
    assert full.asked == 0
    assert full.emit("update-status").tools["secret-get"] == full.asked == 0


def test_while_the_intent_cannot_be_read_hosts_are_compared_with_that_of_the_last_survey(full: Site) -> None:
    good = full.options["intent"]
    full.options["intent"] = "{"
    full.emit("config-changed")
    assert full.status[0] == "blocked"
    full.about(full.publish(7, report(7, mtu=1500)))
    assert full.asked == 0
    told = json.loads(full.emit("show-health", params={"format": "json"}).results["health"])
    (host,) = [row for row in told if row["about"].startswith("compute7")]
    assert "1500" in host["found"]
    assert told[0]["about"] == "intent:1"
    full.options["intent"] = good
    full.emit("config-changed")
    full.about(full.publish(7, report(7)))
    assert full.status == ("active", "")
