# SPDX-License-Identifier: Apache-2.0
"""The reference design's fabric on real BGP, EVPN and LACP, set up and judged by cumulus-fabric itself."""

import json
from functools import partial

import pytest
from functional.twin.rack import Rack
from functional.twin.watches import Watches, ask

LEAVES = {"Leaf0-1": "10.10.10.1", "Leaf0-2": "10.10.10.2", "Leaf1-1": "10.10.10.3", "Leaf1-2": "10.10.10.4"}
JUMBO = 8972  # 9000 less the headers of IPv4 and ICMP


def blocking(findings: list[dict[str, str]]) -> list[tuple[str, str]]:
    return [(f["subject"], f["what"]) for f in findings if f["severity"] in ("HELD", "BLOCKED")]


def test_every_session_segment_and_vni_is_as_the_intent_says(rack: Rack) -> None:
    assert blocking(rack.operate("verify")) == []
    seen = rack.operate("read")
    neighbours = {
        name: {
            (port, node["state"], "l2vpn-evpn" in node["address-family"])
            for port, node in tree["vrf"]["default"]["router"]["bgp"]["neighbor"].items()
        }
        for name, tree in seen.items()
    }
    for leaf in LEAVES:
        assert neighbours[leaf] == {("swp31", "established", True), ("swp32", "established", True)}
    for spine in ("Spine0", "Spine1"):
        assert neighbours[spine] == {(f"swp{port}", "established", True) for port in range(13, 17)}

    esi = "03:44:38:39:be:ef:01:00:00:01"  # bond1 of rack 0: type 3, segment MAC, local-id
    first, second = (seen[leaf]["evpn"]["multihoming"]["esi"][esi] for leaf in ("Leaf0-1", "Leaf0-2"))
    assert first["local-interface"] == second["local-interface"] == "bond1"
    assert (list(first["remote-vtep"]), list(second["remote-vtep"])) == (["10.10.10.2"], ["10.10.10.1"])
    afar = seen["Leaf1-1"]["evpn"]["multihoming"]["esi"][esi]
    assert sorted(afar["remote-vtep"]) == ["10.10.10.1", "10.10.10.2"]
    # One of the two forwards broadcasts, although both have the same preference.
    assert ("df" in first["flags"]) != ("df" in second["flags"])

    assert {vni: node["vlan"] for vni, node in seen["Leaf1-2"]["evpn"]["vni"].items()} == {
        str(vlan): vlan for vlan in (9, 10, 40, 101, 3000)
    }


@pytest.mark.thorough
def test_a_switch_hears_what_is_at_a_cables_other_end(rack: Rack) -> None:
    def heard() -> set[tuple[str, str, str, str]]:
        return {
            (switch, port, there, f"{said['port']['type']} {said['port']['name']}")
            for switch, tree in rack.operate("read").items()
            for port, node in tree["interface"].items()
            for there, said in node.get("lldp", {}).get("neighbor", {}).items()
        }

    cables = [
        ((leaf, f"swp{31 + spine}"), (f"Spine{spine}", f"swp{13 + number}"))
        for number, leaf in enumerate(LEAVES)
        for spine in (0, 1)
    ]
    ends = {(*here, there, f"ifname {port}") for a, b in cables for here, (there, port) in ((a, b), (b, a))}
    rack.until(lambda: heard() == ends, 60, "not all of LLDP")


def test_a_host_sees_both_leaves_as_one_lacp_system_the_racks_segment_mac(rack: Rack) -> None:
    for host, mac in (("compute0", "44:38:39:be:ef:01"), ("compute2", "44:38:39:be:ef:02")):
        bond = rack.on(host, "cat /proc/net/bonding/bond0")
        assert f"Partner Mac Address: {mac}" in bond
        assert "Number of ports: 2" in bond


@pytest.mark.parametrize("network", ["192.168.25", "10.0.10", "172.16.0"], ids=["VNI3000", "VNI10", "VNI40"])
def test_jumbo_frames_cross_the_racks_unfragmented(rack: Rack, network: str) -> None:
    assert rack.ping("compute0", f"{network}.12", size=JUMBO) == 3
    assert rack.ping("compute1", f"{network}.10", size=JUMBO) == 3
    assert rack.ping("compute2", f"{network}.11", size=JUMBO + 1) == 0


