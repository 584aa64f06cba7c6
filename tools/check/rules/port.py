# SPDX-License-Identifier: Apache-2.0
"""The NICs' ports: bridges and physical networks, and the names that options and the site file have."""

import re
from collections.abc import Iterator

from hostnic.devices.selector import AUTO
from maas.sitefile.model import Machine, Site, Tag, port_stem

from check.model import PLACEHOLDER, Application, Bundle, pairs, vlan_ranges
from check.rule import Wrong, listed, misspelt, near, rule, site_rule
from check.rules.pci import WHITELIST, devices_named, entries_of, other_selectors
from check.rules.space import site_tags

CHASSIS = ("ovn-chassis", "ovn-dedicated-chassis")
"""Charms of the nodes that OVN forwards on: hypervisors, and gateways on nodes of their own."""
BEFORE_OVN = ("neutron-openvswitch", "neutron-gateway")
"""The same of a cloud, or the part of one, that Open vSwitch's agents serve; they have `bridge-mappings`."""
INTEGRATION, LAST_VLAN = "br-int", 4094
HOST_CHARMS = ("nic-firmware", "sriov-switchdev", "roce-qos")


def _bridges(application: Application) -> dict[str, str]:
    """The bridge of each physnet."""
    name = "bridge-mappings" if application.charm in BEFORE_OVN else "ovn-bridge-mappings"
    return dict(pairs(application.option(name)))


def physnets(application: Application) -> set[str]:
    """Return the physical networks of a chassis, on bridges or on ports with VFs."""
    return {*_bridges(application), *(name for name, _ in pairs(application.option("sriov-device-mappings")))}


def _mapped(physnet: str, bridge: str) -> str:
    if physnet.lower() in ("null", "none"):
        return "Write null without quotes for Geneve networks"
    return f"Add {physnet}:{bridge} to ovn-bridge-mappings, whose pairs are separated by spaces"


