# SPDX-License-Identifier: Apache-2.0
"""Hardware offload: one writer per setting, and values that must agree across applications."""

import json
import re
from collections.abc import Iterator

from hostnic import cpus
from maas import tuning
from maas.sitefile.model import Site

from check.model import Application, Bundle, pairs
from check.rule import Wrong, rule, site_rule
from check.rules.pci import WHITELIST, entries_of
from check.rules.space import site_tags

SENTINEL = "none:0"
"""ovn-chassis' sriov-numvfs that names no port: it then leaves every VF alone (charm-layer-ovn)."""
_LISTED = re.compile(r"[\w.-]+:\d+( +[\w.-]+:\d+)*")
"""How sriov-numvfs names ports with their VFs."""
_KNOWN = re.compile(rf"auto|\d+|{_LISTED.pattern}")
"""The same, and how it asks for VFs on any port."""
MOST_WITH_LAG = 64
"""Mellanox/ovs-tests, test-vf-lag-warn-65-vfs.sh; newer firmware is not known."""


@rule("offload", "Hardware offload is on for both neutron-api and ovn-chassis.")
def offload(bundle: Bundle) -> Iterator[Wrong]:
    for application in (*bundle.of("neutron-api"), *bundle.offloading("ovn-chassis")):
        if bundle.offloads and application.option("enable-hardware-offload") is not True:
            what = f"{application.name} does not offload"
            place = application.place("options", "enable-hardware-offload")
            yield place, what, "Write enable-hardware-offload: true"


@rule("offload-alone", "SR-IOV agent and DPDK are off: neither works with hardware offload.")
def offload_alone(bundle: Bundle) -> Iterator[Wrong]:
    ours = bundle.offloading("ovn-chassis")
    # Neutron has the SR-IOV driver for all: hypervisors beside the offloading ones may have its agent.
    beside = any(each.option("enable-sriov") for each in bundle.of("ovn-chassis") if each not in ours)
    for application in (*(() if beside else bundle.of("neutron-api")), *ours):
        for name in ("enable-sriov", "enable-dpdk"):
            if application.option(name) and application.option("enable-hardware-offload"):
                what = f"{application.name}: {name} excludes hardware offload"
                yield application.place("options", name), what, f"Remove {name}"


def names_ports(value: object) -> bool:
    """Whether `sriov-numvfs` is a list of ports; anything else is about all ports of a host."""
    return _LISTED.fullmatch(str(value).strip()) is not None


def left_to(bundle: Bundle, name: str) -> str | None:
    """Return the value for an ovn-chassis' `sriov-numvfs` beside sriov-switchdev; empty if it may stay.

    None if only the hosts know: a number or `auto` applies to every port. Other makers' NICs must keep their
    VFs then. The units of sriov-switchdev say what is left, and `tox -e juju -- adopt` repeats it.
    """
    ours = bundle.of("sriov-switchdev")
    if not ours or name not in {each.name for each in bundle.offloading("ovn-chassis")}:
        return ""
    value = bundle.applications[name].option("sriov-numvfs")
    if not names_ports(value):
        return None
    kept = [(port, count) for port, count in pairs(value) if not any(_may_have(each, port) for each in ours)]
    if kept == pairs(value):
        return ""
    return " ".join(f"{port}:{count}" for port, count in kept) or SENTINEL


@rule("vf-owner", "One charm creates a port's VFs: ovn-chassis names no port that sriov-switchdev may have.")
def vf_owner(bundle: Bundle) -> Iterator[Wrong]:
    ours = bundle.of("sriov-switchdev")
    for application in bundle.offloading("ovn-chassis"):
        value = application.option("sriov-numvfs")
        place = application.place("options", "sriov-numvfs")
        collide = f"{ours[0].name} and it would both write" if ours else ""
        left = left_to(bundle, application.name)
        if left != "":
            said = "unset, which means all VFs of every port" if value is None else json.dumps(value)
            what = f"{application.name}: sriov-numvfs is {said}; {collide}"
            instead = f'Write sriov-numvfs: "{left}"'
            if left is None:
                instead = (
                    f'Name the ports of other NICs with their VFs, as in "eno1:8", or write "{SENTINEL}" if '
                    f"none has any; where the cloud runs, the status of {ours[0].name} says which it is"
                )
            yield place, what, instead
        elif not (ours or value is None or _KNOWN.fullmatch(str(value).strip())):
            taken = "neither auto, a number nor a list of PORT:COUNT"
            what = f"{application.name}: sriov-numvfs {value!r} is {taken}"
            yield place, what, 'Write as in "enp63s0f0:8 enp63s0f1:8"'


