# SPDX-License-Identifier: Apache-2.0
"""Machines in other statuses than those of a new site, several rack controllers, and a proxy before MAAS."""

import re

import pytest
from lab.maassite import interfaces, machine, stranger, vlan, writes

# Machines that somebody else has, or that are out of order.


@pytest.fixture
def odd_bond(built):
    """A bond that does not work as it is."""
    interfaces(built, "node1")["bond0"]["params"]["bond_mode"] = "balance-rr"
    return built


def test_a_machine_that_somebody_has_allocated_keeps_its_network(odd_bond, run):
    machine(odd_bond, "node1").update(status_name="Allocated", owner="alice")
    odd_bond.requests.clear()
    said = " ".join(run("apply", expected=1).split())
    assert "held node1 it is Allocated to alice, and it lacks something: VF-LAG takes bond mode" in said
    assert "apply again once it is released" in said
    assert writes(odd_bond) == []


@pytest.mark.parametrize(
    ("status", "severity", "remedy"),
    [
        ("Releasing", "waiting", "wait, then apply again"),
        ("Disk erasing", "waiting", "wait, then apply again"),
        ("Entering rescue mode", "waiting", "wait, then apply again"),
        ("Rescue mode", "held", "exit rescue mode in MAAS, then apply again"),
        (
            "Failed deployment",
            "held",
            "see its log in MAAS; once nobody needs what is on",
        ),
        (
            "Releasing failed",
            "held",
            "see its log in MAAS; once nobody needs what is on",
        ),
        ("Retired", "held", "look in MAAS why"),
    ],
)
def test_a_machine_that_nobody_works_with_is_told_by_its_status_alone(
    odd_bond, run, status, severity, remedy
):
    """Its network is not compared: nobody is told to leave it running."""
    machine(odd_bond, "node1")["status_name"] = status
    said = run("apply", expected=int(severity == "held"))
    assert "VF-LAG" not in said
    assert "leave it running" not in said
    if severity == "held":
        assert re.search(rf"^held +node1 +it is {status} +{re.escape(remedy)}", said, re.M)
    assert re.search(rf"^{severity} +node1 +it is {status} +{re.escape(remedy)}", run("plan"), re.M)


def test_a_locked_machine_is_told_before_maas_refuses_its_settings(built, run, tmp_path):
    machine(built, "node1").update(status_name="Deployed", locked=True)
    (tmp_path / "bmc-password").write_text("another\n")
    built.requests.clear()
    said = " ".join(run("apply", expected=1).split())
    assert (
        "held node1 it is locked in MAAS, which keeps it from this: set power_parameters_power_pass" in said
    )
    assert "unlock it in MAAS, then apply again" in said
    # The other machines get theirs.
    assert {path for _, path, _ in writes(built)} == {
        f"machines/{machine(built, name)['system_id']}/" for name in ("controller", "node2", "node3")
    }


def test_a_vlan_in_use_without_a_space_is_to_get_it_from_the_operator(built, run):
    """The site file has no word for "no space"."""
    vlan(built, 40)["space"] = "undefined"
    stranger(built, "prod1", vlan(built, 40))
    said = " ".join(run("plan").split())
    assert "its space is undefined, not overlay-space, and prod1 (Deployed) uses" in said
    assert "give it that space in MAAS yourself if that is right for them" in said


# Several rack controllers.


def test_of_several_racks_the_one_in_the_network_answers_there(maas, run):
    maas.rackcontrollers.append({"system_id": "rack02", "hostname": "b", "ip_addresses": ["10.0.0.2"]})
    run("apply")
    assert maas.vlans[0]["dhcp_on"]
    assert maas.vlans[0]["primary_rack"] == "rack01"


@pytest.mark.parametrize("racks", [2, 0])
def test_a_rack_that_cannot_be_chosen_is_told_before_anything_is_written(maas, run, racks):
    """MAAS would refuse to turn DHCP on, in the middle of the plan."""
    second = {"system_id": "rack02", "hostname": "b", "ip_addresses": ["192.168.25.2", "fe80::1"]}
    maas.rackcontrollers[:] = [*maas.rackcontrollers, second][:racks]
    said = " ".join(run("apply", expected=1).split())
    assert "MAAS does not know which of its rack controllers answers there" in said
    assert "configure DHCP of VLAN 0 with its primary rack" in said
    assert writes(maas) == []


def test_a_primary_rack_that_somebody_chose_stays(maas, run):
    maas.rackcontrollers.append({"system_id": "rack02", "hostname": "b", "ip_addresses": ["192.168.25.2"]})
    maas.vlans[0]["primary_rack"] = "rack02"
    run("apply")
    assert (maas.vlans[0]["dhcp_on"], maas.vlans[0]["primary_rack"]) == (True, "rack02")


def test_a_page_of_a_proxy_is_told_in_one_line_without_its_html(maas, run):
    maas.faults[1] = (
        "<html>\r\n<head><title>503 Busy</title></head>\r\n<body>\r\n<h1>503 Busy</h1>\r\n</body></html>"
    )
    said = run("apply", expected=1).splitlines()
    assert said[-1].endswith("MAAS answers 503 to POST maas/?op=set_config: 503 Busy 503 Busy")
