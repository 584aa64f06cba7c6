# SPDX-License-Identifier: Apache-2.0
"""Machines with more NICs than the offloading one: OAM on a port of its own, a second bond for storage."""

import json

import pytest
import yaml
from lab.maassite import NUMA, PORTS, addresses, commission, edit, fabric_of, interfaces, machine, writes

STORAGE = ["enp94s0f0", "enp94s0f1"]
ALL = "networks: [oam-space, public-space, internal-space, overlay-space]"
STORAGE_NETWORK = """networks:
  storage-space:
    fabric: fabric-storage
    vid: 0
    vlan: untagged
    mtu: 4200
    subnet: storage-subnet
    cidr: 172.20.0.0/24
"""
PORTS_LINE = "    ports: [enp63s0f0, enp63s0f1]\n"


@pytest.fixture
def storage(maas, site):
    """Every node has a second NIC, cabled to storage switches; the hosts use it for RDMA."""
    edit(site, "networks:\n  oam", f"{STORAGE_NETWORK}  oam")
    nics = "nics: {storage: {bond: bond1, networks: [storage-space], rdma: true}}"
    edit(site, f"    {ALL}\n", f"    {ALL}\n    {nics}\n")
    edit(site, PORTS_LINE, f"{PORTS_LINE}    nics: {{storage: [{', '.join(STORAGE)}]}}\n")
    return maas


@pytest.fixture
def oam(maas, site):
    """Every node boots from a 1 GbE port on switches of its own; the bond carries tagged networks only."""
    edit(site, "  oam-space:\n", "  oam-space:\n    fabric: fabric-oam\n")
    tagged = ALL.replace("oam-space, ", "")
    edit(site, f"    {ALL}\n", f"    {tagged}\n    nics: {{oam: {{networks: [oam-space]}}}}\n")
    edit(site, PORTS_LINE, f"{PORTS_LINE}    nics: {{oam: [eno1]}}\n")
    edit(site, "networks: [oam-space, public-space]", "networks: [oam-space]")
    return maas


def ready(maas, ports):
    commission(maas, "controller", PORTS[:1])
    for name in ("node1", "node2", "node3"):
        commission(maas, name, ports, NUMA)


def test_a_second_bond_gets_its_own_fabric_network_and_mtu(storage, run):
    run("apply")
    ready(storage, [*PORTS, *STORAGE])
    run("apply")
    found = interfaces(storage, "node1")
    assert found["bond1"]["parents"] == STORAGE
    assert found["bond1"]["params"]["bond_mode"] == "802.3ad"
    assert fabric_of(storage, found["bond1"]) == "fabric-storage"
    assert fabric_of(storage, found["bond0"]) == "fabric-high-speed"
    assert addresses(storage, "node1") == {
        **{"bond1": ["172.20.0.0/24"], "br-nvda": ["192.168.25.0/24"], "br-nvda.9": ["10.7.208.0/24"]},
        **{"br-nvda.10": ["172.18.0.0/24"], "br-nvda.40": ["172.16.0.0/24"]},
    }
    vlan = found["bond1"]["vlan"]
    assert (vlan["vid"], vlan["mtu"], vlan["space"]) == (0, 4200, "storage-space")


def test_a_second_run_on_two_fabrics_writes_nothing(storage, run):
    run("apply")
    ready(storage, [*PORTS, *STORAGE])
    run("apply")
    storage.requests.clear()
    assert "No finding: MAAS is as the site file says." in run("apply")
    assert writes(storage) == []


def test_a_second_bond_may_have_a_vlan_of_the_same_fabric(storage, site, run):
    edit(site, "    fabric: fabric-storage\n    vid: 0\n", "    vid: 50\n")
    run("apply")
    ready(storage, [*PORTS, *STORAGE])
    run("apply")
    assert {each["name"] for each in storage.fabrics} == {"fabric-high-speed"}
    assert addresses(storage, "node1")["bond1.50"] == ["172.20.0.0/24"]


def test_oam_on_a_port_of_its_own_leaves_tagged_networks_on_the_bridge(oam, run):
    run("apply")
    ready(oam, ["eno1", *PORTS])
    run("apply")
    found = interfaces(oam, "node1")
    assert fabric_of(oam, found["eno1"]) == "fabric-oam"
    assert fabric_of(oam, found["br-nvda"]) == "fabric-high-speed"
    assert addresses(oam, "node1") == {
        **{"eno1": ["192.168.25.0/24"], "br-nvda.9": ["10.7.208.0/24"]},
        **{"br-nvda.10": ["172.18.0.0/24"], "br-nvda.40": ["172.16.0.0/24"]},
    }
    oam.requests.clear()
    assert "No finding: MAAS is as the site file says." in run("apply")
    assert writes(oam) == []


def test_what_the_example_has_in_comments_is_a_site_of_these_nics(maas, site, run):
    """Its three commented lines, put where they belong."""
    lines = [
        each.removeprefix("#").strip() for each in site.read_text().splitlines() if each.startswith("#   ")
    ]
    network, tag, node = (
        next(each.removeprefix(word).strip() for each in lines if each.startswith(word))
        for word in ("storage-space:", "tag:", "machine:")
    )
    edit(site, "networks:\n  oam", f"networks:\n  storage-space: {network}\n  oam")
    edit(site, "  oam-space:\n", "  oam-space:\n    fabric: fabric-oam\n")
    edit(site, f"    {ALL}\n", f"    {ALL.replace('oam-space, ', '')}\n    {tag}\n")
    edit(site, PORTS_LINE, f"{PORTS_LINE}    {node}\n")
    edit(site, "networks: [oam-space, public-space]", "networks: [oam-space]")
    run("apply")
    ready(maas, ["eno1", *PORTS, *STORAGE])
    run("apply")
    assert addresses(maas, "node1").keys() == {"eno1", "bond1", "br-nvda.9", "br-nvda.10", "br-nvda.40"}


