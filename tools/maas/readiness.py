# SPDX-License-Identifier: Apache-2.0
"""MAAS' needs before its machines can be commissioned and deployed: images, kernels, a rack, a way out.

MAAS refuses a machine whose kernel it does not have (`clean_min_hwe_kernel` in maasserver/forms). It has the
kernel when one version of an image with it is complete (`get_hwe_kernels` in models/bootresource.py).

Before MAAS 3.5, each rack controller has images of its own, which it gets from the region; machines are
commissioned only with what all of them have (`get_common_available_boot_images` in clusterrpc/boot_images.py,
`list_boot_images` in models/node.py). Since then a rack controller tells those of the region.
"""

import socket
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, NamedTuple

from converge import Finding, Severity
from maas import answers
from maas.client import Maas, Objects, every, stored
from maas.sitefile.model import Network, Site
from maas.unmanaged import rack_addresses, settled, unseen

ARCHITECTURE = "amd64"
"""The architecture of the machines that the site file makes; MAAS may know others already."""
FORWARDING = {4: Path("/proc/sys/net/ipv4/ip_forward"), 6: Path("/proc/sys/net/ipv6/conf/all/forwarding")}
"""The files that tell whether this machine forwards packets, by version of IP."""
IMPORT = "select it in MAAS under Images, and wait until the import has ended"
SYNCED = "wait until MAAS shows it as synced under Controllers; if it stays, see whether its rackd runs"
BEHIND = ("syncing", "out-of-sync")
"""The states of a rack controller that lacks images (get_image_sync_status in models/node.py)."""
HOW = "step 0 of docs/how-to/deploy.md has the commands"


class Image(NamedTuple):
    """The image that a machine needs: a release, its kernel ("" for any), and the machine's architecture."""

    name: str
    kernel: str
    architecture: str

    def __str__(self) -> str:
        return f"{self.name} for {self.architecture}" + (f" with kernel {self.kernel}" if self.kernel else "")

    def is_in(self, found: Any) -> bool:
        """Whether one of MAAS' images has it; each also stands for older kernels."""
        architecture, _, kernel = str(found["architecture"]).partition("/")
        kernels = ["", kernel, *str(found.get("subarches") or "").split(",")]
        return (found["name"], architecture) == (self.name, self.architecture) and self.kernel in kernels

    def is_on(self, rack: Any) -> bool:
        """Whether one of a rack controller's images has it."""
        return any(
            (found["name"], found["architecture"]) == (self.name, self.architecture)
            and self.kernel in ("", *found["subarches"])
            for found in rack["images"]
        )


def observe(maas: Maas, site: Site, machines: Objects) -> Objects:
    """The images that machines need, where they are, and two settings of the region."""
    series = answers.config(maas, "commissioning_distro_series", answers.OPTIONAL_TEXT) or site.series
    listed = answers.listed(maas, "boot-resources")
    wanted = _wanted(site, machines, series)
    found: dict[Image, Any] = {}
    for image in wanted:
        if first := next((each for each in listed if image.is_in(each)), None):
            # Only when asked for one, MAAS tells whether its import has ended.
            found[image] = answers.ask(maas, f"boot-resources/{first['id']}/", answers.IMAGE)
    racks: dict[str, Any] = {}
    for rack in every(machines, "rack") if wanted else ():
        path = f"rackcontrollers/{rack['system_id']}/?op=list_boot_images"
        racks[rack["hostname"]] = answers.ask_if_told(maas, path, answers.RACK_IMAGES)
    proxy = answers.config(maas, "enable_http_proxy", answers.OPTIONAL_YES_OR_NO)
    return {"images": {"series": series, "found": found, "racks": racks}, "proxy": {"value": proxy}}


def _bare(site: Site, objects: Objects) -> dict[str, Any]:
    """The machines of the site without a system, as MAAS tells of them; those to be made, too."""
    new = {"status_name": "New"}
    bodies = {name: objects.get(f"machine {name}", new) for name in site.machines}
    return {name: body for name, body in bodies.items() if not settled(body["status_name"])}


def _wanted(site: Site, objects: Objects, commissioning: str) -> list[Image]:
    """List the images to commission machines that MAAS has not seen, and to deploy all without a system."""
    found: list[Image] = []
    for name, body in _bare(site, objects).items():
        architecture = str(body.get("architecture") or ARCHITECTURE).partition("/")[0]
        kernel = site.tags[site.machines[name].tag].hwe_kernel
        found.append(Image(f"ubuntu/{site.series}", kernel, architecture))
        if unseen(body):
            found.append(Image(f"ubuntu/{commissioning}", "", architecture))
    return list(dict.fromkeys(found))


def images(site: Site, objects: Objects) -> Iterator[Finding]:
    """Images that machines need and MAAS does not have."""
    # Without one, MAAS refuses new machines, or cannot commission them.
    new = any(map(unseen, _bare(site, objects).values()))
    severity = Severity.BLOCKED if new else Severity.HELD
    found: dict[Image, Any] = objects["images"]["found"]
    for image in _wanted(site, objects, objects["images"]["series"]):
        versions: Any = found.get(image, {}).get("sets", {}).values()
        if image not in found:
            yield Finding(severity, "images", f"MAAS does not have {image}", IMPORT)
        elif not any(version["complete"] for version in versions):
            remedy = "wait until the import has ended; MAAS shows it under Images"
            yield Finding(severity, "images", f"MAAS has not finished to import {image}", remedy)


