# SPDX-License-Identifier: Apache-2.0
"""The health of all units in one table, worst first."""

import json

import pytest
from operate.__main__ import main

WATCHED = ("sriov-switchdev/0", "sriov-switchdev/1", "cumulus-fabric/0")
VERIFIED = ("nic-firmware/0", "nic-firmware/10")
FINE = {"state": "ok", "about": "configuration", "found": "as declared", "help": "-"}
DROPS = {
    **{"state": "warning", "about": "enp59s0f1np1", "help": "compare action show-qos"},
    "found": "15 received frames were dropped: the port's buffer was full",
}
SILENT = {"state": "blocked", "about": "leaf-1", "found": "it does not answer", "help": "see its port"}


def watched(*rows):
    return {"results": {"worst": "ok", "health": json.dumps(rows)}}


def verified(*findings):
    return {"results": {"verified": "true", "findings": json.dumps(findings)}}


@pytest.fixture
def site(world):
    said = {f"{unit} show-health": watched(FINE) for unit in WATCHED}
    world.change(actions={**said, **{f"{unit} verify": verified() for unit in VERIFIED}})
    return world


def tell(world, unit, action, said):
    world.change(actions={**world.state["actions"], f"{unit} {action}": said})


def test_a_healthy_site_is_one_sentence(site):
    assert site.run(main, "health") == "5 of 5 units are healthy.\n"


def test_the_worst_comes_first_whatever_charm_says_it(site):
    tell(site, "sriov-switchdev/0", "show-health", watched(DROPS, FINE))
    tell(site, "cumulus-fabric/0", "show-health", watched(SILENT))
    tell(site, "nic-firmware/10", "verify", {"status": "failed", "message": "cannot parse option devices"})
    said = site.run(main, "health", expected=1).splitlines()
    assert [row.split()[:2] for row in said[1:4]] == [
        ["unknown", "nic-firmware/10"],
        ["blocked", "cumulus-fabric/0"],
        ["warning", "sriov-switchdev/0"],
    ]
    assert "cannot parse option devices" in said[1]
    assert DROPS["found"] in said[3]
    assert DROPS["help"] in said[3]
    assert said[-1] == "2 of 5 units are healthy."


def test_information_is_shown_and_is_no_fault(site):
    tell(site, "cumulus-fabric/0", "show-health", watched({**SILENT, "state": "info"}))
    said = site.run(main, "health")
    assert "leaf-1" in said
    assert said.endswith("5 of 5 units are healthy.\n")


@pytest.mark.parametrize("rows", ["{", "[1]", '[{"state": "ok"}]', "[" * 100_000])
def test_what_cannot_be_read_is_one_sentence(site, rows):
    tell(site, "sriov-switchdev/1", "show-health", {"results": {"health": rows}})
    assert site.run(main, "health", expected=2) == (
        "the health of sriov-switchdev/1 cannot be read; juju run sriov-switchdev/1 show-health shows more\n"
    )
