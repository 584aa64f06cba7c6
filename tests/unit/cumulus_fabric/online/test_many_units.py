# SPDX-License-Identifier: Apache-2.0
"""What the fabric's own hooks cost beside 256 hosts: secrets, the record of what was made, further units."""

import json

import pytest
from unit.cumulus_fabric.online.test_many_hosts import HERE, Site, full, report, site  # noqa: F401  # fixtures

SECOND = "cumulus-fabric/1"


@pytest.mark.parametrize("hook", ["update-status", "config-changed", "secret-changed", "leader-elected"])
def test_a_hook_reads_the_secret_once_and_writes_nothing_that_wakes_a_host(full: Site, hook: str) -> None:  # noqa: F811
    ran = full.emit(hook)
    assert ran.tools["secret-get"] == 1
    assert ran.changed == []


def test_update_status_starts_as_many_hook_tools_beside_256_hosts_as_beside_none(full: Site) -> None:  # noqa: F811
    ran = full.emit("update-status")
    assert sum(ran.tools.values()) == 11
    assert ran.tools["relation-get"] == 2  # the policy that hosts have, and the record


def test_a_second_unit_that_joins_asks_no_switch(full: Site) -> None:  # noqa: F811
    full.controller.units[full.peers.id][SECOND] = {}
    full.rack.forget()
    ran = full.controller.run(HERE, "relation-joined", full.peers, SECOND)
    assert (ran.tools, full.asked) == ({}, 0)


def test_the_record_of_the_leader_leads_to_no_request_by_the_other_unit(full: Site) -> None:  # noqa: F811
    full.application.leader = SECOND
    full.controller.units[full.peers.id][SECOND] = {}
    full.rack.forget()
    ran = full.controller.run(HERE, "relation-changed", full.peers)
    assert sum(ran.tools.values()) <= 8
    assert full.asked == 0
    assert full.emit("update-status").tools["secret-get"] == full.asked == 0


def test_while_the_intent_cannot_be_read_hosts_are_compared_with_that_of_the_last_survey(full: Site) -> None:  # noqa: F811
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