@pytest.mark.thorough
def test_what_hangs_on_one_leaf_and_the_gateway_are_reached(rack: Rack) -> None:
    assert rack.ping("juju", "192.168.25.12") == 3  # single-homed on Leaf0-1, untagged
    assert rack.ping("maas", "10.7.208.1") == 3  # VLAN 9 tagged here, untagged at the gateway


def test_vnis_do_not_reach_each_other(rack: Rack) -> None:
    """The design has no gateway in the fabric: a host in one VNI is not to be seen from another."""
    rack.on("compute2", "sysctl -qw net.ipv4.conf.all.arp_ignore=1")  # else it answers in any VLAN
    rack.on("compute2", "ip address add 10.0.10.77/24 dev bond0.40")  # VNI 10's subnet, on VNI 40's VLAN
    assert rack.ping("compute0", "10.0.10.77") == 0
    rack.on("compute0", "ip route add 10.0.10.77/32 dev bond0.40")
    assert rack.ping("compute0", "10.0.10.77") == 3


def test_a_broadcast_arrives_once_and_never_comes_back(rack: Rack) -> None:
    """Split horizon and the designated forwarder: what Linux alone does not do, see asic.py.

    The kernel asks up to three times. A host hears neither more questions nor fewer.
    """
    hosts = ("compute0", "compute1", "compute2")
    asking = {"compute2": "192.168.25.99", "compute0": "192.168.25.98"}
    last = {"compute2": "192.168.25.97", "compute0": "192.168.25.96"}
    with Watches(rack, hosts) as watches:
        for questions in (asking, last):
            for host, who in questions.items():
                ask(rack, host, who)
        # Whatever the fabric makes of a question, it has made when the one after it has arrived everywhere.
        for host, who in last.items():
            heard = [each for each in hosts if each != host]
            arrived = partial(watches.all_saw, who, "in", heard)
            rack.until(arrived, 60, f"{who} is not asked for everywhere")
    for host, who in asking.items():
        (sent,) = watches.counts(who, "out", [host])
        assert 1 <= sent <= 3
        assert watches.counts(who, "out", hosts) == [sent if each == host else 0 for each in hosts]
        assert watches.counts(who, "in", hosts) == [0 if each == host else sent for each in hosts]


@pytest.mark.thorough
def test_a_cut_host_link_loses_no_connection(rack: Rack) -> None:
    rack.on("Leaf0-1", "ip link set swp9 down")
    rack.until(lambda: rack.ping("compute2", "192.168.25.10", size=JUMBO) == 3, 60, "compute0 is not reached")
    said = [(f["subject"], f["what"]) for f in rack.operate("verify")]
    assert ("Leaf0-1 swp9", "the link is down") in said


@pytest.mark.thorough
def test_a_leaf_without_uplinks_hands_its_hosts_to_the_other(rack: Rack) -> None:
    for spine in ("Spine0", "Spine1"):
        rack.on(spine, "ip link set swp13 down")
    rack.until(
        lambda: "Number of ports: 1" in rack.on("compute0", "cat /proc/net/bonding/bond0"),
        60,
        "Leaf0-1 keeps its host ports up",
    )
    rack.until(lambda: rack.ping("compute0", "192.168.25.12", size=JUMBO) == 3, 60, "rack 1 is not reached")
    said = blocking(rack.operate("verify"))
    assert ("Leaf0-1 swp31", "the link to Spine0 is down") in said
    for spine in ("Spine0", "Spine1"):
        rack.on(spine, "ip link set swp13 up")
    rack.until(lambda: blocking(rack.operate("verify")) == [], 120, "the fabric does not heal")


@pytest.mark.thorough
def test_verify_finds_a_wrong_vlan(rack: Rack) -> None:
    vlans = {"interface": {"bond1": {"bridge": {"domain": {"br_default": {"vlan": {"40": None, "41": {}}}}}}}}
    assert rack.operate("patch", "Leaf1-1", tree=vlans)["state"] == "applied_and_saved"
    ((switch, what),) = blocking(rack.operate("verify"))
    assert (switch, what.partition(":")[0]) == ("Leaf1-1", "2 settings differ from the intent")
    for vlan in (40, 41):
        assert f"interface bond1 bridge domain br_default vlan {vlan}" in what
    assert rack.operate("apply")["applied"]
    assert blocking(rack.operate("verify")) == []


