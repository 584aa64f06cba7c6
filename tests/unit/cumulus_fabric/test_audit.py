# SPDX-License-Identifier: Apache-2.0
"""The faults of a fabric are found before anything is sent, and named by their paths in the intent."""

import pytest
from unit.cumulus_fabric.audits import BLOCKED, INFO, WARNING, findings, found


@pytest.mark.parametrize("example", ["rdg", "rdg-max", "demartek"])
def test_the_examples_can_be_applied(example):
    assert found(BLOCKED, example=example) == []


def test_the_guides_own_faults_are_reported():
    assert [(f.severity, f.subject) for f in findings()] == [
        (WARNING, "leaves.segment-mac"),
        (WARNING, "leaves.df-preference"),
        (INFO, "racks"),
        (INFO, "racks[0].single-homed.juju"),
        (INFO, "racks[0].single-homed.maas"),
        (INFO, "leaves.anycast-mac"),
        (INFO, "roce"),
    ]


def test_every_finding_but_a_remark_says_what_to_do():
    for example in ("rdg", "rdg-max"):
        assert [f for f in findings(example=example) if f.severity > INFO and not f.remedy] == []


BREAKING = {
    # Numbers and addresses belong to one switch each.
    "a leaf with the spines' AS number": (
        {"leaves.asn": {"first": 65198}},
        "leaves.asn: Leaf0-2 and Spine0 have the same AS 65199: BGP would drop routes between them as loops",
    ),
    "a reserved AS number": (
        {"switches.Leaf0-1.asn": 23456},
        "switches.Leaf0-1.asn: Leaf0-1 gets AS 23456, which is reserved",
    ),
    "an AS number twice, one of them a switch's own": (
        {"switches.Leaf0-2.asn": 65101},
        "switches.Leaf0-2.asn: Leaf0-2 and Leaf0-1 have the same AS 65101: BGP would drop routes between "
        "them as loops",
    ),
    "a spine's own loopback twice": (
        {"switches.Spine1.loopback": "10.10.10.101"},
        "switches.Spine1.loopback: 10.10.10.101 is both Spine0's loopback and Spine1's loopback",
    ),
    "a leaf's own loopback twice, although the other leaf comes later": (
        {"switches.Leaf0-1.loopback": "10.10.10.2"},
        "switches.Leaf0-1.loopback: 10.10.10.2 is both Leaf0-1's loopback and Leaf0-2's loopback",
    ),
    "loopbacks that run into each other": (
        {"spines.loopback": "10.10.10.4"},
        "leaves.loopback: 10.10.10.4 is both Spine0's loopback and Leaf1-2's loopback",
    ),
    "a management address twice": (
        {"spines.management": "192.168.0.1", "leaves.management": "192.168.0.2"},
        "leaves.management: 192.168.0.2 is both Spine1's management and Leaf0-1's management",
    ),
    "a management address twice, one of them a switch's own": (
        {"leaves.management": "192.168.0.11", "switches.Leaf0-2.management": "192.168.0.11"},
        "switches.Leaf0-2.management: 192.168.0.11 is both Leaf0-1's management and Leaf0-2's management",
    ),
    "a loopback that names no host": (
        {"switches.Leaf1-1.loopback": "0.0.0.0"},
        "switches.Leaf1-1.loopback: Leaf1-1's loopback 0.0.0.0 names no host (0.0.0.0/8)",
    ),
    "a loopback that never leaves a switch": (
        {"switches.Leaf1-1.loopback": "127.0.0.1"},
        "switches.Leaf1-1.loopback: Leaf1-1's loopback 127.0.0.1 never leaves a switch (127.0.0.0/8)",
    ),
    "a loopback that is multicast": (
        {"switches.Leaf1-1.loopback": "224.0.0.5"},
        "switches.Leaf1-1.loopback: Leaf1-1's loopback 224.0.0.5 is multicast (224.0.0.0/4)",
    ),
    "a loopback that is reserved": (
        {"switches.Leaf1-1.loopback": "255.255.255.255"},
        "switches.Leaf1-1.loopback: Leaf1-1's loopback 255.255.255.255 is reserved (240.0.0.0/4)",
    ),
    # Ethernet segments are told apart, every port is there and used once.
    "a ninth host, whose local-id is that of the guide's bond_ext": (
        {"racks.0.hosts": "swp1-9"},
        "racks[0].bonds.bond_ext: bond_ext of rack 0 and bond9 of rack 0 have the same ESI "
        "03:44:38:39:be:ef:01:00:00:09, from segment MAC 44:38:39:BE:EF:01 and local-id 9",
    ),
    "two racks with one segment MAC": (
        {"racks.1.segment-mac": "44:38:39:be:ef:01"},
        "racks[1].hosts: bond1 of rack 1 and bond1 of rack 0 have the same ESI "
        "03:44:38:39:be:ef:01:00:00:01, from segment MAC 44:38:39:BE:EF:01 and local-id 1 (and 1 more pairs)",
    ),
    "a port of a host and of a bond": (
        {"racks.0.hosts": "swp21-22"},
        "racks[0].bonds.bond_ext: swp22 is also used by racks[0].hosts, on Leaf0-1, Leaf0-2",
    ),
    "an uplink that is a single-homed port": (
        {"racks.0.single-homed.juju.port": "swp31"},
        "racks[0].single-homed.juju: swp31 is also used by leaves.uplinks, on Leaf0-1",
    ),
    "a port that is used whole and split": (
        {"racks.1.bonds": {"bond_x": {"ports": "swp9s1", "local-id": 77}}},
        "racks[1].bonds.bond_x: swp9s1 is also used as swp9 by racks[1].hosts, on Leaf1-1, Leaf1-2",
    ),
    "a spine that is too small": (
        {"switches.Spine1.ports": 15},
        "spines.downlinks: swp16 exceeds the 15 ports of Spine1",
    ),
    "uplinks that are not tracked": (
        {"leaves.tracked": "swp31"},
        "leaves.uplinks: uplinks swp32 of Leaf0-1, Leaf0-2, Leaf1-1 and 1 more are not tracked: hosts would "
        "not notice their loss",
    ),
    "an uplink of one switch that is not tracked": (
        {"switches.Leaf1-2": {"tracked": "swp32", "uplinks": "swp30,swp32"}},
        "switches.Leaf1-2.uplinks: uplinks swp30 of Leaf1-2 are not tracked: hosts would not notice their "
        "loss",
    ),
    "a host twice in one rack": (
        {"racks.0.hosts": {"ports": "swp9-10", "names": ["node1", "Node1"]}},
        "racks[0].hosts: Node1 is expected at bond1 of rack 0 and at bond2 of rack 0",
    ),
    "a host in two racks": (
        {
            "racks.0.hosts": {"ports": "swp9-10", "names": ["node1", "node2"]},
            "racks.1.hosts": {"ports": "swp9-10", "names": ["node3", "node1"]},
        },
        "racks[1].hosts: node1 is expected at bond1 of rack 0 and at bond2 of rack 1",
    ),
    "a host with the name of a switch": (
        {"racks.0.hosts": {"ports": "swp9-10", "names": ["node1", "leaf1-1"]}},
        "racks[0].hosts: the host of bond2 of rack 0 has the name of a switch, leaf1-1",
    ),
    # MAC addresses are ones that a device can have, and differ.
    "a segment MAC that is a group's": (
        {"leaves.segment-mac": "45:38:39:BE:EF:01"},
        "leaves.segment-mac: 45:38:39:BE:EF:01, 45:38:39:BE:EF:02 is a multicast address, which is not "
        "valid for an LACP system",
    ),
    "a segment MAC of zeros": (
        {"racks.1.segment-mac": "00:00:00:00:00:00"},
        "racks[1].segment-mac: 00:00:00:00:00:00 is not valid for an LACP system",
    ),
    "an anycast MAC that is a group's": (
        {"leaves.anycast-mac": "45:38:39:be:ef:aa"},
        "leaves.anycast-mac: the anycast MAC 45:38:39:BE:EF:AA is a multicast address, which is not valid "
        "for a gateway",
    ),
    "an anycast MAC of zeros": (
        {"leaves.anycast-mac": "00:00:00:00:00:00"},
        "leaves.anycast-mac: the anycast MAC 00:00:00:00:00:00 is all zeros, which is not valid for a "
        "gateway",
    ),
    # VLANs, VNIs and subnets belong to one network each, and every frame fits into what carries it.
    "a VLAN twice": (
        {"networks.internal.vlan": 9, "networks.internal.vni": 10},
        "networks.internal.vlan: network internal and network public both have VLAN 9",
    ),
    "a VNI twice": (
        {"networks.internal.vni": 9},
        "networks.internal.vni: network internal and network public both have VNI 9",
    ),
    "VLAN 1": (
        {"networks.provider.vlan": 1},
        "networks.provider.vlan: network provider has VLAN 1, which switches carry untagged on each port "
        "that has no other untagged network: hosts that must not have the network would get it",
    ),
    "a subnet in two networks": (
        {
            "networks.internal.subnets": ["172.16.0.0/16"],
            "networks.overlay.subnets": ["172.16.4.0/24"],
        },
        "networks.overlay.subnets: 172.16.4.0/24 of network overlay overlaps 172.16.0.0/16 of network "
        "internal",
    ),
    "hosts' frames and VXLAN that the fabric does not carry": (
        {"mtu": {"host": 9000, "fabric": 9049}},
        "mtu.host: a host's 9000 bytes and 50 of VXLAN exceed the fabric's 9049",
    ),
    "instances' frames and Geneve that the hosts do not carry": (
        {"mtu": {"host": 1500, "fabric": 9216, "tenant": 1500}},
        "mtu.tenant: an instance's 1500 bytes and 58 of Geneve exceed the hosts' 1500",
    ),
    "a bond's frames that VXLAN does not carry": (
        {"racks.0.bonds.bond_ext.mtu": 9200},
        "racks[0].bonds.bond_ext: bond_ext of Leaf0-1, bond_ext of Leaf0-2 accepts 9200 bytes, but VXLAN "
        "carries 9166",
    ),
    # RoCE is the same on all switches, and what Cumulus Linux can do.
    "RoCE that one switch lacks": (
        {"switches.Spine1.roce": "off"},
        "switches.Spine1.roce: RoCE is off on Spine1, but lossless on Spine0, Leaf0-1, Leaf0-2 and 2 more",
    ),
    "RoCE that only one switch has, which has no entry of its own": (
        {f"switches.{n}.roce": "off" for n in ("Spine0", "Spine1", "Leaf0-1", "Leaf0-2", "Leaf1-1")},
        "roce.mode: RoCE is lossless on Leaf1-2, but off on Spine0, Spine1, Leaf0-1 and 2 more",
    ),
    "another priority": (
        {"roce.priority": 5},
        "roce.priority: qos roce on Spine0, Spine1, Leaf0-1 and 3 more sets 3, not 5",
    ),
    "another priority of CNPs": (
        {"roce.cnp-priority": 7},
        "roce.cnp-priority: qos roce on Spine0, Spine1, Leaf0-1 and 3 more sets 6, not 7",
    ),
    "another bandwidth": (
        {"roce.bandwidth": 90},
        "roce.bandwidth: qos roce on Spine0, Spine1, Leaf0-1 and 3 more sets 50, not 90",
    ),
    "other thresholds of ECN": (
        {"roce.ecn": {"low": 150, "high": 1500}},
        "roce.ecn: qos roce on Spine0, Spine1, Leaf0-1 and 3 more accepts no thresholds",
    ),
    "another DSCP": (
        {"roce.dscp": 46},
        "roce.dscp: DSCP 46 maps to priority 5 on Spine0, Spine1, Leaf0-1 and 3 more, not 3",
    ),
    "another DSCP of CNPs": (
        {"roce.cnp-dscp": 26},
        [
            "roce.cnp-dscp: DSCP 26 maps to priority 3 on Spine0, Spine1, Leaf0-1 and 3 more, not 6",
            "roce.cnp-dscp: RoCE and its congestion notifications both have DSCP 26",
        ],
    ),
}
"""By what it is: a change of the guide's fabric, and all that then blocks."""


