# SPDX-License-Identifier: Apache-2.0
"""scope.md: what an operator looks for there has its row, and each version that is tested is told."""

import re

import pytest
from bundle.documents import ROOT
from check import checker

TEXT = (ROOT / "bundles/scope.md").read_text()
OUT, COMPATIBLE = (
    [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in part.splitlines()
        if line.startswith("| ")
    ]
    for part in TEXT.split("## Compatibility")
)
ASKED = (
    *("VXLAN", "vDPA", "OVS-DPDK", "live migration", "DOCA", "MLNX_OFED", "RHOSP", "Sunbeam", "Ironic"),
    *("Windows", "VMware", "Socket Direct", "ConnectX-3", "other makers"),
)
"""What the seeds of this project, other installers and other cards have."""


@pytest.mark.parametrize("word", ASKED)
def test_what_is_not_covered_says_why_and_what_to_do_instead(word):
    (row,) = [row for row in OUT if word.lower() in row[0].lower()]
    assert all(row)
    assert len(row) == 3


def test_rules_that_are_named_are_the_checkers():
    rules = {rule.name for rule in checker.RULES}
    named = set(re.findall(r"rule `([\w-]+)`", TEXT))
    assert "offload-alone" in named
    assert named <= rules


def test_every_release_that_the_lab_runs_is_told():
    """The virtual card was recorded on each: its kernel, and the mstflint of that guest."""
    told = {
        kind: " ".join(f"{row[1]}: {row[2]}" for row in COMPATIBLE if row[0] == kind)
        for kind in ("kernel", "mstflint")
    }
    recordings = sorted((ROOT / "tests/lab/card/recordings").glob("*.json"))
    assert len(recordings) >= 2
    for path in recordings:
        kernel = re.search(r"linux-(\d+\.\d+)\.json", path.name)[1]
        assert f"{kernel} (Debian" in told["kernel"]
        mstflint = next(iter(re.findall(r'"mstflint": "(\d+\.\d+)', path.read_text())))
        assert f"{mstflint} (" in told["mstflint"]


def test_how_each_version_was_seen_is_one_of_the_words_that_are_explained():
    for part, version, seen in COMPATIBLE[1:]:
        assert re.match(r"lab|source|real|not at all|charms' metadata|documentation", seen), (part, version)
