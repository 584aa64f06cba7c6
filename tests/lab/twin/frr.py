# SPDX-License-Identifier: Apache-2.0
"""FRR of one switch: its daemons in the switch's namespace, its configuration, what it says."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from lab.twin.commands import CommandError, daemon, run
from lab.twin.model import Switch
from lab.twin.routing import DEFAULT, FAMILIES, Bgp, RouteMap, Vrf

DAEMONS = ("mgmtd", "zebra", "bgpd")
PROGRAMS = Path("/usr/lib/frr")
CONFIG, STATE = Path("/etc/frr"), Path("/run/frr")

Section = tuple[str, ...]
"""Headers from the outermost in, such as ``("router bgp 65101", "address-family l2vpn evpn")``."""


class Frr:
    """FRR of one switch; its daemons know the switch's namespace by its name (``-N``)."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self._log = Path(f"/var/log/frr/{namespace}.log")
        self._daemons: list[subprocess.Popen[bytes]] = []
        self._runs: list[tuple[Section, str]] = []

    def start(self) -> None:
        """Start the daemons, and return when they listen."""
        for directory in (CONFIG / self.namespace, STATE / self.namespace):
            directory.mkdir(parents=True, exist_ok=True)
            shutil.chown(directory, "frr", "frr")
        shutil.chown(STATE, "frr", "frr")
        (CONFIG / self.namespace / "vtysh.conf").write_text("service integrated-vtysh-config\n")
        options = ["-N", self.namespace, "-F", "datacenter", "-A", "127.0.0.1", "--log", f"file:{self._log}"]
        self._daemons = [daemon(self.namespace, [str(PROGRAMS / name), *options]) for name in DAEMONS]
        while not all((STATE / self.namespace / f"{name}.vty").exists() for name in DAEMONS):
            if any(process.poll() is not None for process in self._daemons):
                raise CommandError(f"{self.namespace}: one of FRR's daemons has ended; see {self._log}")
            time.sleep(0.1)

    def stop(self) -> None:
        """End the daemons."""
        for process in self._daemons:
            process.terminate()
        for process in self._daemons:
            process.wait()

    def apply(self, switch: Switch) -> None:
        """Change the running configuration by what differs; the same configuration again costs nothing."""
        wanted = configuration(switch)
        changes = delta(self._runs, wanted)
        if changes:
            path = STATE / self.namespace / "delta.conf"
            path.write_text("\n".join(changes) + "\n")
            run(["vtysh", "-N", self.namespace, "-f", str(path)])
            self._runs = wanted

    def show(self, daemon: str, command: str) -> Any:
        """Return a daemon's answer to ``show … json``, asked on its socket as vtysh does, without a process.

        The command goes in with a NUL behind it; the text comes back with three NULs and a status behind.
        """
        with socket.socket(socket.AF_UNIX) as vty:
            said = b""
            try:
                vty.connect(str(STATE / self.namespace / f"{daemon}.vty"))
                vty.sendall(f"show {command} json".encode() + b"\0")
                while said[-4:-1] != b"\0\0\0":
                    if not (part := vty.recv(1 << 16)):
                        raise CommandError(f"{self.namespace}: {daemon} closed its socket")
                    said += part
            except OSError as error:
                raise CommandError(f"{self.namespace}: {daemon}: {error}") from error
        text = said[:-4].decode()
        try:
            return json.loads(text or "{}")
        except ValueError:
            raise CommandError(f"{self.namespace}: {daemon}: show {command}: {text.strip()}") from None


def configuration(switch: Switch) -> list[tuple[Section, str]]:
    """FRR's lines, each with the section that it stands in."""
    lines: list[tuple[Section, str]] = [((), each) for each in sorted(switch.prefix_lists)]
    for rule in sorted(switch.route_maps, key=lambda each: (each.name, each.number)):
        lines += _rule(rule)
    if switch.segments or switch.uplinks:
        lines.append(((), "evpn mh startup-delay 1"))
    for uplink in switch.uplinks:
        lines.append(((f"interface {uplink}",), "evpn mh uplink"))
    for bond, segment in sorted(switch.segments.items()):
        lines += [
            ((f"interface {bond}",), f"evpn mh es-df-pref {segment.df_preference}"),
            ((f"interface {bond}",), f"evpn mh es-id {segment.local_id}"),
            ((f"interface {bond}",), f"evpn mh es-sys-mac {segment.mac}"),
        ]
    for name in sorted(each.name for each in switch.interfaces.values() if each.advertised):
        lines.append(((f"interface {name}",), "no ipv6 nd suppress-ra"))
    if switch.bgp:
        lines += _bgp(switch.bgp, advertise=bool(switch.vnis) and switch.evpn)
    for vrf in switch.vrfs:
        lines += _vrf(vrf)
    return lines


