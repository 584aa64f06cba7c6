# SPDX-License-Identifier: Apache-2.0
"""The fabric's intent against the hosts' side: VLANs, MTU and RoCE are written twice, and must agree."""

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache

from intent import expand
from intent.model import Fabric
from maas.fabric import findings
from maas.sitefile.model import Site
from yamlfile.values import FileError, Place

from check.merge import Included
from check.model import Application, Bundle, vlan_ranges
from check.rule import Wrong, rule, site_rule
from check.rules.port import physnets

_expanded = lru_cache(4)(expand.read)
"""The fabric of a text: each of the rules below reads the same one, and it takes as long as all else."""


def _read(application: Application) -> Fabric | None:
    """The fabric of an application's intent; None without an intent.

    Raises FileError if it cannot be read.
    """
    text: object = application.option("intent")
    if not isinstance(text, str) or not text.strip():
        return None
    if isinstance(text, Included):
        return _expanded(text, text.file)
    try:
        return _expanded(text)
    except FileError as error:
        key = application.place("options", "intent")
        # A text in a bundle begins in the line after its key.
        line = key.line + (error.place.line if error.place else 1)
        raise FileError(error.what, Place(key.file, line)) from error


def _fabrics(bundle: Bundle) -> Iterator[tuple[Application, Fabric, Place]]:
    """Each fabric whose intent can be read, and where the intent is."""
    for application in bundle.of("cumulus-fabric"):
        with suppress(FileError):
            if fabric := _read(application):
                yield application, fabric, application.place("options", "intent")


@rule("fabric-intent", "The fabric's charm can read its intent.")
def fabric_intent(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.of("cumulus-fabric"):
        try:
            _read(application)
        except FileError as error:
            yield (
                error.place or application.place(),
                error.what,
                "Correct it: the charm would be blocked",
            )


@rule("fabric-vlan", "Neutron and the fabric have the same VLANs for tenants.")
def fabric_vlan(bundle: Bundle) -> Iterator[Wrong]:
    # Where only other chassis have a physnet, it may be on other switches.
    here = {physnet for each in bundle.offloading("ovn-chassis") for physnet in physnets(each)}
    for fabric, intent, place in _fabrics(bundle):
        provider = {network.vlan for network in intent.networks if network.provider}
        carried = {network.vlan for network in intent.networks}
        others = {name for switch in intent.switches for name in switch.unmanaged.names}
        for application in bundle.of("neutron-api"):
            ranges = vlan_ranges(application.option("vlan-ranges"))
            for physnet, first, last in ranges:
                missing = [vlan for vlan in range(first, last + 1) if vlan not in carried]
                missing = [vlan for vlan in missing if f"vlan{vlan}" not in others]
                if missing and physnet in here:
                    what = (
                        f"{application.name} may use VLANs {first} to {last} of {physnet}, and {fabric.name}"
                    )
                    what += f" does not carry {missing[0]}" + (
                        f" and {len(missing) - 1} more" if missing[1:] else ""
                    )
                    yield (
                        application.place("options", "vlan-ranges"),
                        what,
                        "Narrow vlan-ranges, or widen provider-vlans in the intent",
                    )
            if unused := sorted(provider.difference(*(range(first, last + 1) for _, first, last in ranges))):
                what = f"{fabric.name} has provider VLAN {unused[0]}"
                what += f" and {len(unused) - 1} more" if unused[1:] else ""
                what += f", which {application.name} may not use"
                yield place, what, "Write vlan-ranges from the intent, as tox -e maas -- overlay does"


@site_rule("fabric-space", "A space is on the same VLAN in the fabric and in MAAS; MAAS' untagged is 0.")
def fabric_space(bundle: Bundle, site: Site) -> Iterator[Wrong]:
    for fabric, intent, place in _fabrics(bundle):
        for found in findings(site, intent):
            if found.subject in site.networks:
                remedy = found.remedy[:1].upper() + found.remedy[1:]
                yield place, f"{fabric.name} and {found.subject}: {found.what}", remedy


@site_rule("fabric-mtu", "The fabric's host ports carry what the site's VLANs carry.")
def fabric_mtu(bundle: Bundle, site: Site) -> Iterator[Wrong]:
    for fabric, intent, place in _fabrics(bundle):
        largest = max((each.mtu for each in site.networks.values() if not each.fabric), default=0)
        if intent.mtu.host < largest:
            what = f"{fabric.name} carries {intent.mtu.host} bytes to hosts, the site's VLANs {largest}"
            yield place, what, f"Write mtu: {{host: {largest}}} in the intent"


@rule("fabric-roce", "Hosts and switches agree on what is lossless.")
def fabric_roce(bundle: Bundle) -> Iterator[Wrong]:
    for fabric, intent, _ in _fabrics(bundle):
        roce = intent.roce
        for qos in bundle.of("roce-qos"):
            words = str(qos.option("pfc-priorities") or "").replace(",", " ").split()
            lossless = [] if words == ["none"] else words
            wanted = [str(roce.priority)] if roce.mode == "lossless" else []
            if words and lossless != wanted:
                said = " ".join(lossless) or "no priority"
                what = f"{qos.name} pauses {said}, {fabric.name} {' '.join(wanted) or 'none'}"
                place = qos.place("options", "pfc-priorities")
                yield place, what, f'Write pfc-priorities: "{" ".join(wanted) or "none"}"'
