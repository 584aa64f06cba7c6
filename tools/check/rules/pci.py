# SPDX-License-Identifier: Apache-2.0
"""The NICs that Nova offers: nova-compute's whitelist of PCI devices, and aliases."""

import json
import re
from collections.abc import Iterator
from typing import Any

from hostnic.devices.selector import AUTO, ENTRY
from maas.overlay import NVIDIA
from maas.sitefile.model import port_stem

from check.model import Application, Bundle, json_list, pairs
from check.rule import Wrong, listed, rule

SELECTORS = ("vendor_id", "product_id", "address", "devname")
WHITELIST = "pci-passthrough-whitelist"
ENTRIES = (
    'Write entries such as {"devname": "enp63s0f0", "physical_network": null}, with the ports that have VFs'
)
PCI_OPTIONS = (WHITELIST, "pci-alias")
ID = r"(0[xX])?[0-9a-fA-F]{1,4}"
"""A vendor or a product. Nova stores four digits in lower case, and compares without case."""
VF_OF = {"1017": "1018", "1019": "101a", "101b": "101c"} | dict.fromkeys(
    ("101d", "101f", "1021", "1023"), "101e"
)
"""ConnectX-5 to -8: the product id of VFs by that of ports (pci.ids)."""


def entries_of(application: Application, option: str) -> list[dict[str, Any]]:
    """The objects of a PCI option, ids as Nova has them; none where it is not JSON, as `pci-json` says."""
    try:
        found = json_list(application.option(option) or "[]")
    except ValueError:
        return []
    entries: list[dict[str, Any]] = [each for each in found if isinstance(each, dict)]
    return [{key: _stored(key, value) for key, value in each.items()} for each in entries]


def _stored(key: str, value: Any) -> Any:
    is_id = key in ("vendor_id", "product_id") and isinstance(value, str) and re.fullmatch(ID, value)
    return f"{int(value, 16):04x}" if is_id else value


def devices_named(application: Application) -> list[str]:
    """The netdevs and bonds that the option devices names."""
    found = [ENTRY.fullmatch(word) for word in str(application.option("devices") or "").split()]
    return [match["name"] for match in found if match and match["name"] and match["name"] != AUTO]


def other_selectors(application: Application, option: str) -> bool:
    """Whether ports are also selected by something else than their names."""
    if option != WHITELIST:
        return len(devices_named(application)) < len(str(application.option(option)).split())
    entries = entries_of(application, WHITELIST)
    return any("address" in entry or entry.get("vendor_id") == NVIDIA for entry in entries)


