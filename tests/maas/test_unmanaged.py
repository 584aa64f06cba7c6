# SPDX-License-Identifier: Apache-2.0
"""A MAAS that others use: what the site file changes there, and what not."""

import pytest
from lab.maassite import NUMA, PORTS, commission, edit, interfaces, machine, stranger, vlan, writes


def refused(maas, run):
    """Return apply's words on a plan that it does not begin."""
    maas.requests.clear()
    said = run("apply", expected=1)
    assert writes(maas) == []
    assert "Nothing was written." in said
    assert run("plan").count("blocked") > 0
    return said


@pytest.mark.parametrize("used", [True, False])
def test_a_subnet_of_another_fabric_is_not_moved(maas, run, used):
    fabric = maas.add("fabrics", name="fabric-1", vlans=[])
    maas.post_vlans({"vid": 0, "name": "untagged"}, fabric)
    old = maas.post_vlans({"vid": 40, "name": "overlay"}, fabric)
    subnet = maas.add("subnets", name="overlay", cidr="172.16.0.0/24", vlan=old)
    if used:
        stranger(maas, "prod1", old, "172.16.0.0/24")
    said = refused(maas, run)
    assert "it is in VLAN 40 of fabric fabric-1, not in VLAN 40 of fabric fabric-0" in said
    assert subnet["vlan"] is old


def test_a_fabric_that_somebody_named_is_not_renamed(maas, run):
    maas.fabrics[0]["name"] = "production"
    said = run("apply")
    assert "is in fabric production, which keeps that name  write fabric: production in the site file" in said
    assert maas.fabrics[0]["name"] == "production"


def test_a_fabric_that_others_use_keeps_the_name_that_maas_gave_it(maas, run):
    stranger(maas, "prod1", maas.vlans[0])
    vlan(maas, 0).update(mtu=9000, space="oam-space", dhcp_on=True)
    assert "is in fabric fabric-0, which keeps that name" in run("apply")
    assert maas.fabrics[0]["name"] == "fabric-0"


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("mtu", 1500, "its mtu is 1500, not 9000, and prod1 (Deployed) uses it"),
        ("space", "theirs", "its space is theirs, not oam-space, and prod1 (Deployed) uses it"),
    ],
)
def test_a_vlan_that_others_use_is_not_changed(built, run, field, value, says):
    vlan(built, 0)[field] = value
    stranger(built, "prod1", vlan(built, 0))
    said = refused(built, run)
    assert f"VLAN 0   {says}" in said
    assert vlan(built, 0)[field] == value


def test_deployed_machines_of_the_site_use_their_networks_too(built, run):
    vlan(built, 40)["mtu"] = 1500
    machine(built, "node1")["status_name"] = "Deployed"
    assert "its mtu is 1500, not 9000, and node1 (Deployed) uses it" in refused(built, run)


def test_a_name_that_others_gave_is_told_and_stays(built, run):
    vlan(built, 40)["name"] = "theirs"
    stranger(built, "prod1", vlan(built, 40))
    said = run("apply")
    assert "its name is theirs, not v40-overlay, and prod1 (Deployed) uses it: it is left as it is" in said
    assert vlan(built, 40)["name"] == "theirs"


def test_the_gateway_of_a_subnet_in_use_stays(built, run):
    built.subnets[0]["gateway_ip"] = "192.168.25.254"
    stranger(built, "prod1", vlan(built, 0), "192.168.25.0/24")
    assert "its gateway_ip is 192.168.25.254, not 192.168.25.1" in refused(built, run)


def test_a_subnet_in_use_without_a_gateway_gets_none(built, run):
    built.subnets[0]["gateway_ip"] = None
    stranger(built, "prod1", vlan(built, 0), "192.168.25.0/24")
    said = " ".join(refused(built, run).split())
    assert "its gateway_ip is not set, not 192.168.25.1, and prod1 (Deployed) uses it leave it out" in said
    assert built.subnets[0]["gateway_ip"] is None


def test_a_tag_that_other_machines_have_keeps_its_kernel_options(built, run, site):
    edit(site, "dedicated-cpus: 2-23", "dedicated-cpus: 4-23")
    stranger(built, "prod1", vlan(built, 40))["tag_names"].append("compute_sriov")
    assert "tag compute_sriov  its kernel_opts is" in refused(built, run)


def test_upstream_dns_of_the_region_stays(maas, run):
    maas.config["upstream_dns"] = "10.0.0.1"
    said = run("apply")
    assert "upstream DNS of the whole region is 10.0.0.1, and is left as it is" in said
    assert maas.config["upstream_dns"] == "10.0.0.1"


@pytest.mark.parametrize(
    ("known", "says"),
    [
        ({"external_dhcp": "192.168.25.5"}, "another DHCP server answers there already: 192.168.25.5"),
        ({"relay_vlan": {"id": 9}}, "its DHCP is relayed to another VLAN"),
    ],
)
def test_dhcp_is_not_turned_on_beside_another_one(maas, run, known, says):
    maas.vlans[0].update(known)
    assert says in refused(maas, run)


