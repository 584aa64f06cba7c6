# SPDX-License-Identifier: Apache-2.0
"""A write that MAAS would refuse in the middle of apply is found by plan, and nothing is written."""

import re

import pytest
from lab.maassite import PASSWORD, edit, machine, new_fabric, rack, stranger, writes

HOST = "qemu+ssh://ubuntu@10.0.0.1/system"
SUBNET_9 = "    cidr: 10.7.208.0/24\n"


@pytest.mark.parametrize("name", ["untagged", "untagged-pxe-oam", "rail0", ""])
def test_the_name_of_a_default_vlan_is_neither_set_nor_compared(maas, site, run, name):
    """MAAS tells `untagged` whatever was stored: a site that names it otherwise is applied all the same."""
    (line,) = re.findall(r"    vlan: untagged.*\n", site.read_text())
    edit(site, line, f"    vlan: {name}\n" if name else "")
    run("apply")
    assert [data for _, path, data in writes(maas) if path.startswith("vlans/") and "name" in data] == []
    maas.requests.clear()
    run("apply")
    assert writes(maas) == []


def test_that_of_a_default_vlan_with_a_tag_neither(maas, site, run):
    """MAAS lets the first VLAN of a fabric have any number."""
    maas.vlans[0]["vid"] = 9
    edit(site, "192.168.25.0/24", "192.168.26.0/24")
    edit(site, "192.168.25.1\n", "192.168.26.1\n")
    edit(site, "192.168.25.200-192.168.25.250", "192.168.26.200-192.168.26.250")
    maas.fabrics[0]["name"] = "fabric-high-speed"
    assert "name of VLAN 9" not in run("plan")


# Machines with another power type than ipmi.


def virtual(site, kind):
    """The controller is a virtual machine; what else stands in `bmc` stays, and is not sent."""
    edit(site, "    power-address: 192.168.0.10\n", f"    power-type: {kind}\n    power-address: {HOST}\n")


@pytest.mark.parametrize(
    ("kind", "before"),
    [("virsh", {"power_id": "vm7"}), ("lxd", {"instance_name": "vm7", "project": "default"})],
)
def test_a_virtual_machine_that_maas_has_is_finished(maas, site, run, kind, before):
    virtual(site, kind)
    node = {"hostname": "controller", "architecture": "amd64/generic", "commission": False}
    found = maas.post_machines(node)
    maas.power[found["system_id"]] = {"power_address": HOST, **before}
    found["power_type"] = kind
    run("apply")
    sent = [data for _, path, data in writes(maas) if path == f"machines/{found['system_id']}/"]
    assert not any("power_parameters_power_user" in data for data in sent)
    assert found["tag_names"] == ["juju"]
    taken = {"power_pass": PASSWORD} if kind == "virsh" else {}
    assert maas.power[found["system_id"]] == {"power_address": HOST, **before, **taken}


@pytest.mark.parametrize("kind", ["virsh", "lxd"])
def test_a_virtual_machine_that_maas_does_not_have_is_to_be_added_first(maas, site, run, kind):
    virtual(site, kind)
    said = " ".join(run("apply", expected=1).split())
    assert f"MAAS needs more than a site file has to make a machine of power type {kind}" in said
    assert "add it to MAAS first" in said
    assert "failed" not in said
    assert {each["hostname"] for each in maas.machines} == {"node1", "node2", "node3"}


@pytest.mark.parametrize("kind", ["redfish", "openbmc", "wedge"])
def test_a_new_machine_needs_a_mac_unless_it_is_of_ipmi(maas, site, run, kind):
    edit(site, "power-type: ipmi\n", f"power-type: {kind}\n")
    said = " ".join(run("apply", expected=1).split())
    assert f"MAAS makes no {kind} machine without the MAC address of one of its ports" in said
    assert "write mac in its entry, or add it to MAAS first" in said
    assert maas.machines == []
    for number, name in enumerate(("controller", "node1", "node2", "node3")):
        edit(site, f"  {name}:\n    tag", f"  {name}:\n    mac: 04:3F:72:00:0{number}:00\n    tag")
    run("apply")
    assert {port["mac_address"] for port in maas.interfaces} == {f"04:3f:72:00:0{n}:00" for n in range(4)}
    maas.requests.clear()
    run("apply")
    assert writes(maas) == []


