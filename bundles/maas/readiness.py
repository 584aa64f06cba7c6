# SPDX-License-Identifier: Apache-2.0
"""What MAAS needs before its machines can be commissioned and deployed: images, kernels, a rack, a way out.

MAAS refuses a machine whose kernel it does not have (`clean_min_hwe_kernel` in maasserver/forms). It has the
kernel when one version of an image with it is complete (`get_hwe_kernels` in models/bootresource.py).
"""

import socket
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

from converge import Finding, Severity
from maas import answers
from maas.client import Maas, Objects, stored
from maas.sitefile import Site
from maas.unmanaged import UNSEEN, settled

SERIES = "jammy"
"""The release of the bundles' base."""
ARCHITECTURE = "amd64"
FORWARDING = {4: Path("/proc/sys/net/ipv4/ip_forward"), 6: Path("/proc/sys/net/ipv6/conf/all/forwarding")}
"""Where the kernel tells whether this machine forwards packets, by version of IP."""
IMPORT = "select it in MAAS under Images, and wait until the import has ended"
HOW = "docs/how-to/prepare-maas.md has the commands"


def observe(maas: Maas, site: Site) -> Objects:
    """The images of the bundles' release and of commissioning, and two settings of the region."""
    series = answers.config(maas, "commissioning_distro_series", answers.TEXT)
    found = [each for each in answers.listed(maas, "boot-resources") if _is_ubuntu(each, {SERIES, series})]
    for name, kernel in _wanted(site, {*site.tags}, series):
        # One request for each kernel: only then MAAS tells whether the import has ended.
        for each in [each for each in found if each["name"] == name and kernel in _levels(each)][:1]:
            each |= answers.ask(maas, f"boot-resources/{each['id']}/", answers.IMAGE)
    proxy = answers.config(maas, "enable_http_proxy", answers.YES_OR_NO)
    return {"images": {"series": series, "found": found}, "proxy": {"value": proxy}}


def _is_ubuntu(image: Any, series: set[str]) -> bool:
    name, architecture = str(image["name"]), str(image["architecture"])
    return name.removeprefix("ubuntu/") in series and architecture.startswith(f"{ARCHITECTURE}/")


def _levels(image: Any) -> list[str]:
    """The kernels that an image has or stands for; "" for any."""
    return ["", image["architecture"].partition("/")[2], *str(image.get("subarches") or "").split(",")]


def _complete(image: Any) -> bool:
    versions: Any = image.get("sets", {}).values()
    return any(version["complete"] for version in versions)


def _wanted(site: Site, tags: set[str], commissioning: str) -> list[tuple[str, str]]:
    """Images, by release and kernel: those of the machines with these tags, and that of commissioning."""
    kernels = sorted({site.tags[tag].hwe_kernel for tag in tags})
    pairs = [*((f"ubuntu/{SERIES}", kernel) for kernel in kernels), (f"ubuntu/{commissioning}", "")]
    return list(dict.fromkeys(pairs))


def images(site: Site, objects: Objects) -> Iterator[Finding]:
    """Images that machines need and MAAS does not have; nothing of those that have a system."""
    bodies = {name: objects.get(f"machine {name}", {"status_name": "New"}) for name in site.machines}
    bare = {name: body["status_name"] for name, body in bodies.items() if not settled(body["status_name"])}
    if not bare:
        return
    # Without one, MAAS refuses new machines, or cannot commission them.
    new = any(status in UNSEEN for status in bare.values())
    severity = Severity.BLOCKED if new else Severity.HELD
    found, series = objects["images"]["found"], objects["images"]["series"]
    for name, kernel in _wanted(site, {site.machines[each].tag for each in bare}, series):
        if not new and name != f"ubuntu/{SERIES}":
            continue
        what = f"{name} for {ARCHITECTURE}" + (f" with kernel {kernel}" if kernel else "")
        fitting = [each for each in found if each["name"] == name and kernel in _levels(each)]
        if not fitting:
            yield Finding(severity, "images", f"MAAS does not have {what}", IMPORT)
        elif not _complete(fitting[0]):
            remedy = "wait until the import has ended; MAAS shows it under Images"
            yield Finding(severity, "images", f"MAAS has not finished to import {what}", remedy)


def network(site: Site, objects: Objects) -> Iterator[Finding]:
    """What MAAS itself tells of the network that machines boot from."""
    boot = site.boot
    subnet = objects.get(f"subnet {boot.cidr}", {})
    if not any(ip_address(each) in ip_network(boot.cidr) for _, each in _rack_addresses(objects)):
        what = f"no rack controller has an address in {boot.cidr}: machines cannot boot from it"
        yield Finding(Severity.WARNING, boot.name, what, "give one an address there, then wait for a minute")
    if subnet.get("allow_dns") is False and not subnet.get("dns_servers"):
        what = f"MAAS answers no DNS requests from {boot.cidr}, and names no other server there"
        yield Finding(
            Severity.WARNING, boot.name, what, "turn DNS on for that subnet in MAAS, or name servers"
        )


def way_out(site: Site, objects: Objects) -> Iterator[Finding]:
    """How nodes reach the Internet, as far as MAAS and this machine can tell; not for verify to repeat."""
    statuses = [objects.get(f"machine {name}", {}).get("status_name", "New") for name in site.machines]
    if all(settled(status) for status in statuses):
        return
    boot = site.boot
    gateway = str(stored(objects.get(f"subnet {boot.cidr}", {}), "gateway_ip") or boot.gateway)
    proxy = "" if objects["proxy"]["value"] else "; MAAS' proxy is off, so packages take this way, too"
    if not gateway:
        what = (
            f"nodes get no default gateway in {boot.cidr}: snaps, charms and images are out of reach{proxy}"
        )
        yield Finding(Severity.WARNING, boot.name, what, f"write gateway of {boot.name} in the site file")
        return
    rack = next((name for name, each in _rack_addresses(objects) if each == gateway), "")
    if forwards(gateway) is False:
        what = f"the nodes' gateway {gateway} is this machine, and it forwards nothing"
        yield Finding(Severity.BLOCKED, boot.name, what, f"set net.ipv4.ip_forward=1; {HOW}")
    elif rack:
        what = (
            f"rack {rack} is the nodes' gateway {gateway}; MAAS does not tell whether it translates addresses"
        )
        remedy = f"look on it: sudo iptables -t nat -S POSTROUTING; {HOW}"
        yield Finding(Severity.INFO, boot.name, f"{what}{proxy}", remedy)
    else:
        what = f"the nodes' gateway {gateway} is no rack controller, and has to let them reach the Internet"
        yield Finding(Severity.INFO, boot.name, f"{what}{proxy}")


def _rack_addresses(objects: Objects) -> Iterator[tuple[str, str]]:
    for key, body in objects.items():
        if key.startswith("rack "):
            yield from ((body["hostname"], address) for address in body["ip_addresses"])


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
