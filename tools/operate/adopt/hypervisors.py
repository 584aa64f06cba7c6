# SPDX-License-Identifier: Apache-2.0
"""Which hypervisors of a model offload already, by the VFs that they have, and which ones stay. Pure."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from check.facts import own
from check.model import Application, Bundle, json_list, pairs
from check.options import config
from check.rules.offload import left_to
from check.rules.pci import WHITELIST, entries_of, other_selectors
from converge import StepError
from converge.shape import InvalidValue
from hostnic.devices import selector
from maas.sitefile.model import port_stem

DRIVER, FIRMWARE = "sriov-switchdev", "nic-firmware"
NUMVFS, OFFLOAD = "sriov-numvfs", "enable-hardware-offload"


class Vfs(NamedTuple):
    """VFs of a hypervisor: of each port that is named, else `each` on every port; None is unknown."""

    ports: tuple[tuple[str, int], ...] = ()
    each: int | None = None

    @property
    def most(self) -> int | None:
        """VFs of the port that has most; None if that is not known."""
        return max((count for _, count in self.ports), default=self.each)


class Group(NamedTuple):
    """Hypervisors that are adopted alike, their ovn-chassis, and what ends the names of charms on them."""

    computes: list[Application]
    chassis: list[Application]
    vfs: Vfs
    suffix: str

    def ours(self, bundle: Bundle, charm: str) -> Application | None:
        """The application of a charm that is on these hypervisors, else one that is nowhere yet.

        It is there also with another application of the same machines, such as their storage.
        """
        here_are = set[str]().union(*(bundle.places(each) for each in self.computes))
        on = {
            each.name: {other.name for other in bundle.related(each, "juju-info")}
            for each in bundle.of(charm)
        }
        here = [name for name in on if bundle.places(bundle.applications[name]) & here_are]
        unused = [name for name, others in on.items() if not others and not self.suffix]
        return next((bundle.applications[name] for name in (*here, *unused)), None)

    def name(self, bundle: Bundle, charm: str) -> str:
        """Return the name of a charm's application here, or the one that it would have."""
        if ours := self.ours(bundle, charm):
            return ours.name
        name = charm + self.suffix
        return f"{charm}-{self.computes[0].name}" if name in bundle.applications else name

    def here(self, bundle: Bundle) -> list[str]:
        """List the names of sriov-switchdev, here or still to come, and of nic-firmware where it is here."""
        firmware = self.ours(bundle, FIRMWARE)
        return [self.name(bundle, DRIVER), *([firmware.name] if firmware else [])]

    @property
    def unlisted(self) -> list[str]:
        """Ports with VFs that no whitelist names, where whitelists select by names: maybe of other NICs."""
        if any(other_selectors(each, WHITELIST) for each in self.computes):
            return []
        stems = {
            port_stem(str(entry.get("devname")))
            for each in self.computes
            for entry in entries_of(each, WHITELIST)
        }
        having = [port for port, count in self.vfs.ports if count]
        found = [port for port in having if port_stem(port) not in stems]
        return found if len(found) < len(having) else []


def vfs_of(value: object, whose: str = "--vfs") -> Vfs:
    """`8`, or `enp3s0f0:8 enp3s0f1:0`. Nothing is known where it asks for no VF, or for as many as can be.

    Raises StepError if it is something else, or more than sriov-switchdev takes.
    """
    words = (selector.AUTO if value is None else str(value)).split()
    found = [match for word in words if (match := selector.ENTRY.fullmatch(word)) and match["count"]]
    ports = tuple((match["name"] or match["address"], int(match["count"])) for match in found)
    vfs = Vfs(ports if any(count for _, count in ports) else ())
    allowed = ""
    if len(words) == 1 and re.fullmatch("[0-9]{1,5}", words[0]):
        vfs = Vfs(each=int(words[0]) or None)
    elif words != [selector.AUTO] and (not words or len(found) < len(words)):
        allowed = "a number of VFs for each port, or PORT:COUNT words such as 'enp3s0f0:8 enp3s0f1:8'"
    if vfs.most and not allowed:
        try:
            config(DRIVER).Options(num_vfs=vfs.most, devices=" ".join(words) if ports else selector.AUTO)
        except InvalidValue as error:
            allowed = error.allowed
    if allowed:
        raise StepError(f"{whose} is {value!r}", f"write {allowed}")
    return vfs


