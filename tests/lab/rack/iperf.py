# SPDX-License-Identifier: Apache-2.0
"""iperf3 between instances, as the RDG runs it: a server and a client per vCPU, each pinned to its own."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lab.rack import ovn
from lab.rack.build import Rack

FIRST, SINGLE = 5001, 5101
"""The first port of the pairs, and that of a single connection."""

SIZE, SECONDS = "256K", 10
INSIDE = f"ip netns exec {ovn.INSTANCE}"
PAIR = f"taskset -c $I iperf3 -c {{}} -p $(({FIRST}+I*2)) -l {SIZE} -t {SECONDS} -Z"
"""The command of a client of the pairs, but for the form of its answer."""

NO_ANSWER = "no answer"


@dataclass(frozen=True)
class Run:
    """The clients' results: bits per second that they sent in all, and the errors of those that could not."""

    rate: float
    errors: tuple[str, ...]

    @property
    def told(self) -> str:
        """In words."""
        return "; ".join(self.errors) or gbits(self.rate)


def gbits(rate: float) -> str:
    """Bits per second as people compare them."""
    return f"{rate / 1e9:.3g} Gb/s"


def parse(text: str, clients: int) -> Run:
    """The answers of this many clients with ``--json``, one after the other; one that died left nothing."""
    rate, errors, answers, decoder = 0.0, list[str](), 0, json.JSONDecoder()
    while text := text.strip():
        answers += 1
        try:
            said, end = decoder.raw_decode(text)
        except json.JSONDecodeError:
            errors.append(text.splitlines()[-1])
            break
        text = text[end:]
        sent = said.get("end", {}).get("sum_sent", {}).get("bits_per_second", 0.0)
        rate += sent
        errors += [] if sent and "error" not in said else [said.get("error", NO_ANSWER)]
    return Run(rate, (*errors, *[NO_ANSWER] * (clients - answers)))


def vcpus(rack: Rack, *machines: str) -> int:
    """How many pairs both ends have processors for."""
    return min(int(rack.on(machine, "nproc")) for machine in machines)


@contextmanager
def servers(rack: Rack, machine: str, pairs: int) -> Iterator[None]:
    """A server per vCPU, and that of the single connection, on a node's instance."""
    ports = {FIRST + 2 * number: number for number in range(pairs)} | {SINGLE: 0}
    for port, cpu in ports.items():
        server = f"{INSIDE} taskset -c {cpu} iperf3 -s -p {port}"
        listens = f"{INSIDE} ss -Hltn | grep -q ':{port} '"
        up = f"while systemctl -q is-active iperf3-{port} && ! {listens}; do sleep 0.5; done"
        rack.on(machine, f"systemd-run -q --collect --unit=iperf3-{port} {server}; {up}", timeout=120)
    try:
        yield
    finally:
        rack.on(machine, "systemctl stop 'iperf3-*'")


def each_vcpu(rack: Rack, machine: str, address: str, pairs: int) -> Run:
    """A client per vCPU at once."""
    client = f"{INSIDE} {PAIR.format(address)} -J >/run/iperf3-$I.json"
    script = f"for I in $(seq 0 {pairs - 1}); do {client} & done; wait; cat /run/iperf3-*.json"
    return parse(rack.on(machine, f"rm -f /run/iperf3-*.json; {script}", timeout=60 + 20 * SECONDS), pairs)


def single(rack: Rack, machine: str, address: str, options: str = "") -> Run:
    """One client; it gives up after 5 seconds without an answer."""
    client = f"{INSIDE} iperf3 -c {address} -p {SINGLE} --connect-timeout 5000 {options} -J"
    return parse(rack.on(machine, client, timeout=180), 1)
