# SPDX-License-Identifier: Apache-2.0
"""MAAS' own objects and their users, which set limits to the changes of the site file. Pure.

An object that machines use which are not the site's, or which are deployed, is never changed or moved. Where
the site file cannot work beside it, a finding blocks the plan; a name or a comment that differs is only told.
"""

import re
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from typing import Any

from converge import Finding, Severity
from maas.client import Objects, Values, every, stored
from maas.sitefile.addresses import ends, is_address, overlapping, ranges_overlap, same_address
from maas.sitefile.model import Machine, Network, Site, Stack

OPEN = ("New", "Ready", "Failed testing", "Broken")
"""Statuses in which MAAS lets a network be changed (maasserver/api/interfaces.py, ALLOWED_STATES).

There, it also does in "Allocated": somebody has taken the machine, and decides over its network.
"""
UNSEEN = ("New", "Failed commissioning")
"""Statuses of machines whose hardware MAAS has not seen."""
FAILED = ("Failed commissioning", "Failed testing", "Broken")
"""Statuses that somebody has to look into."""
BUSY = ("Commissioning", "Testing")
"""Statuses that end by themselves."""
LABELS = ("name", "comment")
"""Fields that only people read."""


def settled(status: str) -> bool:
    """Whether a machine in this status is somebody's: it has, gets or loses a system."""
    return status not in (*OPEN, *UNSEEN, *BUSY)


def unseen(body: Any) -> str:
    """Why MAAS has to commission a machine before its network can be made; empty if it has not."""
    status = body["status_name"]
    if status == "Ready" and not ports(body):
        return "it is Ready, and MAAS knows none of its ports"
    return f"it is {status}" if status in UNSEEN else ""


def ports(body: Any) -> list[str]:
    """The machine's own ports that MAAS knows."""
    return [port["name"] for port in body.get("interface_set", ()) if port["type"] == "physical"]


def _is_default(objects: Objects, network: Network) -> bool:
    """Whether a VLAN is the first one of its fabric: MAAS' API tells `untagged` as its name, whatever it is.

    Source: get_name and is_fabric_default in maasserver/models/vlan.py, get_default_vlan in models/fabric.py.
    """
    vlan, fabric = objects.get(network.vlan_key()), objects.get(network.fabric_key)
    if vlan is None or fabric is None:
        return fabric is None and network.vid == 0  # MAAS makes VLAN 0 with the fabric
    return vlan["id"] == min(each["id"] for each in fabric["vlans"])


def declared(site: Site, objects: Objects) -> dict[str, Values]:
    """Return the site file's values for its VLANs, subnets and tags, by key."""
    found: dict[str, Values] = {}
    for network in site.networks.values():
        gateway: Values = {"gateway_ip": network.gateway} if network.gateway else {}
        named: Values = {"name": network.vlan} if network.vlan and not _is_default(objects, network) else {}
        found[network.vlan_key()] = {**named, "mtu": network.mtu, "space": network.name}
        found[f"subnet {network.cidr}"] = {"name": network.subnet, **gateway}
    for tag in site.tags.values():
        found[f"tag {tag.name}"] = {"comment": tag.comment, "kernel_opts": tag.kernel_opts}
    return found


def free(site: Site, objects: Objects) -> dict[str, Values]:
    """Return the values that may be set: all of an object that nobody else uses, or that is to be made."""
    return {
        key: {} if key in objects and _users(site, objects, key) else values
        for key, values in declared(site, objects).items()
    }


def nameless(site: Site, objects: Objects, key: str) -> bool:
    """Whether a fabric has a name of MAAS' own, such as fabric-0, and nobody else uses it."""
    name = objects[key]["name"]
    is_other = name != site.fabrics[key]
    return is_other and bool(re.fullmatch(r"fabric-\d+", name)) and not _users(site, objects, key)


def findings(site: Site, objects: Objects) -> Iterator[Finding]:
    """Name the differences that are in use, and the site's objects that have no room beside others."""
    for key, wanted in site.fabrics.items():
        name = objects.get(key, {}).get("name", wanted)
        if name != wanted and not nameless(site, objects, key):
            subnet = next(n.cidr for n in site.networks.values() if n.fabric_key == key and not n.vid)
            what = f"subnet {subnet} is in fabric {name}, which keeps that name"
            yield Finding(Severity.WARNING, key, what, f"write fabric: {name} in the site file")
    known_dns = str(stored(objects["DNS"], "value"))
    if known_dns and not set(site.dns) <= set(re.split(r"[\s,]+", known_dns)):
        what = f"upstream DNS of the whole region is {known_dns}, and is left as it is"
        remedy = "write that in dns of the site file, or change it in MAAS"
        yield Finding(Severity.WARNING, "DNS", what, remedy)
    values = declared(site, objects)
    for network in site.networks.values():
        for key in (network.vlan_key(), f"subnet {network.cidr}"):
            yield from _differing(site, objects, key, values[key])
        yield from _place(site, objects, network)
        yield from _dhcp(site, objects, network)
        yield from _ranges(site, objects, network)
    for tag in site.tags.values():
        key = f"tag {tag.name}"
        yield from _differing(site, objects, key, values[key])
        if objects.get(key, {}).get("definition"):
            what = "MAAS gives this tag to machines by a definition, and takes it from others"
            yield blocked(key, what, "write another name for the tag in the site file")


