# SPDX-License-Identifier: Apache-2.0
"""The rack's checks and its traffic, as they read the output of tools."""

import subprocess
from types import SimpleNamespace
from typing import Any

import pytest
from lab.rack import checks
from lab.rack.traffic import traffic

OUT = (
    "in_port(enp59s0f0npf0vf0),eth(src=fa:16:3e:00:00:00),eth_type(0x0800),ipv4(src=0.0.0.0/0), packets:24, "
    "bytes:2352, used:0.3s, offloaded:yes, dp:tc, actions:set(tunnel(tun_id=0x1,dst=172.16.0.52,ttl=64,"
    "tp_dst=6081,geneve({class=0x102,type=0x80,len=4,0x10002}),flags(csum|key))),genev_sys_6081"
)
IN = (
    "tunnel(tun_id=0x1,src=172.16.0.52,dst=172.16.0.51,tp_dst=6081),in_port(genev_sys_6081),eth_type(0x0800),"
    "ipv4(src=0.0.0.0/0), packets:24, bytes:2352, used:0.3s, offloaded:yes, dp:tc, actions:enp59s0f0npf0vf0"
)
ARP = "in_port(enp59s0f0npf0vf0),eth_type(0x0806), packets:1, dp:tc, actions:set(tunnel(tun_id=0x1)),2"
TALK = """\
PING 10.0.101.12 (10.0.101.12) 56(84) bytes of data.
[100.000] 64 bytes from 10.0.101.12: icmp_seq=1 ttl=64 time=1.1 ms
[100.200] 64 bytes from 10.0.101.12: icmp_seq=2 ttl=64 time=1.1 ms
"""
PAUSE = """\
[102.600] 64 bytes from 10.0.101.12: icmp_seq=14 ttl=64 time=1.1 ms
[102.700] 64 bytes from 10.0.101.12: icmp_seq=13 ttl=64 time=99.0 ms
"""
INFINITE = float("inf")
LATE = TALK.replace("icmp_seq=1 ", "icmp_seq=4 ").replace("icmp_seq=2 ", "icmp_seq=5 ")


def ended(sent: int, answered: int, at: float) -> str:
    """Return ping's last words when it is stopped, and the note of that time."""
    summary = f"{sent} packets transmitted, {answered} received, 0% packet loss, time 2600ms"
    return f"\n--- 10.0.101.12 ping statistics ---\n{summary}\nended at {at:.9f}\n"


def test_only_tunnelled_ipv4_flows_count_each_way() -> None:
    assert checks.geneve("\n".join([OUT, IN, ARP])) == (1, 1)
    assert checks.geneve("") == (0, 0)


def test_a_ping_that_says_nothing_is_shown_as_it_is() -> None:
    assert checks.received("10 packets transmitted, 10 received, 0% packet loss") == "10 received"
    assert checks.received("connect: Network is unreachable") == "connect: Network is unreachable"


@pytest.mark.parametrize(
    ("log", "told"),
    [
        pytest.param(TALK + ended(2, 2, 100.3), (2, 0, 0.2), id="healthy"),
        pytest.param(TALK + ended(3, 2, 100.41), (2, 0, 0.21), id="stopped with a packet under way"),
        pytest.param(LATE + ended(5, 2, 100.3), (2, 0, 0.2), id="before the first answer nothing counts"),
        pytest.param(TALK + PAUSE + ended(14, 4, 102.8), (14, 10, 2.4), id="an outage that ended"),
        pytest.param(TALK + ended(40, 2, 107.9), (39, 37, 7.7), id="an outage until the end"),
        pytest.param(TALK + "ended at 100.300000000\n", (1, 1, INFINITE), id="ping has died"),
        pytest.param("", (1, 1, INFINITE), id="nothing at all"),
    ],
)
def test_traffic_tells_what_was_lost_and_for_how_long(log: str, told: tuple[int, int, float]) -> None:
    asked: list[str] = []

    def on(name: str, command: str, **_: Any) -> str:
        subprocess.run(["sh", "-n"], input=command, text=True, check=True)
        asked.append(command)
        return log

    rack: Any = SimpleNamespace(on=on, nodes={"node-0": 0, "node-1": 1})
    with traffic(rack, "node-0", "node-1") as seen:
        assert "10.0.101.12" in asked[0]
    assert (seen.sent, seen.lost, round(seen.gap, 3)) == told