def test_a_mac_that_maas_has_at_another_machine_is_that_machine(maas, site, run):
    edit(site, "    tag: juju\n", "    tag: juju\n    mac: 04:3f:72:00:01:00\n")
    found = maas.post_machines(
        {"hostname": "swift-mole", "architecture": "amd64/generic", "commission": False}
    )
    maas.interface(found, "physical", "eth0", maas.vlans[0], [], [])["mac_address"] = "04:3F:72:00:01:00"
    said = " ".join(run("apply", expected=1).split())
    assert "MAAS has its MAC address 04:3f:72:00:01:00 at machine swift-mole" in said
    assert writes(maas) == []


def test_a_power_type_waits_until_maas_knows_a_port(maas, site, run):
    run("apply")
    edit(site, "power-type: ipmi\n", "power-type: redfish\n")
    said = " ".join(run("apply", expected=1).split())
    assert "its power type is ipmi, and MAAS takes redfish only once it knows a port of the machine" in said
    assert "failed" not in said


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("power-type: ipmi", "power-type: impi", "'impi' is not allowed; expected one of ipmi, redfish,"),
        ("LAN_2_0", "LAN_3", "'LAN_3' is not allowed; expected one of LAN, LAN_2_0"),
    ],
)
def test_what_a_power_type_does_not_take_is_refused(site, run, old, new, says):
    edit(site, old, new)
    assert says in run("plan", expected=2)


def test_what_a_power_type_needs_is_asked_for(site, run):
    (line,) = re.findall(r"      power-user: .*\n", site.read_text())
    edit(site, line, "")
    said = run("plan", expected=2)
    assert "machines.controller.power-user: an empty value is not allowed; expected what power type" in said


