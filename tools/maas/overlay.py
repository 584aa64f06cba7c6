# SPDX-License-Identifier: Apache-2.0
"""The overlay of a site: what the site file and the fabric's intent already say, as options of the bundle.

Tags with a bridge are the bundle's machines; of these, the one with `physnets` is that of its compute nodes.
"""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml
from maas.sitefile.model import Machine, Site, Tag
from yamlfile.values import FileError

NVIDIA = "15b3"
"""The PCI vendor of a ConnectX and of its VFs."""
NONE = "none"
"""In `physnets`: the VFs of this port are for networks without a physical network, such as Geneve's."""
PHYSNET = "tenantvlan"
"""The bundles' physical network: VLAN networks are on it also where no VF serves them."""
BUNDLE_PLACES = ["0", "1"]
"""Where the bundles have nova-compute; control nodes follow, and further compute nodes follow those."""
HEADER = "# Written by `tox -e maas -- overlay` from the site file: change that and run it again.\n"
Options = dict[str, dict[str, str | int]]
"""Options by application."""


def text(site: Site, folder: Path) -> str:
    """The overlay as a file of this folder, from which the path of the intent starts.

    Raises FileError if the site file leaves something open, or the intent cannot be read.
    """
    return HEADER + yaml.safe_dump(overlay(site, folder), sort_keys=False, width=110)


def overlay(site: Site, folder: Path) -> dict[str, Any]:
    """The machines, and the options."""
    tags = [tag for tag in site.tags.values() if tag.bridge]
    kinds = [tag for tag in tags for machine in site.machines.values() if machine.tag == tag.name]
    offering = [tag for tag in tags if tag.physnets and tag in kinds]
    if len(offering) > 1:
        names = ", ".join(tag.name for tag in offering)
        raise FileError(f"Tags {names} have physnets, but the bundle has one kind of compute node")
    options: Options = {}
    numbered = kinds
    dedicated = {tag.dedicated_cpus for tag in offering or kinds if tag.dedicated_cpus}
    for tag in offering:
        numbered = _numbered(kinds, tag)
        options = _port_options(site, tag) | _vlan_options(site, tag)
    if len(dedicated) == 1:
        options.setdefault("nova-compute", {})["cpu-dedicated-set"] = "".join(dedicated)
    reserved = {tag.reserved_host_memory for tag in offering or kinds if tag.reserved_host_memory}
    if len(reserved) == 1:
        options.setdefault("nova-compute", {})["reserved-host-memory"] = reserved.pop()
    if site.intent:
        path = os.path.relpath(site.intent, folder)
        options["cumulus-fabric"] = {"intent": f"include-file://{path}"}
    if site.dns:
        options["neutron-api-plugin-ovn"] = {"dns-servers": " ".join(site.dns)}
    constraints = [f"tags={tag.name} spaces={','.join(tag.spaces).lower()}" for tag in numbered]
    machines = {str(number): {"constraints": each} for number, each in enumerate(constraints)}
    applications: dict[str, dict[str, Any]] = {name: {"options": values} for name, values in options.items()}
    places = [str(number) for number, tag in enumerate(numbered) if tag in offering]
    if offering and places != BUNDLE_PLACES:
        applications["nova-compute"] |= {"num_units": len(places), "to": places}
    return {"machines": machines, **({"applications": applications} if applications else {})}


def _numbered(kinds: list[Tag], compute: Tag) -> list[Tag]:
    """The kinds of machines 0, 1, …: where the bundles place their units, whatever the number of nodes."""
    nodes, others = [tag for tag in kinds if tag == compute], [tag for tag in kinds if tag != compute]
    first = len(BUNDLE_PLACES)
    return [*nodes[:first], *others, *nodes[first:]]


def _physnets(tag: Tag) -> list[str]:
    """The physical networks on the tag's bridge, the first one with the tenants' VLANs."""
    return list(dict.fromkeys(name for name in tag.physnets if name != NONE)) or [PHYSNET]


def _port_options(site: Site, tag: Tag) -> Options:
    """Return the options that name the ports of the compute nodes."""
    machines = [machine for machine in site.machines.values() if machine.tag == tag.name]
    names = list(dict.fromkeys(port for machine in machines for port in machine.ports))
    devices = {"devices": " ".join(tag.addresses or names)}
    nics = [(tag.nics[name], ports) for each in machines for name, ports in each.nics.items()]
    rdma = [port for nic, ports in nics if nic.rdma for port in ports]
    # The first NIC's uplink has no RDMA connections of the host's own: others carry its storage.
    every = {"devices": " ".join([devices["devices"], *dict.fromkeys(rdma)])}
    interfaces = [tag.bond] if tag.bond else names
    return {
        "nic-firmware": {**every},
        "sriov-switchdev": {**devices} if tag.bond else {**devices, "vf-lag": "disabled"},
        "roce-qos": {**every},
        "nova-compute": {"pci-passthrough-whitelist": json.dumps([*_whitelist(tag, machines)])},
        "ovn-chassis": {
            "ovn-bridge-mappings": " ".join(f"{name}:{tag.bridge}" for name in _physnets(tag)),
            "bridge-interface-mappings": " ".join(f"{tag.bridge}:{name}" for name in interfaces),
        },
    }


def _whitelist(tag: Tag, machines: Iterable[Machine]) -> Iterator[dict[str, str | None]]:
    """Yield the devices that Nova offers: VFs by product, or by their port's address or name; and others."""
    physnets = [None if name == NONE else name for name in tag.physnets]
    if tag.vf_product:
        yield {"vendor_id": NVIDIA, "product_id": tag.vf_product, "physical_network": physnets[0]}
    elif tag.addresses:
        for address, physnet in zip(tag.addresses, physnets):
            yield {"address": address, "physical_network": physnet}
    else:
        kinds = {machine.ports: machine.name for machine in machines}
        if len(kinds) > 1:
            said = "; ".join(f"{name} has {', '.join(ports)}" for ports, name in kinds.items())
            what = (
                f"The ports of tag {tag.name} do not have the same names everywhere ({said}), so names cannot"
            )
            raise FileError(f"{what} select VFs; write addresses or vf-product in the tag")
        for name, physnet in zip(next(iter(kinds)), physnets):
            yield {"devname": name, "physical_network": physnet}
    for device in tag.passthrough:
        vendor, _, product = device.partition(":")
        yield {"vendor_id": vendor, "product_id": product}


def _vlan_options(site: Site, tag: Tag) -> Options:
    """The VLANs that Neutron may give to tenants: the intent is their one home.

    They are its provider VLANs, and those of networks without a space, which no host uses itself. They belong
    to the first physical network; on the others, only an administrator makes networks.
    """
    physnets = _physnets(tag)
    fabric = site.fabric_intent
    if not fabric:
        return {}
    vlans = {network.vlan for network in fabric.networks if not network.space}
    ranges = [f"{physnets[0]}:{first}:{last}" for first, last in _runs(vlans)] or physnets[:1]
    return {"neutron-api": {"vlan-ranges": " ".join([*ranges, *physnets[1:]])}}


def _runs(vlans: set[int]) -> Iterator[tuple[int, int]]:
    """The first and the last VLAN of each run of consecutive ones."""
    ordered = sorted(vlans)
    yield from zip((v for v in ordered if v - 1 not in vlans), (v for v in ordered if v + 1 not in vlans))
