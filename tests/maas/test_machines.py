# SPDX-License-Identifier: Apache-2.0
"""Machines in other statuses than those of a new site, several rack controllers, and a proxy before MAAS."""

import re

import pytest
from lab.maas import RefusedError
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
        ("Failed to enter rescue mode", "held", "exit rescue mode in MAAS, then apply again"),
        ("Failed to exit rescue mode", "held", "exit rescue mode in MAAS, then apply again"),
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
    else:
        next_one = rf"1 machine is {status}; next: pipx run tox -e maas -- apply \S+, once that has ended$"
        assert re.search(next_one, said, re.M)
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


# Machines of which MAAS tells less, or of which there are two.


@pytest.mark.parametrize(
    ("status", "remedy"), [("Ready", "commission it again"), ("Deployed", "look for them on the machine")]
)
def test_ports_whose_devices_maas_does_not_know_may_be_on_one_connectx(built, run, status, remedy):
    found = machine(built, "node1")
    built.devices[found["system_id"]].pop()
    found["status_name"] = status
    said = " ".join(run("verify").split())
    where = "(enp63s0f0 is 0000:3f:00, enp63s0f1 is unknown)"
    assert f"MAAS does not tell whether its ports are on one ConnectX {where} {remedy}" in said
    assert "there will be no VF-LAG" not in said


def test_a_bond_on_no_vlan_or_on_one_of_another_fabric_is_told_as_that(built, run):
    bond = interfaces(built, "node1")["bond0"]
    bond["vlan"] = None
    assert "bond0 is on no VLAN, not on VLAN 0, which its ports carry" in run("verify", expected=1)
    bond["vlan"] = built.post_fabrics({"name": "lab"})["vlans"][0]
    assert "bond0 is on VLAN 0 of another fabric, not on VLAN 0, which" in run("verify", expected=1)


def of_bob(region, name, status, bmc):
    """A machine of another user's, with the ports of the site's."""
    found = stranger(region, name, vlan(region, 0), status=status)
    found.update(owner="bob", power_type="manual")
    for port in found["interface_set"]:
        port["vlan"] = None
    region.interface(found, "physical", "enp63s0f0", None, [], [])
    region.interface(found, "physical", "enp63s0f1", None, [], [])
    region.power[name] = {"power_address": bmc} if bmc else {}
    return found


def test_a_deployed_machine_of_that_name_without_a_bmc_is_not_taken_over(maas, run):
    """MAAS powers it by hand, or others have deployed it: nothing says that it is the site's."""
    found = of_bob(maas, "node1", "Deployed", "")
    said = " ".join(run("apply", expected=1).split())
    assert "blocked node1 MAAS' machine of that name (Deployed) has no BMC, not 192.168.0.11" in said
    assert "if it is that machine, set its BMC in MAAS" in said
    assert (writes(maas), found["tag_names"], found["power_type"]) == ([], [], "manual")


def test_an_enlisted_machine_of_that_name_without_a_bmc_gets_it(maas, run):
    """MAAS has not found its BMC; the operator has given it its name."""
    of_bob(maas, "node1", "New", "")
    run("apply")
    assert maas.power["node1"]["power_address"] == "192.168.0.11"


@pytest.mark.parametrize(
    ("there", "status", "remedy"),
    [
        (True, "Retired", "MAAS has node1, too: correct the power address of one of them there"),
        (False, "Deployed", "use its name in the site file"),
    ],
)
def test_a_bmc_at_another_machine_asks_for_no_name_that_cannot_or_should_not_be_given(
    maas, run, there, status, remedy
):
    if there:
        of_bob(maas, "node1", "New", "192.168.0.11")
    of_bob(maas, "swift-mole", status, "192.168.0.11")
    said = " ".join(run("apply", expected=1).split())
    assert f"MAAS has its BMC 192.168.0.11 at machine swift-mole ({status}) {remedy}" in said
    assert "rename" not in said
    assert writes(maas) == []


def test_a_key_of_no_administrator_is_told_as_that(maas, run, monkeypatch):
    answer = maas.answer

    def refuse(method, words, op, data):
        if op == "power_parameters":
            raise RefusedError(403, "Forbidden")
        return answer(method, words, op, data)

    monkeypatch.setattr(maas, "answer", refuse)
    said = run("plan", expected=2)
    assert "MAAS answers 403 to GET machines/?op=power_parameters: Forbidden" in said
    assert "copy the whole API key of an administrator" in said


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