def rack_images(site: Site, objects: Objects) -> Iterator[Finding]:
    """Rack controllers that lack images which the region has: what boots there fails.

    It keeps networks and machines from nothing, but MAAS refuses to commission.
    """
    wanted = [
        image
        for image in _wanted(site, objects, objects["images"]["series"])
        if image in objects["images"]["found"]
    ]
    told: dict[str, Any] = {name: has for name, has in objects["images"]["racks"].items() if has}
    for name, has in told.items() if wanted else ():
        if not has["connected"]:
            # MAAS works with the others, if there are any.
            alone = not any(each["connected"] for each in told.values())
            severity = Severity.HELD if alone else Severity.WARNING
            what = f"rack controller {name} is not connected to the region: no machine boots from it"
            yield Finding(severity, "images", what, "see why its rackd does not run, or take it out of MAAS")
        elif missing := [str(image) for image in wanted if not image.is_on(has)]:
            what = f"rack controller {name} ({has['status']}) does not have {' and '.join(missing)}"
            yield Finding(Severity.HELD, "images", what, SYNCED)
        elif has["status"] in BEHIND:
            what = f"rack controller {name} is {has['status']}: machines boot older images from it"
            yield Finding(Severity.WARNING, "images", what, SYNCED)


def boot_network(site: Site, objects: Objects) -> Iterator[Finding]:
    """Yield MAAS' own findings on the network that machines boot from."""
    boot = site.boot
    subnet = objects.get(f"subnet {boot.cidr}", {})
    here = any(ip_address(each) in ip_network(boot.cidr) for _, each in rack_addresses(objects))
    if boot.dhcp and not here:  # without dhcp, a relay or another server answers
        what = f"no rack controller has an address in {boot.cidr}: machines cannot boot from it"
        yield Finding(Severity.WARNING, boot.name, what, "give one an address there, then wait for a minute")
    if subnet.get("allow_dns") is False and not subnet.get("dns_servers"):
        what = f"MAAS answers no DNS requests from {boot.cidr}, and names no other server there"
        remedy = "turn DNS on for that subnet in MAAS, or name servers"
        yield Finding(Severity.WARNING, boot.name, what, remedy)


def way_out(site: Site, objects: Objects) -> Iterator[Finding]:
    """How nodes reach the Internet, as far as MAAS and this machine can tell; not for verify to repeat."""
    if not _bare(site, objects):
        return
    proxy = "" if objects["proxy"]["value"] else "; MAAS' proxy is off, so packages take this way, too"
    vlan = objects.get(site.boot.vlan_key(), {})
    if not (site.boot.dhcp or vlan.get("dhcp_on") or vlan.get("relay_vlan")):
        what = "neither MAAS nor a relay gives addresses here, from which machines boot"
        remedy = (
            f"write dhcp in {site.boot.name} of the site file, unless a DHCP server of yours points to MAAS"
        )
        yield Finding(Severity.WARNING, site.boot.name, what, remedy)
    networks = (site.boot, *site.networks.values())
    network = next((each for each in networks if _gateway(objects, each)), site.boot)
    gateway = _gateway(objects, network)
    if not gateway:
        what = f"nodes get no default gateway: snaps, charms and images are out of reach{proxy}"
        remedy = f"write gateway of {network.name} in the site file"
        yield Finding(Severity.WARNING, network.name, what, remedy)
        return
    rack = next((name for name, each in rack_addresses(objects) if each == gateway), "")
    if forwards(gateway) is False:
        what = f"the nodes' gateway {gateway} is this machine, and it forwards nothing"
        yield Finding(Severity.BLOCKED, network.name, what, f"set net.ipv4.ip_forward=1; {HOW}")
    elif rack:
        what = f"rack {rack} is the nodes' gateway {gateway}; MAAS does not tell whether it does NAT{proxy}"
        remedy = f"look on it: sudo iptables -t nat -S POSTROUTING; {HOW}"
        yield Finding(Severity.INFO, network.name, what, remedy)
    else:
        what = f"the nodes' gateway {gateway} is no rack controller, and has to let them reach the Internet"
        yield Finding(Severity.INFO, network.name, f"{what}{proxy}")


def _gateway(objects: Objects, network: Network) -> str:
    """Return the gateway as MAAS has it, or will have it."""
    return str(stored(objects.get(f"subnet {network.cidr}", {}), "gateway_ip") or network.gateway)


def forwards(gateway: str) -> bool | None:
    """Whether this machine forwards packets; None if it is not that gateway, or does not tell."""
    version = ip_address(gateway).version
    try:
        with socket.socket(socket.AF_INET if version == 4 else socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            probe.connect((gateway, 9))  # sends nothing; to an address of its own, a machine speaks from it
            if probe.getsockname()[0] != gateway:
                return None
        return FORWARDING[version].read_text().strip() != "0"
    except OSError:
        return None