def _rule(rule: RouteMap) -> list[tuple[Section, str]]:
    header = f"route-map {rule.name} {rule.action} {rule.number}"
    return [((), header), *(((header,), line) for line in rule.lines)]


def _vrf(vrf: Vrf) -> list[tuple[Section, str]]:
    routes = _bgp(vrf.bgp, advertise=False) if vrf.bgp else []
    # Last, so that it goes first: FRR keeps a VRF's router as long as the VRF has a VNI.
    return [*routes, ((f"vrf {vrf.name}",), f"vni {vrf.vni}")]


def _bgp(bgp: Bgp, *, advertise: bool) -> list[tuple[Section, str]]:
    router = (f"router bgp {bgp.asn}" + ("" if bgp.vrf == DEFAULT else f" vrf {bgp.vrf}"),)
    evpn = (*router, "address-family l2vpn evpn")
    lines: list[tuple[Section, str]] = [(router, "bgp bestpath as-path multipath-relax")]
    if bgp.router_id:
        lines.append((router, f"bgp router-id {bgp.router_id}"))
    if bgp.graceful_shutdown:
        lines.append((router, "bgp graceful-shutdown"))
    for group, remote_as in sorted(bgp.remote_as.items()):
        lines.append((router, f"neighbor {group} peer-group"))
        lines.append((router, f"neighbor {group} remote-as {remote_as}"))
    for port, group in sorted(bgp.neighbours.items()):
        lines.append((router, f"neighbor {port} interface" + (f" peer-group {group}" if group else "")))
    for address, peer in sorted(bgp.peers.items()):
        lines.append((router, f"neighbor {address} remote-as {peer.remote_as}"))
        if peer.description:
            lines.append((router, f"neighbor {address} description {peer.description}"))
    for name in FAMILIES:
        lines += [((*router, _section(name)), line) for line in _family(bgp, name)]
    if bgp.evpn:
        lines += [(evpn, f"neighbor {group} activate") for group in sorted(bgp.evpn_groups)]
        lines += [
            (evpn, f"neighbor {group} route-map {name} out") for group, name in sorted(bgp.outbound.items())
        ]
        if advertise:
            lines.append((evpn, "advertise-all-vni"))
    exported = [name for name, family in bgp.families.items() if family.exports]
    return lines + [(evpn, f"advertise {name.replace('-', ' ')}") for name in sorted(exported)]


def _section(family: str) -> str:
    return f"address-family {family.replace('-', ' ')}"


def _family(bgp: Bgp, name: str) -> Iterator[str]:
    """The lines for the routes of one family."""
    for address, peer in sorted(bgp.peers.items()):
        # To FRR a session has the routes of IPv4, and of nothing else, unless it is told so.
        if (name in peer.families) != (name == FAMILIES[0]):
            yield f"{'' if name in peer.families else 'no '}neighbor {address} activate"
        for way, policy in zip(("in", "out"), peer.families.get(name, ())):
            if policy:
                yield f"neighbor {address} route-map {policy} {way}"
    if name in bgp.families and bgp.families[name].redistribute_connected:
        yield "redistribute connected"


def delta(runs: list[tuple[Section, str]], wanted: list[tuple[Section, str]]) -> list[str]:
    """Lines that turn one configuration into the other: first what goes, the last first, then what comes."""
    routers = {section[0] for section, _ in wanted if section and section[0].startswith("router")}
    changes: list[tuple[Section, str]] = []
    for section, line in reversed(runs):
        if section and section[0].startswith("router") and section[0] not in routers:
            whole: tuple[Section, str] = ((), f"no {section[0]}")
            if whole not in changes:
                changes.append(whole)
        elif (section, line) not in wanted:
            changes.append((section, line.removeprefix("no ") if line.startswith("no ") else f"no {line}"))
    changes += [each for each in wanted if each not in runs]
    lines: list[str] = []
    for section, each in groupby(changes, key=lambda change: change[0]):
        leave = [
            "exit-address-family" if part.startswith("address-family") else "exit" for part in section[::-1]
        ]
        lines += [*section, *(line for _, line in each), *leave]
    return lines