def blocked(subject: str, what: str, remedy: str) -> Finding:
    """Return a finding that keeps the whole plan from being run."""
    return Finding(Severity.BLOCKED, subject, what, remedy)


def _users(site: Site, objects: Objects, key: str) -> list[str]:
    """Machines that use a fabric, a VLAN, a subnet or a tag: those of others, and deployed ones.

    Of a tag only those of others: it does nothing on a machine before its next deployment.
    """
    kind, _, name = key.partition(" ")
    found: list[str] = []
    own = {same_address(each.power_address) for each in site.machines.values() if each.has_own_bmc}
    for body in every(objects, "machine"):
        # One that MAAS has named is the site's as soon as it is renamed.
        foreign = body["hostname"] not in site.machines and bmc(body) not in own
        if kind == "tag":
            uses = foreign and name in body["tag_names"]
        else:
            uses = (foreign or settled(body["status_name"])) and any(
                _uses(port, kind, objects[key]) for port in body["interface_set"]
            )
        if uses:
            found.append(f"{body['hostname']} ({body['status_name']})")
    return sorted(found)


def _uses(port: Any, kind: str, found: Any) -> bool:
    if kind in ("VLAN", "fabric"):
        ids = {each["id"] for each in found.get("vlans", [found])}
        return bool(port["vlan"]) and port["vlan"]["id"] in ids
    return any(link.get("subnet") and link["subnet"]["cidr"] == found["cidr"] for link in port["links"])


def bmc(body: Any) -> str:
    """The address of a machine's BMC, in one spelling; empty without one."""
    return same_address(str(body.get("power_parameters_power_address") or ""))


def _use(users: list[str]) -> str:
    """The machines that use it, at most three by name."""
    others = " and others" if len(users) > 3 else ""
    return f"{', '.join(users[:3])}{others} {'use' if len(users) > 1 else 'uses'} it"


def _differing(site: Site, objects: Objects, key: str, values: Values) -> Iterator[Finding]:
    """Fields of an object in use that are not as the site file has them."""
    found = objects.get(key)
    users = _users(site, objects, key) if found else []
    if not users:
        return
    used = _use(users)
    for field, value in values.items():
        has = stored(found, field)
        if value == has:
            continue
        what = f"its {field} is {has or 'not set'}, not {value or 'empty'}, and {used}"
        if field in LABELS:
            yield Finding(Severity.INFO, key, f"{what}: it is left as it is")
        else:
            first = "write that in" if has else "leave it out of"
            remedy = f"{first} the site file, or change it in MAAS yourself if that is right for them"
            if has == "undefined":  # MAAS has this word for no space
                remedy = "give it that space in MAAS yourself if that is right for them"
            yield blocked(key, what, remedy)


def _place(site: Site, objects: Objects, network: Network) -> Iterator[Finding]:
    """Yield the obstacles to a subnet at its place. It is never moved: all that is in it would follow."""
    key, vlan = f"subnet {network.cidr}", objects.get(network.vlan_key(), {})
    for found in every(objects, "subnet"):
        if found["cidr"] != network.cidr and overlapping(found["cidr"], network.cidr):
            what = f"MAAS has subnet {found['cidr']}, which overlaps it"
            if key in objects:  # MAAS before 3.7 takes both
                yield Finding(Severity.INFO, key, f"{what}: both are left as they are")
            else:
                yield blocked(key, what, "write the subnet that MAAS has in the site file, or another one")
    if key not in objects or (is_in := objects[key]["vlan"])["id"] == vlan.get("id"):
        return
    fabric = objects.get(f"fabric #{is_in['fabric_id']}", {}).get("name", is_in["fabric_id"])
    named = site.fabrics[network.fabric_key]
    wanted = objects.get(network.fabric_key, {}).get("name", named)
    what = f"it is in VLAN {is_in['vid']} of fabric {fabric}, not in VLAN {network.vid} of fabric {wanted}"
    remedy = "write that fabric and vid in the site file; if they are wrong, move the subnet in MAAS yourself"
    yield blocked(key, what, remedy)


