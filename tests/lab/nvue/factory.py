# SPDX-License-Identifier: Apache-2.0
"""A switch as it comes from the factory: its first configuration, and how it tells its release."""

from lab.nvue.trees import Tree, merge

HOSTNAME = "cumulus"
"""The name of every switch until it gets one of its own."""


def factory(hostname: str, new: bool) -> Tree:
    """The configuration of a switch as it comes, but for its name: management by DHCP."""
    dhcp = {"ipv4": {"dhcp-client": {"state": "enabled"}}} if new else {"ip": {"address": {"dhcp": {}}}}
    vrf = {"vrf": "mgmt"} if new else {"ip": {"vrf": "mgmt"}}
    zone = {"timezone": "Etc/UTC"}
    return {
        "interface": {"eth0": merge(merge({"type": "eth"}, dhcp), vrf)},
        "system": {"hostname": hostname} | ({"date-time": zone} if new else zone),
    }


def told(release: str, version: tuple[int, ...]) -> Tree:
    """Where ``rev=operational`` has the release below ``system``.

    5.14 moved it from ``build`` to ``version``. Later ones tell there what else has a version (Cumulus Linux
    user guide, ``nv show system version`` of 5.18); from which one on is not known, 5.15 is taken.
    """
    build = f"Cumulus Linux {release}"
    if version < (5, 14):
        return {"build": build}
    if version < (5, 15):
        return {"version": {"image": build}}
    image = {"build-id": f"{release}.0025", "build-date": "Tue Jul 21 11:06:05 UTC 2026"}
    others = {"onie": "2021.05-5.3.0008-115200", "kernel": "6.1.0-cl-1-amd64"}
    others["base-os"] = "Debian GNU/Linux 12.14"
    return {"version": {**others, "product-release": release, "image": image}}


def platform(serial: str, version: tuple[int, ...]) -> Tree:
    """Return ``rev=operational`` below ``platform`` of the device with a serial number.

    The keys are those of an SN5600 with 5.9 or later, as a public client has recorded it. Up to 5.8
    ``hardware`` has them beside every package of the system (NVUE command reference).
    """
    number = int("".join(filter(str.isdigit, serial)) or 0)
    mac = "b0:cf:0e:" + ":".join(f"{number >> shift & 255:02x}" for shift in (16, 8, 0))
    told = {"manufacturer": "Nvidia", "part-number": "920-9N42F-00RI-7C0", "product-name": "SN5600"}
    told |= {"serial-number": serial, "system-mac": mac}
    if version >= (5, 9):
        return told | {"asic-model": "Spectrum-4", "memory": "30.92 GB"}
    return {"hardware": told | {"base-mac": mac.upper(), "model": "SN5600"}, "software": {"installed": {}}}
