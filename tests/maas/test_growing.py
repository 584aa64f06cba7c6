# SPDX-License-Identifier: Apache-2.0
"""Another node of a site that is deployed, as docs/how-to/add-a-node.md has it, and one that goes."""

from functools import partial

import pytest
import yaml
from lab.maassite import NUMA, PORTS, commission, machine, writes
from maas import __main__ as command
from maas import commission as commissioning

ANOTHER = """
  node4:
    tag: compute_sriov
    ports: [enp63s0f0, enp63s0f1]
    power-address: 192.168.0.14
    <<: *bmc
"""


@pytest.fixture
def deployed(built, site, monkeypatch):
    """The example site is deployed, and the site file has one more compute node."""
    monkeypatch.setattr(commissioning, "POLL", 0)
    for each in built.machines:
        each["status_name"] = "Deployed"
    built.hardware["node4"] = partial(commission, built, "node4", PORTS, NUMA)
    site.write_text(site.read_text() + ANOTHER)
    built.requests.clear()
    return built


def test_only_the_new_machine_is_written(deployed, run):
    said = run("plan")
    assert [line.split("  ")[1] for line in said.splitlines() if line[:1].isdigit()] == [
        "create machine node4",
        "tag node4 as compute_sriov",
    ]
    said = run("apply")
    assert machine(deployed, "node4")["tag_names"] == ["compute_sriov"]
    assert "commission" in said.splitlines()[-1]
    assert all(each["status_name"] == "Deployed" for each in deployed.machines[:4])


def test_the_same_commands_lead_it_to_ready_beside_the_deployed_ones(deployed, run):
    run("apply")
    run("commission", "--power-on")
    run("apply")
    assert machine(deployed, "node4")["status_name"] == "Ready"
    assert {"bond0", "br-nvda"} <= {each["name"] for each in machine(deployed, "node4")["interface_set"]}
    deployed.requests.clear()
    run("apply")
    assert writes(deployed) == []


def test_in_the_overlay_the_others_keep_their_numbers_and_it_gets_the_next(deployed, site, capsys):
    made = {}
    for name, text in (("after", site.read_text()), ("before", site.read_text().replace(ANOTHER, ""))):
        site.write_text(text)
        assert command.main(["overlay", str(site)]) == 0
        made[name] = yaml.safe_load(capsys.readouterr().out)
    before, after = made["before"]["machines"], made["after"]["machines"]
    assert {name: after[name] for name in before} == before
    assert [*after] == [*before, "3"]
    assert made["after"]["applications"]["nova-compute"]["to"] == ["0", "1", "3"]


def test_a_machine_that_has_left_the_site_file_is_left_alone(deployed, run, site):
    run("apply")
    site.write_text(site.read_text().replace(ANOTHER, ""))
    deployed.requests.clear()
    run("apply")
    assert writes(deployed) == []
    assert machine(deployed, "node4")
