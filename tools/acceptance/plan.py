# SPDX-License-Identifier: Apache-2.0
"""The steps to the wanted objects, and those that delete them: pure functions of a cloud's objects."""

from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Any, cast

from converge import Disruption, Finding, Plan, Severity, Step

from acceptance.cloud import Cloud
from acceptance.kinds import INTERFACES, KINDS, Object, lets_out, ours
from acceptance.ops import Connect, Create, Delete, Disconnect, SetSpecs, Tag, Wait, let_out
from acceptance.waiting import why
from acceptance.wanted import MARK, Ref, Wanted

CloudStep = Step[Cloud]
PAGES = {"2MB": ("2MB", "2048"), "1GB": ("1GB", "1048576")}
"""Nova's spellings of hw:mem_page_size, with a unit or in KiB; each of them is one of its `large`."""
ANOTHER_PROJECT = "set project_name in clouds.yaml to a project in which nothing has this name"


def plan(wanted: list[Wanted], objects: dict[str, Object], beside: Iterable[Finding] = ()) -> Plan[Cloud]:
    """Every object that is missing, in order; an object of the same name that differs is a finding.

    Nothing is created if any finding blocks, of these or of `beside`.
    """
    steps: list[CloudStep] = []
    findings = [*beside]
    for each in wanted:
        needed, found = _one(each, objects)
        steps += needed
        findings += found
    if any(finding.severity is Severity.BLOCKED for finding in findings):
        return Plan(findings=tuple(findings))
    # Servers start at the same time.
    waits = [_wait(each) for each in wanted if each.kind == "server" and _starts(objects.get(each.key))]
    return Plan((*steps, *waits), findings=tuple(findings))


def _starts(found: Object | None) -> bool:
    return found is None or found["status"] in ("BUILD", "ERROR")


def _one(each: Wanted, objects: dict[str, Object]) -> tuple[list[CloudStep], list[Finding]]:
    """Steps and findings for one object."""
    found = objects.get(each.key)
    network = objects.get(each.once["network_id"]) if each.kind == "subnet" and each.shared else None
    if network and not ours(network):
        return [], list(_foreign_subnets(each, network))
    if found is None and each.lacks:
        return [], [Finding(Severity.BLOCKED, each.key, *each.lacks)]
    if found is None:
        return list(_create(each, "there is none")), []
    if not ours(found) and not each.shared:
        what = "there is one that this tool did not create"
        return [], [Finding(Severity.BLOCKED, each.key, what, ANOTHER_PROJECT)]
    if each.kind == "server" and found["status"] == "ERROR":
        return list(_replace(each, found, _reason(each, found, objects))), []
    if each.kind == "server" and found["status"] not in ("ACTIVE", "BUILD"):
        remedy = f"see: openstack server show {each.name}"
        return [], [Finding(Severity.BLOCKED, each.key, f"it is {found['status']}", remedy)]
    if each.kind == "image" and found["status"] != "active" and not ours(found):
        remedy = "set image in the site file to another one: openstack image list"
        what = f"it is {found['status']}, and this tool did not create it"
        return [], [Finding(Severity.BLOCKED, each.key, what, remedy)]
    if each.kind == "image" and found["status"] in ("queued", "saving", "killed") and ours(found):
        return list(_replace(each, found, f"its upload did not finish; it is {found['status']}")), []
    return list(_unfinished(each, found)), list(_differences(each, found, objects))


def _step(key: str, what: str, because: str, op: Any) -> CloudStep:
    return Step(key, what, because, Disruption.NONE, op)


def _create(each: Wanted, because: str) -> Iterator[CloudStep]:
    values = {**each.once, **each.values}
    connects = each.kind == "router_interface"
    op = Connect(each.key, values) if connects else Create(each.kind, each.name, values)
    yield _step(each.key, f"create {each.key}", because, op)


def _wait(each: Wanted) -> CloudStep:
    return _step(f"{each.key}/active", f"wait until {each.key} is ACTIVE", "it starts", Wait(each.key))


