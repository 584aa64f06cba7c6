# SPDX-License-Identifier: Apache-2.0
"""scope.md: what an operator looks for there has its row, and each version that is tested is told."""

import re

import pytest
import yaml
from bundle.documents import ROOT
from check import checker
from lab.calibrate.__main__ import COMMITTED
from lab.calibrate.recording import read
from lab.cloud.openstacks import OPENSTACKS
from lab.releases import RELEASES

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
"""The subjects of this project's seeds, of other installers and of other cards."""


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
    assert len(COMMITTED) >= 2
    for path in COMMITTED.values():
        kernel, mstflint = (re.match(r"\d+\.\d+", read(path).card[part])[0] for part in told)
        assert f"{kernel} (" in told["kernel"]
        assert f"{mstflint} (" in told["mstflint"]


def test_how_each_version_was_seen_is_one_of_the_words_that_are_explained():
    for part, version, seen in COMPATIBLE[1:]:
        assert re.match(r"lab|source|real|not at all|charms' metadata|documentation", seen), (part, version)


BUNDLES = [yaml.safe_load(path.read_text()) for path in sorted((ROOT / "bundles").glob("*.yaml"))]
DEBIAN = {"bookworm": "Debian 12", "trixie": "Debian 13"}


def told(part: str, how: str) -> str:
    """The versions of a part that were seen so."""
    return ", ".join(row[1] for row in COMPATIBLE if row[0] == part and row[2].startswith(how))


def test_the_bundle_on_a_real_juju_is_as_large_as_it_is():
    (size,) = {len(bundle["applications"]) for bundle in BUNDLES}
    (row,) = [row for row in COMPATIBLE if row[0] == "Juju" and row[2].startswith("real")]
    assert f"a bundle of {size} applications" in row[2]


def test_open_vswitch_and_netplan_are_told_of_each_release_of_the_guests():
    for part in ("Open vSwitch", "netplan"):
        seen = set(re.findall(r"Debian \d+|Ubuntu \d\d\.04", told(part, "")))
        assert seen == {each.title.partition(" with ")[0] for each in RELEASES.values()}


def test_each_release_in_which_dpdk_is_run_is_told():
    """Both install it into a root of its own: the image's recipe, and the frames between two guests."""
    for name in ("test_images.py", "test_packets.py"):
        (suite,) = set(re.findall("bookworm|trixie", (ROOT / "tests/functional" / name).read_text()))
        assert DEBIAN[suite] in told("DPDK for instances", "real")


def test_the_whole_cloud_is_told_with_each_openstack_of_its_roots():
    for suite, openstack in OPENSTACKS.items():
        titles = {each.title for each in RELEASES.values() if each.suite == suite}
        (distribution,) = {title.partition(" with ")[0] for title in titles}
        assert openstack.title == f"{openstack.version} of {distribution}"
        assert f"{openstack.version} ({distribution})" in told("OpenStack", "lab")
        assert distribution in told("OVN", "lab")


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda bundle: bundle["variables"]["openstack-channel"])
def test_the_releases_of_a_bundle_are_told(bundle):
    for part, variable in (("OVN", "ovn-channel"), ("OpenStack", "openstack-channel")):
        release = bundle["variables"][variable].partition("/")[0]
        assert release in told(part, "").lower()
