# SPDX-License-Identifier: Apache-2.0
"""The part of a leaf's ASIC in EVPN multihoming that the Linux kernel does not have (FRR issue 9574).

A frame that came through VXLAN and is broadcast or multicast must not go out on a segment when

- the leaf that sent it has that segment, too: the host has it already, or sent it (split horizon, RFC 8365);
- this leaf is not the segment's designated forwarder: the other one sends it.

So the uplinks' ingress marks what arrives by VXLAN with the leaf that sent it, and the segments' egress looks
at the mark.

A host behind two leaves has a nexthop group. FRR writes the groups into the kernel, which no longer sends to
a leaf as soon as that one withdraws its Ethernet A-D routes (mass withdrawal, RFC 7432, 8.2). But Linux
6.12.117 refuses FRR 10.3's entries for the host's MAC addresses ("A nexthop fdb cannot be dynamic"), and
floods what is sent to it: the host receives each frame from both leaves. So these entries are made here.

An ASIC also sends what arrives for a segment whose port is down to the segment's other leaves, by a backup
nexthop group ("fast failover" in FRR, commit 15400f95b77f; ``evpn mh redirect-off`` is for dataplanes that
cannot). That is left out here: Linux sends nothing back through the VXLAN device that it came from. What is
lost here while routes are withdrawn is therefore more than with an ASIC.

And a leaf that has lost all its uplinks takes its segments' ports down, so that the hosts use
the other leaf (uplink tracking): FRR asks the kernel for protodown, which veth does not have.
"""

import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from lab.twin.commands import CommandError, batch, listed
from lab.twin.events import Events
from lab.twin.frr import Frr
from lab.twin.links import VXLAN
from lab.twin.model import Switch

SOON, PAUSE = 0.1, 1.0
"""Seconds until the next look: SOON after an announcement, then twice as many each time, up to PAUSE.

An announcement is followed by a look at once. But the kernel announces neither who is elected as a forwarder
nor which entries it refused.
"""

FROM_VXLAN = 0x100
"""The mark's bit for all VXLAN; the low byte is the sending leaf's number."""

VXLAN_PORT = 4789


@dataclass(frozen=True)
class Rules:
    """The filters that one leaf needs.

    Attributes:
        uplinks: where VXLAN arrives.
        peers: leaves that share a segment with this one, in order: the first has number 1.
        segments: per bond up in FRR, the peers on it and whether this leaf is its designated forwarder.

    """

    uplinks: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    segments: tuple[tuple[str, tuple[str, ...], bool], ...] = ()


def rules(uplinks: Iterable[str], segments: list[dict[str, Any]]) -> Rules:
    """From what FRR says of its Ethernet segments (``show evpn es detail json``)."""
    local = [
        (s["accessPort"], tuple(sorted(v["vtep"] for v in s.get("vteps", []))), "df" in s["flags"])
        for s in segments
        if "local" in s.get("flags", [])
    ]
    peers = tuple(sorted({peer for _, on_it, _ in local for peer in on_it}))
    return Rules(tuple(uplinks), peers, tuple(sorted(local)))


Filters = dict[str, list[str]]
"""tc's lines for the filters of each device."""


def filters(wanted: Rules) -> Filters:
    """Return the filters of each of the leaf's devices."""
    found: Filters = {}
    vxlan = f"protocol ip flower ip_proto udp dst_port {VXLAN_PORT}"
    for uplink in wanted.uplinks:
        add = f"filter add dev {uplink} ingress pref"
        marks = [
            f"{add} {number} {vxlan} src_ip {peer} action skbedit mark {FROM_VXLAN + number}"
            for number, peer in enumerate(wanted.peers, start=1)
        ]
        found[uplink] = [*marks, f"{add} {len(marks) + 1} {vxlan} action skbedit mark {FROM_VXLAN}"]
    group = "match u8 0x01 0x01 at -14"  # the group bit of the destination address
    for bond, on_it, forwards in wanted.segments:
        dropped = [(FROM_VXLAN + wanted.peers.index(peer) + 1, 0xFFFF) for peer in on_it]
        if not forwards:
            dropped = [(FROM_VXLAN, FROM_VXLAN)]
        add = f"filter add dev {bond} egress pref"
        found[bond] = [
            f"{add} {number} protocol all u32 match mark {mark} {mask} {group} action drop"
            for number, (mark, mask) in enumerate(dropped, start=1)
        ]
    return found