def creates_vfs(chassis: Application) -> bool:
    """Whether ovn-chassis creates VFs, of whatever number."""
    value = chassis.option(NUMVFS)
    return value is None or str(value).split() == [selector.AUTO] or vfs_of(value).most is not None


def find(bundle: Bundle, given: Vfs | None) -> tuple[list[Group], list[tuple[str, str]]]:
    """The hypervisors that offload, and what stays as it is, with the reason.

    Raises StepError if an option cannot be read.
    """
    groups: dict[tuple[Vfs, str, frozenset[str]], Group] = {}
    stays: list[tuple[str, str]] = []
    offering = [each for each in bundle.of("nova-compute") if _offers_vfs(each)]
    offloading = {each.name for one in offering for each in bundle.related(one, "neutron-plugin")}
    for compute in bundle.of("nova-compute"):
        network = bundle.related(compute, "neutron-plugin")
        chassis = [each for each in network if each.charm == "ovn-chassis"]
        # One ovn-chassis may serve them and those that offload, and then has its option for both.
        alone = compute not in offering and any(each.name in offloading for each in chassis)
        if why := _why_not(compute, network, chassis) or ("it offers no VFs to instances" if alone else ""):
            stays.append((" with ".join(each.name for each in (compute, *network)), why))
            continue
        here = bundle.places(compute)
        there = [each for each in bundle.of(DRIVER, FIRMWARE) if bundle.places(each) & here]
        alone = all(left_to(bundle, each.name) == "" for each in chassis)
        adopted = alone and any(each.charm == DRIVER for each in there)
        vfs = given or (Vfs() if adopted else _vfs(chassis[0]))
        key = (vfs, compute.base, frozenset(each.name for each in there))
        group = groups.setdefault(key, Group([], [], vfs, f"-{compute.name}" if groups else ""))
        group.computes.append(compute)
        group.chassis.extend(each for each in chassis if each not in group.chassis)
    stays += [
        (each.name, "a gateway, on which no instance runs") for each in bundle.of("ovn-dedicated-chassis")
    ]
    beside = [each for each in bundle.of("ovn-chassis") if not bundle.related(each, "nova-compute")]
    stays += [(each.name, "it serves no hypervisor") for each in beside]
    return list(groups.values()), stays


def _offers_vfs(compute: Application) -> bool:
    """Whether its whitelist has devices of a NIC; also if it cannot be read."""
    try:
        entries = json_list(compute.option(WHITELIST) or "[]")
    except ValueError:
        return True
    return any(not isinstance(each, dict) or "physical_network" in each for each in entries)


def _vfs(chassis: Application) -> Vfs:
    vfs = vfs_of(chassis.option(NUMVFS), f"{chassis.name}: {NUMVFS}")
    mapped = pairs(chassis.option("sriov-device-mappings"))
    return Vfs(tuple((port, vfs.each) for _, port in mapped)) if vfs.each and mapped else vfs


def _why_not(compute: Application, network: list[Application], chassis: list[Application]) -> str:
    """Why a hypervisor is not adopted; empty if it is."""
    bases = own()[DRIVER].bases
    if not chassis:
        charms = listed(each.charm for each in network) or "no network charm"
        return f"it has {charms}, and these charms need ovn-chassis"
    for option, what in (("enable-dpdk", "DPDK"), ("enable-sriov", "the SR-IOV agent")):
        if any(each.option(option) for each in chassis):
            return f"{what} is on ({option}), which excludes hardware offload"
    if not all(each.option(OFFLOAD) is True for each in chassis):
        return f"it does not offload: {OFFLOAD} is not true"
    if compute.base not in bases:
        return f"it is on {compute.base}, and these charms are built for {listed(sorted(bases))}"
    return "" if compute.count else "it has no unit"


def listed(names: Iterable[str]) -> str:
    """Names in a sentence, each once, in their order."""
    return ", ".join(dict.fromkeys(names))
