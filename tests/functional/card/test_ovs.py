# SPDX-License-Identifier: Apache-2.0
"""Open vSwitch with hw-offload over a VF-LAG bond: frames pass, and its flows are in the card."""

import re
from dataclasses import dataclass

import pytest

OVERLAY = """set -e
systemctl -q is-active openvswitch-switch || systemctl start openvswitch-switch
ovs-vsctl set Open_vSwitch . other_config:hw-offload=true other_config:max-idle=3000
ip -n tor link add gnv type geneve id 77 remote 192.168.25.51
ip -n tor link set gnv mtu 1400 up
ip -n tor address add 10.0.0.1/24 dev gnv
ip netns add vm
ip link set $VF netns vm
ip -n vm link set $VF mtu 1400 up
ip -n vm address add 10.0.0.2/24 dev $VF
ip link set $REP up
ovs-vsctl add-br br-int -- add-port br-int $REP
ovs-vsctl add-port br-int gnv0 -- set interface gnv0 type=geneve options:remote_ip=192.168.25.1 options:key=77
"""
PING = "ip netns exec vm ping -q -i 0.2 -W 5"


@dataclass(frozen=True)
class Flow:
    """A datapath flow as ``ovs-appctl dpctl/dump-flows -m`` prints it."""

    match: str
    actions: str
    packets: int


def flows(card, kind="offloaded"):
    text = card.run(["ovs-appctl", "dpctl/dump-flows", "-m", f"type={kind}"]).stdout
    found = (re.match(r"(.*), packets:(\d+), .*actions:(.*)", line) for line in text.splitlines())
    return [Flow(each[1], each[3], int(each[2])) for each in found if each and "eth_type(0x0800)" in each[1]]


def await_flow(card, contained, kind="offloaded"):
    """The busiest IPv4 flow of this kind with this text in its match, once it has counted packets."""
    dump = f"ovs-appctl dpctl/dump-flows -m type={kind}"
    card.await_output(f"{dump} | grep -F 'eth_type(0x0800)' | grep -v 'packets:0,'", contained)
    return max((flow for flow in flows(card, kind) if contained in flow.match), key=lambda flow: flow.packets)


def rep(card):
    return card.ports()["pf0vf0"]


def make_overlay(card):
    """A VF in namespace vm, its representor and a Geneve port in br-int, a peer in tor beyond the bond."""
    card.vfs(1)
    card.set_mode("switchdev")
    card.run(" && ".join(f"ethtool -K {uplink} hw-tc-offload on" for uplink in card.uplinks))
    card.bond()
    card.await_lag("active")
    card.bind("0000:3b:00.2")
    card.run(f"VF={card.vf_netdev('0000:3b:00.2')} REP={rep(card)}\n{OVERLAY}")
    card.await_output("ip netns exec tor ping -c 1 -W 1 192.168.25.51", " 0% packet loss", 30)
    card.await_output(f"{PING} -c 1 10.0.0.1", " 0% packet loss", 30)
    card.run(f"setsid {PING} 10.0.0.1 >/dev/null 2>&1 &")


@pytest.fixture
def overlay(prepared):
    """The card with the overlay on it, and the VF's owner that pings the peer all the time."""
    return prepared("overlay", make_overlay)


def by_kernel(card):
    """Packets that the representor handed to the kernel."""
    return int(
        re.search(r"^ *rx_packets: (\d+)", card.run(["ethtool", "-S", rep(card)]).stdout, re.MULTILINE)[1]
    )


def test_ovs_calls_flows_offloaded_whose_packets_take_the_slow_path(overlay):
    """As mlx5 keeps a rule that waits for a tunnel's neighbour: what Open vSwitch says is no evidence."""
    await_flow(overlay, f"in_port({rep(overlay)})")
    overlay.fault("slow_path", 1)
    flow, handed = await_flow(overlay, f"in_port({rep(overlay)})"), by_kernel(overlay)
    overlay.run(f"{PING} -c 10 10.0.0.1")
    later = await_flow(overlay, f"in_port({rep(overlay)})")
    assert later.packets - flow.packets >= 10
    assert by_kernel(overlay) - handed >= 10


def of_uplinks(card, counter):
    """The sum of a counter that `ethtool -S` shows of each uplink."""
    shown = "".join(card.run(["ethtool", "-S", uplink]).stdout for uplink in card.uplinks)
    return sum(map(int, re.findall(rf"^ *{counter}: (\d+)", shown, re.MULTILINE)))