def _dhcp(site: Site, objects: Objects, network: Network) -> Iterator[Finding]:
    """Why DHCP must not be turned on."""
    key = network.vlan_key()
    found = objects.get(key, {})
    if not network.dhcp or found.get("dhcp_on"):
        return
    leave_out = f"leave dhcp of {network.name} out of the site file"
    if server := found.get("external_dhcp"):
        what = f"another DHCP server answers there already: {server}"
        yield blocked(key, what, f"{leave_out}, or turn that one off")
    elif found.get("relay_vlan"):
        yield blocked(key, "its DHCP is relayed to another VLAN", leave_out)
    elif found and (users := _users(site, objects, key)):
        what = f"its DHCP is off, and {_use(users)}"
        yield blocked(key, what, f"{leave_out}, or turn it on in MAAS yourself if that is right for them")
    elif not found.get("primary_rack") and len(near := racks(objects, network)) != 1:
        if every(objects, "rack") and not near:
            what = f"no rack controller has an interface in a VLAN {network.vid}: MAAS lets none answer there"
            yield blocked(key, what, f"give one an interface there and wait for a minute, or {leave_out}")
            return
        known = ", ".join(near) or "it has none"
        what = f"MAAS does not know which of its rack controllers answers there: {known}"
        remedy = f"in MAAS, configure DHCP of {key} with its primary rack; create it first if need be"
        yield blocked(key, what, remedy)


def rack_addresses(objects: Objects) -> list[tuple[str, str]]:
    """The rack controllers, each with one of its addresses."""
    return [(body["hostname"], has) for body in every(objects, "rack") for has in body["ip_addresses"]]


def racks(objects: Objects, network: Network) -> list[str]:
    """Rack controllers that may give out addresses of a network: those with one in it, or else all.

    MAAS takes those alone that have an interface in a VLAN of that number (filter_by_vids in forms/vlan.py).
    """
    subnet = ip_network(network.cidr)
    found = {
        body["hostname"]
        for body in every(objects, "rack")
        if (ports := body.get("interface_set")) is None
        or any(port["vlan"] and port["vlan"]["vid"] == network.vid for port in ports)
    }
    within = {name for name, has in rack_addresses(objects) if ip_address(has) in subnet}
    return sorted(within & found or found)


def _ranges(site: Site, objects: Objects, network: Network) -> Iterator[Finding]:
    """Name the obstacles to a new range. MAAS would refuse it after a part of the plan was done."""
    ranges = {
        key: f"{body['start_ip']}-{body['end_ip']}" for key, body in objects.items() if " range " in key
    }
    managed = objects.get(f"subnet {network.cidr}", {}).get("managed") is not False
    reserved = [each for key, each in ranges.items() if key.startswith("reserved")]
    within = [ends(each)[0] in ip_network(network.cidr) for each in reserved]
    known = [objects[key]["status_name"] for name in site.machines if (key := f"machine {name}") in objects]
    if not managed and not any(within) and sum(map(settled, known)) < len(site.machines):
        what = "MAAS does not manage it, and has no reserved range in it from which nodes get addresses"
        yield Finding(Severity.WARNING, f"subnet {network.cidr}", what, "reserve one for the nodes in MAAS")
    held = [
        (body["hostname"], str(has))
        for body in every(objects, "machine")
        for port in body["interface_set"]
        for link in port["links"]
        if (has := link.get("ip_address"))
    ]
    # A reserved range may have these in it: it keeps MAAS from giving them to others.
    fixed = [(f"rack controller {name}", has) for name, has in rack_addresses(objects)]
    fixed += [(name, has) for name, each in other_nodes(objects) for has in each.get("ip_addresses", ())]
    subnet = objects.get(f"subnet {network.cidr}", {})
    fixed += [("a DNS server of the subnet", str(has)) for has in subnet.get("dns_servers") or ()]
    bmcs = [(f"the BMC of {body['hostname']}", bmc(body)) for body in every(objects, "machine")]
    fixed += [*(pair for pair in bmcs if is_address(pair[1])), *objects.get("given", ())]
    if gateway := stored(subnet, "gateway_ip"):
        fixed.append(("the gateway", str(gateway)))
    for text in filter(None, (network.dhcp, *network.reserved)):
        wanted = f"{'dynamic' if text is network.dhcp else 'reserved'} range {text}"
        if wanted in objects or reserved_already(objects, network, text):
            continue
        if not managed:
            what = "MAAS does not manage this subnet: there, it gives addresses of reserved ranges alone"
            yield blocked(wanted, what, f"leave ranges of {network.name} out of the site file")
        for key, has in ranges.items():
            if ranges_overlap(text, has):
                alike = key.partition(" ")[0] == wanted.partition(" ")[0]
                remedy = "write that range in the site file" if alike else "write one without its addresses"
                yield blocked(wanted, f"MAAS has the {key}, which overlaps it", remedy)
        for who, has in (*held, *(fixed if text is network.dhcp else ())):
            if ranges_overlap(text, has):
                what = f"{who} has address {has} in it"
                yield blocked(wanted, what, "write a range without that address")


