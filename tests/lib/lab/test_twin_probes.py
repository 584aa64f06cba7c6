# SPDX-License-Identifier: Apache-2.0
"""The probes of the twin's tests, as they read ping's output."""

from functional.twin import probes


def said(numbers: list[int], sent: int) -> str:
    """As iputils' ``ping -n -D`` prints it, ten probes a second."""
    lines = ["PING 192.168.25.12 (192.168.25.12) 56(84) bytes of data."]
    seen: set[int] = set()
    for number in numbers:
        again = " (DUP!)" if number in seen else ""
        at = f"[{1700000000 + number / 10:.6f}]"
        lines.append(f"{at} 64 bytes from 192.168.25.12: icmp_seq={number} ttl=64 time=4.75 ms{again}")
        seen.add(number)
    lines += ["", "--- 192.168.25.12 ping statistics ---"]
    lines.append(f"{sent} packets transmitted, {len(seen)} received, 1% packet loss, time 60755ms")
    return "\n".join([*lines, "rtt min/avg/max/mdev = 0.755/8.214/55.101/7.755 ms", ""])


def without(*lost: int) -> list[int]:
    return [number for number in range(1, 606) if number not in lost]


def test_probes_are_counted_by_their_numbers() -> None:
    flow = probes.read("a to b", said(without(17), 605))
    assert (flow.sent, flow.lost, flow.duplicates, round(flow.spacing, 3)) == (600, (17,), 0, 0.1)
    assert not flow.noticed
    assert probes.read("a to b", said(without(17, 400), 605)).noticed


def test_the_longest_silence_is_between_two_answers() -> None:
    assert probes.read("a to b", said(without(), 605)).silent_ms == 0.0
    assert round(probes.read("a to b", said(without(1), 605)).silent_ms) == 200
    assert round(probes.read("a to b", said(without(17, 100, 101, 102, 300, 301), 605)).silent_ms) == 400


def test_probes_whose_answers_are_on_the_way_are_not_counted() -> None:
    assert probes.read("a to b", said(without(604, 605), 605)).lost == ()
    assert probes.read("a to b", said(without(600), 605)).lost == (600,)


def test_a_probe_that_is_answered_twice_is_answered_once() -> None:
    flow = probes.read("a to b", said([*without(30), 31], 605))
    assert (flow.lost, flow.duplicates) == ((30,), 1)


def test_silence_is_not_a_flow_without_loss() -> None:
    flow = probes.read("a to b", said([], 605))
    assert (len(flow.lost), flow.spacing) == (600, 0.0)
    assert probes.read("a to b", "ping: connect: Network is unreachable\n").sent == 0
