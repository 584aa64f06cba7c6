# SPDX-License-Identifier: Apache-2.0
"""What ethtool -S counts, what the lab adds to it, and a firmware that is silent while the link is up."""

import pytest
from functional.card.test_netdev import TOR

P0, PF = "enp59s0f0np0", "0000:3b:00.0"
COUNTERS = f"/sys/kernel/debug/vcx/{PF}/counters"


def counters(card, netdev=P0):
    """What ethtool -S shows."""
    rows = card.run(["ethtool", "-S", netdev]).stdout.splitlines()[1:]
    return {name.strip(): int(value) for name, _, value in (row.partition(":") for row in rows)}


def up(card):
    card.run(f"ip link set {P0} up")
    card.await_output(f"cat /sys/class/net/{P0}/carrier", "1")


def test_frames_are_counted_in_the_priority_of_their_dscp(card):
    card.bond(members=(P0,))
    card.await_output(f"ping -c 1 -W 1 {TOR}", "1 received")
    card.run(f"dcb app add dev {P0} dscp-prio 26:3 2>/dev/null || dcb app add dev {P0} dscp-prio AF31:3")
    before = counters(card)
    card.run(["ping", "-c", "5", "-i", "0.2", "-Q", str(26 << 2), TOR])
    after = counters(card)
    assert after["tx_prio3_packets"] - before["tx_prio3_packets"] == 5
    assert after["tx_prio3_bytes"] - before["tx_prio3_bytes"] == 5 * 98
    assert after["tx_packets_phy"] - before["tx_packets_phy"] >= 5
    assert after["rx_packets_phy"] - before["rx_packets_phy"] >= 5


def test_pauses_are_counted_only_where_they_are_on(card):
    """mlx5e_query_pfc_combined() of en_stats.c, 6.1 to 6.12"""
    card.run(f"dcb pfc set dev {P0} prio-pfc 0:off 3:on; ethtool -A {P0} rx off tx off")
    paused = {name for name in counters(card) if "pause" in name}
    assert paused == {
        "rx_prio3_pause", "rx_prio3_pause_duration", "rx_prio3_pause_transition",
        "tx_prio3_pause", "tx_prio3_pause_duration",
    }  # fmt: skip
    card.run(f"ethtool -A {P0} rx on tx on")
    assert "rx_global_pause_duration" in counters(card)


def test_a_link_that_fails_is_counted(card):
    up(card)
    before = counters(card)["link_down_events_phy"]
    for value in (1, 0):
        card.fault("link_down", value)
        card.await_output(f"cat /sys/class/net/{P0}/carrier", str(1 - value))
    assert counters(card)["link_down_events_phy"] == before + 1


def test_the_lab_adds_to_a_counter_by_its_name(card):
    card.run(f"dcb pfc set dev {P0} prio-pfc 3:on")
    before = counters(card)
    for name, more in [("rx_prio3_pause", 40), ("rx_discards_phy", 7), ("module_high_temp", 1)]:
        card.write(COUNTERS, f"{name} {more}")
        assert counters(card)[name] == before[name] + more
    refused = card.write(COUNTERS, "rx_prio8_pause 1", check=False)
    assert "No such file or directory" in refused.stderr
    assert "Invalid argument" in card.write(COUNTERS, "rx_discards_phy many", check=False).stderr


@pytest.mark.thorough
def test_a_representor_counts_what_its_vf_sends(card):
    card.vfs(1, pfs=card.pfs[:1])
    card.set_mode("switchdev", pfs=card.pfs[:1])
    card.bind("0000:3b:00.2")
    representor, vf = card.ports()["pf0vf0"], card.vf_netdev("0000:3b:00.2")
    card.run(f"ip link set {representor} up && ip link set {vf} up")
    card.run(f"ip address add 192.0.2.1/24 dev {vf} && ping -c 2 -W 1 -I {vf} 192.0.2.9", check=False)
    found = counters(card, representor)
    assert found["vport_rx_packets"] == found["rx_packets"] > 0
    assert set(found) == {
        *("rx_packets", "rx_bytes", "tx_packets", "tx_bytes"),
        *("vport_rx_packets", "vport_rx_bytes", "vport_tx_packets", "vport_tx_bytes"),
    }


def test_a_silent_firmware_fails_commands_while_the_link_is_up(card):
    up(card)
    seen = counters(card)["tx_packets_phy"]
    card.fault("cmd_timeout_ms", 300)
    done = card.run(["devlink", "dev", "info", f"pci/{PF}"], check=False)
    assert "Connection timed out" in done.stderr
    assert "ACCESS_REG(0x805) timeout. Will cause a leak of a command resource" in card.log()
    assert card.try_mode(PF, "switchdev").returncode != 0
    assert card.run(["cat", f"/sys/class/net/{P0}/carrier"]).stdout == "1\n"
    assert counters(card)["tx_packets_phy"] >= seen
    card.fault("cmd_timeout_ms", 0)
    card.run(["devlink", "dev", "info", f"pci/{PF}"])