# Names, ranges, and the rack controller.


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("vlan: v9-public", "vlan: v9.public", "vlan: 'v9.public' is not allowed; expected letters, digits"),
        ("vlan: v9-public", "vlan: v9/public", "vlan: 'v9/public'"),
        ("vlan: v9-public", "vlan: -v9", "vlan: '-v9'"),
        ("    vlan: v9-public\n", "", "networks.public-space.vlan: an empty value is not allowed"),
        ("subnet: public-subnet", "subnet: a;b", "subnet: 'a;b'"),
        ("fabric: fabric-high-speed", "fabric: leaf/spine", "fabric: 'leaf/spine'"),
        ("fabric: fabric-high-speed", "fabric: leaf spine", "fabric: 'leaf spine'"),
        ("  overlay-space:\n", "  undefined:\n", "networks.undefined: 'undefined' is not allowed"),
        ("  node1:\n", "  192-168-25-77:\n", "and not an address such as 192-168-25-7"),
        (
            "10.7.208.65-10.7.208.99",
            "10.7.208.200-10.7.208.255",
            "expected a range up to 10.7.208.254: 10.7.208.255 is the broadcast address",
        ),
        (
            "10.7.208.65-10.7.208.99",
            "10.7.208.0-10.7.208.99",
            "expected a range from 10.7.208.1: 10.7.208.0 is the address of the network",
        ),
        (
            "192.168.25.200-192.168.25.250 ",
            "192.168.25.200-192.168.25.255 ",
            "192.168.25.255 is the broadcast address",
        ),
        # A form cuts spaces at the ends of a text, and what MAAS tells then is not what was sent.
        ("vlan: v9-public", "vlan: 'v9 '", "vlan: 'v9 ' is not allowed"),
        ("vlan: v9-public", f"vlan: {'v' * 257}", "expected letters, digits"),
        ("subnet: public-subnet", "subnet: ' public'", "subnet: ' public' is not allowed"),
        ("subnet: public-subnet", f"subnet: {'s' * 256}", "expected letters, digits"),
        ("comment: Juju controller", 'comment: "a\\0b"', "expected text without a NUL byte"),
        # A number stands for the id of a space.
        ("  overlay-space:\n", "  40:\n", "letters, digits, single -, but not digits alone"),
        ("  overlay-space:\n", f"  {'o' * 257}:\n", "expected a space that Juju takes, too"),
        ("  overlay-space:\n", "  OAM-space:\n", "differs from oam-space in more than upper and lower case"),
        ("mtu: 9000", "mtu: 551", "mtu: 551 is not allowed; expected an MTU from 552 to 65535"),
        ("mtu: 9000", "mtu: 65536", "expected an MTU from 552 to 65535"),
        ("vid: 40", "vid: 4095", "vid: 4095 is not allowed; expected a VLAN from 0 to 4094"),
        ("vid: 40", "vid: 10", "each vid once"),
        ("cidr: 172.16.0.0/24", "cidr: 172.16.0.0", "expected a subnet without host bits"),
        ("cidr: 172.16.0.0/24", "cidr: 172.16.0.9/24", "expected a subnet without host bits"),
        ("cidr: 172.16.0.0/24", "cidr: 0.0.0.0/0", "expected a subnet without host bits"),
        ("cidr: 172.16.0.0/24", "cidr: 172.18.0.128/25", "a subnet that does not overlap 172.18.0.0/24"),
        ("gateway: 192.168.25.1", "gateway: 192.168.26.1", "expected addresses in 192.168.25.0/24"),
        ("gateway: 192.168.25.1", "gateway: 192.168.25.255", "not the network's or for broadcasts"),
        ("gateway: 192.168.25.1", "gateway: 192.168.25.0", "not the network's or for broadcasts"),
        ("gateway: 192.168.25.1", "gateway: 192.168.25.201", "an address that DHCP does not give"),
        ("dns: [8.8.8.8]", "dns: [dns.example]", "expected an IPv4 or IPv6 address"),
        ("dns: [8.8.8.8]", "dns: [fe80::1%eno1]", "expected an IPv4 or IPv6 address"),
        ("10.7.208.65-10.7.208.99", "10.7.208.99-10.7.208.65", "expected a range of addresses"),
        ("10.7.208.65-10.7.208.99", "10.7.209.65-10.7.209.99", "expected addresses in 10.7.208.0/24"),
        (
            "[10.7.208.65-10.7.208.99]",
            "[10.7.208.65-10.7.208.99, 10.7.208.99-10.7.208.120]",
            "a range without addresses of 10.7.208.65-10.7.208.99",
        ),
        ("  juju:\n", "  ju.ju:\n", "tags.ju.ju: 'ju.ju' is not allowed; expected letters, digits, - and _"),
        ("  node1:\n", "  node_1:\n", "expected a host name"),
        ("  node1:\n", "  node1-:\n", "expected a host name"),
        ("  node1:\n", "  Node2:\n", "differs from"),
        ("bond: bond0", "bond: bond@0", "expected a netdev's name of 15 characters at most: letters, digits"),
        ("bond: bond0", "bond: enp63s0f1", "another name than that of a bond or bridge of tag"),
        ("bridge: br-nvda", "bridge: enp63s0f1", "another name than that of a bond or bridge of tag"),
        ("192.168.0.10\n", "192.168.0.11\n", "a BMC of its own"),
        ("192.168.0.10\n", "192.168.0.10 or so\n", "expected an address or a URL without spaces"),
        ("    tag: juju\n", "    tag: juju\n    mac: 04-3f-72-00-01-00\n", "expected a MAC address such as"),
    ],
)
def test_a_value_that_maas_never_takes_is_refused(site, run, maas, old, new, says):
    edit(site, old, new)
    assert says in run("plan", expected=2)
    assert writes(maas) == []


@pytest.mark.parametrize("name", ["public.subnet", "10.7.208.0/24", "öffentlich"])
def test_names_that_maas_takes_are_taken(site, run, maas, name):
    edit(site, "subnet: public-subnet", f"subnet: {name}")
    run("apply")
    assert name in {each["name"] for each in maas.subnets}


@pytest.mark.parametrize(
    ("old", "new", "kind", "name"),
    [
        ("    vid: 40\n", "    fabric: fabric-5\n    vid: 0\n", "fabric", "fabric-5"),
        ("fabric: fabric-high-speed", "fabric: fabric-5", "fabric", "fabric-5"),
        ("  overlay-space:\n", "  space-5:\n", "space", "space-5"),
    ],
)
def test_a_name_that_maas_keeps_for_itself_blocks_unless_it_has_it(maas, site, run, old, new, kind, name):
    edit(site, old, new)
    text = re.sub("^intent:.*\n", "", site.read_text(), flags=re.MULTILINE)
    site.write_text(text.replace("internal-space, overlay-space]", "internal-space]"))
    said = " ".join(run("apply", expected=1).split())
    assert f"blocked {kind} {name} MAAS keeps names like {name} for itself, and has no {kind} of that" in said
    assert writes(maas) == []
    if kind == "fabric":
        new_fabric(maas, name)
    else:
        maas.add("spaces", name=name)
    assert "for itself" not in run("plan")


