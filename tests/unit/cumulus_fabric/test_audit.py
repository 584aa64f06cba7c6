# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a fabric is found before anything is sent, and named by its path in the intent."""

import re

import audit
import pytest
from charmkit.fabric import Host, Neighbour, Port, Vlan
from converge import Severity
from shape import IntentError
from unit.cumulus_fabric.fabrics import fabric

BLOCKED, WARNING, INFO = Severity.BLOCKED, Severity.WARNING, Severity.INFO


def findings(change=None, hosts=(), example="rdg"):
    return audit.audit(fabric(example, change), hosts)


def found(severity, change=None, hosts=(), example="rdg"):
    return [(f.subject, f.what) for f in findings(change, hosts, example) if f.severity is severity]


def the_one(severity, change=None, hosts=(), example="rdg"):
    """The only finding of this severity, as path and sentence."""
    (one,) = found(severity, change, hosts, example)
    return one


@pytest.mark.parametrize("example", ["rdg", "rdg-max", "demartek"])
def test_the_examples_can_be_applied(example):
    assert found(BLOCKED, example=example) == []


def test_the_guides_own_faults_are_reported():
    assert [(f.severity, f.subject) for f in findings()] == [
        (WARNING, "leaves.segment-mac"),
        (WARNING, "leaves.df-preference"),
        (INFO, "racks[0].single-homed.juju"),
        (INFO, "racks[0].single-homed.maas"),
        (INFO, "leaves.anycast-mac"),
        (INFO, "roce"),
    ]


def test_every_finding_but_a_remark_says_what_to_do():
    for example in ("rdg", "rdg-max"):
        assert [f for f in findings(example=example) if f.severity > INFO and not f.remedy] == []


# Ethernet segments.


def test_a_ninth_host_has_the_esi_of_bond_ext():
    """The guide gives its external bond local-id 9, which is also that of a rack's ninth host."""

    def nine_hosts(data):
        data["racks"][0]["hosts"] = "swp1-9"

    path, what = the_one(BLOCKED, nine_hosts)
    assert path == "racks[0].bonds.bond_ext"
    assert "bond_ext of rack 0 and bond9 of rack 0 have the same ESI 03:44:38:39:be:ef:01:00:00:09" in what
    assert "segment MAC 44:38:39:BE:EF:01 and local-id 9" in what


def test_eight_hosts_do_not():
    def eight_hosts(data):
        data["racks"][0]["hosts"] = "swp1-8"

    assert found(BLOCKED, eight_hosts) == []


def test_two_racks_with_one_segment_mac():
    def same(data):
        data["racks"][1]["segment-mac"] = "44:38:39:be:ef:01"

    path, what = the_one(BLOCKED, same)
    assert path == "racks[1].hosts"
    assert "bond1 of rack 1 and bond1 of rack 0 have the same ESI" in what
    assert "(and 1 more pairs)" in what


def test_one_bond_on_both_leaves_is_one_segment_not_two():
    assert not any("ESI" in f.what for f in findings())


def test_a_group_address_as_segment_mac():
    path, what = the_one(BLOCKED, lambda data: data["leaves"].update({"segment-mac": "45:38:39:BE:EF:01"}))
    assert (path, "group address" in what) == ("leaves.segment-mac", True)


def test_segment_macs_in_nvidias_range_raise_no_warning():
    def inside(data):
        data["leaves"]["segment-mac"] = "44:38:39:ff:00:01"

    assert "leaves.segment-mac" not in [subject for subject, _ in found(WARNING, inside)]


@pytest.mark.parametrize("preference", [50000, [50000, 50000]])
def test_equal_df_preference(preference):
    warnings = dict(found(WARNING, lambda data: data["leaves"].update({"df-preference": preference})))
    assert warnings["leaves.df-preference"].startswith(
        "Leaf0-1 and Leaf0-2 share a df-preference (so in 2 racks)"
    )


@pytest.mark.parametrize("preference", [[50000, 40000], None])
def test_different_df_preferences(preference):
    def differ(data):
        data["leaves"].pop("df-preference")
        if preference:
            data["leaves"]["df-preference"] = preference

    assert "leaves.df-preference" not in dict(found(WARNING, differ))