def test_an_uplink_tells_the_kernels_frames_from_those_that_only_cross_the_wire(overlay):
    """mlx5: tx_packets_phy are on the wire, tx_packets went through a queue of the kernel."""
    names = [f"{way}_packets{where}" for way in ("tx", "rx") for where in ("_phy", "")]

    def grown():
        before = [of_uplinks(overlay, name) for name in names]
        overlay.run(f"{PING} -c 20 10.0.0.1")
        return [of_uplinks(overlay, name) - there for name, there in zip(names, before)]

    await_flow(overlay, f"in_port({rep(overlay)})")
    await_flow(overlay, "in_port(genev_sys_6081)")
    sent, sent_by_kernel, received, received_by_kernel = grown()
    assert min(sent, received) >= 20
    assert (sent_by_kernel <= sent / 2, received_by_kernel <= received / 2) == (True, True)
    overlay.fault("slow_path", 1)
    _, sent_by_kernel, _, received_by_kernel = grown()
    assert min(sent_by_kernel, received_by_kernel) >= 20


def test_geneve_over_the_bond_is_offloaded_both_ways(overlay):
    out = await_flow(overlay, f"in_port({rep(overlay)})")
    assert "set(tunnel(tun_id=0x4d,dst=192.168.25.1," in out.actions
    back = await_flow(overlay, "tunnel(tun_id=0x4d,src=192.168.25.1,dst=192.168.25.51,")
    assert "in_port(genev_sys_6081)" in back.match
    assert back.actions == rep(overlay)
    assert " 0% packet loss" in overlay.run(f"{PING} -c 5 10.0.0.1").stdout


@pytest.mark.thorough
def test_counters_rise_and_keep_the_flow_until_traffic_ends(overlay):
    first = await_flow(overlay, f"in_port({rep(overlay)})")
    overlay.run(f"{PING} -c 20 10.0.0.1")
    assert await_flow(overlay, f"in_port({rep(overlay)})").packets >= first.packets + 20
    overlay.run("pkill -x ping")
    gone = "ovs-appctl dpctl/dump-flows type=offloaded | grep -q 'eth_type(0x0800)' || echo gone"
    overlay.await_output(gone, "gone", 40)


def test_a_match_that_the_card_does_not_take_is_forwarded_in_software(overlay):
    overlay.parameter("flower_reject", "tunnel")
    overlay.run("ovs-appctl revalidator/purge")
    await_flow(overlay, f"in_port({rep(overlay)})")
    await_flow(overlay, "in_port(genev_sys_6081)", "non-offloaded")
    assert not any("genev_sys_6081" in flow.match for flow in flows(overlay))
    assert " 0% packet loss" in overlay.run(f"{PING} -c 5 10.0.0.1").stdout


def test_a_bond_as_port_is_offloaded_on_both_uplinks(overlay):
    netdev = overlay.run("ip netns exec vm ls /sys/class/net | grep ^enp").stdout.strip()
    overlay.run(
        "pkill -x ping; ovs-vsctl del-port gnv0 && ip address flush dev bond0 && "
        "ovs-vsctl add-port br-int bond0 && ip -n tor address add 10.0.1.1/24 dev bond1 && "
        f"ip -n vm address add 10.0.1.2/24 dev {netdev} && {PING} -c 1 10.0.1.1"
    )
    overlay.run(f"setsid {PING} 10.0.1.1 >/dev/null 2>&1 &")
    assert await_flow(overlay, f"in_port({rep(overlay)})").actions == "bond0"
    assert await_flow(overlay, "in_port(bond0)").actions == rep(overlay)
    for uplink in overlay.uplinks:
        qdisc = overlay.run(f"tc qdisc show dev {uplink} ingress").stdout
        block = re.search(r"ingress_block (\d+)", qdisc)[1]
        assert "in_hw_count 2" in overlay.run(f"tc filter show block {block}").stdout


@pytest.mark.thorough
def test_one_port_down_and_flows_stay_in_the_card(overlay):
    overlay.fault("link_down", "Y")
    overlay.await_output(f"{PING} -c 3 10.0.0.1", " 0% packet loss", 30)
    await_flow(overlay, f"in_port({rep(overlay)})")
    assert overlay.lag("state") == "active"


@pytest.mark.thorough
def test_the_card_is_busy_while_open_vswitch_has_flows_in_it(overlay):
    await_flow(overlay, f"in_port({rep(overlay)})")
    overlay.parameter("strict_bond", "N")
    overlay.parameter("strict_bound", "N")
    done = overlay.try_mode("0000:3b:00.0", "legacy")
    assert (done.returncode != 0, "E-Switch is busy" in done.stderr) == (True, True)