def test_a_range_beside_another_one_is_refused_before_anything_is_written(maas, run):
    maas.add(
        "ipranges", type="dynamic", start_ip="192.168.25.100", end_ip="192.168.25.220", subnet=maas.subnets[0]
    )
    assert "MAAS has the dynamic range 192.168.25.100-192.168.25.220, which overlaps it" in refused(maas, run)


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [("dynamic", "write that range in the site file"), ("reserved", "write one without its addresses")],
)
def test_a_range_of_another_kind_in_the_site_file_would_not_help(maas, run, kind, remedy):
    ends = {"start_ip": "192.168.25.1", "end_ip": "192.168.25.254"}
    maas.add("ipranges", type=kind, subnet=maas.subnets[0], **ends)
    said = " ".join(refused(maas, run).split())
    assert f"MAAS has the {kind} range 192.168.25.1-192.168.25.254, which overlaps it {remedy}" in said


def test_a_range_with_an_address_of_a_machine_is_refused(maas, run):
    found = stranger(maas, "prod1", maas.vlans[0], "192.168.25.0/24")
    found["interface_set"][0]["links"][0]["ip_address"] = "192.168.25.201"
    assert "prod1 has address 192.168.25.201 in it" in refused(maas, run)


@pytest.mark.parametrize(
    ("fixed", "says"),
    [
        ("rack", "rack controller maas has address 192.168.25.201 in it"),
        ("gateway", "the gateway has address"),
    ],
)
def test_a_dynamic_range_gives_nobody_the_address_of_a_rack_or_of_the_gateway(maas, run, site, fixed, says):
    if fixed == "rack":
        maas.rackcontrollers[0]["ip_addresses"] = ["192.168.25.201"]
    else:
        edit(site, "    gateway: 192.168.25.1\n", "")
        maas.subnets[0]["gateway_ip"] = "192.168.25.201"
    assert says in refused(maas, run)


def test_a_reserved_range_may_have_the_rack_and_the_gateway_in_it(maas, run, site):
    edit(
        site,
        "    dhcp: 192.168.25.200-",
        "    reserved: [192.168.25.1-192.168.25.9]\n    dhcp: 192.168.25.200-",
    )
    run("apply")
    assert ("reserved", "192.168.25.1") in {(each["type"], each["start_ip"]) for each in maas.ipranges}


@pytest.mark.parametrize(("last", "refusal"), [("8", ""), ("7", "which overlaps it")])
def test_ranges_of_maas_that_cover_a_reserved_one_together_are_enough(maas, run, site, last, refusal):
    edit(
        site,
        "    dhcp: 192.168.25.200-",
        "    reserved: [192.168.25.1-192.168.25.9]\n    dhcp: 192.168.25.200-",
    )
    subnet = maas.subnets[0]
    for start, end in (("9", "20"), ("1", last)):
        ends = {"start_ip": f"192.168.25.{start}", "end_ip": f"192.168.25.{end}"}
        maas.add("ipranges", type="reserved", subnet=subnet, **ends)
    if refusal:
        assert refusal in refused(maas, run)
    else:
        run("apply")
        assert ("192.168.25.1", "192.168.25.9") not in {
            (each["start_ip"], each["end_ip"]) for each in maas.ipranges
        }


@pytest.mark.parametrize("spelled", ["2001:DB8:40:0::", "2001:0db8:0040::"])
def test_an_ipv6_subnet_is_the_same_however_it_is_spelled(maas, run, site, spelled):
    """MAAS answers with the one spelling of RFC 5952."""
    low = f"{spelled}1:0:"  # MAAS keeps what is before it
    own = f"cidr: {spelled}/64\n    gateway: {spelled}1\n    reserved: ['{low}0A-{low}00F']"
    edit(site, "cidr: 172.16.0.0/24", own)
    overlay = maas.post_vlans({"vid": 40, "name": "overlay"}, maas.fabrics[0])
    known = maas.add("subnets", name="o", cidr="2001:db8:40::/64", gateway_ip="2001:db8:40::1", vlan=overlay)
    run("apply")
    assert [each["cidr"] for each in maas.subnets].count(known["cidr"]) == 1
    assert ("2001:db8:40::1:0:a", "2001:db8:40::1:0:f") in {
        (each["start_ip"], each["end_ip"]) for each in maas.ipranges
    }
    maas.requests.clear()
    run("apply")
    assert writes(maas) == []


def test_a_subnet_that_overlaps_one_of_the_sites_is_named(maas, run):
    maas.add("subnets", name="big", cidr="10.7.0.0/16", vlan=maas.vlans[0])
    assert "MAAS has subnet 10.7.0.0/16, which overlaps it" in refused(maas, run)


def test_a_bmc_that_maas_knows_under_another_name_is_not_given_twice(maas, run):
    maas.power[stranger(maas, "swift-mole", maas.vlans[0], status="Ready")["system_id"]] = {
        "power_address": "192.168.0.11"
    }
    said = refused(maas, run)
    assert "MAAS has its BMC 192.168.0.11 at machine swift-mole (Ready)" in said
    assert "rename that machine to node1 in MAAS" in said


