# SPDX-License-Identifier: Apache-2.0
"""Images, kernels and the way out: what is missing is named before a machine is powered."""

from pathlib import Path

import pytest
from lab.maas import RefusedError, image
from lab.maassite import edit, machine, rack, writes
from maas import readiness


def refused(maas, run, *verb):
    maas.requests.clear()
    said = run(*(verb or ("apply",)), expected=1)
    assert writes(maas) == []
    assert "Nothing was written." in said
    return said


def test_a_boot_network_in_which_nobody_gives_addresses_is_named(maas, run, site):
    edit(site, "    dhcp: 192.168.25.200-192.168.25.250", "    #")
    said = " ".join(run("plan").split())
    assert "neither MAAS nor a relay gives addresses here" in said
    maas.vlans[0]["relay_vlan"] = {"id": 7}
    assert "gives addresses here" not in run("plan")


# Images.


def test_a_kernel_that_maas_does_not_have_is_named_before_maas_refuses_the_machine(maas, run):
    maas.boot_resources = [image(1, "ga-22.04")]
    said = refused(maas, run)
    assert "MAAS does not have ubuntu/jammy for amd64 with kernel hwe-22.04" in said
    assert "select it in MAAS under Images, and wait until the import has ended" in said
    assert "hwe-22.04" in run("plan")


def test_an_image_that_is_still_imported_is_waited_for(maas, run):
    maas.boot_resources = [image(1, "ga-22.04"), image(2, "hwe-22.04", complete=False)]
    said = refused(maas, run)
    assert "MAAS has not finished to import ubuntu/jammy for amd64 with kernel hwe-22.04" in said


def test_a_kernel_that_a_newer_one_stands_for_is_enough(maas, run, site):
    edit(site, "hwe-kernel: hwe-22.04", "hwe-kernel: ga-20.04")
    run("apply")
    assert machine(maas, "node1")["min_hwe_kernel"] == "ga-20.04"


def test_the_release_of_commissioning_needs_an_image_too(maas, run):
    maas.config["commissioning_distro_series"] = "noble"
    assert "MAAS does not have ubuntu/noble for amd64" in refused(maas, run)
    maas.boot_resources.append(image(9, "ga-24.04", "noble"))
    run("apply")


def test_a_site_of_ubuntu_24_04_needs_the_image_of_that(maas, run, site):
    edit(site, "base: ubuntu@22.04", "base: ubuntu@24.04")
    edit(site, "hwe-kernel: hwe-22.04", "hwe-kernel: ga-24.04")
    assert "MAAS does not have ubuntu/noble for amd64 with kernel ga-24.04" in refused(maas, run)
    maas.boot_resources.append(image(9, "ga-24.04", "noble"))
    run("apply")
    assert machine(maas, "node1")["min_hwe_kernel"] == "ga-24.04"


def test_a_region_that_names_no_release_commissions_with_the_bundles(maas, run):
    maas.config["commissioning_distro_series"] = None
    run("apply")
    maas.boot_resources.clear()
    assert "MAAS does not have ubuntu/jammy for amd64" in run("commission")


def test_images_that_go_after_apply_keep_machines_from_being_powered(maas, run):
    run("apply")
    maas.boot_resources.clear()
    said = refused(maas, run, "commission", "--power-on")
    assert "MAAS does not have ubuntu/jammy for amd64" in said
    assert "MAAS does not have ubuntu/jammy for amd64" in run("commission")


def test_a_machine_of_another_architecture_needs_its_own_images(built, run):
    machine(built, "node2")["architecture"] = "arm64/generic"
    said = run("apply", expected=1)
    assert "MAAS does not have ubuntu/jammy for arm64 with kernel hwe-22.04" in said
    assert "amd64" not in said
    arm = image(9, "hwe-22.04") | {"architecture": "arm64/hwe-22.04"}
    built.boot_resources.append(arm)
    assert "No finding: MAAS is as the site file says." in run("apply")


def test_ready_machines_are_still_told_what_their_deployment_lacks(built, run):
    built.boot_resources = [image(1, "ga-22.04")]
    said = run("apply", expected=1)
    assert "held      images   MAAS does not have ubuntu/jammy for amd64 with kernel hwe-22.04" in said


def test_a_site_whose_machines_are_deployed_needs_no_image(built, run):
    for name in ("controller", "node1", "node2", "node3"):
        machine(built, name)["status_name"] = "Deployed"
    built.boot_resources.clear()
    assert "No finding: MAAS is as the site file says." in run("verify")
    assert "gateway" not in run("plan")


# What the rack controllers have of the images.


def test_racks_without_images_keep_machines_from_being_powered_and_nothing_else(maas, run, findings):
    maas.racks_have_images = False
    lacks = "rack controller maas (out-of-sync) does not have ubuntu/jammy for amd64"
    assert f"held: {lacks} and ubuntu/jammy for amd64 with kernel hwe-22.04; wait until MAAS" in findings()
    run("apply", expected=1)
    assert len(maas.machines) == 4
    said = " ".join(refused(maas, run, "commission", "--power-on").split())
    assert f"blocked images {lacks}" in said
    maas.racks_have_images = True
    assert "4 machines are New" in run("apply")


def test_a_rack_without_the_release_of_commissioning_is_named(maas, findings):
    maas.config["commissioning_distro_series"] = "noble"
    noble = image(9, "ga-24.04", "noble")
    maas.boot_resources.append(noble)
    answer = maas.rack_images

    def without_noble(rack):
        found = answer(rack)
        return {**found, "status": "syncing", "images": [found["images"][0]]}

    maas.rack_images = without_noble
    assert "held: rack controller maas (syncing) does not have ubuntu/noble for amd64;" in findings()