@pytest.mark.parametrize(("change", "said"), BREAKING.values(), ids=BREAKING)
def test_what_breaks_a_fabric_blocks_by_its_path(change, said):
    assert found(BLOCKED, change) == ([said] if isinstance(said, str) else said)


SEVERAL = {
    "one AS number for all leaves": ({"leaves.asn": {"all": 65101}}, ["leaves.asn"] * 3),
    "loopbacks inside a hosts' subnet": (
        {"networks.internal.subnets": ["10.10.10.0/30"]},
        ["leaves.loopback"] * 3,
    ),
    "loopbacks that count up into multicast": (
        {"leaves.loopback": "223.255.255.254"},
        ["leaves.loopback"] * 2,
    ),
}


@pytest.mark.parametrize(("change", "paths"), SEVERAL.values(), ids=SEVERAL)
def test_each_switch_that_is_wrong_is_named(change, paths):
    assert [each.partition(":")[0] for each in found(BLOCKED, change)] == paths


def test_the_guides_maximum_leaves_no_port_for_the_external_gateway():
    """16 uplinks and 16 hosts are all 32 ports."""
    change = {"racks.1.hosts": "swp1-16", "racks.1.bonds": {"bond_ext": {"ports": "swp33", "local-id": 99}}}
    said = "racks[1].bonds.bond_ext: swp33 exceeds the 32 ports of Leaf1-1, Leaf1-2, Leaf2-1 and 27 more"
    assert found(BLOCKED, change, example="rdg-max") == [said]