# Ports.


def test_a_port_used_by_a_host_and_by_a_bond():
    def clash(data):
        data["racks"][0]["hosts"] = "swp21-22"

    path, what = the_one(BLOCKED, clash)
    assert path == "racks[0].bonds.bond_ext"
    assert what == "swp22 is used by racks[0].hosts too, on Leaf0-1, Leaf0-2"


def test_an_uplink_used_by_a_single_homed_port():
    def clash(data):
        data["racks"][0]["single-homed"]["juju"]["port"] = "swp31"

    path, what = the_one(BLOCKED, clash)
    assert (path, what) == (
        "racks[0].single-homed.juju",
        "swp31 is used by leaves.uplinks too, on Leaf0-1",
    )


def test_a_port_used_whole_and_split():
    def split(data):
        data["racks"][1]["bonds"] = {"bond_x": {"ports": "swp9s1", "local-id": 77}}

    path, what = the_one(BLOCKED, split)
    assert path == "racks[1].bonds.bond_x"
    assert what.startswith("swp9s1 is used as swp9 by racks[1].hosts too")


def test_the_guides_maximum_leaves_no_port_for_the_external_gateway():
    """16 uplinks and 16 hosts are all 32 ports."""

    def seventeenth(data):
        data["racks"][1]["hosts"] = "swp1-16"
        data["racks"][1]["bonds"] = {"bond_ext": {"ports": "swp33", "local-id": 99}}

    path, what = the_one(BLOCKED, seventeenth, example="rdg-max")
    assert path == "racks[1].bonds.bond_ext"
    assert what == "swp33 is beyond the 32 ports of Leaf1-1, Leaf1-2, Leaf2-1 and 27 more"


def test_a_spine_too_small():
    def small(data):
        data["switches"] = {"Spine1": {"ports": 15}}

    path, what = the_one(BLOCKED, small)
    assert (path, what) == ("spines.downlinks", "swp16 is beyond the 15 ports of Spine1")


def test_uplinks_without_tracking():
    path, what = the_one(BLOCKED, lambda data: data["leaves"].update(tracked="swp31"))
    assert path == "leaves.uplinks"
    assert what.startswith("swp32 of Leaf0-1, Leaf0-2, Leaf1-1 and 1 more are uplinks without tracking")


def test_uplinks_without_tracking_on_one_switch():
    path, what = the_one(
        BLOCKED,
        lambda data: data.update(switches={"Leaf1-2": {"tracked": "swp32", "uplinks": "swp30,swp32"}}),
    )
    assert path == "switches.Leaf1-2.uplinks"
    assert what.startswith("swp30 of Leaf1-2 are uplinks without tracking")


# Addresses.


def test_a_leaf_with_the_spines_as_number():
    path, what = the_one(BLOCKED, lambda data: data["leaves"].update(asn={"first": 65198}))
    assert (path, what) == (
        "leaves.asn",
        "Leaf0-2 and Spine0 have the same AS 65199: BGP takes routes for loops",
    )


def test_all_leaves_with_one_as_number():
    paths = [path for path, _ in found(BLOCKED, lambda data: data["leaves"].update(asn={"all": 65101}))]
    assert paths == ["leaves.asn"] * 3


def test_a_reserved_as_number():
    path, what = the_one(BLOCKED, lambda data: data.update(switches={"Leaf0-1": {"asn": 23456}}))
    assert (path, what) == ("leaves.asn", "Leaf0-1 gets AS 23456, which is reserved")


def test_loopbacks_that_run_into_each_other():
    """A hundred and one leaves from 10.10.10.1 on would reach the first spine's 10.10.10.101."""
    path, what = the_one(BLOCKED, lambda data: data["spines"].update(loopback="10.10.10.4"))
    assert (path, what) == ("leaves.loopback", "10.10.10.4 is Spine0's loopback and Leaf1-2's loopback")


