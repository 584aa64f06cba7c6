# SPDX-License-Identifier: Apache-2.0
"""One node becomes lossless under traffic, stays so over a reboot and a mode change, on a real kernel."""

import json
import re
from itertools import pairwise

import pytest
from functional.roce_qos.node import P0, P1, PF0, PF1, Node, is_lossless, ports
from lab.guest import Guest

PING = "ip netns exec tor ping -D -i 0.1 192.168.25.51 > /run/ping.log 2>&1 &"
SWITCH = """
import socket, struct

def tlv(kind, value):
    return struct.pack("!H", kind << 9 | len(value)) + value

mac = bytes.fromhex("443839000001")
for port in ("swp0", "swp1"):
    said = tlv(1, b"\\x04" + mac) + tlv(2, b"\\x05" + port.encode()) + tlv(3, struct.pack("!H", 120))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
        wire.bind((port, 0))
        wire.send(bytes.fromhex("0180c200000e") + mac + b"\\x88\\xcc" + said + tlv(5, b"leaf") + tlv(0, b""))
"""
"""A switch's LLDP (IEEE 802.1AB), one frame on each port."""

MOST_LOST = 30
"""Pings in a row, ten a second: one member's flap of 0.3 s as an emulated machine sees it."""

GOES_ON = 30
"""Pings that are answered after the change, so that a late interruption is seen."""


def answered(log: str) -> list[int]:
    """Numbers of the answered pings. While the machine stands still, none is sent that could be lost."""
    return sorted({int(number) for number in re.findall(r"icmp_seq=(\d+) ttl", log)})


def test_a_live_bond_becomes_lossless_one_port_at_a_time(machine: Guest, node: Node) -> None:
    before = node.flaps()
    machine.run(PING)
    result = node.unit.start()
    assert result.status == ("active", ""), (result.status, result.logs)
    enough = len(answered(machine.read("/run/ping.log"))) + GOES_ON
    assert machine.until(lambda: len(answered(machine.read("/run/ping.log"))) >= enough, 60)
    machine.run("pkill -INT -x ping; while pgrep -x ping; do sleep 0.1; done")
    assert is_lossless(node.state()), node.state()
    # Each port flapped once, and the bond never lost its carrier.
    kernel = machine.run("dmesg | grep bond0 | tail -20", check=False).stdout
    assert [now - then for now, then in zip(node.flaps(), before)] == [2, 2, 0], kernel
    log = machine.read("/run/ping.log")
    lost = sorted((after - before - 1 for before, after in pairwise(answered(log))), reverse=True)
    print("lost in a row:", lost[:4], log.splitlines()[-2])
    assert lost[0] < MOST_LOST
    failures = machine.run("grep 'Link Failure Count' /proc/net/bonding/bond0").stdout.split()
    print("link failures", failures)


def test_a_second_run_writes_nothing_and_flaps_nothing(lossless: Node) -> None:
    before, flaps = lossless.state(), lossless.flaps()
    for event in ("config_changed", "update_status", "upgrade_charm", "start"):
        result = lossless.hook(event)
        assert result.status[0] == "active"
        assert result.writes == []
    assert "Nothing to do: everything is as declared." in lossless.unit.action("plan").results["plan"]
    assert lossless.unit.action("verify").results["verified"] == "true"
    assert (lossless.state(), lossless.flaps()) == (before, flaps)


def test_a_refresh_flaps_no_link(lossless: Node) -> None:
    before, flaps = lossless.state(), lossless.flaps()
    assert ports(lossless.hook("upgrade_charm").writes) == []
    assert (lossless.state(), lossless.flaps()) == (before, flaps)


@pytest.mark.thorough
def test_a_reboot_is_made_good_without_a_hook(machine: Guest, lossless: Node) -> None:
    machine.reboot()
    assert lossless.reachable()
    state = "systemctl show -P ActiveState ovn-offload-roce-qos.service"
    machine.run(f"until [ $({state}) = active ] || [ $({state}) = failed ]; do sleep 1; done", timeout=300)
    journal = machine.run("journalctl --boot -u 'ovn-offload-roce-qos*' --output=cat").stdout
    assert is_lossless(lossless.state()), journal
    assert machine.run("systemctl is-active ovn-offload-roce-qos.service").stdout == "active\n", journal
    again = "systemctl show -P ExecMainStartTimestampMonotonic ovn-offload-roce-qos-again.service"
    assert machine.run(again).stdout == "0\n", "ports that are there from the start are the boot unit's"
    assert lossless.unit.action("verify").results["verified"] == "true"
    result = lossless.hook("start")
    assert result.status == ("active", "")
    assert ports(result.writes) == []