@pytest.mark.parametrize(
    ("change", "path"),
    [({"roce.priority": 0}, "roce.priority"), ({"roce.ecn": {"low": 1500, "high": 150}}, "roce.ecn.low")],
    ids=["the priority of all other traffic", "a low threshold above the high one"],
)
def test_roce_that_no_switch_can_do(change, path):
    assert [each.partition(":")[0] for each in found(BLOCKED, change, example="demartek")] == [path]


FITTING = {
    "eight hosts, none with the ESI of bond_ext": {"racks.0.hosts": "swp1-8"},
    "different host names": {
        "racks.0.hosts": {"ports": "swp9-10", "names": ["node1", "node2"]},
        "racks.1.hosts": {"ports": "swp9-10", "names": ["node3", "node4"]},
    },
    "VXLAN that just fits": {"mtu": {"host": 9000, "fabric": 9050}},
    "Geneve that just fits": {"mtu": {"host": 1558, "tenant": 1500}},
    "RoCE that is off everywhere": {"roce.mode": "off", "roce.priority": 5},
}


@pytest.mark.parametrize("change", FITTING.values(), ids=FITTING)
def test_what_fits_does_not_block(change):
    assert found(BLOCKED, change) == []


DOUBTFUL = {
    # NVIDIA's example of EVPN multihoming has the two alike: gateways have another MAC address, that of VRR.
    "an anycast MAC that is the second rack's segment MAC, by counting": (
        {"leaves.anycast-mac": "44:38:39:be:ef:02"},
        "leaves.anycast-mac: the anycast MAC 44:38:39:BE:EF:02 is also the segment MAC of rack 1",
    ),
    "a VLAN that the switch reserves": ({"networks.provider.vlan": 3800}, "networks.provider.vlan: "),
    "a bond's MTU below that of its networks": (
        {"racks.0.bonds.bond_ext.mtu": 1500},
        "racks[0].bonds.bond_ext: ",
    ),
    "equal preferences": (
        {"leaves.df-preference": [50000, 50000]},
        "leaves.df-preference: Leaf0-1 and Leaf0-2 share a df-preference (2 racks in all)",
    ),
    "a second bond of a host": (
        {
            "racks.0.hosts": {"ports": "swp9-10", "names": ["node1", "node2"]},
            "racks.0.bonds.bond_ext.host": "node2",
        },
        "racks[0].bonds.bond_ext: node2 is expected at bond2 of rack 0 and at bond_ext of rack 0",
    ),
}


