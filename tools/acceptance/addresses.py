# SPDX-License-Identifier: Apache-2.0
"""Whether networks have the addresses that the missing objects need. Pure.

Neutron gives a port, a floating IP or a router's gateway a free address of the allocation pools of any IPv4
subnet, except of one whose service types name other ports only (neutron/db/ipam_backend_mixin.py).
"""

import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from ipaddress import ip_address

from converge import Finding, Severity

from acceptance.kinds import Object
from acceptance.wanted import Wanted

PORT, FLOATING, GATEWAY = "", "network:floatingip", "network:router_gateway"
_NAMES = {PORT: "port", FLOATING: "floating IP", GATEWAY: "router gateway"}
_ANOTHER = "set public.name in the site file to another external network"

Needed = dict[str, Counter[str]]
"""How many addresses: by network, and by the device_owner of the port that takes them."""


def needed(wanted: Sequence[Wanted], objects: Mapping[str, Object]) -> Needed:
    """Count the addresses that the missing objects take of the pools of each network."""
    found: Needed = {}
    for each in wanted:
        network, owner = _takes(each)
        if network and each.key not in objects:
            found.setdefault(network, Counter())[owner] += 1
    return found


def _takes(each: Wanted) -> tuple[str, str]:
    """The network of which an object takes an address, and the owner of the port that has it."""
    if each.kind == "port":
        return ("", "") if "fixed_ips" in each.values | each.once else (each.once["network_id"], PORT)
    if each.kind == "floating_ip":
        return each.once["floating_network_id"], FLOATING
    gateway = each.once.get("external_gateway_info")
    return (gateway["network_id"], GATEWAY) if gateway else ("", "")


def short(
    wanted: Sequence[Wanted],
    objects: Mapping[str, Object],
    taken: Mapping[str, Collection[str]],
    *,
    whole: bool,
) -> Iterator[Finding]:
    """Each network with too few free addresses, and what helps.

    Args:
        wanted: all objects.
        objects: those that exist, by key.
        taken: the addresses in use, by the key of each network that exists and that something needs.
        whole: they are all; else only those of the project, and others may have more.

    """
    for key, counts in needed(wanted, objects).items():
        network = objects.get(key, {})
        if len(network.get("subnet_ids") or ()) > len(network.get("subnets", ())):
            continue  # Neutron shows some of them to administrators only
        made = [each for each in network.get("subnets", ()) if each["ip_version"] == 4]
        subnets = [each for each in made or _planned(wanted, key) if each["allocation_pools"]]
        if not subnets:
            continue  # plan names a network without, and the pool of a new subnet without one is all of it
        addresses = [int(ip_address(each)) for each in taken.get(key, ())]
        for owners in (list(counts), *([owner] for owner in counts)):
            asked = Counter({owner: counts[owner] for owner in owners})
            usable = [each for each in subnets if any(_serves(each, owner) for owner in owners)]
            if what := _lacking(usable, asked, addresses, whole=whole):
                remedy = _remedy(network, usable or subnets, whole=whole) if made else _WIDER
                yield Finding(Severity.BLOCKED, key, what, remedy)
                break


_WIDER = "set public.first and public.last in the site file to a larger range"


def _planned(wanted: Sequence[Wanted], network: str) -> list[Object]:
    """The subnet that a network is to have."""
    return [
        {**each.values, "allocation_pools": each.once.get("allocation_pools")}
        for each in wanted
        if each.kind == "subnet" and each.once["network_id"] == network and not each.lacks
        if each.once["ip_version"] == 4
    ]


def _serves(subnet: Object, owner: str) -> bool:
    return owner in (subnet.get("service_types") or [owner])


def _lacking(subnets: Sequence[Object], asked: Counter[str], taken: Sequence[int], *, whole: bool) -> str:
    """Which subnets do not have the addresses that are asked for; nothing if they have."""
    pools = [_ends(pool) for each in subnets for pool in each["allocation_pools"]]
    total = sum(last - first + 1 for first, last in pools)
    free = total - sum(any(first <= each <= last for first, last in pools) for each in taken)
    count = asked.total()
    if free >= count:
        return ""
    things = " and ".join(f"{number} {_NAMES[owner]}{'s' * (number > 1)}" for owner, number in asked.items())
    if not subnets:
        return f"no IPv4 subnet of it is for {things}: the service types of each name other ports"
    cidrs = sorted(each["cidr"] for each in subnets)
    have = "its subnets " + " and ".join(cidrs) + " have" if cidrs[1:] else f"its subnet {cidrs[0]} has"
    most = "" if whole else "at most "
    needs = f"{count} {'are' if count > 1 else 'is'} needed"
    return f"{have} {most}{free} of {total} addresses free, and {needs}: {things}"


def _ends(pool: Mapping[str, str]) -> tuple[int, int]:
    return int(ip_address(pool["start"])), int(ip_address(pool["end"]))


def _remedy(network: Object, subnets: Sequence[Object], *, whole: bool) -> str:
    if not network["is_router_external"]:
        return f"see what uses them: openstack port list --network {shlex.quote(network['name'])}"
    who = "" if whole else "have an administrator "
    name = shlex.quote(subnets[0]["name"] or subnets[0]["id"])
    command = f"openstack subnet set --allocation-pool start=FIRST,end=LAST {name}"
    return f"{_ANOTHER}, or {who}add addresses that nothing else uses: {command}"
