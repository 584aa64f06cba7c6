# SPDX-License-Identifier: Apache-2.0
"""Packets between the simulated servers: who forwards each of them, and so what every counter shows.

A fault is about packets. Counters of VF, representor, uplink and wire follow from it, and so do the CPUs that
the hosts spend. Only Open vSwitch's own counters are words: it tells of a fault, or keeps a rule "offloaded"
whose packets take the slow path, as the real one does.
"""

from dataclasses import dataclass, field

DATA, BACK = 10_000_000, {"tcp": 4_000_000, "rdma": 2_500_000}
"""Packets of each measurement from client to server, and what comes back; 200 otherwise."""
FIRST = 40
"""Packets of new flows, which no rule is in the NIC for."""
STEPS, STEP = 3, 10.0
"""Readings while a measurement runs, and the seconds between them; one second before and after."""
WAYS = {"sent": "tx", "received": "rx"}
OVERHEAD = 66
BITS32 = 2**32


@dataclass(frozen=True)
class Fault:
    """Packets that the host's kernel forwards; what is empty fits any.

    Attributes:
        share: of the packets that fit.
        told: whether Open vSwitch says so.

    """

    host: str = ""
    path: str = ""
    kind: str = ""
    family: str = ""
    way: str = ""
    port: str = ""
    share: float = 1.0
    told: bool = False

    def fits(self, **facts):
        return all(getattr(self, name) in ("", value) for name, value in facts.items())


@dataclass(frozen=True)
class Neighbour:
    """Others' traffic on a host, in Gb/s: before a measurement and beside it.

    With `virtio` it goes through the kernel.
    """

    before: float = 0.0
    beside: float = 0.0
    virtio: bool = True
    port: int | None = None


@dataclass
class Host:
    """A compute node's packets since its sampler began: by uplink and way, and at the servers' VFs."""

    wire: dict = field(default_factory=dict)
    kernel: dict = field(default_factory=dict)
    vf: dict = field(default_factory=dict)
    slow: dict = field(default_factory=dict)
    size: int = 0
    own: tuple = ()


