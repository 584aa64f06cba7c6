# SPDX-License-Identifier: Apache-2.0
"""The objects for a user who is not an administrator of the cloud, and the checks that are then impossible.

By the default policies, only administrators place servers on hosts, see where they are, make flavors, VLANs
and external networks, and give ports a binding:profile. An anti-affinity group has its servers on two hosts.
"""

import shlex
from collections.abc import Iterator
from dataclasses import replace

from converge import Finding, Severity

from acceptance.sitefile import SiteFile
from acceptance.wanted import EXTERNAL, MARK, Facts, Ref, Wanted

GROUP = Wanted("server_group", MARK, {}, {"policies": ["anti-affinity"]})
SUBJECT = "a project without an administrator"
_PROVIDER = ("provider_network_type", "provider_physical_network", "provider_segmentation_id")
_VLAN = ("network vlan_data", "subnet vlan_data_subnet", "subnet vlan_data_subnet6")


def allowed(wanted: list[Wanted], site: SiteFile, facts: Facts) -> Iterator[Wanted]:
    """Yield the objects that the user may ask for; a missing one of the rest says who can make it."""
    for each in wanted:
        if not facts.refused:
            yield each
        elif each.kind == "server":
            if each.name == "vm1":
                yield GROUP
            yield _server(each)
        elif each.key not in _VLAN and "direct_vlan" not in each.name:
            yield _one(each, site)


def _one(each: Wanted, site: SiteFile) -> Wanted:
    if each.kind == "flavor":
        sizes = " ".join(f"--{key} {each.values[key]}" for key in ("vcpus", "ram", "disk"))
        specs = " ".join(f"--property {key}={value}" for key, value in each.values["extra_specs"].items())
        command = " ".join(f"openstack flavor create {sizes} {specs} {shlex.quote(each.name)}".split())
        remedy = (
            f"set flavor in the site file to one that the cloud has, or ask an administrator for: {command}"
        )
        return replace(each, lacks=("there is none, and only administrators make flavors", remedy))
    if each.kind == "network":
        lacks = ("there is none, and only administrators make external networks", EXTERNAL)
        return replace(
            each,
            values={key: value for key, value in each.values.items() if key not in _PROVIDER},
            needed={"is_router_external": True} if each.shared else None,
            lacks=lacks if each.shared else (),
        )
    if each.key == f"subnet {site.public.name}_subnet":
        what = "there is none, and only administrators add one to an external network"
        return replace(each, lacks=(what, EXTERNAL))
    if each.kind == "port" and "binding_profile" in each.once:
        once = {key: value for key, value in each.once.items() if key != "binding_profile"}
        what = "this release needs binding:profile for a VF, which Neutron takes from administrators only"
        remedy = "have an administrator run apply in this project, by project_name in their clouds.yaml"
        return replace(each, once=once, lacks=(what, remedy))
    return each


def _server(each: Wanted) -> Wanted:
    """A server that Nova places, on another host than the rest of its group."""
    once = {key: value for key, value in each.once.items() if key != "availability_zone"}
    once["networks"] = [item for item in once["networks"] if "direct_vlan" not in item["port"]]
    return replace(each, once={**once, "scheduler_hints": {"group": Ref(GROUP.key)}})


def unseen(site: SiteFile, facts: Facts) -> tuple[str, ...]:
    """List the checks that this user's rights prevent, with the reason; none for an administrator."""
    if not facts.refused:
        return ()
    named = [key for key, value in (("nodes", site.nodes), ("other-rack", site.other_rack)) if value]
    ignored = f"; {' and '.join(named)} of the site file cannot be asked for" if named else ""
    return (
        f"on which hosts the servers are: Nova tells administrators only ({facts.refused}). Nova chooses two "
        f"different hosts by an anti-affinity group{ignored}",
        "VF on VLAN: Neutron takes a physical network from administrators only",
        "the type and VLAN of the networks: Neutron shows them to administrators only; the MTU is compared",
    )


def findings(site: SiteFile, facts: Facts) -> tuple[Finding, ...]:
    """The same for plans."""
    return tuple(Finding(Severity.INFO, SUBJECT, f"not seen: {each}") for each in unseen(site, facts))
