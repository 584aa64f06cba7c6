# SPDX-License-Identifier: Apache-2.0
"""The RDG's bundle and ours: every relation is there, and each option that differs is known."""

from pathlib import Path

import pytest
from check import checker
from maas.sitefile.reader import read_site

ROOT = Path(__file__).parents[2]
SITE = read_site(ROOT / "tools/maas/site-example.yaml")
DIFFERING = {
    ("neutron-api", "vlan-ranges"): "tenantvlan:101:101",  # what the RDG's switches carry
    ("ovn-chassis", "sriov-numvfs"): "none:0",  # sriov-switchdev owns the VFs
}
OWN = {
    frozenset({"nic-firmware:juju-info", "nova-compute:juju-info"}),
    frozenset({"sriov-switchdev:juju-info", "nova-compute:juju-info"}),
    frozenset({"roce-qos:juju-info", "nova-compute:juju-info"}),
    frozenset({"roce-qos:fabric", "cumulus-fabric:fabric"}),
}


@pytest.fixture(scope="module")
def rdg():
    return checker.load([Path(__file__).parent / "rdg.yaml"], SITE)


@pytest.fixture(scope="module", params=["jammy-yoga", "jammy-caracal", "noble-caracal"])
def ours(request):
    return checker.load([ROOT / f"bundles/ovn-offload-{request.param}.yaml"], SITE)


def relations(bundle):
    return {frozenset(ends) for ends, _ in bundle.written}


def without_spaces(value):
    return "".join(value.split()) if isinstance(value, str) else value


def test_the_rdgs_relations_and_options_pass_every_rule(rdg):
    assert [finding.rule for finding in checker.check(rdg)] == []
    assert len(rdg.written) == 42


def test_our_relations_are_the_rdgs_and_our_charms(rdg, ours):
    assert relations(ours) == relations(rdg) | OWN


def test_our_options_are_the_rdgs_but_for_those_that_are_explained(rdg, ours):
    for name, theirs in rdg.applications.items():
        for option, value in theirs.section("options").items():
            if option in ("openstack-origin", "source"):
                continue
            found = ours.applications[name].section("options").get(option)
            assert without_spaces(found) == without_spaces(DIFFERING.get((name, option), value)), (
                name,
                option,
            )


def test_our_placement_and_spaces_are_the_rdgs(rdg, ours):
    for name, theirs in rdg.applications.items():
        found = ours.applications[name]
        assert [target for target, _ in found.targets] == [target for target, _ in theirs.targets], name
        assert found.constraints == theirs.constraints, name
        assert {key: found.space(key) for key in theirs.section("bindings")} == dict(
            theirs.section("bindings")
        ), name
    for machine in rdg.machines:
        theirs = rdg.machine_constraints(machine)
        assert ours.machine_constraints(machine) == theirs
