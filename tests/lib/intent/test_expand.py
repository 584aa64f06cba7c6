# SPDX-License-Identifier: Apache-2.0
"""An intent that cannot be spelled out into switches is refused at the place of the fault."""

import re

import pytest
from converge.shape import InvalidValue
from unit.cumulus_fabric.fabrics import fabric

REFUSALS = [
    (lambda d: d["leaves"].update(uplinks="swp30-32"), "leaves.uplinks: 'swp30-32' is not allowed"),
    (lambda d: d["spines"].update(downlinks="swp13-15"), "spines.downlinks: 'swp13-15' is not allowed"),
    (lambda d: d["leaves"].update(uplinks="swp32-31"), "leaves.uplinks: 'swp32-31' .* counts up"),
    (lambda d: d["leaves"].update(uplinks="swp31,swp31"), "leaves.uplinks: .* instead of swp31 twice"),
    (
        lambda d: d["leaves"].update(tracked="swp9"),
        r"leaves.tracked: 'swp9' .* uplinks of Leaf0-1 \(swp31-32\)",
    ),
    (lambda d: d["leaves"].update(asn={}), "leaves.asn: .* either first or all"),
    (lambda d: d["leaves"].update(asn={"first": 1, "all": 2}), "leaves.asn: 1 .* either first or all"),
    (lambda d: d["leaves"].update(loopback="255.255.255.254"), "leaves.loopback: '255.255.255.254'"),
    (lambda d: d["leaves"].update({"segment-mac": "FF:FF:FF:FF:FF:FF"}), "leaves.segment-mac: 'FF:FF"),
    (lambda d: d["leaves"].update({"df-preference": [1]}), r"leaves.df-preference: \[1\] .* 2 leaves"),
    (lambda d: d["spines"].update(names=["a"]), "spines.count: 2 .* either count or names"),
    (lambda d: d["spines"].pop("count"), "spines.count: an empty value .* either count or names"),
    (lambda d: d["racks"][1].update(leaves=["Leaf0-1", "x"]), r"racks\[1\]: 'Leaf0-1' .* name of its own"),
    (lambda d: d["racks"][1].update(leaves=["a", "b"], count=2), r"racks\[1\].leaves: .* count is above 1"),
    (lambda d: d["networks"]["public"].update(untagged=True), "networks.public.untagged: true .*oam is"),
    (
        lambda d: d["racks"][0]["bonds"]["bond_ext"].update(networks=["publik"]),
        r"racks\[0\].bonds.bond_ext.networks\[0\]: 'publik' .* oam, public",
    ),
    (
        lambda d: d["racks"][0]["bonds"]["bond_ext"].update(untagged="oam"),
        r"racks\[0\].bonds.bond_ext.untagged: 'oam' .* one of its networks \(public\), or none",
    ),
    (
        lambda d: d["racks"][0]["single-homed"]["juju"].update(leaf=3),
        r"racks\[0\].single-homed.juju.leaf: 3 .* a leaf from 1 to 2",
    ),
    (
        lambda d: d["racks"][0].update(bonds={"bond1": {"ports": "swp5", "local-id": 5}}),
        r"racks\[0\].bonds.bond1: 'bond1' .* name of its own",
    ),
    (
        lambda d: d["racks"][0]["bonds"]["bond_ext"].update(ports=["swp22"]),
        r"racks\[0\].bonds.bond_ext.ports: \['swp22'\] .* 2 leaves",
    ),
    (
        lambda d: d["racks"][0].update(hosts={"ports": "swp9-10", "names": ["node1"]}),
        r"racks\[0\].hosts.names: .* one name for each of 2 ports",
    ),
    (lambda d: d.update(switches={"Leaf9-9": {}}), "switches.Leaf9-9: .* a spine or leaf: Spine0, Spine1"),
    (lambda d: d.pop("spines"), "spines: an empty value .* that the leaves connect to;"),
    (lambda d: d.pop("leaves"), "leaves: an empty value .* leaves of the racks"),
]


def test_a_rack_with_one_leaf_has_the_first_preference():
    def change(data):
        data["leaves"]["df-preference"] = [50000, 40000]
        data["spines"]["downlinks"] = "swp13-17"
        data["racks"].append({"leaves": ["border1"], "hosts": "swp9"})

    (bond,) = fabric("rdg", change).switch("border1").bonds
    assert bond.segment.df_preference == 50000


@pytest.mark.parametrize(("change", "sentence"), REFUSALS)
def test_an_intent_that_does_not_fit_is_refused_by_path(change, sentence):
    with pytest.raises(InvalidValue) as caught:
        fabric("rdg", change)
    assert re.match(sentence, str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)