class Traffic:
    """All hosts' packets.

    Attributes:
        faults: what the NICs do not forward.
        neighbours: others on a host.
        down: uplinks without a link, as (host, port).
        unused: uplinks that their bond sends nothing through, although they have a link.
        active: the uplink that an active-backup bond uses; "" for a bond that uses both.
        back: counters of which netdev go back to 0 in the middle of a measurement.
        wraps: counters have 32 bits, and are about to begin again.
        hidden: hosts on which Open vSwitch does not know the servers' ports.
        silent: hosts on which Open vSwitch prints no flow.
        lanes: PCIe lanes that each uplink uses, and has.
        governor: of the hosts' CPUs.
        tcpdump: whether the hosts have it.

    """

    def __init__(self, uplinks):
        self.uplinks, self.faults, self.neighbours = uplinks, [], {}
        self.down, self.unused = set(), set()
        self.active, self.back, self.wraps, self.hidden, self.tcpdump = "", "", False, set(), True
        self.silent = set()
        self.lanes, self.governor = (16, 16), "performance"
        self.hosts, self.total, self.kept = {}, {}, {}

    def begin(self, host, own):
        """A sampler starts."""
        self.hosts[host] = Host(own=() if host in self.hidden else tuple(own))

    def carry(self, path, kind, family, ends, shares, in_nic, size):
        """One measurement's packets, from the first host to the second; the greatest share in software.

        `family` is "ipv4" or "ipv6".
        `shares` are those of the first uplink: of what is sent, and received.
        """
        worst = 0.0
        back = BACK.get(kind, 200)
        for host, counts in zip(ends, ({"sent": DATA, "received": back}, {"sent": back, "received": DATA})):
            for way, packets in counts.items():
                for port, part in self._parts(host, shares[way == "received"]).items():
                    facts = {"host": host, "path": path, "kind": kind, "family": family}
                    slow = self._forward({**facts, "way": way, "port": port}, packets * part, in_nic, size)
                    worst = max(worst, slow)
        return worst

    def _parts(self, host, share):
        if len(self.uplinks) == 1:
            return {self.uplinks[0]: 1.0}
        parts = dict(zip(self.uplinks, (share, 1 - share)))
        if self.active:
            parts = {port: float(port == self.active) for port in parts}
        idle = self.down | self.unused
        if any((host, port) in idle for port in parts):
            up = [port for port in parts if (host, port) not in idle]
            parts = {port: (1 / len(up) if port in up else 0.0) for port in parts}
        return parts

    def _forward(self, facts, packets, in_nic, size):
        host, path, way, port = (facts[key] for key in ("host", "path", "way", "port"))
        slow = max([each.share for each in self.faults if each.fits(**facts)], default=0.0)
        slow = max(slow, 1 - in_nic) if path.startswith("direct") else 1.0
        packets, there = int(packets), self.hosts.setdefault(host, Host())
        handled = min(int(packets * slow) + (FIRST if packets else 0), packets)
        for name, count in (("wire", packets), ("kernel", handled)):
            at = getattr(there, name)
            at[port, way] = at.get((port, way), 0) + count
            whole = self.total.setdefault(host, {})
            whole[name, port, way] = whole.get((name, port, way), 0) + count
        if path.startswith("direct"):
            there.vf[way] = there.vf.get(way, 0) + packets
            there.slow[way] = there.slow.get(way, 0) + handled
        there.size = size
        return slow if path.startswith("direct") else 0.0

    def told(self, path, kind, family, host, in_nic):
        """The share of a VF's packets that Open vSwitch says it has in the NIC."""
        facts = {"host": host, "path": path, "kind": kind, "family": family}
        known = [
            each.share
            for each in self.faults
            if each.told and each.fits(**facts, way=each.way, port=each.port)
        ]
        return min(in_nic, 1 - max(known, default=0.0))

    def series(self, host, busy, words, start=1000.0):
        """Return the lines that the sampler of a host has written."""
        there = self.hosts.get(host, Host())
        others = self.neighbours.get(host, Neighbour())
        lines = [f"own {each}" for each in there.own]
        at, spent, guests, done = start + 0.05, 0.0, 0.0, 0.0
        grown = {}
        plan = [(0, 0, 0.0), (1, others.before, 0.0)]
        plan += [(STEP, others.beside, 1 / STEPS)] * STEPS + [(1, others.beside, 0.0)]
        for number, (seconds, gbits, part) in enumerate(plan):
            at, done = at + seconds, done + part
            cores = busy if part else 0.05
            spent += seconds * 100 * (cores + (0.4 * gbits if others.virtio else 0.0))
            guests += seconds * 17
            lines.append(f"{at:.2f} cpu  {int(spent + guests)} 0 0 900000 10 0 0 0 {int(guests)} 0")
            for port in self.uplinks:
                share = (
                    1 / len(self.uplinks) if others.port is None else float(self.uplinks[others.port] == port)
                )
                grown[port] = grown.get(port, 0) + int(gbits * seconds * share * 1e9 / 8 / 1000)
                values = self._uplink(there, port, done, grown[port], others.virtio)
                lines += self._shown(port, values, number)
            for each in there.own[:1]:
                lines += self._shown(each, self._representor(there, done), number)
            lines += [line for each in there.own[1:] for line in self._shown(each, {"rx_packets": 0}, number)]
            if number == 2:
                lines += words
                lines += self._captured(there) if self.tcpdump else []
        return "\n".join(lines) + "\n"

    def _uplink(self, there, port, done, others, virtio):
        values = {}
        for way, word in WAYS.items():
            own = int(there.wire.get((port, way), 0) * done)
            handled = int(there.kernel.get((port, way), 0) * done)
            values |= {
                f"{word}_packets": handled + (others if virtio else 0),
                f"{word}_packets_phy": own + others,
                f"{word}_bytes_phy": own * (there.size + OVERHEAD) + others * 1000,
                f"{word}_prio0_packets": own + others,
            }
        return values

    def _representor(self, there, done):
        values = {}
        for way, word in (("sent", "rx"), ("received", "tx")):
            packets = int(there.vf.get(way, 0) * done)
            values |= {
                f"{word}_packets": int(there.slow.get(way, 0) * done),
                f"vport_{word}_packets": packets,
                f"vport_{word}_bytes": packets * there.size,
            }
        return values

    def _shown(self, device, values, number):
        """As `ethtool -S` prints them after grep; with a driver that was loaded anew, or has 32 bits."""
        if device == self.back and number > STEPS:  # late, so that they are below what was read before
            values = {name: value - self.kept[name] for name, value in values.items()}
        elif device == self.back:
            self.kept = values
        if self.wraps:
            values = {name: (value + BITS32 - 1_000_000) % BITS32 for name, value in values.items()}
        return [f"at {device}", *(f"     {name}: {value}" for name, value in values.items())]

    def _captured(self, there):
        """Packets of the measurement that tcpdump sees in a second on each uplink: the kernel's."""
        handled = {port: sum(n for (at, _), n in there.kernel.items() if at == port) for port in self.uplinks}
        return [f"seen {port} {min(max(n - 4 * FIRST, 0) // 30, 20_000)}" for port, n in handled.items()]