@pytest.mark.parametrize("number", range(1, 9))
def test_a_fault_between_a_new_fabric_and_its_vlan_is_finished_by_the_next_run(storage, run, number):
    storage.faults[number] = "The region is restarting."
    run("apply", expected=1)
    run("apply")
    assert [each["mtu"] for each in storage.vlans if each["space"] == "storage-space"] == [4200]


def test_ports_of_a_further_nic_that_maas_does_not_know_are_named(storage, run):
    run("apply")
    ready(storage, PORTS)
    said = run("apply", expected=1)
    assert "its ports enp94s0f0, enp94s0f1 are not among those that MAAS knows: " in said


def test_a_deployed_machine_is_compared_with_its_second_bond_too(storage, run):
    run("apply")
    ready(storage, [*PORTS, *STORAGE])
    run("apply")
    node = machine(storage, "node1")
    node.update(status_name="Deployed", hwe_kernel="ga-22.04")
    node["interface_set"] = [each for each in node["interface_set"] if each["name"] != "bond1"]
    storage.requests.clear()
    said = run("apply", expected=1)
    assert "it is Deployed, and it lacks something: its tag has a bond of enp94s0f0, enp94s0f1 alone" in said
    assert "it has no address in 172.20.0.0/24 of storage-space" in said
    assert "it differs, and works as it is: it was deployed with kernel ga-22.04, not hwe-22.04" in said
    assert writes(storage) == []


def test_the_overlay_takes_machines_in_all_their_spaces_and_makes_the_second_nic_lossless(storage, run):
    made = yaml.safe_load(run("overlay"))
    spaces = "spaces=oam-space,public-space,internal-space,overlay-space,storage-space"
    assert made["machines"]["0"] == {"constraints": f"tags=compute_sriov {spaces}"}
    options = {name: body["options"] for name, body in made["applications"].items() if "options" in body}
    both = "enp63s0f0 enp63s0f1 enp94s0f0 enp94s0f1"
    assert options["roce-qos"]["devices"] == options["nic-firmware"]["devices"] == both
    assert options["sriov-switchdev"]["devices"] == "enp63s0f0 enp63s0f1"
    whitelist = json.loads(options["nova-compute"]["pci-passthrough-whitelist"])
    assert [each.get("devname") for each in whitelist] == ["enp63s0f0", "enp63s0f1", None]


TWO, OWN = "[enp94s0f0, enp94s0f1]", "networks: [storage-space]"
WRONG = [
    (TWO, "[enp94s0f0]", "machines.node1.nics.storage: ['enp94s0f0'] is not allowed; expected 2"),
    (TWO, "[enp94s0f0, enp63s0f1]", "expected each port once"),
    (
        "nics: {storage: [",
        "nics: {disk: [",
        "node1.nics: ['disk'] is not allowed; expected the ports of storage",
    ),
    ("bond: bond1", "bond: bond0", "expected each bond once"),
    (OWN, "networks: [storage-space, oam-space]", "networks of one fabric: its ports are cabled to it"),
    (OWN, "networks: [storrage]", "tags.compute_sriov.nics.storage.networks: ['storrage'] is not allowed"),
    (OWN, "networks: [internal-space]", "expected each network once"),
]


@pytest.mark.parametrize(("old", "new", "says"), WRONG)
def test_a_wrong_nic_is_one_sentence(storage, site, run, old, new, says):
    edit(site, old, new)
    said = run("plan", expected=2)
    assert says in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("field", "value", "instead"),
    [("bond_lacp_rate", "slow", "fast"), ("bond_xmit_hash_policy", "layer2+3", "layer3+4")],
)
def test_other_parameters_that_lacp_agrees_on_stay_on_a_ready_machine(built, run, field, value, instead):
    interfaces(built, "node1")["bond0"]["params"][field] = value
    built.requests.clear()
    assert f"{field} of bond0 is {value}, not {instead}: it is left as it is" in run("apply")
    assert writes(built) == []


def test_a_hash_policy_that_uses_one_port_is_set_right_on_a_ready_machine(built, run):
    interfaces(built, "node1")["bond0"]["params"]["bond_xmit_hash_policy"] = "layer2"
    built.requests.clear()
    run("apply")
    ((_, _, data),) = writes(built)
    assert data == {"bond_xmit_hash_policy": "layer3+4"}


def test_a_port_that_the_site_file_leaves_out_and_that_shares_a_network_is_told(built, run):
    """MAAS gave the boot port an address: the node would have two in one subnet, on two ports."""
    link = {"mode": "auto", "subnet": built.subnets[0]}
    built.interface(machine(built, "node1"), "physical", "eno1", built.vlans[0], [], [link])
    built.requests.clear()
    said = " ".join(run("apply").split())
    assert "eno1, which the site file does not have, has an address in 192.168.25.0/24, too" in said
    assert "describe it in nics of the tag, or take its address away in MAAS" in said
    assert writes(built) == []


def test_a_port_that_the_site_file_leaves_out_may_be_in_another_network(built, run):
    other = built.add("subnets", name="bmc", cidr="10.9.0.0/24", vlan=built.vlans[0])
    link = {"mode": "auto", "subnet": other}
    built.interface(machine(built, "node1"), "physical", "eno1", built.vlans[0], [], [link])
    assert "No finding: MAAS is as the site file says." in run("apply")
