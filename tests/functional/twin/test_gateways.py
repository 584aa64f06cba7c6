# SPDX-License-Identifier: Apache-2.0
"""Hosts reach another network and a router outside through the gateways of their leaves, on real FRR."""

import json
from copy import deepcopy
from typing import Any

import pytest
import yaml
from functional.twin.conftest import started
from functional.twin.rack import CODE, INTENT, RDG, Rack
from lab.guest import Guest
from lab.twin.wiring import UNTAGGED, Host, reference

pytestmark = pytest.mark.thorough

WIRING, CONFIGURATION = "/run/wiring.json", "/run/wan.conf"
OAM, PUBLIC = "192.168.25.0/24", "10.7.208.0/24"
BEYOND = "198.51.100.1"
"""An address that only the router outside has."""

ROUTED: dict[str, Any] = {
    "prefix-lists": {"hosts": [OAM]},
    "route-maps": {"to-wan": [{"action": "permit", "prefixes": "hosts"}]},
    "vrfs": {
        "red": {
            "vni": 5001,
            "vlan": 4001,
            "networks": ["oam", "public"],
            "peers": {
                "wan": {
                    "switch": "Leaf0-1",
                    "asn": 64900,
                    "port": "swp26",
                    "address": "10.9.0.0/31",
                    "outbound": "to-wan",
                }
            },
        }
    },
}
GATEWAYS = {
    "oam": {"address": "192.168.25.254/24", "leaves": "192.168.25.241"},
    "public": {"address": "10.7.208.254/24", "leaves": "10.7.208.241"},
}
ROUTER = f"""
router bgp 64900
 neighbor 10.9.0.0 remote-as 65101
 address-family ipv4 unicast
  network {BEYOND}/32
"""
ROUTES = {
    "compute0": (PUBLIC, "192.168.25.254"),
    "compute2": (PUBLIC, "192.168.25.254"),
    "gateway": (OAM, "10.7.208.254"),
}
"""The way of a host to the other network. compute2 is in rack 1, the others are in rack 0."""


IPV6 = {
    "oam": {"address": "2001:db8:25::1/64", "leaves": "2001:db8:25::f1", "router-advertisements": True},
    "public": {"address": "2001:db8:208::1/64", "leaves": "2001:db8:208::f1"},
}
OAM6, PUBLIC6 = "2001:db8:25::", "2001:db8:208::"


def intent(**ipv6: dict[str, Any]) -> str:
    """The reference design with gateways in two of its networks, a VRF, and a router outside."""
    content = yaml.safe_load(RDG.read_text()) | deepcopy(ROUTED)
    for network, gateway in GATEWAYS.items():
        more = {"ipv6": ipv6[network]} if network in ipv6 else {}
        content["networks"][network]["gateway"] = gateway | more
    return yaml.safe_dump(content)


def wiring() -> str:
    made = reference()
    made.hosts["wan"] = Host({UNTAGGED: "10.9.0.1/31"})
    made.cables.append(("Leaf0-1", "swp26", "wan", "eth0"))
    return made.dump()


@pytest.fixture(scope="module")
def converged(booted: Guest) -> Rack:
    rack = started(booted, WIRING, {WIRING: wiring(), INTENT: intent(), CONFIGURATION: ROUTER})
    report = rack.operate("apply")
    assert report["applied"], report
    rack.on("wan", f"ip address add {BEYOND}/32 dev lo")
    run = f"systemd-run --quiet --unit=wan --setenv=PYTHONPATH={CODE}/tests"
    booted.run(f"{run} python3 {CODE}/tests/functional/twin/outside.py wan {CONFIGURATION}")
    for host, (network, gateway) in ROUTES.items():
        rack.on(host, f"ip route add {network} via {gateway}")
    rack.on("compute2", f"ip route add {BEYOND} via 192.168.25.254")
    booted.save("routed")
    return rack


@pytest.fixture
def rack(converged: Rack) -> Rack:
    converged.guest.load("routed")
    return converged


@pytest.mark.parametrize("host", ["compute0", "compute2"])
def test_a_host_reaches_another_network_in_its_rack_and_in_another_one(rack: Rack, host: str) -> None:
    rack.until(lambda: rack.ping(host, "10.7.208.1") == 3, 300, "no way to the other network")


def test_a_host_reaches_what_only_the_router_outside_knows(rack: Rack) -> None:
    rack.until(lambda: rack.ping("compute2", BEYOND) == 3, 300, "no way out")
    told = json.loads(rack.guest.run("vtysh -N wan -c 'show ip bgp json'").stdout)["routes"]
    assert OAM in told
    assert PUBLIC not in told  # the route map to it permits the other network alone


def test_a_gateway_answers_while_its_host_has_one_leaf_left(rack: Rack) -> None:
    rack.until(lambda: rack.ping("compute0", "10.7.208.1") == 3, 300, "no way to the other network")
    rack.on("compute0", "ip link set eth0 down")
    rack.until(lambda: rack.ping("compute0", "10.7.208.1") == 3, 120, "no way with one leg")


def test_ipv6_beside_it_reaches_another_network_in_another_rack(rack: Rack) -> None:
    """compute2 in rack 1 has its way out by the leaves' advertisements, the gateway in rack 0 by a route."""
    rack.guest.write(INTENT, intent(**IPV6))
    report = rack.operate("apply")
    assert report["applied"], report
    rack.on("compute2", f"ip address add {OAM6}12/64 dev bond0")
    rack.on("gateway", f"ip address add {PUBLIC6}99/64 dev bond0")
    rack.on("gateway", f"ip route add {OAM6}/64 via {PUBLIC6}1")

    def advertised() -> bool:
        return "proto ra" in rack.on("compute2", "ip -6 route show default")

    rack.until(advertised, 300, "no leaf advertises itself")
    rack.until(lambda: rack.ping("compute2", f"{PUBLIC6}99") == 3, 300, "no way to the other network")


def test_verify_names_the_router_outside_alone_when_it_is_gone(rack: Rack) -> None:
    def bad() -> list[str]:
        found = [each for each in rack.operate("verify") if each["severity"] in ("HELD", "BLOCKED")]
        return [f"{each['subject']}: {each['what']}" for each in found]

    rack.until(lambda: bad() == [], 300, "the fabric does not verify")
    rack.guest.run("systemctl stop wan")
    rack.until(lambda: bad() != [], 300, "nobody misses the router")
    assert all("10.9.0.1" in each for each in bad())