def test_an_eswitch_mode_change_is_followed(machine: Guest, lossless: Node) -> None:
    machine.run(f"ip link set {P0} nomaster; devlink dev eswitch set pci/{PF0} mode switchdev")
    machine.run(f"ip link set {P0} down; ip link set {P0} master bond0")
    assert lossless.reachable()
    assert "tc-tsa 0:vendor" in lossless.state()
    assert f"set traffic classes and shares of {P0}; they are the vendor's own" in lossless.findings()
    result = lossless.hook()
    assert result.status == ("active", ""), result.logs
    assert ports(result.writes) == [f"set_dcb {P0} ets"]
    assert is_lossless(lossless.state())


def test_a_netdev_that_is_added_anew_is_served_by_udev(machine: Guest, lossless: Node) -> None:
    driver = "/sys/bus/pci/drivers/mlx5_core"
    machine.run(f"echo {PF1} > {driver}/unbind; sleep 2; echo {PF1} > {driver}/bind; udevadm settle")
    journal = lossless.served_again()
    assert f"set traffic classes and shares of {P1}" in journal
    assert is_lossless(lossless.state()), journal


@pytest.mark.thorough
def test_lldp_tells_switch_and_host_of_each_other(machine: Guest, lossless: Node) -> None:
    if machine.release.systemd < 255:
        machine.reboot()  # networkd reads its files then
        assert lossless.reachable()
    capture = "ip netns exec tor tcpdump -nvi swp0 -c 1 ether proto 0x88cc"
    assert P0 in machine.run(capture, timeout=90).stdout
    # Open vSwitch would take each frame before networkd's socket is asked.
    machine.run("ovs-vsctl del-port br-nvda bond0")
    machine.run(["ip", "netns", "exec", "tor", "python3", "-c", SWITCH])
    machine.run("until [ $(networkctl lldp --no-pager | grep -c leaf) = 2 ]; do sleep 0.2; done")
    fabric = {
        "id": 9,
        "endpoint": "fabric",
        "remote_app_name": "cumulus-fabric",
        "remote_units_data": {0: {}},
    }
    result = lossless.unit.emit("fabric_relation_changed", relations=[fabric])
    (told,) = (each["local_unit_data"] for each in result.relations if each["endpoint"] == "fabric")
    heard = {port["netdev"]: port["neighbour"] for port in json.loads(told["host"])["ports"]}
    switch = {"chassis": "44:38:39:00:00:01", "system": "leaf"}
    assert heard == {P0: {**switch, "port": "swp0"}, P1: {**switch, "port": "swp1"}}


@pytest.mark.thorough
def test_show_qos_and_show_counters(lossless: Node) -> None:
    text = lossless.unit.action("show-qos").results["qos"]
    print(text)
    assert "differs" not in text
    rows = json.loads(lossless.unit.action("show-qos", {"format": "json"}).results["qos"])
    assert {row["port"] for row in rows} == {P0, P1}
    counters = lossless.unit.action("show-counters", {"seconds": 1}).results["counters"]
    assert "tx_prio3_pause" in counters
    assert "per second" in counters


@pytest.mark.thorough
def test_removal_leaves_the_ports_until_the_next_boot(machine: Guest, lossless: Node) -> None:
    before = lossless.state()
    result = lossless.hook("stop")
    assert "lossless RoCE ends with the next boot" in result.status[1]
    assert ports(result.writes) == []
    assert lossless.state() == before
    left = "find /etc /usr/lib/ovn-offload /run/ovn-offload -name '*roce-qos*' -o -name '*ovn-offload-lldp*'"
    assert machine.run(left, check=False).stdout == ""
