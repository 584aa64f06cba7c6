# SPDX-License-Identifier: Apache-2.0
"""The wiring of a rack: switches, hosts, and the cables between them.

As JSON::

    {"switches": {"Leaf0-1": "192.168.200.11/24", "Spine0": "192.168.200.15/24"},
     "hosts": {"compute0": {"addresses": {"untagged": "192.168.25.10/24", "40": "172.16.0.10/24"}}},
     "cables": [["Leaf0-1", "swp31", "Spine0", "swp13"],
                ["Leaf0-1", "swp9", "compute0", "eth0"],
                ["Leaf0-1", "swp10", "outside", "52:54:00:00:00:01"]]}

A cable to ``outside`` gives the switch a network card of this machine, named by its MAC address.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

OUTSIDE = "outside"
UNTAGGED = "untagged"
MANAGEMENT = "192.168.200"
"""The management network's first three numbers; the machine itself has .1 there."""

Cable = tuple[str, str, str, str]


@dataclass
class Host:
    """A server: its ports in one LACP bond, or its single port as it is; an address per VLAN."""

    addresses: dict[str, str] = field(default_factory=dict)


@dataclass
class Wiring:
    """The whole rack."""

    switches: dict[str, str]  # name: address of its management port, with prefix length
    hosts: dict[str, Host]
    cables: list[Cable]

    @classmethod
    def load(cls, path: Path) -> "Wiring":
        """Read the JSON form."""
        raw = json.loads(path.read_text())
        hosts = {name: Host(**host) for name, host in raw["hosts"].items()}
        return cls(raw["switches"], hosts, [tuple(cable) for cable in raw["cables"]])

    def dump(self) -> str:
        """The JSON form."""
        return json.dumps(asdict(self), indent=1) + "\n"

    def ports(self, name: str) -> list[str]:
        """The ports of a switch or host, in the cables' order."""
        ends = [end for cable in self.cables for end in (cable[:2], cable[2:])]
        return [port for owner, port in ends if owner == name]


def reference() -> Wiring:
    """The reference design: two spines, two racks of two leaves, and what hangs on them.

    Rack 0 has two hosts, the external gateway and the single-homed juju and maas machines; rack 1 has one
    host, as the design has it. Ports are those of the design's tables.
    """
    leaves = ["Leaf0-1", "Leaf0-2", "Leaf1-1", "Leaf1-2"]
    spines = ["Spine0", "Spine1"]
    cables: list[Cable] = []
    for number, leaf in enumerate(leaves):
        for spine, uplink in zip(spines, ("swp31", "swp32")):
            cables.append((leaf, uplink, spine, f"swp{13 + number}"))
    dual = (
        ("compute0", 0, "swp9"),
        ("compute1", 0, "swp10"),
        ("gateway", 0, "swp22"),
        ("compute2", 1, "swp9"),
    )
    for host, rack, port in dual:
        cables += [(f"Leaf{rack}-1", port, host, "eth0"), (f"Leaf{rack}-2", port, host, "eth1")]
    cables += [("Leaf0-1", "swp23", "juju", "eth0"), ("Leaf0-1", "swp24", "maas", "eth0")]
    hosts = {
        name: Host({UNTAGGED: f"192.168.25.{ten}/24", "10": f"10.0.10.{ten}/24", "40": f"172.16.0.{ten}/24"})
        for name, ten in (("compute0", 10), ("compute1", 11), ("compute2", 12))
    }
    hosts["gateway"] = Host({UNTAGGED: "10.7.208.1/24"})
    hosts["juju"] = Host({UNTAGGED: "192.168.25.2/24", "9": "10.7.208.2/24"})
    hosts["maas"] = Host({UNTAGGED: "192.168.25.3/24", "9": "10.7.208.3/24"})
    switches = {name: f"{MANAGEMENT}.{11 + n}/24" for n, name in enumerate([*leaves, *spines])}
    return Wiring(switches, hosts, cables)