def _replace(each: Wanted, found: Object, because: str) -> Iterator[CloudStep]:
    yield _step(f"{each.key}/delete", f"delete {each.key}", because, Delete(each.kind, found["id"]))
    yield from _create(each, "it was deleted")


def _reason(each: Wanted, found: Object, objects: dict[str, Object]) -> str:
    """Why a server is in ERROR."""
    attached = {item["port"] for item in each.once["networks"]}
    reason, remedy = why(found, [port for key, port in objects.items() if key in attached])
    return f"{reason}; {remedy}"


def _unfinished(each: Wanted, found: Object) -> Iterator[CloudStep]:
    """Yield the steps that an interruption left out after the object itself was created."""
    if not ours(found):
        return
    how = KINDS.get(each.kind)
    if how and how.service == "network" and how.tagged and MARK not in found["tags"]:
        yield _step(
            f"{each.key}/tag", f"tag {each.key}", "its creation was interrupted", Tag(each.kind, each.key)
        )
    if each.kind == "security_group" and not lets_out(found):
        because = "it has no rule for that, so that servers would get no address and answer no test"
        yield _step(
            f"{each.key}/egress", f"let out what servers in {each.key} send", because, let_out(each.name)
        )
    if each.kind == "flavor" and not found["extra_specs"] and (specs := each.values["extra_specs"]):
        because = "its creation was interrupted"
        yield _step(
            f"{each.key}/specs", f"set the properties of {each.key}", because, SetSpecs(each.key, specs)
        )


def _differences(each: Wanted, found: Object, objects: dict[str, Object]) -> Iterator[Finding]:
    skipped = {"extra_specs"} if ours(found) and not found.get("extra_specs") else set[str]()
    needed = each.values if each.needed is None or ours(found) else each.needed
    for field, value in needed.items():
        known = objects[value]["id"] if isinstance(value, Ref) else value
        if field in skipped or _same(found.get(field), known):
            continue
        what = f"its {field} is {found.get(field)}, not {known}"
        if ours(found):
            yield Finding(Severity.HELD, each.key, what, "run destroy, then apply again")
        else:
            what = f"{what}, and this tool did not create it"
            yield Finding(Severity.BLOCKED, each.key, what, each.choice)
    placed = str(each.once.get("availability_zone", "")).partition(":")[2]
    if each.kind == "server" and found["compute_host"] not in (None, placed):
        remedy = "name the servers' compute hosts as nodes in the site file, or run destroy, then apply again"
        what = f"it is on {found['compute_host']}, not on {placed}"
        yield Finding(Severity.HELD, each.key, what, remedy)
    addresses = [fixed["ip_address"] for fixed in found.get("fixed_ips") or ()]
    for version in sorted(set(each.versions) - {ip_address(address).version for address in addresses}):
        what = f"it has no IPv{version} address, which its network did not have when it was made"
        yield Finding(Severity.HELD, each.key, what, "run destroy, then apply again")
    for field, value in each.expected.items():
        if found.get(field) != value:
            remedy = "set global-physnet-mtu of neutron-api, or mtu in the site file; then destroy and apply"
            yield Finding(
                Severity.WARNING, each.key, f"its {field} is {found.get(field)}, not {value}", remedy
            )


def _foreign_subnets(each: Wanted, network: Object) -> Iterator[Finding]:
    """Why none of the subnets of a network that others created will do; the tool adds none to it."""
    if len(network["subnet_ids"] or ()) > len(network["subnets"]):
        return  # Neutron shows some of them to administrators only
    key = each.once["network_id"]
    subnets = [subnet for subnet in network["subnets"] if subnet["ip_version"] == 4]
    if not subnets:
        what = "it has no IPv4 subnet, which floating IPs need"
        remedy = "set public.name in the site file to an external network with an IPv4 subnet"
        yield Finding(Severity.BLOCKED, key, what, remedy)
        return
    cidrs = sorted(subnet["cidr"] for subnet in subnets)
    cidr = (each.needed or {}).get("cidr")
    usable = [subnet for subnet in subnets if cidr in (None, subnet["cidr"])]
    if not usable:
        what = f"its IPv4 subnets are {' and '.join(cidrs)}, not {cidr}"
        yield Finding(Severity.BLOCKED, key, what, each.choice)
    elif not any(subnet["allocation_pools"] for subnet in usable):
        what = f"its IPv4 subnet {usable[0]['cidr']} has no allocation pool, which floating IPs are from"
        remedy = "set public.name in the site file to another external network"
        yield Finding(Severity.BLOCKED, key, what, remedy)


