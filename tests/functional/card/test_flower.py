# SPDX-License-Identifier: Apache-2.0
"""tc flower rules: which the card takes, which it does not, and that it is busy while it has any."""

import shlex

import pytest

PF, OTHER_PF = "0000:3b:00.0", "0000:3b:00.1"
P0 = "enp59s0f0np0"


def two_representors(card):
    """Two representors of the first PF, in switchdev mode, ready for rules."""
    card.vfs(2, pfs=(PF,))
    card.set_mode("switchdev", pfs=(PF,))
    for name in [*representors(card), P0]:
        card.run(f"ip link set {name} up && tc qdisc add dev {name} ingress")


def representors(card):
    ports = card.ports()
    return [ports["pf0vf0"], ports["pf0vf1"]]


@pytest.fixture
def card(prepared):
    return prepared("two-representors", two_representors)


@pytest.fixture
def reps(card):
    return representors(card)


def rule(card, dev, *words):
    """Adds a rule and returns the words that tell whether the card took it: "in_hw" or "not_in_hw"."""
    add = shlex.join(["tc", "filter", "add", "dev", dev, "ingress", *words])
    return card.run(f"{add} && tc filter show dev {dev} ingress").stdout.split()


def to(*devices):
    return ["action", "mirred", "egress", "redirect", "dev", *devices]


IPV4 = ["prio", "1", "protocol", "ip", "flower"]


def test_representor_to_representor_and_to_the_wire(card, reps):
    assert "in_hw" in rule(card, reps[0], *IPV4, "dst_mac", "02:00:00:00:00:02", *to(reps[1]))
    assert "in_hw" in rule(card, reps[1], *IPV4, "dst_mac", "02:00:00:00:00:01", *to(P0))
    assert "in_hw" in rule(card, P0, *IPV4, "action", "drop")


@pytest.mark.thorough
def test_hardware_only_rules_are_taken_too(card, reps):
    assert "skip_sw" in rule(card, reps[0], *IPV4, "skip_sw", *to(reps[1]))


def refused(card, dev, *words):
    """Return the kernel's refusal of a rule that is to be in hardware or nowhere."""
    words = [word for part in words for word in ([part, "skip_sw"] if part == "flower" else [part])]
    done = card.run(["tc", "filter", "add", "dev", dev, "ingress", *words], check=False)
    assert done.returncode != 0
    return done.stderr


@pytest.mark.thorough
def test_not_out_of_the_card(card, reps):
    card.run("ip link add elsewhere type dummy && ip link set elsewhere up")
    assert "devices are not on same switch HW" in refused(card, reps[0], *IPV4, *to("elsewhere"))
    assert "not_in_hw" in rule(card, reps[0], *IPV4, *to("elsewhere"))


@pytest.mark.thorough
def test_not_an_action_that_the_card_has_not(card, reps):
    assert "Not implemented offload action" in refused(card, reps[0], *IPV4, "action", "skbedit", "mark", "7")


@pytest.mark.thorough
def test_not_a_match_that_the_card_has_not(card, reps):
    arp = ["prio", "1", "protocol", "arp", "flower", "arp_op", "request"]
    assert "Unsupported key" in refused(card, reps[0], *arp, *to(reps[1]))


@pytest.mark.thorough
def test_not_a_match_that_the_test_forbids(card, reps):
    udp = [*IPV4, "ip_proto", "udp", "dst_port", "4791", *to(reps[1])]
    card.parameter("flower_reject", "vlan,ports")
    assert "Unsupported key" in refused(card, reps[0], *udp)
    card.parameter("flower_reject", "vlan")
    assert "in_hw" in rule(card, reps[0], *udp)


def test_not_in_legacy_mode_and_not_with_hw_tc_offload_off(card, reps):
    card.run("tc qdisc add dev enp59s0f1np1 ingress")
    assert "not_in_hw" in rule(card, "enp59s0f1np1", *IPV4, "action", "drop")
    card.run(f"ethtool -K {reps[0]} hw-tc-offload off")
    assert "not_in_hw" in rule(card, reps[0], *IPV4, *to(reps[1]))


