# SPDX-License-Identifier: Apache-2.0
"""Uplinks, VF netdevs, representors and the wires: names, identity, and the way that frames take."""

import pytest

TOR = "192.168.25.1"


def in_namespace(card, vf, name, address):
    """Move a VF's netdev into a namespace, as into an instance, and give it an address."""
    netdev = card.vf_netdev(vf)
    card.run(
        f"ip netns add {name} && ip link set {netdev} netns {name} && ip -n {name} link set {netdev} up && "
        f"ip -n {name} address add {address}/24 dev {netdev}"
    )


def ping(card, namespace, address, seconds=10):
    """Wait for one answer."""
    card.await_output(f"ip netns exec {namespace} ping -c 1 -W 1 {address}", "1 received", seconds)


def test_udev_names_uplinks_and_vfs_as_on_the_real_card(card):
    card.vfs(1, pfs=card.pfs[:1])
    card.set_mode("switchdev", pfs=card.pfs[:1])
    card.bind("0000:3b:00.2")
    ports = card.ports()
    assert (ports["p0"], ports["p1"]) == ("enp59s0f0np0", "enp59s0f1np1")
    assert card.vf_netdev("0000:3b:00.2") == "enp59s0f0v0"


def test_all_ports_of_a_card_share_a_switch_id_even_in_legacy_mode(card):
    ids = card.run("cd /sys/class/net && cat enp59s0f0np0/phys_switch_id enp59s0f1np1/phys_switch_id")
    assert ids.stdout == "0c42a103003b0000\n" * 2
    card.reload("cards=3b:cx6dx:2,5e:cx6dx:2")
    other = card.run("cat /sys/class/net/enp94s0f0np0/phys_switch_id").stdout
    assert other == "0c42a103005e0000\n"


@pytest.mark.thorough
def test_a_pf_lists_its_representors_among_its_netdevs(card):
    card.vfs(2, pfs=card.pfs[:1])
    card.set_mode("switchdev", pfs=card.pfs[:1])
    ports = card.ports()
    names = card.run("ls /sys/bus/pci/devices/0000:3b:00.0/net").stdout.split()
    assert set(names) == {ports["p0"], ports["pf0vf0"], ports["pf0vf1"]}


@pytest.mark.thorough
def test_ethtool_knows_driver_firmware_and_speed(card):
    card.run("ip link set enp59s0f0np0 up")
    card.await_output("cat /sys/class/net/enp59s0f0np0/carrier", "1")
    driver = [line.rstrip() for line in card.run("ethtool -i enp59s0f0np0").stdout.splitlines()]
    assert "driver: mlx5_core" in driver
    assert "firmware-version: 22.35.2000 (MT_0000000359)" in driver
    assert "bus-info: 0000:3b:00.0" in driver
    assert "Speed: 100000Mb/s" in card.run("ethtool enp59s0f0np0").stdout


def test_hw_tc_offload_is_off_in_legacy_mode_and_on_in_switchdev(card):
    assert "hw-tc-offload: off\n" in card.run("ethtool -k enp59s0f0np0").stdout
    card.vfs(1, pfs=card.pfs[:1])
    card.set_mode("switchdev", pfs=card.pfs[:1])
    ports = card.ports()
    for netdev in (ports["p0"], ports["pf0vf0"]):
        assert "hw-tc-offload: on\n" in card.run(f"ethtool -k {netdev}").stdout
    card.run("ethtool -K enp59s0f0np0 hw-tc-offload off")


@pytest.mark.thorough
def test_a_wire_is_plugged_when_a_netdev_of_its_name_appears(card):
    card.reload("wires=later")
    card.run("ip link set enp59s0f0np0 up; ip link add early type veth peer name far && ip link set far up")
    assert card.run("cat /sys/class/net/enp59s0f0np0/carrier").stdout == "0\n"
    card.run("ip link set early name later")
    card.await_output("cat /sys/class/net/enp59s0f0np0/carrier", "1")
    card.run("ip link set far down")
    card.await_output("cat /sys/class/net/enp59s0f0np0/carrier", "0")
    card.run("ip link del later")


@pytest.mark.thorough
def test_legacy_vfs_reach_each_other_the_host_and_the_wire(card):
    # The far end bonds its ports; alone, ours is a static member for this test.
    card.run("ip -n tor link set swp0 nomaster; ip -n tor link set swp0 up")
    card.run("ip -n tor address add 10.1.0.1/24 dev swp0")
    card.run("ip link set enp59s0f0np0 up; ip address add 10.1.0.2/24 dev enp59s0f0np0")
    card.vfs(2, pfs=card.pfs[:1], bound=True)
    in_namespace(card, "0000:3b:00.2", "vm1", "10.1.0.3")
    in_namespace(card, "0000:3b:00.3", "vm2", "10.1.0.4")
    for address in ("10.1.0.4", "10.1.0.2", "10.1.0.1"):
        ping(card, "vm1", address)
    ping(card, "tor", "10.1.0.4")


def test_in_switchdev_vfs_reach_each_other_only_through_what_joins_their_representors(card):
    card.vfs(2, pfs=card.pfs[:1])
    card.set_mode("switchdev", pfs=card.pfs[:1])
    card.bind("0000:3b:00.2", "0000:3b:00.3")
    ports = card.ports()
    in_namespace(card, "0000:3b:00.2", "vm1", "10.1.0.3")
    in_namespace(card, "0000:3b:00.3", "vm2", "10.1.0.4")
    card.run(f"ip link set {ports['pf0vf0']} up; ip link set {ports['pf0vf1']} up")
    assert card.run("ip netns exec vm1 ping -c 1 -W 1 10.1.0.4", check=False).returncode != 0
    card.run("ovs-vsctl add-br br-vf")
    for port in ("pf0vf0", "pf0vf1"):
        card.run(["ovs-vsctl", "add-port", "br-vf", ports[port]])
    ping(card, "vm1", "10.1.0.4")


def test_lacp_aggregates_with_the_switch_over_both_wires(card):
    assert card.bond().returncode == 0
    card.await_output("cat /proc/net/bonding/bond0", "Number of ports: 2")
    partner = card.run("cat /proc/net/bonding/bond0").stdout.split("Partner Mac Address: ")[1][:17]
    assert partner == card.run("ip netns exec tor cat /sys/class/net/bond1/address").stdout.strip()


@pytest.mark.thorough
def test_traffic_survives_the_loss_of_one_link(card):
    card.bond()
    card.await_output(f"ping -c 1 -W 1 {TOR}", "1 received")
    card.fault("link_down", "Y")
    card.await_output("cat /proc/net/bonding/bond0", "Number of ports: 1")
    card.await_output(f"ping -c 1 -W 1 {TOR}", "1 received")
