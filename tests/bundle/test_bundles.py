# SPDX-License-Identifier: Apache-2.0
"""The project's bundles and overlays: each alone, and in every combination that overlays/README.md names."""

import re
from pathlib import Path

import pytest
import yaml
from bundle.intents import audited
from check import checker
from intent import expand
from maas.sitefile.reader import read_site

ROOT = Path(__file__).parents[2]
BUNDLES = sorted(ROOT.glob("bundles/ovn-offload-*.yaml"))
OVERLAYS = sorted(ROOT.glob("overlays/*.yaml"))
README = (ROOT / "overlays/README.md").read_text()
COMBINATIONS = [
    [ROOT / f"overlays/{name}.yaml" for name in line.split(", ")]
    for line in re.findall(r"^- ([a-z0-9-]+(?:, [a-z0-9-]+)*)$", README, re.MULTILINE)
]
INTENTS = [ROOT / "charms/cumulus-fabric/examples/rdg.yaml", ROOT / "overlays/intents/rdg-lossy.yaml"]
EXAMPLE = ROOT / "tools/maas/site-example.yaml"


@pytest.fixture
def findings(tmp_path):
    """Return the checker's findings without places; the site has the bundle's base, and no bonds if asked."""

    def findings(paths):
        site = EXAMPLE.read_text()
        if any(path.stem == "single-port" for path in paths):
            site = without_bonds(site)
        if "noble" in paths[0].stem:
            site = site.replace("base: ubuntu@22.04", "base: ubuntu@24.04").replace("hwe-22.04", "ga-24.04")
        (tmp_path / "site.yaml").write_text(site)
        bundle = checker.load(paths, read_site(tmp_path / "site.yaml"))
        return sorted((f"{each.rule}: {each.what}" for each in checker.check(bundle)), reverse=True)

    return findings


def without_bonds(site):
    """The example site with one port per machine, and the bridge on that."""
    for old, new in {
        "    bond: bond0\n": "",
        "[enp63s0f0, enp63s0f1]": "[enp63s0f0]",
        "physnets: [none, tenantvlan]": "physnets: [none]",
    }.items():
        assert old in site
        site = site.replace(old, new)
    return site


def expected(bundle, overlays):
    """The warnings that are meant.

    The bundles have members of clusters on the control node, too. Canonical's bundle on noble has no
    hacluster, and an overlay names a charm that is packed for jammy.
    """
    names = {path.stem for path in overlays}
    jammys = "noble" in bundle.stem and "controller-nics" in names
    packed = "base: nic-firmware-control is packed for ubuntu@22.04, and deployed on ubuntu@24.04"
    alone = "noble" in bundle.stem and "ha-control-plane" in names
    lock = "nic-firmware-control" if "controller-nics" in names else "in no lock"
    where = f"machines 2 ({lock}), 0 and 1 (sriov-switchdev)"
    split = f"quorum-lock: ovn-central and mysql-innodb-cluster: members are on {where}"
    return [
        *(["reboot-vault: a reboot of machine 2 seals vault/0"] if "controller-nics" in names else []),
        *([] if "ha-control-plane" in names else [split]),
        *(["base-upstream: hacluster 2.4/stable is not known to run on ubuntu@24.04"] if alone else []),
        *([packed] if jammys else []),
    ]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        (
            "jammy-caracal",
            {
                "OpenStack Yoga": "OpenStack 2024.1 (Caracal)",
                "yoga/stable": "2024.1/stable",
                "22.03/stable": "24.03/stable",
                "3.9/stable": "3.12/stable",
                "origin distro": "origin cloud:jammy-caracal",
            },
        ),
        (
            "noble-caracal",
            {
                "OpenStack Yoga": "OpenStack 2024.1 (Caracal)",
                "yoga/stable": "2024.1/stable",
                "22.03/stable": "24.03/stable",
                "3.9/stable": "3.12/stable",
                "Ubuntu 22.04": "Ubuntu 24.04",
                "ubuntu@22.04": "ubuntu@24.04",
            },
        ),
    ],
)
def test_the_bundles_are_one_text_with_other_tracks_bases_and_package_sources(name, values):
    text = (ROOT / "bundles/ovn-offload-jammy-yoga.yaml").read_text()
    for yoga, other in values.items():
        assert yoga in text
        text = text.replace(yoga, other)
    assert text == (ROOT / f"bundles/ovn-offload-{name}.yaml").read_text()


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.stem)
def test_a_bundle_keeps_every_rule(bundle, findings):
    assert findings([bundle]) == expected(bundle, [])


@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda path: path.stem)
@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.stem)
def test_an_overlay_alone_keeps_every_rule(bundle, overlay, findings):
    assert findings([bundle, overlay]) == expected(bundle, [overlay])


@pytest.mark.parametrize("overlays", COMBINATIONS, ids=lambda paths: "+".join(path.stem for path in paths))
@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.stem)
def test_a_documented_combination_keeps_every_rule(bundle, overlays, findings):
    assert findings([bundle, *overlays]) == expected(bundle, overlays)


def test_every_overlay_is_documented_and_combined():
    assert {path.name for path in OVERLAYS} == set(
        re.findall(r"^\| \[[\w-]+\]\(([\w.-]+)\)", README, re.MULTILINE)
    )
    assert {path for overlays in COMBINATIONS for path in overlays} == set(OVERLAYS)
    assert [ROOT / path for path in re.findall(r"--overlay (\S+)", README)] in COMBINATIONS


@pytest.mark.parametrize("intent", INTENTS, ids=lambda path: path.stem)
def test_an_intent_of_ours_passes_the_fabrics_own_audit(intent):
    assert audited(intent) == (0, "")


def test_the_lossy_intent_is_the_rdgs_but_for_its_mode():
    lossless, lossy = (yaml.safe_load(path.read_text()) for path in INTENTS)
    assert lossy["roce"].pop("mode") == "lossy"
    assert lossless["roce"].pop("mode") == "lossless"
    assert lossy == lossless


def test_all_rules_together_read_an_intent_once(monkeypatch, tmp_path):
    text = (ROOT / "bundles/ovn-offload-jammy-yoga.yaml").read_text()
    own = re.sub(r"include-file://\S+/rdg\.yaml", "include-file://intent.yaml", text)
    assert own != text
    (tmp_path / "bundle.yaml").write_text(own)
    (tmp_path / "intent.yaml").write_text(INTENTS[0].read_text())
    bundle = checker.load([tmp_path / "bundle.yaml"])
    read, expanded = [], expand.expand
    monkeypatch.setattr(expand, "expand", lambda intent: read.append(intent) or expanded(intent))
    checker.check(bundle)
    assert len(read) == 1
