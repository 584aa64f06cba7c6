# SPDX-License-Identifier: Apache-2.0
"""The namespaces of a rack and its cables: made once, before any switch has a configuration."""

import contextlib
import json
from pathlib import Path

from lab.twin.commands import CommandError, batch, run
from lab.twin.model import FABRIC_MTU, MANAGEMENT
from lab.twin.wiring import MANAGEMENT as NETWORK
from lab.twin.wiring import OUTSIDE, UNTAGGED, Wiring

HOST_MTU = 9000
OFFICE = "mgmt-sw"
"""The bridge of this machine that all management ports hang on."""

SWITCH_SYSCTLS = {
    "net.ipv4.ip_forward": 1,
    "net.ipv6.conf.all.forwarding": 1,
    "net.ipv4.fib_multipath_hash_policy": 1,
    # A service in VRF mgmt, as the REST interface is, and BGP in the default one.
    "net.ipv4.tcp_l3mdev_accept": 1,
    # What is sent to a shared address arrives on another interface than the way back.
    "net.ipv4.conf.all.rp_filter": 0,
    "net.ipv4.conf.default.rp_filter": 0,
    # A cable is there at once: nothing waits for the duplicate check of link-local addresses.
    "net.ipv6.conf.default.accept_dad": 0,
}


def make(wiring: Wiring) -> None:
    """Make every namespace and every cable; hosts come up, switches wait for their configuration."""
    for name in (*wiring.switches, *wiring.hosts):
        run(["ip", "netns", "add", name])
    for name in wiring.switches:
        settings = [f"{key}={value}" for key, value in SWITCH_SYSCTLS.items()]
        run(["ip", "netns", "exec", name, "sysctl", "-qw", *settings])
    run(["ip", "-batch", "-"], "\n".join([*_management(wiring), *_cables(wiring)]) + "\n")
    for name in wiring.switches:
        batch(name, "ip", ["link set lo up", "link add mgmt type vrf table 1001", "link set mgmt up"])
    for name in wiring.hosts:
        batch(name, "ip", _host(wiring, name))


def remove(wiring: Wiring) -> None:
    """Take the rack away again; what is not there is no problem."""
    for name in (*wiring.switches, *wiring.hosts):
        if Path("/run/netns", name).exists():
            run(["ip", "netns", "del", name])
    with contextlib.suppress(CommandError):
        run(["ip", "link", "del", OFFICE])


def _management(wiring: Wiring) -> list[str]:
    lines = [
        f"link add {OFFICE} type bridge",
        f"link set {OFFICE} up",
        f"address add {NETWORK}.1/24 dev {OFFICE}",
    ]
    for number, name in enumerate(wiring.switches):
        lines += [
            f"link add mgmt-{number} type veth peer name {MANAGEMENT} netns {name}",
            f"link set mgmt-{number} master {OFFICE} up",
        ]
    return lines


def _cables(wiring: Wiring) -> list[str]:
    cards = {link["address"]: link["ifname"] for link in json.loads(run(["ip", "-j", "link"]))}
    lines = []
    for switch, port, far, far_port in wiring.cables:
        if far == OUTSIDE:
            if far_port.lower() not in cards:
                raise CommandError(f"{switch} {port}: this machine has no network card {far_port}")
            card = cards[far_port.lower()]
            lines.append(f"link set {card} down")
            lines.append(f"link set {card} netns {switch} name {port}")
        else:
            far_mtu = FABRIC_MTU if far in wiring.switches else HOST_MTU
            lines.append(
                f"link add {port} netns {switch} mtu {FABRIC_MTU} type veth "
                f"peer name {far_port} netns {far} mtu {far_mtu}"
            )
    return lines


def _host(wiring: Wiring, name: str) -> list[str]:
    ports = wiring.ports(name)
    lines = ["link set lo up"]
    if len(ports) > 1:
        device = "bond0"
        lines.append(
            f"link add {device} mtu {HOST_MTU} type bond mode 802.3ad lacp_rate fast miimon 100 "
            "xmit_hash_policy layer3+4"
        )
        for port in ports:
            lines += [f"link set {port} master {device}", f"link set {port} up"]
    else:
        (device,) = ports
    lines.append(f"link set {device} up")
    for vlan, address in wiring.hosts[name].addresses.items():
        if vlan == UNTAGGED:
            lines.append(f"address add {address} dev {device}")
        else:
            lines += [
                f"link add {device}.{vlan} link {device} type vlan id {vlan}",
                f"link set {device}.{vlan} up",
                f"address add {address} dev {device}.{vlan}",
            ]
    return lines
