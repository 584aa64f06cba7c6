# SPDX-License-Identifier: Apache-2.0
"""Which ports a file of somebody else is about. Pure."""

import re
from collections.abc import Collection
from fnmatch import fnmatchcase

from hostnic.devices.model import Pf

WORD = r"(?<![\w.:-]){}(?![\w.-])"

DEVICE = re.compile(
    r"/sys/(?:class/net|bus/pci/devices)/([^/\s\"']+)/|(?:devices/(?:\S*/)?|pci/)([0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7])"
)

EXPLICIT = re.compile(
    r"\b(?:en[ops][0-9]|enx[0-9a-f]{12}|eth[0-9])|[0-9a-f]{2}:[01][0-9a-f]\.[0-7]|(?:[0-9a-f]{2}:){5}"
)
"""A text that names a port, whichever it is."""

VARIABLE = re.compile(r"\$?\{[^}]*\}|\$\w+|%\w")

SEARCHES = r"15b3|mlx5|lspci|\bfind\b|bonding/slaves|[$`(]\s*ls\b"
OPEN = re.compile(rf"\*|{SEARCHES}")
"""A text that looks for its ports."""
OPEN_BESIDE_ITS_OWN = re.compile(rf"/sys/(?:class/net|bus/pci/devices)/[^/\s]*[*?\[]|{SEARCHES}")
"""The same where the text is told a port: a pattern further down, such as ``virtfn*``, is of that port."""

OTHERS = re.compile(
    r"(?:\bls\s+(?:-\w+\s+)*)?/sys/bus/pci/drivers/(?:igb|ixgbe|i40e|ice|bnxt_en|qede|cxgb4|sfc|nfp|ionic)\b"
    r"(?!/(?:un)?bind)[^\s;|)\"']*"
    r"|\blspci\b[^;\n)]*\bgrep\s+(?:-[a-uw-z]+\s+)*([\"']?)(?:Intel|I350|[EX]7?[1-8]\d{1,2}\S{,2}|Broadcom|BCM\d+)\1(?=[\s)])"
)
"""Where a text finds ports of other makers: in the directory of their driver, or in lspci's lines."""

ELSEWHERE = re.compile(
    r"\*|/sys/class/net|listdir|\b(?:lspci|find|ls)\b|\$[\d@{]|%[ikI]|mlx|mellanox|connectx|bluefield|15b3",
    re.IGNORECASE,
)
"""Where a text may find any other port."""


def ports_named(text: str, pfs: Collection[Pf], told: str = "") -> frozenset[str] | None:
    """The ports that a text names by netdev, PCI or MAC address; None if it looks for its ports itself.

    ``told`` is what it is started for, as the instance of a unit ``vfs@eno1.service``.
    """
    text, found = text.replace("\\:", ":"), set[str]()
    for pf in pfs:
        names = (pf.netdev, *pf.altnames, pf.bdf, pf.bdf.removeprefix("0000:"), pf.mac)
        if any(re.search(WORD.format(re.escape(name)), text, re.IGNORECASE) for name in names if name):
            found.add(pf.bdf)
    devices = {VARIABLE.sub("*", a or b) for a, b in DEVICE.findall(text)}
    patterns = [device for device in devices if re.search(r"[*?\[]", device) and not device.startswith("*")]
    for pf in pfs:
        if any(fnmatchcase(name, each) for each in patterns for name in (pf.netdev or "", pf.bdf)):
            found.add(pf.bdf)
    fixed = devices and not any(device.startswith("*") for device in devices)
    if found or fixed:
        return frozenset(found)
    looks = (OPEN_BESIDE_ITS_OWN if EXPLICIT.match(told) else OPEN).search(text) or not EXPLICIT.search(text)
    return None if looks and not _of_others(text) else frozenset()


def _of_others(text: str) -> bool:
    """Whether a text surely finds ports of other makers only: it writes once, and looks nowhere else."""
    found, places = OTHERS.subn("", text)
    return places > 0 and text.count("sriov_numvfs") == 1 and not ELSEWHERE.search(found)


def meets(pf: Pf, key: str, value: str) -> bool:
    """Whether a port meets one condition of ``[Match]``; those about anything else count as met."""
    if key in ("MACAddress", "PermanentMACAddress"):
        return _digits(pf.mac or "-") in {_digits(each) for each in value.split()}
    if key == "Property":
        given = (each.partition("=") for each in value.replace('"', "").split())
        return value.startswith("!") or all(
            allows(pf, "ENV", name, "==", wanted) for name, _, wanted in given
        )
    actual = {
        "OriginalName": (pf.netdev or "", "eth0"),  # udev asks by the kernel's first name
        "Path": (f"pci-{pf.bdf}",),
        "Driver": (pf.port.driver or "",),
        "Type": ("ether",),
    }.get(key)
    if actual is None:
        return True
    patterns = value.removeprefix("!").split()
    return any(fnmatchcase(each, pattern) for each in actual for pattern in patterns) != value.startswith("!")


def allows(pf: Pf, key: str, attribute: str, operator: str, value: str) -> bool:
    """Whether a port meets one condition of a udev rule; those about anything else count as met."""
    vendor, _, device = pf.port.device.partition(":")
    actual: tuple[str, ...] | None = {
        "KERNEL": (pf.netdev or "", pf.bdf, "eth0"),
        "NAME": (pf.netdev or "",),
        "KERNELS": (pf.bdf,),
        "DRIVER": (pf.port.driver or "",),
        "DRIVERS": (pf.port.driver or "",),
    }.get(key)
    if key in ("ATTR", "ATTRS"):
        actual = {
            "address": (pf.mac or "",),
            "vendor": (f"0x{vendor}",),
            "device": (f"0x{device}",),
            "device/vendor": (f"0x{vendor}",),
            "device/device": (f"0x{device}",),
        }.get(attribute)
    elif key == "ENV":
        actual = {
            "INTERFACE": (pf.netdev or "", "eth0"),
            "PCI_SLOT_NAME": (pf.bdf,),
            "ID_PATH": (f"pci-{pf.bdf}",),
            "ID_NET_DRIVER": (pf.port.driver or "",),
            "ID_VENDOR_ID": (f"0x{vendor}",),
            "ID_MODEL_ID": (f"0x{device}",),
            "PCI_ID": (pf.port.device.upper(),),
        }.get(attribute)
    if actual is None or (operator == "!=" and key in ("KERNEL", "ENV")):
        return True
    same = any(fnmatchcase(each, pattern) for each in actual for pattern in value.split("|"))
    return same == (operator == "==")


def _digits(mac: str) -> str:
    return re.sub("[^0-9a-f]", "", mac.lower())