@pytest.mark.parametrize("near", [False, True])
def test_dhcp_on_a_tagged_vlan_needs_a_rack_with_an_interface_there(maas, site, run, near):
    dhcp = "    dhcp: 10.7.208.10-10.7.208.20\n"
    edit(site, SUBNET_9, SUBNET_9 + dhcp)
    if near:
        tagged = maas.post_vlans({"vid": 9, "name": "v9-public"}, maas.fabrics[0])
        maas.rackcontrollers.clear()
        rack(maas, "rack01", "maas", "192.168.25.1", "10.7.208.1", vlans=[maas.vlans[0], tagged])
        run("apply")
        assert tagged["dhcp_on"]
        return
    said = " ".join(run("apply", expected=1).split())
    assert "no rack controller has an interface in a VLAN 9: MAAS lets none answer there" in said
    assert "or leave dhcp of public-space out of the site file" in said
    assert writes(maas) == []


@pytest.mark.parametrize("name", ["maas", "node1"])
def test_a_host_name_that_a_controller_or_a_device_has_blocks(maas, site, run, name):
    maas.device_nodes.append({"hostname": "node1", "system_id": "dev001", "ip_addresses": []})
    if name == "maas":
        maas.device_nodes.clear()
        maas.rackcontrollers[0]["hostname"] = "node1"
    said = " ".join(run("apply", expected=1).split())
    assert "blocked node1 MAAS has a controller or a device of that name" in said
    assert writes(maas) == []


def test_addresses_of_devices_and_dns_servers_are_in_no_dynamic_range(maas, run):
    maas.device_nodes.append({"hostname": "pdu", "system_id": "d", "ip_addresses": ["192.168.25.210"]})
    maas.subnets[0]["dns_servers"] = ["192.168.25.211"]
    said = " ".join(run("apply", expected=1).split())
    assert "pdu has address 192.168.25.210 in it" in said
    assert "a DNS server of the subnet has address 192.168.25.211 in it" in said
    assert writes(maas) == []


def test_a_subnet_that_is_there_beside_a_wider_one_stays(maas, run):
    """MAAS before 3.7 takes both."""
    maas.add("subnets", name="wide", cidr="192.168.0.0/16", vlan=maas.vlans[0])
    assert "which overlaps it: both are left as they are" in " ".join(run("plan").split())
    run("apply")


def test_a_mac_address_twice_is_refused(site, run, maas):
    for name, mac in (("node1", "04:3F:72:00:01:00"), ("node2", "04:3f:72:00:01:00")):
        edit(site, f"  {name}:\n    tag", f"  {name}:\n    mac: {mac}\n    tag")
    said = run("plan", expected=2)
    assert "'04:3f:72:00:01:00' is not allowed; expected a MAC address of its own: node1 has this one" in said
    assert writes(maas) == []


def test_a_mac_address_of_a_device_or_a_controller_blocks(maas, site, run):
    edit(site, "    tag: juju\n", "    tag: juju\n    mac: 04:3f:72:00:01:00\n")
    port = {"mac_address": "04:3f:72:00:01:00", "name": "eth0", "vlan": None}
    pdu = {"hostname": "pdu", "system_id": "dev001", "ip_addresses": [], "interface_set": [port]}
    maas.device_nodes.append(pdu)
    said = " ".join(run("apply", expected=1).split())
    assert "MAAS has its MAC address 04:3f:72:00:01:00 at pdu, a controller or a device" in said
    assert writes(maas) == []


@pytest.mark.parametrize(
    ("range_", "says"),
    [
        (
            "2001:db8::100-2001:db8::1ff",
            "a range from 2001:db8::1:0:0: MAAS keeps what is before it for itself",
        ),
        ("2001:db8:0:0:1::-2001:db8:0:0:1::ff", ""),
    ],
)
def test_maas_keeps_the_start_of_an_ipv6_network_for_itself(maas, site, run, range_, says):
    edit(site, "    cidr: 172.18.0.0/24\n", f"    cidr: 2001:db8::/64\n    reserved: ['{range_}']\n")
    said = run("plan" if says else "apply", expected=2 if says else 0)
    assert says in said


