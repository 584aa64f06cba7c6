# SPDX-License-Identifier: Apache-2.0
"""verify and health on 256 nodes: side by side, past a silent unit, with progress and tables that are cut."""

import threading

import pytest
from converge import StepError
from converge.render import MOST
from lab.juju import cli
from lab.juju.fleet import CHARMS, Fleet
from operate import fleet, health, together, verify
from operate.client import Juju

NODES = 256
DENIED = "permission denied"


class Site(Fleet):
    """Its clients wait for each other; `silent` units do not end an action."""

    def __init__(self, nodes=NODES, lost=()):
        super().__init__(nodes, lost)
        self.silent, self.denied = set(), False
        self.at_once = self.most_at_once = 0
        self.full = threading.Event()

    def __call__(self, command, given, seconds, *, shown=False):
        with self.lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            if self.at_once == together.AT_ONCE:
                self.full.set()
        if "run" in command and len(self.units(command)) > 1:
            self.full.wait(60)
        try:
            return super().__call__(command, given, seconds, shown=shown)
        finally:
            with self.lock:
                self.at_once -= 1

    @staticmethod
    def units(call):
        return [word for word in call if "/" in word]

    def do_run(self, options, words):
        if self.denied:
            raise cli.Refused(DENIED)
        if silent := sorted(self.silent & {*words}):
            raise cli.Refused(f"timed out waiting for results from: unit {', unit '.join(silent)}")
        return super().do_run(options, words)

    @property
    def asked(self):
        return [self.units(call) for call in self.known["calls"] if call[0] == "run"]


@pytest.fixture
def site():
    return Site()


def rows(site):
    return verify.verify(Juju(run=site))


def test_several_clients_ask_a_few_units_each_and_every_unit_once(site):
    assert len(rows(site)) == NODES * len(CHARMS)
    assert site.most_at_once == together.AT_ONCE
    assert max(map(len, site.asked)) == fleet.TOGETHER
    assert len({unit for call in site.asked for unit in call}) == sum(map(len, site.asked)) == 3 * NODES


def test_a_unit_that_does_not_end_the_action_costs_only_its_own_row(site):
    site.silent = {"roce-qos/77"}
    found = rows(site)
    assert [row.unit for row in found if row.verified != "true"] == ["roce-qos/77"]
    assert found[0].unit == "roce-qos/77"
    assert "timed out waiting for results from: unit roce-qos/77" in found[0].finding
    assert len(found) == NODES * len(CHARMS)


def test_a_silent_unit_is_asked_again_by_itself_for_a_minute(site):
    site.silent = {"roce-qos/77"}
    rows(site)
    (last,) = [call for call in site.known["calls"] if "roce-qos/77" in call and len(site.units(call)) == 1]
    assert "--wait=60s" in last


def test_a_unit_whose_agent_is_lost_is_told_and_not_asked():
    site = Site(lost={"sriov-switchdev/3"})
    found = rows(site)
    assert (found[0].unit, found[0].verified) == ("sriov-switchdev/3", "unknown")
    assert "its agent is lost" in found[0].finding
    assert all("sriov-switchdev/3" not in call for call in site.asked)
    assert health.health(Juju(run=site)).ill == 1


def test_a_model_that_refuses_every_client_is_one_sentence_without_further_tries(site):
    site.denied = True
    with pytest.raises(StepError, match=DENIED):
        rows(site)
    assert max(map(len, site.asked)) == min(map(len, site.asked)) == fleet.TOGETHER


def test_how_far_it_is_and_the_time_left_are_told(site, monkeypatch):
    told = []
    monkeypatch.setattr(together, "progress", told.append)
    rows(site)
    assert len(told) == NODES * len(CHARMS) / fleet.TOGETHER
    assert told[0].startswith("16 of 768 units asked, about ")
    assert told[-1] == "768 of 768 units asked, about 0 s left"


def test_the_worst_rows_come_first_and_the_rest_is_a_number(site):
    site.failing = {"sriov-switchdev/200", "nic-firmware/9"}
    lines = verify.shown(rows(site), MOST).splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["nic-firmware/9", "sriov-switchdev/200"]
    assert lines[-3:] == ["708 more rows: --all shows them", "", "766 of 768 units are verified."]
    assert len(lines) == 1 + MOST + 3


def test_all_rows_are_shown_when_they_are_wanted(site):
    assert len(verify.shown(rows(site), None).splitlines()) == 1 + NODES * len(CHARMS) + 2


def test_health_of_a_whole_site_that_is_ill_is_cut_as_well(site):
    site.failing = {f"{name}/{number}" for name in CHARMS for number in range(NODES)}
    found = health.health(Juju(run=site))
    assert "452 more rows: --all shows them" in found.shown(MOST)
    assert found.shown(MOST).endswith("256 of 768 units are healthy.")