def test_reads_come_from_what_runs_not_from_what_was_applied(rack: Rack) -> None:
    rack.guest.run("bridge -n Leaf1-2 vlan del dev bond1 vid 101")
    rack.guest.run("ip -n Leaf1-2 link set bond1 mtu 1500")
    rack.guest.run("vtysh -N Spine1 -c 'configure' -c 'router bgp 65199' -c 'neighbor swp16 shutdown'")
    said: list[tuple[str, str]] = []

    def found() -> bool:
        said[:] = blocking(rack.operate("verify"))
        return ("Leaf1-2 swp32", "the BGP session with Spine1 is not established") in said

    rack.until(found, 60, "the session is still seen")
    assert ("Leaf1-2 bond1", "VLAN 101 is missing, the intent says tagged") in said
    assert ("Leaf1-2 bond1", "MTU is 1500, the intent says 9000") in said
    assert not [subject for subject, what in said if "settings differ" in what]


def test_a_change_leaves_all_else_alone(rack: Rack) -> None:
    def links() -> dict[str, str]:
        read = "cat /sys/class/net/{}/ifindex /sys/class/net/{}/carrier_changes"
        names = ("bond1", "bond2", "swp9", "swp31", "vxlan48", "br_default")
        return {name: rack.on("Leaf0-1", read.format(name, name)) for name in names}

    before = links()
    patch = {"interface": {"bond1": {"description": "compute0"}, "swp24": {"link": {"mtu": 9000}}}}
    assert rack.operate("patch", "Leaf0-1", tree=patch)["state"] == "applied_and_saved"
    changed = {link["ifname"]: link for link in json.loads(rack.guest.run("ip -n Leaf0-1 -j link").stdout)}
    assert (changed["bond1"]["ifalias"], changed["swp24"]["mtu"]) == ("compute0", 9000)
    assert links() == before


@pytest.mark.thorough
def test_a_change_that_cuts_management_rolls_back_by_itself(rack: Rack) -> None:
    before = rack.operate("read")["Leaf0-2"]["interface"]["eth0"]
    down = {"interface": {"eth0": {"link": {"state": {"down": {}}}}}}
    cut = rack.operate("patch", "Leaf0-2", "20", tree=down)
    assert cut["state"] == "unreachable", cut
    assert "UP" not in rack.guest.run("ip -n Leaf0-2 -br link show eth0").stdout.split()
    rack.until(
        lambda: rack.guest.run("ping -q -c 1 -W 1 192.168.200.12", check=False).returncode == 0,
        90,
        "the switch does not come back",
    )
    after = rack.operate("revision", "Leaf0-2", cut["revision"])
    said = "the commit was not confirmed in time; rolled back"
    assert (after["state"], after["said"]) == ("confirm_fail", [said])
    assert rack.operate("read")["Leaf0-2"]["interface"]["eth0"] == before
    assert blocking(rack.operate("verify")) == []


def test_what_the_twin_does_not_translate_is_refused_by_its_path(rack: Rack) -> None:
    before = rack.guest.run("ip -n Leaf0-1 -j link").stdout
    speed = {"interface": {"swp31": {"link": {"speed": "100G"}}, "bond1": {"link": {"mtu": 1500}}}}
    refused = rack.operate("patch", "Leaf0-1", tree=speed)
    assert refused["state"] == "apply_fail"
    assert refused["said"] == ["interface.swp31.link.speed: the twin does not translate this path"]
    assert [(x["ifname"], x["mtu"]) for x in json.loads(rack.guest.run("ip -n Leaf0-1 -j link").stdout)] == [
        (x["ifname"], x["mtu"]) for x in json.loads(before)
    ]


def test_an_applied_fabric_is_applied_again_without_a_write(rack: Rack) -> None:
    report = rack.operate("apply")
    assert report["verdict"] == "fully applied: 0 switches changed"