def test_vlans_that_the_switch_reserves_are_one_warning():
    these = [each for each in found(WARNING, {"provider-vlans": "3700-3730,3999"}) if "reserves" in each]
    assert these == [
        "provider-vlans: VLAN 3725-3730,3999 is in the range that Cumulus Linux reserves (3725-3999)"
    ]


@pytest.mark.parametrize(("change", "said"), DOUBTFUL.values(), ids=DOUBTFUL)
def test_what_may_be_meant_is_a_warning(change, said):
    assert found(BLOCKED, change) == []
    assert any(each.startswith(said) for each in found(WARNING, change))


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"leaves.df-preference": [50000, 40000]}, "leaves.df-preference"),
        (lambda data: data["leaves"].pop("df-preference"), "leaves.df-preference"),
        ({"leaves.segment-mac": "44:38:39:ff:00:01"}, "leaves.segment-mac"),
    ],
    ids=["different preferences", "no preference", "MACs in NVIDIA's range"],
)
def test_what_is_not_doubtful_is_not_a_warning(change, path):
    assert path not in [each.partition(":")[0] for each in found(WARNING, change)]


@pytest.mark.parametrize(
    ("own", "told"),
    [((0, 1), 0), ((None, None), 1), ((None,), 0)],
    ids=["numbers", "places", "a single rack"],
)
def test_racks_without_numbers_are_told_once_how_to_get_them(own, told):
    def change(content):
        racks = zip(own, content["racks"], strict=False)
        content["racks"] = [rack if number is None else {"number": number, **rack} for number, rack in racks]

    said = [each for each in findings(change) if each.subject == "racks"]
    assert [each.severity for each in said] == [INFO] * told
    assert all(each.remedy.endswith("fix-numbers --intent FILE > NEW-FILE") for each in said)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"leaves.df-preference": [3, 2, 1]},
            "3 numbers are listed, but no rack has more than 2 leaves: nothing gets 1",
        ),
        ({"leaves.df-preference": [3, 2]}, ""),
        (
            {
                "leaves.df-preference": [3, 2, 1],
                "racks.1.leaves": ["a", "b", "c"],
                "spines.downlinks": "swp13-17",
            },
            "",
        ),
        (
            {"leaves.df-preference": [4, 3, 2, 1], "leaves.per-rack": 1},
            "4 numbers are listed, but no rack has more than one leaf: nothing gets 3, 2, 1",
        ),
    ],
    ids=["three of two", "two of two", "three of three", "four of one"],
)
def test_preferences_that_no_leaf_gets_are_named(change, said):
    told = [each for each in found(WARNING, change) if each.startswith("leaves.df-preference: ")]
    assert told == ([f"leaves.df-preference: {said}"] if said else [])


@pytest.mark.parametrize(
    ("subnet", "said"),
    [
        (
            "192.168.25.1/24",
            "192.168.25.1/24 is an address inside the subnet 192.168.25.0/24, which is taken",
        ),
        ("10.0.0.1/31", "10.0.0.1/31 is an address inside the subnet 10.0.0.0/31, which is taken"),
        ("192.168.25.0/24", ""),
        ("192.168.25.7/32", ""),
        ("0.0.0.0/0", ""),
    ],
)
def test_a_subnet_with_host_bits_is_named(subnet, said):
    change = {"networks.oam.subnets": [subnet], "networks.public.subnets": []}
    told = [each for each in found(WARNING, change) if each.startswith("networks.oam.subnets: ")]
    assert told == ([f"networks.oam.subnets: {said}"] if said else [])