def reserved_already(objects: Objects, network: Network, text: str) -> bool:
    """Whether all of a range that is to be reserved is in ranges that MAAS has reserved."""
    known = [
        (ip_address(body["start_ip"]), ip_address(body["end_ip"])) for body in every(objects, "reserved")
    ]
    missing, last = ends(text)
    for start, end in sorted(known, key=lambda ends: (ends[0].version, int(ends[0]))):
        if start.version == missing.version and int(start) <= int(missing) <= int(end):
            missing = end + 1
    return text is not network.dhcp and int(missing) > int(last)


def other_nodes(objects: Objects) -> list[tuple[str, Any]]:
    """Devices and region controllers, by what they are called."""
    return [(key.removeprefix("node "), body) for key, body in objects.items() if key.startswith("node ")]


def interfaces(site: Site, objects: Objects, machine: Machine, body: Any) -> Finding | None:
    """Name the obstacle to the bonds and the bridge of a machine without a system, on its ports."""
    found = (_in_the_way(objects, stack, body) for stack in site.stacks(machine))
    what, remedy = next(filter(None, found), ("", ""))
    return Finding(Severity.HELD, machine.name, what, f"{remedy}, then apply again") if what else None


def _in_the_way(objects: Objects, stack: Stack, body: Any) -> tuple[str, str] | None:
    """Return the obstacle and its remedy."""
    ports, untagged = set(stack.ports), objects.get(stack.untagged_key, {})
    for found in body["interface_set"]:
        name, parents, kind = found["name"], found["parents"], found["type"]
        made = "bond" if name == stack.bond else "bridge" if name == stack.bridge else kind
        if kind != made:
            what = f"{name} is no {made}, but an interface of type {kind}"
            return what, f"write another name for {made} in its tag"
        static = [link.get("ip_address") for link in found["links"] if link["mode"] == "static"]
        if static and name in {*ports, stack.bond} - {stack.top}:
            what = f"{name} has static address {static[0]}, which it loses below {stack.top}"
            return what, f"take it away in MAAS, and give it to {stack.top} once that is there"
        if kind == "vlan" and _is_below(objects, stack, found):
            what = f"{name} is a VLAN on {parents[0]}, and the site file has VLANs on {stack.top}"
            return what, f"delete {name} in MAAS"
        if kind not in ("bond", "bridge"):
            continue
        own = stack.bond if kind == "bond" else stack.bridge
        needs = ports if kind == "bond" or not stack.bond else {stack.bond}
        if name != own and set(parents) & (ports | {stack.bond or stack.ports[0]}):
            verb = "are" if len(parents) > 1 else "is"
            what = f"{', '.join(parents)} {verb} in {kind} {name}, not in {own or 'none'}"
            return what, f"write {kind}: {name} in its tag, or delete {name} in MAAS"
        if name == own and set(parents) != needs:
            what = f"{name} has ports {', '.join(parents) or 'none'}, not {', '.join(sorted(needs))}"
            if not needs & {*parents}:
                return what, f"write another name for {kind} in its tag"
            return what, f"delete {name} in MAAS"
        vlan = found["vlan"]
        if name == own and (vlan["id"] if vlan else None) != untagged.get("id"):
            other = " of another fabric" if vlan and vlan["vid"] == untagged.get("vid") else ""
            on = f"VLAN {vlan['vid']}{other}" if vlan else "no VLAN"
            what = f"{name} is on {on}, not on {stack.untagged_key}, which its ports carry untagged"
            return what, f"delete {name} in MAAS"
    return None


def _is_below(objects: Objects, stack: Stack, vlan: Any) -> bool:
    """Whether a VLAN interface keeps MAAS from bonding its port, or the bridge from getting its packets."""
    ids = [objects.get(network.vlan_key(), {}).get("id") for network in stack.networks]
    refused = {*stack.ports} if stack.bond else set[str]()
    if vlan["vlan"] and vlan["vlan"]["id"] in ids:
        refused |= {stack.bond, *stack.ports}
    return bool(({*vlan["parents"]} - {stack.top}) & refused)