@rule("pci-json", "Whitelist and alias are JSON objects.")
def pci_json(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.of("nova-compute", "nova-cloud-controller"):
        for option in PCI_OPTIONS:
            value = application.option(option)
            place = application.place("options", option)
            try:
                if (
                    value
                    and isinstance(value, str)
                    and not all(isinstance(each, dict) for each in json_list(value))
                ):
                    yield place, f"{application.name}: {option} is not a list of objects", "Write [{…}, {…}]"
            except json.JSONDecodeError as error:
                what = f"{application.name}: {option} is not JSON: {error.msg} at character {error.pos}"
                yield place, what, "Write [{…}, {…}] with every name in double quotes"


@rule("pci-selector", "A whitelist entry selects by address or devname or IDs, not by address and devname.")
def pci_selector(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.of("nova-compute"):
        for entry in entries_of(application, WHITELIST):
            place = application.place("options", WHITELIST)
            if "address" in entry and "devname" in entry:
                what = f"{application.name}: an entry has both address {entry['address']} and devname"
                yield place, what, "Keep one of the two"
            elif not set(SELECTORS) & set(entry):
                what = f"{application.name}: an entry selects no device, so it selects every device"
                yield place, what, f"Add one of {listed(SELECTORS)}"


@rule("pci-remote", "No whitelist entry leaves VFs of sriov-switchdev to a SmartNIC (remote_managed).")
def pci_remote(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.offloading("nova-compute") if bundle.of("sriov-switchdev") else ():
        for entry in entries_of(application, WHITELIST):
            if str(entry.get("remote_managed", "")).lower() in ("true", "1", "yes", "on"):
                what = f"{application.name}: an entry has remote_managed: a SmartNIC would plug its VFs"
                yield application.place("options", WHITELIST), what, "Remove remote_managed from it"


@rule(
    "pci-offered", "Nova offers the VFs that sriov-switchdev or ovn-chassis makes to instances.", warning=True
)
def pci_offered(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.offloading("nova-compute"):
        entries = entries_of(application, WHITELIST)
        offered = [each for each in entries if "physical_network" in each]
        names = {port_stem(str(each.get("devname"))) for each in offered}
        by_name = offered and all("devname" in each for each in offered)
        for maker, ports in _makers(bundle, application):
            what = ""
            if not application.option(WHITELIST) and maker.charm != "ovn-chassis":
                what = f"{WHITELIST} is not set, so that no port of an instance gets a VF"
            elif entries and not offered and maker.charm != "ovn-chassis":
                what = "no whitelist entry has physical_network, so that no port of an instance gets a VF"
            elif by_name and ports and ports.isdisjoint(names):
                what = f"the whitelist has {listed(names)}, and {maker.name} makes VFs on {listed(ports)}"
            if what:
                yield application.place("options", WHITELIST), f"{application.name}: {what}", ENTRIES


def _makers(bundle: Bundle, compute: Application) -> Iterator[tuple[Application, set[str]]]:
    """Yield the makers of VFs on a nova-compute's hosts, with their ports; none where not all are named."""
    here = bundle.places(compute)
    beside = [each for each in bundle.of("sriov-switchdev", "ovn-chassis") if bundle.places(each) & here]
    # Beside sriov-switchdev, ovn-chassis only has ports of other NICs.
    for maker in [each for each in beside if each.charm != "ovn-chassis"] or beside:
        names = [name for name, count in pairs(maker.option("sriov-numvfs")) if count not in ("", "0")]
        if maker.charm != "ovn-chassis":
            names = [] if other_selectors(maker, "devices") else devices_named(maker)
        yield maker, {port_stem(each) for each in names if not any("bond" in name for name in names)}


@rule("pci-function", "The whitelist offers VFs of ConnectX NICs by product, not their ports.", warning=True)
def pci_function(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.offloading("nova-compute"):
        for entry in entries_of(application, WHITELIST):
            product = str(entry.get("product_id"))
            if entry.get("vendor_id") == NVIDIA and product in VF_OF and "physical_network" in entry:
                what = f"{application.name}: {product} is the id of ports, which Nova then offers whole"
                yield application.place("options", WHITELIST), what, f"Write {VF_OF[product]} for their VFs"


@rule("pci-id", "Vendor and product in the whitelist are hexadecimal numbers of at most four digits.")
def pci_id(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.of("nova-compute"):
        for entry in entries_of(application, WHITELIST):
            for key in ("vendor_id", "product_id"):
                value = entry.get(key, "*")
                if not isinstance(value, str) or not re.fullmatch(rf"\*|{ID}", value):
                    what = (
                        f"{application.name}: the whitelist has {key} {value!r}, at which Nova does not start"
                    )
                    place = application.place("options", WHITELIST)
                    yield place, what, 'Write four hexadecimal digits in quotes, as lspci -n shows, or "*"'


@rule("pci-alias", "The PCI alias is the same for nova-compute and nova-cloud-controller.")
def pci_alias(bundle: Bundle) -> Iterator[Wrong]:
    def names(application: Application) -> set[str]:
        return {json.dumps(entry, sort_keys=True) for entry in entries_of(application, "pci-alias")}

    for controller in bundle.of("nova-cloud-controller"):
        wanted = set[str]().union(*(names(compute) for compute in bundle.of("nova-compute")))
        if names(controller) != wanted:
            what = f"the PCI aliases of {controller.name} are not those of nova-compute"
            yield controller.place("options", "pci-alias"), what, "Write the same pci-alias in both"


@rule("pci-twice", "No two whitelist entries select the same devices: Nova takes the first that matches.")
def pci_twice(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.of("nova-compute"):
        seen: set[str] = set()
        for entry in entries_of(application, WHITELIST):
            selected = json.dumps({key: entry[key] for key in SELECTORS if key in entry}, sort_keys=True)
            if selected in seen:
                what = f"{application.name}: a second whitelist entry selects {selected} and is never used"
                yield application.place("options", WHITELIST), what, "Keep one of the two"
            seen.add(selected)