def test_a_gateway_of_ipv6_may_be_link_local(maas, site, run):
    edit(site, "    cidr: 172.18.0.0/24\n", "    cidr: 2001:db8::/64\n    gateway: fe80::1\n")
    run("apply")
    assert "fe80::1" in {each["gateway_ip"] for each in maas.subnets}


def test_texts_are_sent_as_maas_keeps_them(maas, site, run):
    """It cuts the ends; a line break in the middle would end the kernel's command line."""
    edit(site, "comment: Juju controller", "comment: |\n      Juju controller\n")
    edit(site, "kernel: intel_iommu=on iommu=pt", "kernel: |\n      intel_iommu=on\n      iommu=pt")
    run("apply")
    found = {each["name"]: each for each in maas.tags}
    assert found["juju"]["comment"] == "Juju controller"
    assert "intel_iommu=on iommu=pt" in found["compute_sriov"]["kernel_opts"]
    maas.requests.clear()
    run("apply")
    assert writes(maas) == []


def test_a_secret_whose_ends_maas_would_cut_is_refused(maas, run, tmp_path):
    (tmp_path / "bmc-password").write_text(f"{PASSWORD} \n")
    said = run("plan", expected=2)
    assert "bmc-password has a line with spaces at its ends, which MAAS would cut" in said


def test_addresses_that_maas_has_given_otherwise_are_in_no_new_dynamic_range(maas, run):
    maas.routes.append({"id": 1, "gateway_ip": "192.168.25.220", "destination": {}, "source": {}})
    maas.given.append({"ip": "192.168.25.230", "alloc_type": 4})
    maas.given.append({"ip": "192.168.25.231", "alloc_type": 6})  # one that was only seen
    theirs = stranger(maas, "theirs", maas.vlans[0])
    maas.power[theirs["system_id"]] = {"power_address": "192.168.25.240"}
    said = " ".join(run("apply", expected=1).split())
    assert "the gateway of a static route has address 192.168.25.220 in it" in said
    assert "somebody in MAAS has address 192.168.25.230 in it" in said
    assert "the BMC of theirs has address 192.168.25.240 in it" in said
    assert "192.168.25.231" not in said
    assert writes(maas) == []


def test_an_interface_of_another_kind_with_the_name_of_a_bond_is_in_the_way(built, findings):
    found = machine(built, "node1")
    found["interface_set"] = [each for each in found["interface_set"] if each["type"] == "physical"]
    built.interfaces = [each for each in built.interfaces if each["system_id"] != found["system_id"]]
    built.interface(found, "physical", "bond0", built.vlans[0], [], [])
    assert (
        "held: bond0 is no bond, but an interface of type physical; write another name for bond" in findings()
    )


# What MAAS says.


def test_the_right_secret_in_a_401_is_not_repeated(run, tmp_path):
    (tmp_path / "maas-api-key").write_text("consumer:token:mistypedsecret\n")
    said = run("plan", expected=2)
    assert "MAAS answers 401 to GET spaces/: it does not take the API key" in said
    assert "secret" not in said.replace("maas-api-key", "")


@pytest.mark.parametrize("apart", [400, -4000])
def test_clocks_that_differ_are_named(maas, run, apart):
    before = maas.clock
    maas.clock = lambda: before() + apart
    said = run("plan", expected=2)
    assert re.search(
        rf"set the clocks: those of this machine and of MAAS are {abs(apart) // 100}\d\d s", said
    )


def test_images_that_the_racks_lose_while_machines_are_powered_are_named_at_each(maas, run):
    run("apply")
    commission = maas.commission

    def late(data, machine):
        maas.racks_have_images = False
        return commission(data, machine)

    maas.commission = late
    said = run("commission", "--power-on", expected=1)
    assert "Ephemeral operating system ubuntu jammy is unavailable.; wait until the rack controllers" in said


def test_after_a_failure_nothing_is_promised(maas, run):
    maas.faults[3] = "The region is restarting."
    assert "steps done. Mend what failed, then repeat this for the others." in run("apply", expected=1)