def test_a_management_address_twice():
    def same(data):
        data["spines"]["management"] = "192.168.0.1"
        data["leaves"]["management"] = "192.168.0.2"

    path, what = the_one(BLOCKED, same)
    assert (path, what) == (
        "leaves.management",
        "192.168.0.2 is Spine1's management and Leaf0-1's management",
    )


def test_a_loopback_inside_a_hosts_subnet():
    def inside(data):
        data["networks"]["internal"]["subnets"] = ["10.10.10.0/30"]

    paths = [path for path, _ in found(BLOCKED, inside)]
    assert paths == ["leaves.loopback"] * 3


# Networks.


@pytest.mark.parametrize(
    ("key", "number", "path"),
    [("vlan", 9, "networks.internal.vlan"), ("vni", 9, "networks.internal.vni")],
)
def test_a_vlan_or_vni_twice(key, number, path):
    def same(data):
        data["networks"]["internal"].update({"vni": 10, key: number})

    got, what = the_one(BLOCKED, same)
    assert (got, what) == (path, f"network internal and network public both have {key.upper()} {number}")


def test_a_vlan_that_the_switch_keeps():
    def reserved(data):
        data["networks"]["provider"]["vlan"] = 3800

    assert "networks.provider.vlan" in dict(found(WARNING, reserved))


def test_a_subnet_in_two_networks():
    def overlap(data):
        data["networks"]["internal"]["subnets"] = ["172.16.0.0/16"]
        data["networks"]["overlay"]["subnets"] = ["172.16.4.0/24"]

    path, what = the_one(BLOCKED, overlap)
    assert path == "networks.overlay.subnets"
    assert what == "172.16.4.0/24 of network overlay overlaps 172.16.0.0/16 of network internal"


@pytest.mark.parametrize(
    ("mtu", "path", "what"),
    [
        (
            {"host": 9000, "fabric": 9049},
            "mtu.host",
            "9000 bytes of a host and 50 of VXLAN exceed the fabric's 9049",
        ),
        (
            {"host": 1500, "fabric": 9216, "tenant": 1500},
            "mtu.tenant",
            "1500 bytes of an instance and 58 of Geneve exceed the hosts' 1500",
        ),
    ],
)
def test_the_mtu_chain(mtu, path, what):
    assert (path, what) in found(BLOCKED, lambda data: data.update(mtu=mtu))


@pytest.mark.parametrize("mtu", [{"host": 9000, "fabric": 9050}, {"host": 1558, "tenant": 1500}])
def test_an_mtu_chain_that_just_fits(mtu):
    assert found(BLOCKED, lambda data: data.update(mtu=mtu)) == []


def test_a_bond_with_an_mtu_that_vxlan_does_not_carry():
    def large(data):
        data["racks"][0]["bonds"]["bond_ext"]["mtu"] = 9200

    path, what = the_one(BLOCKED, large)
    assert path == "racks[0].bonds.bond_ext"
    assert what == "bond_ext of Leaf0-1, bond_ext of Leaf0-2 takes 9200 bytes, but VXLAN carries 9166"


def test_a_bond_with_a_smaller_mtu_than_its_networks():
    def small(data):
        data["racks"][0]["bonds"]["bond_ext"]["mtu"] = 1500

    assert "racks[0].bonds.bond_ext" in dict(found(WARNING, small))


# RoCE.


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
def test_what_cumulus_cannot(change, path):
    assert path in [subject for subject, _ in found(BLOCKED, lambda data: data["roce"].update(change))]


def test_a_priority_that_all_other_traffic_has():
    path, what = the_one(BLOCKED, lambda data: data["roce"].update(priority=0), example="demartek")
    assert (path, "all other traffic" in what) == ("roce.priority", True)


def test_marking_that_ends_before_it_begins():
    path, _ = the_one(
        BLOCKED, lambda data: data["roce"].update(ecn={"low": 1500, "high": 150}), example="demartek"
    )
    assert path == "roce.ecn.low"


def test_roce_off_everywhere_is_no_finding():
    assert found(BLOCKED, lambda data: data["roce"].update(mode="off", priority=5)) == []


