# SPDX-License-Identifier: Apache-2.0
"""RoCE is the same on all switches, and what Cumulus Linux can do."""

import pytest
from unit.cumulus_fabric.audits import BLOCKED, found, the_one


def test_roce_is_everywhere_or_nowhere():
    path, what = the_one(BLOCKED, lambda data: data.update(switches={"Spine1": {"roce": "off"}}))
    assert path == "switches.Spine1.roce"
    assert what == "RoCE is off on Spine1, but lossless on Spine0, Leaf0-1, Leaf0-2 and 2 more"


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"priority": 5}, "roce.priority"),
        ({"cnp-priority": 7}, "roce.cnp-priority"),
        ({"bandwidth": 90}, "roce.bandwidth"),
        ({"ecn": {"low": 150, "high": 1500}}, "roce.ecn"),
        ({"dscp": 46}, "roce.dscp"),
        ({"cnp-dscp": 26}, "roce.cnp-dscp"),
    ],
)
def test_roce_settings_that_cumulus_does_not_support(change, path):
    assert path in [subject for subject, _ in found(BLOCKED, lambda data: data["roce"].update(change))]


def test_roce_on_the_priority_of_all_other_traffic():
    path, what = the_one(BLOCKED, lambda data: data["roce"].update(priority=0), example="demartek")
    assert (path, "all other traffic" in what) == ("roce.priority", True)


def test_ecn_with_a_low_threshold_above_the_high_one():
    path, _ = the_one(
        BLOCKED, lambda data: data["roce"].update(ecn={"low": 1500, "high": 150}), example="demartek"
    )
    assert path == "roce.ecn.low"


def test_roce_off_everywhere_is_no_finding():
    assert found(BLOCKED, lambda data: data["roce"].update(mode="off", priority=5)) == []


def test_a_switch_that_follows_the_common_mode_is_not_sent_to_an_entry_that_it_does_not_have():
    """Five switches have an entry; the sixth has only the fabric's mode."""
    others = ["Spine0", "Spine1", "Leaf0-1", "Leaf0-2", "Leaf1-1"]
    own = {name: {"roce": "off"} for name in others}
    path, what = the_one(BLOCKED, lambda data: data.update(switches=own))
    assert path == "roce.mode"
    assert what == "RoCE is lossless on Leaf1-2, but off on Spine0, Spine1, Leaf0-1 and 2 more"