def test_legacy_mode_takes_rules_of_a_plain_nic_and_they_block_this_port_alone(card):
    card.run(f"tc qdisc del dev {P0} ingress")
    card.set_mode("legacy", pfs=(PF,))
    card.run(f"ethtool -K {P0} hw-tc-offload on && tc qdisc add dev {P0} ingress")
    assert "in_hw" in rule(card, P0, *IPV4, "action", "drop")
    assert "Not implemented" in refused(
        card, P0, *IPV4, "dst_ip", "10.0.0.1", "action", "vlan", "push", "id", "7"
    )
    card.run("ip link add elsewhere type dummy && ip link set elsewhere up")
    assert "devices are not on same switch HW" in refused(
        card, P0, *IPV4, "dst_ip", "10.0.0.1", *to("elsewhere")
    )
    done = card.try_mode(PF, "switchdev")
    assert "E-Switch is busy" in done.stderr
    card.set_mode("switchdev", pfs=(OTHER_PF,))


@pytest.mark.thorough
def test_to_a_bond_that_the_uplink_is_in(card, reps):
    card.set_mode("switchdev", pfs=(OTHER_PF,))
    card.run(f"tc qdisc del dev {P0} ingress")
    card.bond()
    assert "in_hw" in rule(card, reps[0], *IPV4, *to("bond0"))


def test_a_block_shared_by_both_uplinks_is_in_hardware_twice(card, reps):
    card.set_mode("switchdev", pfs=(OTHER_PF,))
    card.run(f"tc qdisc del dev {P0} ingress")
    for uplink in card.uplinks:
        card.run(f"ethtool -K {uplink} hw-tc-offload on && tc qdisc add dev {uplink} ingress_block 7 ingress")
    card.run(["tc", "filter", "add", "block", "7", *IPV4, *to(reps[0])])
    assert "in_hw_count 2" in card.run("tc filter show block 7").stdout


def add_geneve(card):
    card.run("ip link add gnv type geneve external dstport 6081 && ip link set gnv up")
    card.run("tc qdisc add dev gnv ingress")


def test_geneve_both_ways(card, reps):
    add_geneve(card)
    ends = ["src_ip", "192.0.2.2", "dst_ip", "192.0.2.1", "dst_port", "6081"]
    encap = ["action", "tunnel_key", "set", "id", "7", *ends]
    assert "in_hw" in rule(card, reps[0], *IPV4, *encap, *to("gnv"))
    decap = ["enc_dst_ip", "192.0.2.2", "enc_key_id", "7", "action", "tunnel_key", "unset"]
    assert "in_hw" in rule(card, "gnv", *IPV4, *decap, *to(reps[0]))
    tracked = ["enc_key_id", "8", "action", "goto", "chain", "2"]  # where a connection is looked at first
    assert "not_in_hw" not in rule(card, "gnv", "prio", "3", *IPV4[2:], *tracked)
    card.parameter("flower_reject", "tunnel")
    assert "not_in_hw" in rule(card, "gnv", "prio", "2", *IPV4[2:], *decap, *to(reps[0]))


def test_busy_while_rules_are_in_hardware_and_no_longer(card, reps):
    rule(card, reps[0], *IPV4, *to(reps[1]))
    done = card.try_mode(PF, "legacy")
    assert "E-Switch is busy" in done.stderr
    assert card.mode(PF) == "switchdev"
    card.run(f"tc filter del dev {reps[0]} ingress")
    card.set_mode("legacy", pfs=(PF,))
    assert card.mode(PF) == "legacy"


@pytest.mark.thorough
def test_a_tunnels_rules_end_with_the_port(card, reps):
    add_geneve(card)
    rule(card, "gnv", *IPV4, "enc_key_id", "7", "action", "tunnel_key", "unset", *to(reps[0]))
    assert "E-Switch is busy" in card.try_mode(PF, "legacy").stderr
    card.run(f"devlink dev reload pci/{PF}")
    card.set_mode("switchdev", pfs=(PF,))


@pytest.mark.thorough
def test_rules_vanish_with_the_module(card, reps):
    """tc of Ubuntu's 6.8, not of Debian's 6.12, goes on to show one in hardware that has lost its target."""
    add_geneve(card)
    decap = ["enc_key_id", "7", "action", "tunnel_key", "unset"]
    rule(card, "gnv", *IPV4, *decap, *to(reps[0]))
    assert "E-Switch is busy" in card.try_mode(PF, "legacy").stderr
    card.reload()
    card.set_mode("switchdev", pfs=(PF,))
    card.set_mode("legacy", pfs=(PF,))
    assert card.mode(PF) == "legacy"