@pytest.mark.parametrize("status", ["syncing", "out-of-sync"])
def test_a_rack_that_is_behind_the_region_is_a_warning(built, run, findings, status):
    built.rack_status["maas"] = status
    assert f"warning: rack controller maas is {status}: machines boot older images from it" in findings()
    run("verify")


def test_a_rack_that_is_not_connected_matters_if_it_is_the_only_one(maas, findings):
    maas.rack_status["maas"] = "unknown"
    what = "rack controller maas is not connected to the region: no machine boots from it"
    assert f"held: {what}" in findings()
    rack(maas, "rack02", "second", "192.168.25.2", vlans=[maas.vlans[0]])
    assert f"warning: {what}" in findings()


def test_what_a_maas_does_not_tell_of_its_racks_is_no_finding(maas, findings):
    """A later release may have no such operation."""

    def gone(_):
        raise RefusedError(400, "Unrecognised signature: method=GET op=list_boot_images")

    maas.rack_images = gone
    assert "images" not in findings()


def test_a_site_whose_machines_are_deployed_needs_no_image_on_racks(built, run):
    for name in ("controller", "node1", "node2", "node3"):
        machine(built, name)["status_name"] = "Deployed"
    built.racks_have_images = False
    assert "No finding: MAAS is as the site file says." in run("verify")


# The network that machines boot from.


def test_a_rack_outside_of_the_boot_network_is_named(maas, run):
    maas.rackcontrollers[0]["ip_addresses"] = ["10.0.0.1", "fe80::1"]
    said = run("apply")
    assert "no rack controller has an address in 192.168.25.0/24: machines cannot boot from it" in said


def test_a_rack_behind_a_dhcp_relay_needs_no_address_there(maas, run, site):
    edit(site, "    dhcp: 192.168.25.200-192.168.25.250", "    #")
    maas.rackcontrollers[0]["ip_addresses"] = ["10.0.0.1"]
    assert "no rack controller has an address" not in run("apply")


@pytest.mark.parametrize(("servers", "warned"), [([], True), (["192.168.25.9"], False)])
def test_a_subnet_without_dns_is_named(maas, run, servers, warned):
    maas.subnets[0].update(allow_dns=False, dns_servers=servers)
    what = "MAAS answers no DNS requests from 192.168.25.0/24, and names no other server there"
    assert (what in run("apply")) is warned


# The way out.


def test_a_rack_that_is_the_gateway_is_named_with_the_command_that_shows_its_nat(maas, run):
    said = " ".join(run("plan").split())
    assert "rack maas is the nodes' gateway 192.168.25.1" in said
    assert "sudo iptables -t nat -S POSTROUTING" in said
    assert "proxy" not in said
    maas.config["enable_http_proxy"] = False
    assert "MAAS' proxy is off" in run("plan")


def test_the_way_out_is_no_difference_of_maas(built, run):
    assert "rack maas is the nodes' gateway" in run("plan")
    assert "No finding: MAAS is as the site file says." in run("verify")


def test_a_gateway_that_is_no_rack_is_a_router_of_the_operators(maas, run):
    maas.rackcontrollers[0]["ip_addresses"] = ["192.168.25.2"]
    assert "the nodes' gateway 192.168.25.1 is no rack controller" in run("plan")


def test_nodes_without_a_gateway_are_warned_about(maas, run, site):
    edit(site, "    gateway: 192.168.25.1\n", "")
    assert "nodes get no default gateway: " in run("plan")
    edit(site, "    cidr: 10.7.208.0/24\n", "    cidr: 10.7.208.0/24\n    gateway: 10.7.208.1\n")
    assert "the nodes' gateway 10.7.208.1 is no rack controller" in run("plan")


def test_a_gateway_on_this_machine_that_forwards_nothing_powers_no_machine(
    maas, run, site, tmp_path, monkeypatch
):
    site.write_text(site.read_text().replace("192.168.25.", "127.0.0."))
    maas.subnets[0].update(cidr="127.0.0.0/24", name="127.0.0.0/24")
    maas.rackcontrollers[0]["ip_addresses"] = ["127.0.0.1"]
    forwarding = tmp_path / "ip_forward"
    monkeypatch.setitem(readiness.FORWARDING, 4, forwarding)
    forwarding.write_text("0\n")
    run("apply")
    said = refused(maas, run, "commission", "--power-on")
    assert "the nodes' gateway 127.0.0.1 is this machine, and it forwards nothing" in said
    assert "set net.ipv4.ip_forward=1" in said
    forwarding.write_text("1\n")
    assert "forwards nothing" not in run("commission")


def test_only_an_address_of_this_machine_tells_whether_it_forwards():
    assert readiness.forwards("127.0.0.1") is (Path("/proc/sys/net/ipv4/ip_forward").read_text() != "0\n")
    assert readiness.forwards("192.0.2.1") is None
    assert readiness.forwards("2001:db8::1") is None


# Ranges.


def test_a_range_within_one_that_maas_has_reserved_is_left_as_it_is(built, run, site):
    edit(site, "[10.7.208.65-10.7.208.99]", "[10.7.208.70-10.7.208.80]")
    built.requests.clear()
    assert "No finding: MAAS is as the site file says." in run("apply")
    assert writes(built) == []


def test_a_subnet_that_maas_does_not_manage_gets_no_range(maas, run):
    """There, MAAS gives addresses from reserved ranges alone: Neutron's would go to machines."""
    vlan = maas.post_vlans({"vid": 9, "name": "theirs"}, maas.fabrics[0])
    maas.add("subnets", name="theirs", cidr="10.7.208.0/24", vlan=vlan, managed=False)
    said = refused(maas, run)
    assert "reserved range 10.7.208.65-10.7.208.99" in said
    assert "MAAS does not manage this subnet: there, it gives addresses of reserved ranges alone" in said
