# SPDX-License-Identifier: Apache-2.0
"""Reads of the twin, and what each asks of the kernel, lldpd and FRR: their programs and sockets stand in."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lab.nvue.trees import at
from lab.twin import frr, observe
from lab.twin.frr import Frr
from lab.twin.links import Links
from lab.twin.lldp import Lldp
from lab.twin.routing import Vrf

NAME = "Leaf0-1"
LINKS = [
    {"ifname": "bond1", "operstate": "UP", "flags": ["UP"], "mtu": 9000, "address": "44:38:39:00:00:01",
     "linkinfo": {"info_kind": "bond"}, "addr_info": []},
]  # fmt: skip
VLANS = [{"ifname": "bond1", "vlans": [{"vlan": 9}, {"vlan": 3000, "flags": ["PVID", "Egress Untagged"]}]}]
TUNNELS = [{"ifname": "vxlan48", "tunnels": [{"vlan": 9, "tunid": 9}]}]
PROGRAMS: dict[str, dict[str, Any]] = {
    "ip": {"-d address": LINKS},
    "bridge": {"vlan show": VLANS, "vlan tunnelshow": TUNNELS},
    "lldpcli": {"show neighbors": {"lldp": []}},
}
"""The output of each program, by the end of its arguments."""

PEER = {"state": "Established", "remoteAs": 65199, "pfxRcd": 6, "pfxSnt": 4}
DAEMONS: dict[str, Any] = {
    "bgpd show bgp summary json": {"ipv4Unicast": {"peers": {"swp31": PEER}}},
    "bgpd show bgp vrf red summary json": {"ipv6Unicast": {"peers": {"fd00:f::1": PEER}}},
    "zebra show evpn es detail json": [{"esi": "03:44", "flags": ["local"], "accessPort": "bond1"}],
    "zebra show evpn vni detail json": [{"vni": 9, "vtepIp": "10.10.10.1"}],
    "zebra show vrf red vni json": {"vrfs": [{"vni": 5001, "state": "Up", "sviIntf": "vlan4001_l3"}]},
}

OF_INTERFACES = ["ip -d address", "lldpcli show neighbors"]
OF_VNIS = ["bridge vlan tunnelshow", "zebra show evpn vni detail json"]
OF_RED = ["bgpd show bgp vrf red summary json", "zebra show vrf red vni json"]
OF_DEFAULT = ["bgpd show bgp summary json"]
OF_ESI = ["zebra show evpn es detail json"]
OF_PORTS = ["bridge vlan show"]


class Asked:
    """One switch, and what is asked of it."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "asked"
        self._log.touch()
        switch = SimpleNamespace(links=Links(NAME, frozenset(), "dhcp"), lldp=Lldp(NAME), frr=Frr(NAME))
        switch.vrfs, switch.roce = (Vrf("red", 5001, 4001, frozenset(), None),), "lossless"
        self._switch: Any = switch

    def note(self, said: str) -> None:
        with self._log.open("a") as log:
            log.write(f"{said}\n")

    def by(self, path: str) -> tuple[Any, list[str]]:
        """The tree for a read of a path, and what was asked for it."""
        self._log.write_text("")
        tree = observe.operational(self._switch, tuple(path.split("/")) if path else ())
        return tree, sorted(self._log.read_text().splitlines())


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    made = Asked(tmp_path)
    for program, answers in PROGRAMS.items():
        cases = "\n".join(
            f"*'{end}') echo '{program} {end}' >>{tmp_path}/asked; echo '{json.dumps(said)}' ;;"
            for end, said in answers.items()
        )
        (tmp_path / program).write_text(f'#!/bin/sh\ncase "$*" in\n{cases}\n*) exit 64 ;;\nesac\n')
        (tmp_path / program).chmod(0o755)
    monkeypatch.setattr(frr, "STATE", tmp_path)
    (tmp_path / NAME).mkdir()
    sockets = [listening(made, tmp_path / NAME, daemon) for daemon in ("bgpd", "zebra")]
    yield made
    for each in sockets:
        each.shutdown(socket.SHUT_RDWR)
        each.close()


def listening(asked: Asked, folder: Path, daemon: str) -> socket.socket:
    """A daemon's socket, which answers each command once."""
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(folder / f"{daemon}.vty"))
    made.listen()

    def answer() -> None:
        while True:
            try:
                talk, _ = made.accept()
            except OSError:
                return
            with talk:
                command = f"{daemon} {talk.recv(4096).rstrip(bytes(1)).decode()}"
                asked.note(command)
                talk.sendall(json.dumps(DAEMONS[command]).encode() + bytes(4))

    threading.Thread(target=answer, daemon=True).start()
    return made


@pytest.mark.parametrize(
    ("path", "needed"),
    [
        ("system", []),  # which the server in front of the twin knows, as the platform
        ("qos/roce", []),
        ("interface", OF_INTERFACES),
        ("bridge/domain/br_default/port", OF_PORTS),
        ("vrf/default/router/bgp/neighbor", OF_DEFAULT),
        ("evpn/multihoming/esi", OF_ESI),
        ("evpn/vni", OF_VNIS),
        ("vrf", [*OF_DEFAULT, *OF_RED]),
        ("", [*OF_INTERFACES, *OF_PORTS, *OF_DEFAULT, *OF_RED, *OF_ESI, *OF_VNIS]),
    ],
)
def test_a_part_costs_what_shows_it_and_nothing_else(asked: Asked, path: str, needed: list[str]) -> None:
    assert asked.by(path)[1] == sorted(needed)


def test_a_part_is_what_the_whole_has_there(asked: Asked) -> None:
    whole, _ = asked.by("")
    assert whole["interface"]["bond1"]["link"]["mtu"] == 9000
    assert whole["vrf"]["red"]["evpn"] == {
        "vni": {"5001": {}}, "state": "Up", "svi": "vlan4001_l3", "vlan": 4001,
    }  # fmt: skip
    assert whole["vrf"]["default"]["router"]["bgp"]["neighbor"]["swp31"]["state"] == "established"
    (session,) = whole["vrf"]["red"]["router"]["bgp"]["neighbor"].values()
    assert (session["type"], session["address-family"].keys()) == ("numbered", {"ipv6-unicast"})
    ports = {"9": {"tag-state": "tagged"}, "3000": {"tag-state": "untagged"}}
    assert whole["bridge"]["domain"]["br_default"]["port"]["bond1"]["vlan"] == ports
    assert whole["evpn"]["vni"]["9"]["vlan"] == 9
    for path in ("interface", "evpn/vni", "evpn/multihoming/esi", "vrf", "vrf/red", "qos/roce", "bridge"):
        keys = tuple(path.split("/"))
        assert at(asked.by(path)[0], keys) == at(whole, keys), path
