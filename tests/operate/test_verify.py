# SPDX-License-Identifier: Apache-2.0
"""Every charm's action verify, in one table."""

import json

import pytest
from operate.__main__ import main

FINDING = {
    **{"severity": "held", "subject": "0000:3b:00.0", "what": "0 of 8 VFs, eswitch in legacy mode"},
    "remedy": "run approve-reboot",
}
UNITS = [f"{name}/{n}" for name in ("sriov-switchdev", "nic-firmware") for n in (0, 1, 10)]


def answer(found=(), **other):
    text = json.dumps(list(found))
    return {"results": {"verified": str(not found).lower(), "findings": text}, **other}


@pytest.fixture
def verified(world):
    world.change(actions={f"{unit} verify": answer() for unit in (*UNITS, "cumulus-fabric/0")})
    return world


def tell(world, unit, said):
    world.change(actions={**world.state["actions"], f"{unit} verify": said})


def test_every_unit_of_our_charms_is_asked_and_none_of_the_others(verified):
    said = verified.run(main, "verify")
    assert [line.split() for line in said.splitlines()[1:6]] == [
        *(["sriov-switchdev/0", "true"], ["sriov-switchdev/1", "true"]),
        *(["nic-firmware/0", "true"], ["nic-firmware/10", "true"], ["cumulus-fabric/0", "true"]),
    ]
    assert said.endswith("All 5 units are verified.\n")


def test_an_application_is_asked_at_a_time_as_the_client_takes_no_more(verified):
    verified.run(main, "verify")
    asked = [call[1:] for call in verified.state["calls"] if call[0] == "run"]
    assert sorted([word for word in call if "/" in word] for call in asked) == [
        *(["cumulus-fabric/0"], ["nic-firmware/0", "nic-firmware/10"]),
        ["sriov-switchdev/0", "sriov-switchdev/1"],
    ]


def test_findings_are_told_with_their_remedies(verified):
    tell(verified, "sriov-switchdev/1", answer([FINDING, {**FINDING, "subject": "0000:3b:00.1"}]))
    said = verified.run(main, "verify", expected=1)
    rows = [line for line in said.splitlines() if line.startswith("sriov-switchdev/1")]
    assert [row.split()[1:4] for row in rows] == [
        ["false", "held", "0000:3b:00.0"],
        ["false", "held", "0000:3b:00.1"],
    ]
    assert all(FINDING["what"] in row and FINDING["remedy"] in row for row in rows)
    assert said.endswith("4 of 5 units are verified.\n")


def test_a_warning_is_told_of_a_verified_unit(verified):
    warning = {**FINDING, "severity": "warning", "what": "no IOMMU group"}
    said = {"results": {"verified": "true", "findings": json.dumps([warning])}}
    tell(verified, "nic-firmware/0", said)
    assert "no IOMMU group" in verified.run(main, "verify")


def test_an_action_that_fails_on_one_unit_hides_no_other(verified):
    """The client ends with an error then, and prints what the others said all the same."""
    failed = {"status": "failed", "message": "cannot parse option devices"}
    tell(verified, "sriov-switchdev/0", failed)
    said = verified.run(main, "verify", expected=1)
    (row,) = [line for line in said.splitlines() if line.startswith("sriov-switchdev/0")]
    assert "unknown" in row
    assert "cannot parse option devices" in row
    assert "juju run sriov-switchdev/0 verify shows more" in row
    assert "sriov-switchdev/1  true" in said


def test_a_model_without_our_charms_is_said(verified):
    model = {**verified.model, "status": {"applications": {}}}
    verified.change(models={"maas-controller:openstack": model})
    assert "the model has no unit of" in verified.run(main, "verify", expected=2)


def test_without_a_client_it_says_where_one_comes_from(world, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    said = world.run(main, "verify", expected=2)
    assert said.startswith("there is no juju client on this machine; sudo snap install juju")