@pytest.mark.parametrize("spelled", ["https://192.168.0.11", "https://192.168.0.11/"])
def test_a_bmc_of_redfish_is_the_same_with_its_scheme(maas, run, spelled):
    stranger(maas, "swift-mole", maas.vlans[0], status="Ready")
    maas.power["swift-mole"] = {"power_address": spelled}
    assert "MAAS has its BMC 192.168.0.11 at machine swift-mole (Ready)" in refused(maas, run)


@pytest.mark.parametrize("status", ["Ready", "Deployed"])
def test_a_machine_of_that_name_with_another_bmc_is_not_taken_over(maas, run, status):
    maas.power[stranger(maas, "node1", maas.vlans[0], status=status)["system_id"]] = {
        "power_address": "10.0.0.9"
    }
    said = refused(maas, run)
    assert f"MAAS' machine of that name ({status}) has BMC 10.0.0.9, not 192.168.0.11" in said
    assert maas.power["node1"] == {"power_address": "10.0.0.9"}


def test_a_plan_that_is_blocked_powers_nothing_on(maas, run):
    run("apply")
    vlan(maas, 0)["mtu"] = 1500
    stranger(maas, "prod1", vlan(maas, 0))
    maas.requests.clear()
    assert "Nothing was written." in run("commission", "--power-on", expected=1)
    assert writes(maas) == []


# Ready machines with something on their ports.


def test_static_addresses_of_a_ready_machine_stay_alone(built, run):
    interfaces(built, "node1")["br-nvda.40"]["links"][0]["mode"] = "static"
    built.requests.clear()
    assert "0 steps done" in run("apply")
    assert writes(built) == []


def test_a_vlan_of_another_name_on_the_bridge_is_taken_as_it_is(built, run):
    interfaces(built, "node1")["br-nvda.40"]["name"] = "overlay"
    built.requests.clear()
    assert "No finding: MAAS is as the site file says." in run("apply")
    assert writes(built) == []


def test_another_bond_of_the_ports_is_named_before_maas_refuses(maas, run):
    run("apply")
    commission(maas, "node1", PORTS, NUMA)
    ports = interfaces(maas, "node1").values()
    maas.interface(machine(maas, "node1"), "bond", "bond-old", maas.vlans[0], ports, [])
    said = run("apply", expected=1)
    assert "enp63s0f0, enp63s0f1 are in bond bond-old, not in bond0" in said
    assert "write bond: bond-old in its tag, or delete bond-old in MAAS" in said


def test_a_static_address_of_a_port_is_told_before_maas_drops_it_with_the_bond(maas, run):
    """MAAS takes the addresses of the ports that it bonds; only what it has set itself is anybody's."""
    run("apply")
    commission(maas, "node1", PORTS, NUMA)
    port, oam = interfaces(maas, "node1")["enp63s0f1"], maas.subnets[0]
    port.update(vlan=maas.vlans[0], links=[{"mode": "static", "subnet": oam, "ip_address": "192.168.25.77"}])
    said = run("apply", expected=1)
    assert "enp63s0f1 has static address 192.168.25.77, which it loses below br-nvda" in said
    assert port["links"][0]["mode"] == "static"
    port["links"][0]["mode"] = "auto"
    run("apply")
    assert {"bond0", "br-nvda"} <= interfaces(maas, "node1").keys()


# The order of a tag's networks.


@pytest.mark.parametrize(
    ("networks", "cidrs"),
    [
        ("[overlay-space]", {"br-nvda": [], "br-nvda.40": ["172.16.0.0/24"]}),
        (
            "[overlay-space, oam-space]",
            {"br-nvda": ["192.168.25.0/24"], "br-nvda.40": ["172.16.0.0/24"]},
        ),
    ],
)
def test_the_untagged_network_is_the_one_without_a_vlan_not_the_first(maas, run, site, networks, cidrs):
    text = site.read_text()
    start = text.index("    networks:", text.index("  compute_sriov:"))
    site.write_text(f"{text[:start]}    networks: {networks}{text[text.index(chr(10), start) :]}")
    run("apply")
    commission(maas, "node1", PORTS, NUMA)
    run("apply")
    found = interfaces(maas, "node1")
    assert {each["vlan"]["vid"] for name, each in found.items() if "." not in name} == {0}
    assert found["br-nvda.40"]["vlan"]["vid"] == 40
    has = {
        name: [link["subnet"]["cidr"] for link in found[name]["links"] if "subnet" in link] for name in cidrs
    }
    assert has == cidrs


def test_a_bridge_on_the_wrong_vlan_is_a_finding(built, run):
    interfaces(built, "node1")["br-nvda"]["vlan"] = vlan(built, 40)
    assert "br-nvda is on VLAN 40, not on VLAN 0, which its ports carry untagged" in run("verify", expected=1)