def _may_have(ours: Application, port: str) -> bool:
    """Whether a port may be one of sriov-switchdev's.

    It is if ``devices`` names it. With ``auto``, bonds or PCI addresses, a bundle cannot tell: it may be if
    it is named as one of several ports of a card. The unit itself finds the others on its host.
    """
    names = {name for name, _ in pairs(ours.option("devices"))}
    if not names or any(name == "auto" or name[:1].isdigit() or "bond" in name for name in names):
        return bool(re.search(r"f[0-9]+(np[0-9]+)?$", port))
    return port in names


@rule("vf-count", "The firmware offers as many VFs as the driver is to create.")
def vf_count(bundle: Bundle) -> Iterator[Wrong]:
    for driver in bundle.of("sriov-switchdev"):
        for firmware in _beside(bundle, driver, "nic-firmware"):
            has, wants = firmware.option("num-vfs"), driver.option("num-vfs")
            if isinstance(has, int) and isinstance(wants, int) and has != wants > 0:
                what = f"{driver.name} wants {wants} VFs per port, {firmware.name} says {has}"
                yield firmware.place("options", "num-vfs"), what, f"Write num-vfs: {wants} in both"
            for port, count in pairs(driver.option("devices")):
                if isinstance(has, int) and count.isdigit() and int(count) > has:
                    what = f"{driver.name} wants {count} VFs on {port}, {firmware.name} offers {has}"
                    yield (
                        driver.place("options", "devices"),
                        what,
                        f"Write num-vfs: {count} for {firmware.name}",
                    )
            for port in sorted(set(_ports(driver)) if (cards := _ports(firmware)) else ()):
                if _card(port) not in map(_card, cards):
                    what = f"{driver.name} wants VFs on {port}, and {firmware.name} leaves its NIC alone"
                    instead = f"Add {port} to devices of {firmware.name}"
                    yield firmware.place("options", "devices"), what, instead


def _ports(application: Application) -> list[str]:
    """The ports that its devices names as netdevs; none if it names any in another way."""
    names = [name for name, _ in pairs(application.option("devices"))]
    return names if all(re.search(r"f\d+(np\d+)?$", name) for name in names) else []


def _card(port: str) -> str:
    """The card of a port, by its name: both ports have one firmware."""
    return re.sub(r"f\d+(np\d+)?$", "", port)


