# SPDX-License-Identifier: Apache-2.0
"""A region that does not answer, or answers what MAAS does not: one sentence, without secrets."""

import urllib.request

import pytest
from lab.maas import KEY
from lab.maassite import BUILD_OPENER, edit, interfaces, machine


def test_an_error_of_maas_that_repeats_a_password_is_told_without_it(maas, run, tmp_path):
    """In any form: MAAS repeats a form's field as it is, or its own request with the form encoded."""
    (tmp_path / "bmc-password").write_text('p&ss wörd"1\n')
    for said in (
        'bad value "p&ss wörd"1"',
        "power_pass=p%26ss+w%C3%B6rd%221",
        f"signature {KEY.split(':')[2]}",
    ):
        maas.requests.clear()
        maas.faults[1] = said
        told = run("apply", expected=1)
        assert "***" in told
        assert not any(part in told for part in ('rd"1', "rd%221", "signature secret"))


def test_an_address_that_is_none(site, run, monkeypatch):
    edit(site, "192.168.25.1:5240", "192.168.25.1:MAAS")
    monkeypatch.setattr(urllib.request, "build_opener", BUILD_OPENER)
    assert "cannot be reached: nonnumeric port" in run("plan", expected=2)


def test_a_region_that_does_not_answer(site, run, monkeypatch):
    monkeypatch.setattr(urllib.request, "build_opener", BUILD_OPENER)
    edit(site, "192.168.25.1:5240", "127.0.0.1:1")
    assert "cannot be reached: Connection refused; check" in run("plan", expected=2)


@pytest.mark.parametrize("field", ["link_connected", "numa_node", "type", "parents", "links"])
def test_a_port_without_a_field_that_maas_3_tells_is_one_sentence(built, run, field):
    del interfaces(built, "node1")["enp63s0f0"][field]
    place = [each["hostname"] for each in built.machines].index("node1")
    said = run("verify", expected=2)
    assert f"MAAS' answer to GET machines/ cannot be used: [{place}].interface_set[0].{field}: " in said


def test_a_port_of_a_device_without_a_pci_address_is_no_connectx(built, run):
    """MAAS has null there for what is on USB."""
    built.devices[machine(built, "node1")["system_id"]][0]["pci_address"] = None
    said = run("verify")
    assert "its ports are not on one ConnectX (enp63s0f0 is no ConnectX, enp63s0f1 is 0000:3f:00)" in said


def test_an_answer_that_is_none_of_maas_is_one_sentence(maas, run):
    maas.spaces = [{"name": 5, "resource_uri": "/MAAS/api/2.0/spaces/1/"}]
    said = run("plan", expected=2)
    assert "MAAS' answer to GET spaces/ cannot be used: [0].name: 5 is not allowed; expected text" in said
    assert "check that maas in the site file is the address of a MAAS 3" in said


@pytest.mark.parametrize(
    ("kind", "field", "allowed"),
    [
        ("subnets", "cidr", "a subnet"),
        ("subnets", "gateway_ip", "an IPv4 or IPv6 address"),
        ("ipranges", "start_ip", "an IPv4 or IPv6 address"),
        ("rackcontrollers", "ip_addresses", "a list of addresses"),
        ("boot_resources", "architecture", "text"),
    ],
)
def test_an_answer_with_text_where_an_address_is_expected_is_one_sentence(built, run, kind, field, allowed):
    getattr(built, kind)[0][field] = "10.0.0" if kind != "boot_resources" else 5
    said = run("plan", expected=2)
    path = kind.replace("_", "-")
    assert f"MAAS' answer to GET {path}/ cannot be used: [0].{field}: " in said
    assert f"is not allowed; expected {allowed}; check that" in said
