# SPDX-License-Identifier: Apache-2.0
"""The project's bundles and overlays: each alone, and in every combination that overlays/README.md names."""

import re
from pathlib import Path

import pytest
from bundle import check
from bundle.facts import own
from maas.sitefile import Site

ROOT = Path(__file__).parents[2]
BUNDLES = sorted(ROOT.glob("bundles/ovn-offload-*.yaml"))
OVERLAYS = sorted(ROOT.glob("overlays/*.yaml"))
README = (ROOT / "overlays/README.md").read_text()
COMBINATIONS = [
    [ROOT / path for path in re.findall(r"--overlay (\S+)", line)]
    for line in README.splitlines()
    if line.startswith("    juju deploy")
]
SITE = Site.read(ROOT / "bundles/maas/site-example.yaml")


def findings(paths):
    """What the checker says, without the places; own charms that are not yet there are passed over."""
    found = check.check(check.load(paths, SITE))
    return [f"{f.rule}: {f.what}" for f in found if not (f.rule == "charm-known" and "roce-qos" not in own())]


def expected(overlays):
    """The one warning that is meant."""
    control = any(path.stem == "controller-nics" for path in overlays) and "nic-firmware" in own()
    return ["reboot-vault: a reboot of machine 2 seals vault/0"] if control else []


def test_the_two_bundles_differ_in_tracks_and_package_sources_only():
    old, new = (path.read_text().splitlines() for path in reversed(BUNDLES))
    differing = [line.split(":")[0].strip() for line, other in zip(old, new) if line != other]
    assert len(old) == len(new)
    assert differing[1:] == ["openstack-channel", "ovn-channel", "rabbitmq-channel", "openstack-origin"]


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.stem)
def test_a_bundle_keeps_every_rule(bundle):
    assert findings([bundle]) == []


@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda path: path.stem)
@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.stem)
def test_an_overlay_alone_keeps_every_rule(bundle, overlay):
    assert findings([bundle, overlay]) == expected([overlay])


@pytest.mark.parametrize("overlays", COMBINATIONS, ids=lambda paths: "+".join(path.stem for path in paths))
@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.stem)
def test_a_documented_combination_keeps_every_rule(bundle, overlays):
    assert findings([bundle, *overlays]) == expected(overlays)


def test_every_overlay_is_documented_and_combined():
    assert {path.name for path in OVERLAYS} == set(
        re.findall(r"^\| \[[\w-]+\]\(([\w.-]+)\)", README, re.MULTILINE)
    )
    assert {path for overlays in COMBINATIONS for path in overlays} == set(OVERLAYS)
