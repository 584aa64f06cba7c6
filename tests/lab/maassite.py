# SPDX-License-Identifier: Apache-2.0
"""The example site in the simulated region: what MAAS finds by itself, and what tests look at."""

import re
import urllib.request
from functools import partial
from pathlib import Path

from lab.maas import KEY

SITE = Path(__file__).parents[2] / "tools/maas/site-example.yaml"
PASSWORD = "calvin-and-hobbes"
PORTS = ["enp63s0f0", "enp63s0f1"]
NUMA = [
    {"index": 0, "cores": list(range(24)), "memory": 128784},
    {"index": 1, "cores": list(range(24, 48)), "memory": 129012},
]
SPACES = {
    **{"oam-space": ["192.168.25.0/24"], "public-space": ["10.7.208.0/24"]},
    **{"internal-space": ["172.18.0.0/24"], "overlay-space": ["172.16.0.0/24"]},
}
BUILD_OPENER = urllib.request.build_opener


def connect(monkeypatch, region):
    """The region answers where urllib would open a connection."""
    monkeypatch.setattr(urllib.request, "build_opener", partial(BUILD_OPENER, region))


def written(folder):
    """The example site in a folder, with its secrets."""
    text = SITE.read_text()
    for name, value in {"maas-api-key": KEY, "bmc-user": "root", "bmc-password": PASSWORD}.items():
        secret = folder / name
        secret.write_text(f"{value}\n")
        secret.chmod(0o600)
    text = text.replace("file:~/.config/ovn-offload/", f"file:{folder}/").replace(
        "api-key #", "maas-api-key #"
    )
    text = text.replace("maas-maas-", "maas-").replace("../../charms", f"{SITE.parents[2]}/charms")
    path = folder / "site.yaml"
    path.write_text(text)
    return path


def edited(folder, data):
    """The same with the changes under `replace` of a site of the gallery."""
    path = written(folder)
    for old, new in data.get("replace", {}).items():
        edit(path, old, new)
    return path


def grown(path, nodes):
    """The site with that many compute nodes: larger subnets, and no intent, which names its hosts."""
    text = re.sub(r"^intent:.*\n", "", path.read_text(), flags=re.MULTILINE)
    text = re.sub(r"(cidr: [0-9.]+)\.[0-9]+\.0/24", lambda found: f"{found[1]}.0.0/16", text)
    body = "{{tag: compute_sriov, ports: [{}], power-address: 192.168.{}.{}, <<: *bmc}}"
    text = text[: text.index("  node1:")] + "".join(
        f"  node{number}: {body.format(', '.join(PORTS), 1 + number // 250, 1 + number % 250)}\n"
        for number in range(nodes)
    )
    path.write_text(text)
    return path


def new_fabric(region, name, **values):
    """A fabric of any name, also of those that MAAS keeps for itself, with its untagged VLAN."""
    fabric = region.add("fabrics", name=name, vlans=[], **values)
    region.post_vlans({"vid": 0, "name": "Default VLAN"}, fabric)
    return fabric


def rack(region, system_id, hostname, *addresses, vlans=()):
    """A rack controller with these addresses, and an interface in each of these VLANs."""
    ports = [{"name": f"eno{number}", "vlan": vlan, "links": []} for number, vlan in enumerate(vlans, 1)]
    own = {"hostname": hostname, "ip_addresses": [*addresses], "interface_set": ports}
    region.rackcontrollers.append({"system_id": system_id, **own})


def discover(region, cidr):
    """MAAS finds its own network: a fabric, its untagged VLAN and a subnet."""
    (vlan,) = new_fabric(region, "fabric-0")["vlans"]
    region.add("subnets", name=cidr, cidr=cidr, vlan=vlan)
    rack(region, "rack01", "maas", "192.168.25.1", vlans=[vlan])


def commission(region, hostname, ports, numa=(), slots=None):
    """A machine becomes Ready with these ports: the first one booted on the first subnet.

    MAAS puts each other one that has a link into a fabric of its own.
    """
    found = machine(region, hostname)
    found.update(status_name="Ready", memory=262144, numanode_set=list(numa))
    for index, name in enumerate(ports):
        vlan, links = region.vlans[0], [{"mode": "auto", "subnet": region.subnets[0]}]
        if index:
            number, links = region.last + 1, [{"mode": "link_up"}]
            (vlan,) = new_fabric(region, f"fabric-{number}", of_a_port=True)["vlans"]
        region.interface(found, "physical", name, vlan, [], links)
        device = {"pci_address": (slots or {}).get(name, f"0000:3f:00.{index}"), "vendor_id": "15b3"}
        region.devices[found["system_id"]].append({**device, "physical_interface": {"name": name}})


def equip(region):
    """Commissioning finds on each machine of the example what the example says."""
    region.hardware["controller"] = partial(commission, region, "controller", PORTS[:1])
    for name in ("node1", "node2", "node3"):
        region.hardware[name] = partial(commission, region, name, PORTS, NUMA)


def forget(region, hostname):
    """MAAS knows the machine, and none of its interfaces."""
    found = machine(region, hostname)
    found["interface_set"].clear()
    region.interfaces = [each for each in region.interfaces if each["system_id"] != found["system_id"]]


def edit(site, old, new):
    text = site.read_text()
    assert old in text
    site.write_text(text.replace(old, new))


def writes(maas):
    return [(method, path, data) for method, path, data in maas.requests if method != "GET"]


def machine(maas, name):
    return next(m for m in maas.machines if m["hostname"] == name)


def interfaces(maas, name):
    return {i["name"]: i for i in machine(maas, name)["interface_set"]}


def addresses(region, name):
    """By interface of a machine, the subnets in which it has addresses."""
    pairs = {
        interface: [link["subnet"]["cidr"] for link in each["links"] if "subnet" in link]
        for interface, each in interfaces(region, name).items()
    }
    return {interface: cidrs for interface, cidrs in pairs.items() if cidrs}


def fabric_of(region, interface):
    """The fabric of an interface's VLAN."""
    return next(each["name"] for each in region.fabrics if each["id"] == interface["vlan"]["fabric_id"])


def stranger(maas, name, vlan, cidr="", status="Deployed"):
    """A machine of somebody else's, with an address in a VLAN."""
    found = maas.add(
        "machines", hostname=name, system_id=name, tag_names=[], interface_set=[], numanode_set=[]
    )
    found["status_name"], maas.power[name], maas.devices[name] = status, {}, []
    subnets = [subnet for subnet in maas.subnets if subnet["cidr"] == cidr]
    maas.interface(
        found, "physical", "eno2", vlan, [], [{"mode": "auto", "subnet": each} for each in subnets]
    )
    return found


def vlan(maas, vid):
    return next(each for each in maas.vlans if each["vid"] == vid)
