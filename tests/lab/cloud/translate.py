# SPDX-License-Identifier: Apache-2.0
"""The bundle's options of the OpenStack charms, as options of nova.conf, neutron.conf and ml2_conf.ini.

=========================== ======================= ==========================================================
option                      charm                   written as; source: the charm's config.yaml of 2024.1
=========================== ======================= ==========================================================
pci-passthrough-whitelist   nova-compute            [pci] passthrough_whitelist, in every release; Nova
                                                    calls it device_spec since Zed, and takes both
pci-alias                   nova-compute,           [pci] alias; "a list of aliases" is '[{...},{...}]'
                            nova-cloud-controller
cpu-dedicated-set           nova-compute            [compute] cpu_dedicated_set
config-flags                nova-compute            [DEFAULT]: "comma-separated list of key=value"
global-physnet-mtu          neutron-api             [DEFAULT] global_physnet_mtu, and [ml2] path_mtu unless
                                                    path-mtu is set
vlan-ranges                 neutron-api             [ml2_type_vlan] network_vlan_ranges; space-delimited there
dns-servers                 neutron-api-plugin-ovn  [ovn] dns_servers
enable-distributed-         neutron-api-plugin-ovn  [ovn] enable_distributed_floating_ip
floating-ip
=========================== ======================= ==========================================================
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

Sections = dict[str, dict[str, Any]]


def bundle(path: Path) -> dict[str, Mapping[str, Any]]:
    """The options that a bundle sets, by charm."""
    return by_charm(yaml.safe_load(path.read_text())["applications"])


def by_charm(applications: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The options of applications, by charm."""
    bodies = applications.values()
    return {str(each.get("charm", "")).removeprefix("ch:"): each.get("options") or {} for each in bodies}


def flags(text: str) -> dict[str, str]:
    """config-flags: KEY=VALUE pairs, separated by commas."""
    pairs = (each.partition("=") for each in text.split(","))
    return {key.strip(): value.strip() for key, _, value in pairs if key.strip()}


def nova_compute(options: Mapping[str, Any]) -> Sections:
    """nova.conf's on a compute node."""
    found: Sections = {"DEFAULT": dict(flags(options.get("config-flags", ""))), "pci": {}, "compute": {}}
    if whitelist := options.get("pci-passthrough-whitelist"):
        found["pci"]["passthrough_whitelist"] = whitelist
    found["pci"].update(_alias(options))
    if dedicated := options.get("cpu-dedicated-set"):
        found["compute"]["cpu_dedicated_set"] = dedicated
    return {section: values for section, values in found.items() if values}


def nova_cloud_controller(options: Mapping[str, Any]) -> Sections:
    """nova.conf's of the control plane."""
    return {"pci": alias} if (alias := _alias(options)) else {}


def neutron_api(options: Mapping[str, Any]) -> Sections:
    """neutron.conf's."""
    return {"DEFAULT": {"global_physnet_mtu": options["global-physnet-mtu"]}}


def ml2(neutron: Mapping[str, Any], plugin: Mapping[str, Any]) -> Sections:
    """ml2_conf.ini's, from neutron-api's options and those of its plugin for OVN."""
    mtu = neutron.get("path-mtu", neutron["global-physnet-mtu"])
    return {
        "ml2": {"path_mtu": mtu},
        "ml2_type_vlan": {"network_vlan_ranges": ",".join(neutron["vlan-ranges"].split())},
        "ovn": {
            "dns_servers": plugin["dns-servers"],
            "enable_distributed_floating_ip": plugin["enable-distributed-floating-ip"],
        },
    }


def _alias(options: Mapping[str, Any]) -> dict[str, list[str]]:
    if not (text := options.get("pci-alias")):
        return {}
    told = json.loads(text)
    return {"alias": [json.dumps(each) for each in (told if isinstance(told, list) else [told])]}