def rewrites(before: Mapping[str, list[str] | None], wanted: Filters) -> list[str]:
    """tc's lines from one state to the other; None stands for filters that are not known.

    A clsact qdisc stays where it is: while one comes or goes, Linux stops the device's queues and drops what
    it would send (dev_deactivate in qdisc_graft, net/sched/sch_api.c of 6.12).
    """
    lines: list[str] = []
    for device in sorted({*before, *wanted}):
        told = wanted.get(device, [])
        if device not in before:
            lines.append(f"qdisc add dev {device} clsact")
        elif before[device] == told:
            continue
        else:
            lines += [f"filter del dev {device} {way}" for way in ("ingress", "egress")]
        lines += told
    return lines


Entry = tuple[str, str, int]
"""VNI, MAC address of a host, and the nexthop group of its segment's leaves."""


def entries(segments: list[dict[str, Any]], macs: dict[str, Any]) -> set[Entry]:
    """From what FRR says of its segments, and of all VNIs' addresses (``show evpn mac vni all json``)."""
    groups = {s["esi"]: s["nexthopGroup"] for s in segments if "nexthopGroupActive" in s.get("flags", [])}
    return {
        (vni, mac, groups[said["remoteEs"]])
        for vni, table in macs.items()
        for mac, said in table.get("macs", {}).items()
        if said["type"] == "remote" and said.get("remoteEs") in groups
    }


def writes(before: set[Entry], wanted: set[Entry]) -> list[str]:
    """bridge's lines from one state to the other; FRR takes away the entries of addresses that are gone."""
    return [
        f"fdb replace {mac} dev {VXLAN} nhid {group} src_vni {vni} self extern_learn"
        for vni, mac, group in sorted(wanted - before)
    ]


class Asic:
    """Keeps a leaf's filters, addresses and ports in step with FRR and its uplinks, in its own thread."""

    def __init__(self, namespace: str, frr: Frr) -> None:
        self.namespace = namespace
        self._frr = frr
        self._switch = Switch()
        self._filters: Filters | None = None  # None: not known
        self._entries: set[Entry] = set()
        self._isolated = False
        self._lock = threading.Lock()
        self._events = Events(namespace)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"asic-{namespace}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._events.stop()
        if self._thread.is_alive():
            self._thread.join()

    def follow(self, switch: Switch) -> None:
        """The switch has a new configuration: its links are as configured, new bonds have no filters."""
        with self._lock:
            self._switch, self._filters, self._isolated = switch, None, False
            self._entries = set()

    def _run(self) -> None:
        pause = PAUSE
        while not self._stopped.is_set():
            pause = SOON if self._events.wait(pause) else min(PAUSE, 2 * pause)
            began = time.monotonic()
            # Such as a bond that has just gone: the next look sees it.
            with self._lock, suppress(CommandError):
                if self._switch.uplinks:
                    self._look()
            # While much is announced, the look after the next would come at once: FRR gets half of the time.
            self._stopped.wait(time.monotonic() - began)

    def _look(self) -> None:
        """Compare once with what FRR says, and change what differs."""
        uplinks = self._frr.show("zebra", "evpn")
        self._track(bool(uplinks.get("uplinkConfigCount")) and not uplinks.get("uplinkActiveCount"))
        segments = self._frr.show("zebra", "evpn es detail")
        wanted = filters(rules(self._switch.uplinks, segments))
        before = self._listed() if self._filters is None else self._filters
        self._filters = None  # after a failure: not known
        # In one process: a leaf without its filters sends broadcasts twice.
        batch(self.namespace, "tc", rewrites(before, wanted))
        self._filters = {**{device: [] for device in before}, **wanted}
        addresses = entries(segments, self._frr.show("zebra", "evpn mac vni all"))
        before, self._entries = self._entries, set()  # after a failure: all of them again
        batch(self.namespace, "bridge", writes(before, addresses))
        self._entries = addresses

    def _listed(self) -> dict[str, None]:
        """The devices that have had filters."""
        qdiscs = listed(self.namespace, "tc", "qdisc", "show")
        return {each["dev"]: None for each in qdiscs if each["kind"] == "clsact"}

    def _track(self, isolated: bool) -> None:
        if isolated != self._isolated:
            bonds = [self._switch.interfaces[name] for name in self._switch.segments]
            members = {port for bond in bonds for port in bond.members}
            ports = sorted(port for port in members if self._switch.has_up(port))
            batch(self.namespace, "ip", [f"link set {p} {'down' if isolated else 'up'}" for p in ports])
            self._isolated = isolated
