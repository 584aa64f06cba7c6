# SPDX-License-Identifier: Apache-2.0
"""Deployed machines keep their networks: what differs is told, with whether it matters."""

from pathlib import Path

import pytest
import yaml
from lab.maassite import interfaces, machine, new_fabric, stranger, writes
from maas.sitefile.model import BASES

CHARMS = Path(__file__).parents[2] / "charms"


@pytest.fixture
def deployed(built):
    machine(built, "node1")["status_name"] = "Deployed"
    built.requests.clear()
    return built


def told(run, expected):
    said = run("apply", expected=expected)
    assert "release" not in said
    return next((line for line in said.splitlines() if "node1 " in line), "")


@pytest.mark.parametrize(
    ("field", "value", "matters", "says"),
    [
        (
            "bond_xmit_hash_policy",
            "layer2+3",
            False,
            "bond_xmit_hash_policy of bond0 is layer2+3, not layer3+4",
        ),
        ("bond_lacp_rate", "slow", False, "bond_lacp_rate of bond0 is slow, not fast"),
        ("bond_mode", "active-backup", False, "bond_mode of bond0 is active-backup, not 802.3ad"),
        ("bond_xmit_hash_policy", "layer2", True, "sends all between two hosts through one port"),
        ("bond_mode", "balance-alb", True, "VF-LAG takes bond mode 802.3ad, active-backup, balance-xor"),
    ],
)
def test_a_bond_of_a_deployed_machine_is_told_with_whether_it_matters(
    deployed, run, field, value, matters, says
):
    interfaces(deployed, "node1")["bond0"]["params"][field] = value
    line = told(run, int(matters))
    assert says in line
    assert line.startswith("held" if matters else "info")
    assert ("leave it running, and run apply before it is deployed again" in line) is matters
    assert writes(deployed) == []


def rename(region, name):
    """The bond and the bridge of a machine have other names than in the site file."""
    for each in interfaces(region, name).values():
        names = [
            old.replace("br-nvda", "br-ex").replace("bond0", "bond1")
            for old in (each["name"], *each["parents"])
        ]
        each["name"], *each["parents"] = names


def test_static_addresses_and_other_names_work_on_a_deployed_machine(deployed, run):
    rename(deployed, "node1")
    interfaces(deployed, "node1")["br-ex.40"]["links"][0]["mode"] = "static"
    line = told(run, 0)
    assert "its bond is bond1, not bond0" in line
    assert "write bridge: br-ex in its tag" in line
    assert "its address in 172.16.0.0/24 is static, not auto" in line


def test_ubuntu_24_04_on_a_deployed_machine_is_information(deployed, run):
    machine(deployed, "node1").update(osystem="ubuntu", distro_series="noble")
    line = told(run, 0)
    assert line.startswith("info")
    assert "it runs noble, which the charms are built for; the site is for jammy" in line
    machine(deployed, "node1")["distro_series"] = "focal"
    assert told(run, 1).startswith("held")


@pytest.mark.parametrize("charm", ["nic-firmware", "sriov-switchdev", "roce-qos"])
def test_the_charms_are_built_for_these_versions(charm):
    built = yaml.safe_load((CHARMS / charm / "charmcraft.yaml").read_text())["platforms"]
    assert {each.rsplit(":", 1)[0] for each in built} == set(BASES)


def test_an_address_that_a_deployed_machine_lacks_matters(deployed, run):
    machine(deployed, "node1")["interface_set"].pop()
    assert "it has no address in 172.16.0.0/24 of overlay-space" in told(run, 1)
    assert writes(deployed) == []


def test_a_deployed_machine_with_its_ports_in_no_bond_keeps_its_network(deployed, run):
    found = machine(deployed, "node1")
    found["interface_set"] = [each for each in found["interface_set"] if each["type"] == "physical"]
    assert "they are in no bond" in told(run, 1)
    assert writes(deployed) == []


def test_a_site_that_was_deployed_by_hand_gets_no_write_and_no_alarm(built, run):
    """Names, addresses, LACP, ranges, images and other machines are as somebody else has them."""
    for name in ("controller", "node1", "node2", "node3"):
        machine(built, name).update(status_name="Deployed", hwe_kernel="ga-22.04")
        rename(built, name)
        for each in interfaces(built, name).values():
            for link in each["links"]:
                link["mode"] = "static" if link["mode"] == "auto" else link["mode"]
            if each["type"] == "bond":
                each["params"] |= {"bond_lacp_rate": "slow", "bond_xmit_hash_policy": "layer2+3"}
    for each in (*built.vlans, *built.subnets):
        each["name"] = f"their-{each['id']}"
    built.fabrics[0]["name"], built.config["upstream_dns"] = "production", "10.0.0.1"
    built.ipranges[-1].update(start_ip="10.7.208.60", end_ip="10.7.208.120")
    built.boot_resources.clear()
    other = new_fabric(built, "fabric-7")
    built.add("subnets", name="lab", cidr="10.99.0.0/16", vlan=other["vlans"][0])
    stranger(built, "prod1", other["vlans"][0], "10.99.0.0/16")
    built.requests.clear()
    said = run("apply")
    assert writes(built) == []
    assert {each.split()[0] for each in said.splitlines()[2:-1]} == {"info", "warning"}
    warned = [each for each in said.splitlines() if each.startswith("warning")]
    assert [each.split()[1] for each in warned] == ["fabric", "DNS"]
    assert said.splitlines()[-1] == "4 machines are Deployed"


def small_mtu(region):
    """Somebody has given an interface an MTU of its own; MAAS also tells what comes of it."""
    found = interfaces(region, "node1")["br-nvda.40"]
    found["params"], found["effective_mtu"] = {"mtu": 1500}, 1500


def test_an_mtu_of_its_own_matters_on_a_deployed_machine(deployed, run):
    small_mtu(deployed)
    assert "the MTU of br-nvda.40 is 1500, and that of overlay-space is 9000" in told(run, 1)
    assert writes(deployed) == []


def test_an_mtu_of_its_own_is_told_before_the_machine_is_deployed(built, run):
    small_mtu(built)
    built.requests.clear()
    said = " ".join(run("verify").split())
    assert (
        "warning node1 the MTU of br-nvda.40 is 1500, and that of overlay-space is 9000 take its own" in said
    )
    interfaces(built, "node1")["br-nvda.40"]["effective_mtu"] = 9000  # what is on it needs as much
    assert "No finding" in run("verify")
    assert writes(built) == []
