# SPDX-License-Identifier: Apache-2.0
"""Ready machines with interfaces of somebody else's on or beside the ports of the site."""

import pytest
from lab.maassite import NUMA, PORTS, commission, edit, interfaces, machine, stranger, vlan, writes

OTHERS = ["eno1", "eno2"]


@pytest.fixture
def ready(maas, run):
    """node1 is commissioned, with two more ports."""
    run("apply")
    commission(maas, "node1", [*PORTS, *OTHERS], NUMA)
    return maas


def on(maas, kind, name, *below, vid=0):
    """An interface of node1 that somebody made."""
    parents = [interfaces(maas, "node1")[each] for each in below]
    for each in parents:
        each["vlan"] = each["vlan"] or vlan(maas, 0)
    return maas.interface(machine(maas, "node1"), kind, name, vlan(maas, vid), parents, [])


def held(maas, run):
    """The finding on node1, of which nothing is then written."""
    maas.requests.clear()
    said = run("apply", expected=1)
    mine = machine(maas, "node1")["system_id"]
    assert [path for _, path, _ in writes(maas) if mine in path] == []
    return next(" ".join(line.split()) for line in said.splitlines() if line.startswith("held"))


def test_a_vlan_below_the_bridge_is_held_before_a_second_address_is_given(ready, run):
    """The kernel gives its packets to the VLAN interface, before Open vSwitch sees them."""
    on(ready, "bond", "bond0", *PORTS)
    on(ready, "vlan", "bond0.40", "bond0", vid=40)["links"] = [{"mode": "auto", "subnet": ready.subnets[-1]}]
    said = held(ready, run)
    assert "bond0.40 is a VLAN on bond0, and the site file has VLANs on br-nvda" in said
    assert "delete bond0.40 in MAAS, then apply again" in said


def test_a_vlan_of_a_port_is_held_before_maas_refuses_its_bond(ready, run):
    on(ready, "vlan", f"{PORTS[0]}.40", PORTS[0], vid=40)
    assert f"{PORTS[0]}.40 is a VLAN on {PORTS[0]}, and the site file has VLANs on br-nvda" in held(
        ready, run
    )


def test_a_vlan_of_others_below_the_bridge_stays(ready, run):
    fabric = next(each for each in ready.fabrics if each["id"] == vlan(ready, 0)["fabric_id"])
    ready.post_vlans({"vid": 77, "name": "theirs"}, fabric)
    on(ready, "bond", "bond0", *PORTS)
    on(ready, "vlan", "bond0.77", "bond0", vid=77)
    run("apply")
    assert {"bond0.77", "br-nvda.40"} <= interfaces(ready, "node1").keys()


@pytest.mark.parametrize(
    ("kind", "name", "below"), [("bond", "bond0", OTHERS), ("bridge", "br-nvda", ["eno1"])]
)
def test_a_name_that_other_ports_have_is_not_to_be_deleted(ready, run, kind, name, below):
    on(ready, kind, name, *below)
    said = held(ready, run)
    assert f"{name} has ports {', '.join(below)}, not " in said
    assert f"write another name for {kind} in its tag" in said
    assert "delete" not in said


def test_a_vlan_of_others_on_a_port_below_a_bridge_without_bond_stays(maas, site, run):
    edit(site, "    bond: bond0\n    bridge: br-nvda\n", "    bridge: br-nvda\n")
    edit(site, "[enp63s0f0, enp63s0f1]", "[enp63s0f0]")
    edit(site, "    physnets: [none, tenantvlan]\n", "")
    run("apply")
    commission(maas, "node1", PORTS, NUMA)
    fabric = next(each for each in maas.fabrics if each["id"] == vlan(maas, 0)["fabric_id"])
    maas.post_vlans({"vid": 77, "name": "theirs"}, fabric)
    on(maas, "vlan", f"{PORTS[0]}.77", PORTS[0], vid=77)
    run("apply")
    assert {f"{PORTS[0]}.77", "br-nvda.40"} <= interfaces(maas, "node1").keys()


# Machines that share an address, and machines that MAAS has found by itself.


def test_virtual_machines_of_one_host_share_its_address(maas, site, run):
    edit(site, "power-type: ipmi", "power-type: virsh")
    for number in (11, 12, 13):
        edit(
            site, f"power-address: 192.168.0.{number}\n", "power-address: qemu+ssh://ubuntu@10.0.0.1/system\n"
        )
    other = stranger(maas, "juju-1", maas.vlans[0])
    vlan(maas, 0).update(mtu=9000, space="oam-space", dhcp_on=True)
    maas.subnets[0]["gateway_ip"] = "192.168.25.1"
    maas.power[other["system_id"]] = {"power_address": "qemu+ssh://ubuntu@10.0.0.1/system"}
    assert "blocked" not in run("plan")


@pytest.mark.parametrize("status", ["New", "Ready"])
def test_a_machine_of_the_site_that_maas_named_is_no_other_user_of_its_vlan(maas, run, status):
    """It was powered on once and enlisted; all that it needs is its name."""
    found = stranger(maas, "swift-mole", maas.vlans[0], "192.168.25.0/24", status=status)
    maas.power[found["system_id"]] = {"power_address": "192.168.0.11"}
    said = [line for line in run("plan").splitlines() if line.startswith("blocked")]
    assert len(said) == 1
    assert "rename that machine to node1 in MAAS" in said[0]


def test_a_subnet_that_maas_does_not_manage_has_no_addresses_for_nodes(built, run):
    subnet = next(each for each in built.subnets if each["cidr"] == "172.16.0.0/24")
    subnet["managed"] = False
    built.add("ipranges", type="dynamic", start_ip="172.16.0.200", end_ip="172.16.0.250", subnet=subnet)
    said = " ".join(run("plan").split())
    assert "warning subnet 172.16.0.0/24 MAAS does not manage it, and has no reserved range in it" in said
    for name in ("controller", "node1", "node2", "node3"):
        machine(built, name)["status_name"] = "Deployed"
    assert "does not manage" not in run("plan")
    machine(built, "node1")["status_name"] = "Ready"
    built.add("ipranges", type="reserved", start_ip="172.16.0.9", end_ip="172.16.0.99", subnet=subnet)
    assert "does not manage" not in run("plan")


def test_kernel_options_of_another_tag_are_told(built, run):
    """MAAS passes those of one tag, or of both, depending on its version."""
    built.add("tags", name="tuned", kernel_opts="isolcpus=0-3")
    built.add("tags", name="rack-7", kernel_opts="")
    machine(built, "node1")["tag_names"] += ["rack-7", "tuned", "virtual"]
    warned = [" ".join(line.split()) for line in run("verify").splitlines() if line.startswith("warning")]
    assert len(warned) == 1
    assert "node1 it also has tag tuned, with kernel options of its own: isolcpus=0-3" in warned[0]
