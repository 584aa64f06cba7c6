# SPDX-License-Identifier: Apache-2.0
"""The fabric's intent against the hosts' side: VLANs, MTU and RoCE are written twice, and must agree."""

from collections.abc import Iterator
from typing import Any, cast

import yaml
from maas.sitefile import Site
from maas.tenants import provider_vlans

from check.model import Application, Bundle, vlan_ranges
from check.rule import Wrong, rule, site_rule
from check.source import Place

Intent = dict[str, Any]


def _mapping(value: object) -> Intent:
    """The mapping; an empty one for anything else, which is the charm's to name."""
    return cast(Intent, value) if isinstance(value, dict) else {}


def _intents(bundle: Bundle) -> Iterator[tuple[Application, Intent, Place]]:
    """Each fabric with its intent; one that is no YAML mapping is the charm's to name."""
    for application in bundle.of("cumulus-fabric"):
        try:
            intent: object = yaml.safe_load(str(application.option("intent") or ""))
        except yaml.YAMLError:
            intent = None
        if isinstance(intent, dict):
            yield application, cast(Intent, intent), application.place("options", "intent")


def _networks(intent: Intent) -> list[dict[str, Any]]:
    return [_mapping(body) for body in _mapping(intent.get("networks")).values()]


@rule("fabric-vlan", "Neutron and the fabric have the same VLANs for tenants.")
def fabric_vlan(bundle: Bundle) -> Iterator[Wrong]:
    for fabric, intent, place in _intents(bundle):
        provider = provider_vlans(intent)
        vlans: list[object] = [network.get("vlan") for network in _networks(intent)]
        carried = provider | {vlan for vlan in vlans if isinstance(vlan, int)}
        for application in bundle.of("neutron-api"):
            ranges = vlan_ranges(application.option("vlan-ranges"))
            for physnet, first, last in ranges:
                if missing := [vlan for vlan in range(first, last + 1) if vlan not in carried]:
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
    for fabric, intent, place in _intents(bundle):
        for network in _networks(intent):
            known = site.networks.get(str(network.get("space")))
            vid = 0 if network.get("untagged") else network.get("vlan")
            if known and known.vid != vid:
                what = f"{fabric.name} has {known.name} on VLAN {vid}, MAAS on {known.vid}"
                yield place, what, "Write the same VLAN in the intent and in the site file"


@site_rule("fabric-mtu", "The fabric's host ports carry what the site's VLANs carry.")
def fabric_mtu(bundle: Bundle, site: Site) -> Iterator[Wrong]:
    for fabric, intent, place in _intents(bundle):
        host = _mapping(intent.get("mtu")).get("host")
        largest = max(network.mtu for network in site.networks.values())
        if isinstance(host, int) and host < largest:
            what = f"{fabric.name} carries {host} bytes to hosts, the site's VLANs {largest}"
            yield place, what, f"Write mtu: {{host: {largest}}} in the intent"


@rule("fabric-roce", "Hosts and switches agree on what is lossless.")
def fabric_roce(bundle: Bundle) -> Iterator[Wrong]:
    for fabric, intent, _ in _intents(bundle):
        roce = _mapping(intent.get("roce"))
        for qos in bundle.of("roce-qos"):
            words = str(qos.option("pfc-priorities") or "").replace(",", " ").split()
            lossless = [] if words == ["none"] else words
            wanted = [str(roce.get("priority", 3))] if roce.get("mode") == "lossless" else []
            if words and lossless != wanted:
                said = " ".join(lossless) or "no priority"
                what = f"{qos.name} pauses {said}, {fabric.name} {' '.join(wanted) or 'none'}"
                place = qos.place("options", "pfc-priorities")
                yield place, what, f'Write pfc-priorities: "{" ".join(wanted) or "none"}"'