@rule("vf-lag-count", "VF-LAG needs at most 64 VFs in the firmware.", warning=True)
def vf_lag_count(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.of("sriov-switchdev"):
        count = application.option("num-vfs")
        if isinstance(count, int) and count > MOST_WITH_LAG and application.option("vf-lag") != "disabled":
            what = f"{application.name} wants {count} VFs per port: VF-LAG did not form with 65 or more"
            yield (
                application.place("options", "num-vfs"),
                what,
                f"Write num-vfs: {MOST_WITH_LAG}, or try VF-LAG on one node first",
            )


@rule("reboot-owner", "Where both charms are on a machine, sriov-switchdev owns the reboot.")
def reboot_owner(bundle: Bundle) -> Iterator[Wrong]:
    for firmware in bundle.of("nic-firmware"):
        wanted = "sriov-switchdev" if _beside(bundle, firmware, "sriov-switchdev") else "self"
        found = firmware.option("reboot-owner")
        if found is not None and found != wanted:
            both = "both charms are on its machines" if wanted != "self" else "no sriov-switchdev is there"
            what = f"{firmware.name}: reboot-owner is {found}, but {both}"
            yield firmware.place("options", "reboot-owner"), what, f"Write reboot-owner: {wanted}"


CLUSTERED = ("mysql-innodb-cluster", "ovn-central", "rabbitmq-server")
"""Charms whose units are members of one cluster, which a majority keeps alive."""


@rule(
    "quorum-lock",
    "Members of one cluster are on machines that reboot under one lock.",
    warning=True,
)
def quorum_lock(bundle: Bundle) -> Iterator[Wrong]:
    locks = _locks(bundle)
    split: dict[str, list[Application]] = {}
    for application in bundle.of(*CLUSTERED):
        machines = {unit.machine for unit in bundle.units(application)}
        by_lock: dict[str, list[str]] = {}
        for machine in sorted(machines):
            by_lock.setdefault(locks.get(machine, ""), []).append(machine)
        if len(by_lock) > 1:
            where = [f"{' and '.join(on)} ({lock or 'in no lock'})" for lock, on in sorted(by_lock.items())]
            split.setdefault(", ".join(where), []).append(application)
    for where, applications in split.items():
        names = " and ".join(application.name for application in applications)
        what = f"{names}: members are on machines {where}"
        instead = (
            "Approve reboots of one application at a time, and reboot the other machines by hand only while "
            "all members are there; a charm asks for that before it reboots"
        )
        yield applications[0].named, what, instead


def _locks(bundle: Bundle) -> dict[str, str]:
    """Which application's lock each machine reboots under; machines without one are left out."""
    found: dict[str, str] = {}
    for firmware in bundle.of("nic-firmware"):
        found |= {unit.machine: firmware.name for unit in bundle.units(firmware)}
    for driver in bundle.of("sriov-switchdev"):
        others = {firmware.option("reboot-owner") for firmware in _beside(bundle, driver, "nic-firmware")}
        if not others or others == {"sriov-switchdev"}:
            found |= {unit.machine: driver.name for unit in bundle.units(driver)}
    return found


def _beside(bundle: Bundle, application: Application, charm: str) -> list[Application]:
    """The applications of a charm that have the same principal, or are on the same machines with another."""
    return [other for other in bundle.of(charm) if bundle.places(application) & bundle.places(other)]


@site_rule("cpu-isolation", "Nova's dedicated CPUs are the isolated ones of the machines' tag.")
def cpu_isolation(bundle: Bundle, site: Site) -> Iterator[Wrong]:
    for application in bundle.offloading("nova-compute"):
        value = application.option("cpu-dedicated-set")
        place = application.place("options", "cpu-dedicated-set")
        for tag in site_tags(bundle, site, application):
            isolated = tag.dedicated_cpus
            try:
                same = cpus.numbers(str(value or "")) == cpus.numbers(isolated)
            except ValueError:
                yield place, f"{application.name}: {value!r} is not a set of CPUs", f"Write {isolated}"
                continue
            if not same:
                has, wanted = value or "none", isolated or "none"
                what = f"{application.name} dedicates CPUs {has}, tag {tag.name} isolates {wanted}"
                yield place, what, f"Write cpu-dedicated-set: {isolated or '(nothing)'}"


@site_rule(
    "host-tuning",
    "Compute machines are tuned for instances with VFs, each setting by one owner.",
    warning=True,
)
def host_tuning(bundle: Bundle, site: Site) -> Iterator[Wrong]:
    for application in bundle.offloading("nova-compute"):
        for tag in site_tags(bundle, site, application):
            for what, instead in tuning.of_tag(tag):
                yield application.named, what, instead
            if tag.hugepages and application.option("hugepages"):
                what = f"{application.name} sets hugepages, and tag {tag.name} reserves"
                what += f" {tag.hugepages} GiB at boot"
                yield application.place("options", "hugepages"), what, "Remove hugepages"


@site_rule("mtu", "Neutron's MTU is that of the site's VLANs.")
def mtu(bundle: Bundle, site: Site) -> Iterator[Wrong]:
    for chassis in bundle.offloading("ovn-chassis"):
        for application in bundle.of("neutron-api"):
            found, space = application.option("global-physnet-mtu"), chassis.space("data")
            network = site.networks.get(space)
            if network and found != network.mtu:
                what = f"{application.name}: global-physnet-mtu is {found}, {space} carries {network.mtu}"
                yield application.place("options", "global-physnet-mtu"), what, f"Write {network.mtu}"


@rule(
    "scheduler-filter", "Nova's scheduler looks for hosts with free PCI devices, such as VFs.", warning=True
)
def scheduler_filter(bundle: Bundle) -> Iterator[Wrong]:
    devices = any(entries_of(each, WHITELIST) for each in bundle.of("nova-compute"))
    # nova-cloud-controller adds the filter if neutron-api tells it of one of these (its NeutronAPIContext).
    options = ("enable-hardware-offload", "enable-sriov")
    added = any(each.option(name) is True for each in bundle.of("neutron-api") for name in options)
    for application in bundle.of("nova-cloud-controller") if devices else ():
        filters = re.split(r"[\s,]+", str(application.option("scheduler-default-filters") or ""))
        if any(filters) and "PciPassthroughFilter" not in filters:
            what = f"{application.name}: scheduler-default-filters has no PciPassthroughFilter"
            if added:
                what += ", which the charm adds only while neutron-api offloads or has SR-IOV"
            else:
                what += ": instances with PCI devices are sent to hosts without free ones"
            place = application.place("options", "scheduler-default-filters")
            yield place, what, "Add PciPassthroughFilter, or remove the option"