@rule("physnet-bridge", "A physnet is on one bridge of its own, not on OVN's.")
def physnet_bridge(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.of(*CHASSIS):
        place = application.place("options", "ovn-bridge-mappings")
        for physnet, name in pairs(application.option("ovn-bridge-mappings")):
            if name != _bridges(application)[physnet]:
                what = f"{application.name}: physnet {physnet} is on {name} and on another bridge"
                yield place, what, "Keep one of the two"
            elif name == INTEGRATION:
                what = f"{application.name}: physnet {physnet} is on {name}, which is OVN's own bridge"
                yield place, what, f"Write {physnet}:br-ex, or another bridge that only physnets have"


@rule("bridge", "Bridges that get an interface are mapped to a physnet, and an interface is on one bridge.")
def bridge(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.of(*CHASSIS):
        mapped = {name for _, name in pairs(application.option("ovn-bridge-mappings"))}
        on = dict[str, str]()
        for name, interface in pairs(application.option("bridge-interface-mappings")):
            what = instead = ""
            if PLACEHOLDER in (name, interface):
                continue  # which the rule placeholder says
            if not interface:
                # The charm unpacks each word as a pair (BridgePortInterfaceMap in charmhelpers).
                what = f"bridge-interface-mappings has {name}, which names no bridge, so that its hooks fail"
                instead = "Write BRIDGE:INTERFACE, such as br-ex:bond0"
            elif name not in mapped:
                what = f"bridge {name} is in no ovn-bridge-mappings"
                instead = near(name, mapped, _mapped("PHYSNET", name))
            elif name != on.setdefault(interface, name):
                what = f"{interface} is on {on[interface]} and on {name}: Open vSwitch refuses the second"
                instead = (
                    f"Map the physnets of both to {on[interface]}, and write {on[interface]}:{interface}"
                )
            elif lag := _needs_bond(bundle, application, interface):
                what = f"{name} gets {interface} itself, whose VF-LAG {lag.name} requires: it leaves its bond"
                instead = f"Write {name}:BOND, or vf-lag: disabled for {lag.name}"
            if what:
                place = application.place("options", "bridge-interface-mappings")
                yield place, f"{application.name}: {what}", instead


def _needs_bond(bundle: Bundle, chassis: Application, port: str) -> Application | None:
    """The charm on a chassis' hosts that wants VF-LAG, if the port is one of those with VFs."""
    ours = [each for each in bundle.of("sriov-switchdev") if bundle.places(each) & bundle.places(chassis)]
    spelt = port in _offered(bundle, chassis)
    return next((each for each in ours if spelt and each.option("vf-lag") == "required"), None)


@rule("vlan-range", "Neutron's vlan-ranges are such that it starts.")
def vlan_range(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.of("neutron-api"):
        for word in re.split(r"[\s,]+", str(application.option("vlan-ranges") or "").strip()):
            _, colon, ends = word.partition(":")
            found = re.fullmatch(r"(\d+):(\d+)", ends)
            if colon and not (found and 1 <= int(found[1]) <= int(found[2]) <= LAST_VLAN):
                what = f"{application.name}: vlan-ranges has {word}, with which neutron-server does not start"
                instead = f"Write PHYSNET:FIRST:LAST with VLANs from 1 to {LAST_VLAN}, or PHYSNET alone"
                yield application.place("options", "vlan-ranges"), what, instead


def _unmapped(bundle: Bundle) -> Iterator[tuple[Application, str, str, set[str]]]:
    """Physnets that an option names and no chassis has, with those that chassis have.

    For a whitelist, those are the chassis on the hypervisor's hosts, if the bundle tells them.
    """
    nodes = bundle.of(*CHASSIS, *BEFORE_OVN)
    named = [
        (application, option, name)
        for application in bundle.of("neutron-api")
        for option in ("vlan-ranges", "flat-network-providers")
        for name, _ in pairs(application.option(option))
    ] + [
        (application, WHITELIST, str(entry["physical_network"]))
        for application in bundle.of("nova-compute")
        for entry in entries_of(application, WHITELIST)
        if entry.get("physical_network") is not None
    ]
    for application, option, name in named:
        places = bundle.places(application) if option == WHITELIST else set[str]()
        here = [each for each in nodes if bundle.places(each) & places]
        known = {each for chassis in here or nodes for each in physnets(chassis)}
        if nodes and name not in {*known, "*"}:
            yield application, option, name, known


@rule("physnet", "The whitelist names physnets that a chassis has, and Neutron's options misspell none.")
def physnet(bundle: Bundle) -> Iterator[Wrong]:
    for application, option, name, known in _unmapped(bundle):
        if option == WHITELIST or misspelt(name, known):
            of = "the whitelist" if option == WHITELIST else option
            others = any(name in physnets(each) for each in bundle.of(*CHASSIS, *BEFORE_OVN))
            what = f"{application.name}: {of} names physnet {name}, which no chassis "
            what += "on its hosts has" if others else "has"
            yield application.place("options", option), what, near(name, known, _mapped(name, "BRIDGE"))


@rule("physnet-elsewhere", "Neutron's options name physnets that a chassis has.", warning=True)
def physnet_elsewhere(bundle: Bundle) -> Iterator[Wrong]:
    for application, option, name, known in _unmapped(bundle):
        if option != WHITELIST and not misspelt(name, known):
            what = f"{application.name}: {option} names physnet {name}, which no chassis has: OVN forwards "
            what += "nothing of its networks"
            yield application.place("options", option), what, _mapped(name, "BRIDGE")


OTHERWISE = "Correct one of the two"


@rule("physnet-vlans", "Physical networks on one bridge share its VLANs: their vlan-ranges do not overlap.")
def physnet_vlans(bundle: Bundle) -> Iterator[Wrong]:
    bridges = {
        name: bridge for chassis in bundle.of("ovn-chassis") for name, bridge in _bridges(chassis).items()
    }
    for application in bundle.of("neutron-api"):
        ranges = vlan_ranges(application.option("vlan-ranges"))
        for number, (name, first, last) in enumerate(ranges):
            for other, low, high in ranges[number + 1 :]:
                same = name != other and bridges.get(name) and bridges.get(name) == bridges.get(other)
                if same and first <= high and low <= last:
                    what = f"{application.name}: {name} and {other}, both on {bridges[name]}, "
                    what += f"both have VLAN {max(first, low)}"
                    place = application.place("options", "vlan-ranges")
                    yield place, what, "Give each VLAN to one of them"


def _devnames(application: Application) -> list[str]:
    return [str(entry["devname"]) for entry in entries_of(application, WHITELIST) if entry.get("devname")]


def _offered(bundle: Bundle, application: Application) -> set[str]:
    """The ports that the whitelist on an application's hosts names: other hosts may have other names."""
    here = bundle.places(application)
    computes = [each for each in bundle.of("nova-compute") if bundle.places(each) & here]
    return {name for each in computes for name in _devnames(each)}


@rule("port-name", "Whitelist, devices and bridge mappings spell a port's name alike.")
def port_name(bundle: Bundle) -> Iterator[Wrong]:
    written = [(app, "devices", name) for app in bundle.of(*HOST_CHARMS) for name in devices_named(app)]
    for chassis in bundle.of("ovn-chassis"):
        mappings = pairs(chassis.option("bridge-interface-mappings"))
        written += [(chassis, "bridge-interface-mappings", name) for _, name in mappings]
    for application, option, name in written:
        spelt = _offered(bundle, application)
        for other in sorted(spelt - {name}):
            if name not in spelt and port_stem(name) == port_stem(other):
                what = f"{application.name}: {option} has {name}, and nova-compute's whitelist {other}"
                instead = "Write the name that the host has in both; tox -e maas -- verify shows it"
                yield application.place("options", option), what, instead


def _hosts(bundle: Bundle, site: Site, application: Application) -> tuple[list[Machine], list[Tag]]:
    """The site's machines on which an application may be, by the tags of its machines; and the tags."""
    tags = site_tags(bundle, site, application)
    names = {tag.name for tag in tags}
    return [machine for machine in site.machines.values() if machine.tag in names], tags


def _selects(pattern: str, address: str) -> bool:
    """Whether Nova's `*:3f:00.*` selects the PCI address of a port; what is left out is any."""
    slot, _, function = pattern.lower().partition(".")
    fields = [*["*"] * (2 - slot.count(":")), *slot.split(":"), function or "*"]
    return all(field in ("*", own) for field, own in zip(fields, re.split("[:.]", address)))


@site_rule("site-port", "Ports have the names that the site's machines have, and each machine offers VFs.")
def site_port(bundle: Bundle, site: Site) -> Iterator[Wrong]:
    for application in (*bundle.offloading("nova-compute"), *bundle.of(*HOST_CHARMS)):
        machines, tags = _hosts(bundle, site, application)
        option = WHITELIST if application.charm == "nova-compute" else "devices"
        names = _devnames(application) if option == WHITELIST else devices_named(application)
        known = {port for machine in machines for port in machine.every_port}
        bonds = {bond for tag in tags for bond in (tag.bond, *(nic.bond for nic in tag.nics.values()))}
        known |= set[str]() if option == WHITELIST else bonds
        place = application.place("options", option)
        for name in names if machines else ():
            if name not in known:
                alike = [port for port in known if port_stem(port) == port_stem(name)]
                what = f"{application.name}: {option} names {name}, which no machine of the site has"
                instead = f"Write {listed(alike)}" if alike else near(name, known, OTHERWISE)
                # Beside ports of the site, Nova may have others of the machines, which it does not describe.
                if option != WHITELIST or instead != OTHERWISE or not known.intersection(names):
                    yield place, what, instead
        if known.intersection(names) and not other_selectors(application, option):
            for machine in machines:
                if not {site.tags[machine.tag].bond, *machine.ports}.intersection(names):
                    what = f"{application.name}: {option} names no port of {machine.name}"
                    yield place, what, f"Add {' and '.join(machine.ports)}, or select by address or product"


@site_rule("site-address", "Addresses in the whitelist are those of the site's tag.")
def site_address(bundle: Bundle, site: Site) -> Iterator[Wrong]:
    for application in bundle.offloading("nova-compute"):
        entries = [each for each in entries_of(application, WHITELIST) if "physical_network" in each]
        selected = [each["address"] for each in entries if isinstance(each.get("address"), str)]
        for tag in _hosts(bundle, site, application)[1]:
            left = [port for port in tag.addresses if not any(_selects(each, port) for each in selected)]
            for address in selected if left else ():
                if not any(_selects(address, port) for port in tag.addresses):
                    what = (
                        f"{application.name}: the whitelist has address {address}, tag {tag.name} has others"
                    )
                    yield application.place("options", WHITELIST), what, f"Write {' or '.join(tag.addresses)}"


@site_rule("site-bridge", "ovn-chassis puts on a bridge what MAAS has put there.")
def site_bridge(bundle: Bundle, site: Site) -> Iterator[Wrong]:
    for application in bundle.of("ovn-chassis"):
        machines, tags = _hosts(bundle, site, application)
        place = application.place("options", "bridge-interface-mappings")
        for tag in [tag for tag in tags if tag.bridge]:
            ports = {port for machine in machines if machine.tag == tag.name for port in machine.ports}
            wanted = {tag.bond} if tag.bond else ports
            for bridge, interface in pairs(application.option("bridge-interface-mappings")):
                given = interface != PLACEHOLDER and ":" not in interface
                if bridge == tag.bridge and given and interface not in wanted:
                    what = f"{application.name}: {bridge} gets {interface}, in MAAS it is on {listed(wanted)}"
                    yield place, what, f"Write {' '.join(f'{bridge}:{name}' for name in sorted(wanted))}"


@site_rule(
    "single-port", "Ports without a bond are named, since auto takes bonded ports, and form no VF-LAG."
)
def single_port(bundle: Bundle, site: Site) -> Iterator[Wrong]:
    for application in bundle.of("sriov-switchdev", "roce-qos"):
        machines, tags = _hosts(bundle, site, application)
        if not machines or any(tag.bond for tag in tags):
            continue
        ports = sorted({port for machine in machines for port in machine.ports})
        if application.option("devices") == AUTO:
            what = f"{application.name} would take no port: the site's compute nodes have no bond"
            yield application.place("options", "devices"), what, f"Write devices: {' '.join(ports)}"
        if application.option("vf-lag") == "required":
            what = f"{application.name}: VF-LAG is required, but the site's compute nodes have no bond"
            yield application.place("options", "vf-lag"), what, "Write vf-lag: disabled"