# What hosts report.


def host(*vlans, port="swp9", leaf="Leaf0-1", mtu=9000, name="node1"):
    neighbour = Neighbour("44:38:39:22:01:18", port, leaf)
    nic = Port("enp63s0f0", "0000:3f:00.0", "0c:42:a1:00:00:01", mtu, "bond0", neighbour=neighbour)
    return Host(name, (nic,), tuple(vlans))


def test_hosts_that_agree():
    agreeing = host(Vlan(0, "bond0", ("192.168.25.0/24",)), Vlan(10, "bond0.10", ("172.17.0.0/24",)))
    assert found(BLOCKED, hosts=[agreeing]) == []
    assert len(found(WARNING, hosts=[agreeing])) == len(found(WARNING))


def test_renumbering_a_network_that_hosts_use():
    def renumber(data):
        data["networks"]["internal"]["vlan"] = 11

    path, what = the_one(BLOCKED, renumber, [host(Vlan(10, "bond0.10"))])
    assert (path, what) == (
        "networks",
        "node1 uses VLAN 10 (bond0.10), which is no network of this fabric",
    )


def test_a_vlan_on_another_nic_of_the_host_is_only_mentioned():
    elsewhere = host(Vlan(11, "eno1.11"))
    assert found(BLOCKED, hosts=[elsewhere]) == []
    assert dict(found(WARNING, hosts=[elsewhere]))["networks"].startswith("node1 uses VLAN 11 (eno1.11)")


def test_a_host_on_a_port_that_would_not_carry_its_vlan():
    path, what = the_one(BLOCKED, hosts=[host(Vlan(10, "bond0.10"), port="swp22")])
    assert path == "racks[0].bonds.bond_ext"
    assert what == "node1 uses VLAN 10 (bond0.10), which bond_ext of Leaf0-1 would not carry"


def test_a_host_that_tags_the_untagged_network():
    path, what = the_one(BLOCKED, hosts=[host(Vlan(3000, "bond0.3000"))])
    assert path == "racks[0].hosts"
    assert what == "node1 uses VLAN 3000 (bond0.3000), which bond1 of Leaf0-1 would not carry"


def test_a_host_with_another_networks_subnet():
    def subnets(data):
        data["networks"]["internal"]["subnets"] = ["172.17.0.0/24"]

    path, what = the_one(BLOCKED, subnets, [host(Vlan(10, "bond0.10", ("172.18.0.0/24",)))])
    assert path == "networks.internal.subnets"
    assert what == "node1 has 172.18.0.0/24 on VLAN 10 (bond0.10), which is network internal"


def test_one_subnet_on_two_vlans():
    one = host(Vlan(10, "bond0.10", ("172.17.0.0/24",)))
    two = host(Vlan(40, "bond0.40", ("172.17.0.0/24",)), port="swp10", name="node2")
    path, what = the_one(BLOCKED, hosts=[one, two])
    assert path == "networks"
    assert what == "hosts have 172.17.0.0/24 on different VLANs: VLAN 10 on node1; VLAN 40 on node2"


def test_a_host_with_a_larger_mtu_than_its_port():
    warnings = dict(found(WARNING, hosts=[host(mtu=9216)]))
    assert warnings["racks[0].hosts"].startswith("enp63s0f0 of node1 sends up to 9216 bytes, bond1")


def test_a_host_on_a_strange_switch_is_not_judged():
    stranger = host(Vlan(10, "bond0.10"), leaf="office-switch")
    assert found(BLOCKED, hosts=[stranger]) == []


# What cannot even be spelled out is refused where it stands.

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
    (lambda d: d.pop("spines"), "spines: an empty value .* that the leaves hang on"),
    (lambda d: d.pop("leaves"), "leaves: an empty value .* leaves of the racks"),
]


@pytest.mark.parametrize(("change", "sentence"), REFUSALS)
def test_what_does_not_fit_is_refused_by_path(change, sentence):
    with pytest.raises(IntentError) as caught:
        fabric("rdg", change)
    assert re.match(sentence, str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)