def _same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):  # others may have added properties
        has = cast("Object", found) if isinstance(found, dict) else {}
        return all(_serves(has.get(key), value) for key, value in cast("Object", wanted).items())
    if isinstance(wanted, str) and wanted.startswith("ssh-"):  # with a comment, or without
        return str(found).split()[:2] == wanted.split()[:2]
    return found == wanted


def _serves(found: Any, wanted: Any) -> bool:
    sizes = [*PAGES["2MB"], *PAGES["1GB"]] if wanted == "large" else PAGES.get(wanted, ())
    return found == wanted or found in sizes


def removal(known: dict[str, list[Object]]) -> Plan[Cloud]:
    """Every object that the tool made, users before what they use; nothing else.

    Nothing is deleted while others use a part of it.
    """
    steps: list[CloudStep] = []
    made = {kind: [each for each in known[kind] if ours(each)] for kind in KINDS}
    if findings := tuple(_used(known, made)):
        return Plan(findings=findings)
    routers = {router["id"]: router["name"] for router in made["router"]}
    ports = [
        port for port in known["port"] if port["device_owner"] in INTERFACES and port["device_id"] in routers
    ]
    for kind in reversed(KINDS):
        if kind == "router":
            for port in ports:
                what = f"take router {routers[port['device_id']]} off port {port['name'] or port['id']}"
                op = Disconnect(port["device_id"], port["id"])
                steps.append(_step(f"router interface {port['id']}", what, "this tool created it", op))
        for each in made[kind]:
            gone_with_another = kind == "security_group_rule" or each in ports
            if not gone_with_another:
                name = each.get("name") or each["id"]
                what = f"delete {kind.replace('_', ' ')} {name}"
                steps.append(
                    _step(f"{kind} {each['id']}", what, "this tool created it", Delete(kind, each["id"]))
                )
    return Plan(tuple(sorted(steps, key=_last)))


def _used(known: dict[str, list[Object]], made: dict[str, list[Object]]) -> Iterator[Finding]:
    """Name others' objects on the tool's networks and routers, without which they would have no network."""
    networks, routers = ({each["id"]: each["name"] for each in made[kind]} for kind in ("network", "router"))
    names = {each["id"]: each["name"] for each in known["network"]}
    for port in known["port"]:
        owner, number = port["device_owner"] or "", port["network_id"]
        router = routers.get(port["device_id"]) if owner in INTERFACES else None
        # Others whose owner begins so are Neutron's, and go with the network.
        theirs = not ours(port) and (owner in INTERFACES or not owner.startswith("network:"))
        what = ""
        if theirs and router and number not in networks:
            what = f"router {router} serves network {names.get(number, number)} through it"
        elif theirs and not router and number in networks:
            what = f"it is on network {networks[number]}"
        if what:
            yield _kept(f"port {port['name'] or port['id']}", what, f"port show {port['id']}")
    for floating in known["floating_ip"]:
        if not ours(floating) and floating["floating_network_id"] in networks:
            what = f"it is of network {networks[floating['floating_network_id']]}"
            address = floating["floating_ip_address"]
            yield _kept(f"floating ip {address}", what, f"floating ip show {address}")


def _kept(subject: str, what: str, command: str) -> Finding:
    remedy = f"nothing is deleted as long as it is there: openstack {command}"
    return Finding(Severity.BLOCKED, subject, f"{what}, and this tool did not create it", remedy)


def _last(step: CloudStep) -> int:
    """Router interfaces go before ports and after floating IPs; the rest keeps its order."""
    order = ["server", "floating_ip", "router interface", "router", "port"]
    word = "router interface" if step.key.startswith("router interface") else step.key.split(" ")[0]
    return order.index(word) if word in order else len(order)
