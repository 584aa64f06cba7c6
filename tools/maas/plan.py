# SPDX-License-Identifier: Apache-2.0
"""The steps that make MAAS as the site file declares it, in MAAS' own order. Nothing is ever deleted.

Every object has a key, which is its name in plans: "VLAN 10", "subnet 172.18.0.0/24", "node1/bond0".
"""

from collections.abc import Iterator
from dataclasses import dataclass

from converge import Disruption, Finding, Plan, Severity, Step, StepError
from maas import answers, deployed, fabric, readiness, unmanaged
from maas.client import Maas, Objects, Ref, Values, Write, known, stored
from maas.rules import identity, names, power
from maas.sitefile.model import Machine, Network, Secret, Site, Stack, port_stem
from maas.unmanaged import OPEN, UNSEEN

KEYS = {
    "spaces": "space {name}",
    "subnets": "subnet {cidr}",
    "ipranges": "{type} range {start_ip}-{end_ip}",
    "tags": "tag {name}",
    "machines": "machine {hostname}",
    "rackcontrollers": "rack {hostname}",
}
"""The lists of MAAS, and the key of each object in them."""
MaasStep = Step[Maas]
USER_RESERVED = 4
"""The `alloc_type` of an address that somebody has reserved (IPADDRESS_TYPE in maasserver/enum.py)."""


def observe(maas: Maas, site: Site) -> Objects:
    """Read MAAS' objects, by key; machines with their power settings."""
    lists = {kind: answers.listed(maas, kind) for kind in KEYS}
    objects: Objects = {KEYS[kind].format(**found): found for kind in KEYS for found in lists[kind]}
    objects["DNS"] = {"value": maas.send("maas/?op=get_config&name=upstream_dns")}
    found = answers.listed(maas, "fabrics")
    by_name = {key: each for each in found for key in (each["name"], each["id"])}
    for network in sorted(site.networks.values(), key=lambda network: network.vid):
        # The fabric of that name, or the one with its untagged subnet, which will get it.
        subnet = f"subnet {network.cidr}"
        number = objects[subnet]["vlan"]["fabric_id"] if subnet in objects and not network.vid else None
        body = by_name.get(network.fabric or site.fabric) or by_name.get(number)
        if body and network.fabric_key not in objects:
            objects |= _with_vlans(network.fabric_key, body)
        elif network == site.boot and not body:
            what = f"MAAS has neither fabric {network.fabric or site.fabric} nor {subnet}"
            raise StepError(what, "put its rack controller there")
    objects |= {f"fabric #{each['id']}": each for each in found}
    told = answers.ask(maas, "machines/?op=power_parameters", answers.POWER)
    for machine in lists["machines"]:
        settings = told.get(machine["system_id"], {})
        machine |= {f"power_parameters_{key}": value for key, value in settings.items()}
        objects |= {f"{machine['hostname']}/{port['name']}": port for port in machine["interface_set"]}
    objects |= _other_nodes(maas, site, objects) | readiness.observe(maas, site, objects)
    maas.objects = objects
    return objects


def _other_nodes(maas: Maas, site: Site, objects: Objects) -> Objects:
    """Return all nodes besides machines and racks: their names and addresses are taken.

    No dynamic range may have an address that MAAS has given to somebody, or that a route of it leads to.
    """
    ranges = {f"dynamic range {network.dhcp}" for network in site.networks.values() if network.dhcp}
    if objects.keys() >= {*ranges, *(f"machine {name}" for name in site.machines)}:
        return {}
    found = [*answers.listed(maas, "devices"), *answers.listed(maas, "regioncontrollers")]
    nodes = {f"node {each['hostname']}": each for each in found}
    if objects.keys() >= ranges:
        return nodes
    routes = answers.ask_if_told(maas, "static-routes/", answers.ROUTES) or ()
    given = answers.ask_if_told(maas, "ipaddresses/?all=true", answers.GIVEN) or ()
    taken = [("the gateway of a static route", each["gateway_ip"]) for each in routes]
    reserved = [each["ip"] for each in given if each.get("alloc_type") == USER_RESERVED and each["ip"]]
    return {**nodes, "given": [*taken, *(("somebody in MAAS", each) for each in reserved)]}


def plan(site: Site, objects: Objects) -> Plan[Maas]:
    """Every write that is missing: fabric, VLAN, subnet, range, DHCP, tag, machine, interfaces.

    Nothing is written where something that others use would have to change, or where the fabric's intent says
    otherwise: the plan then only says what.
    """
    findings = [*unmanaged.findings(site, objects)]
    findings += fabric.findings(site, site.fabric_intent) if site.fabric_intent else ()
    findings += [*names.kept_by_maas(site, objects), *readiness.images(site, objects)]
    findings += [*readiness.rack_images(site, objects), *readiness.boot_network(site, objects)]
    steps = [*_site_steps(site, objects)]
    conflicts = identity.machines(site, objects)
    findings += conflicts.values()
    for machine in site.machines.values():
        if machine.name in conflicts:
            continue
        if held := power.finding(machine, objects.get(f"machine {machine.name}")):
            findings.append(held)
            continue
        own = [*_machine_steps(site, objects, machine)]
        if own and objects.get(f"machine {machine.name}", {}).get("locked"):
            what = f"it is locked in MAAS, which keeps it from this: {own[0].what}"
            findings.append(Finding(Severity.HELD, machine.name, what, "unlock it in MAAS, then apply again"))
        else:
            steps += own
        more, said = _network_of(site, objects, machine)
        steps += more
        findings += said
    blocked = any(finding.severity is Severity.BLOCKED for finding in findings)
    return Plan(() if blocked else tuple(steps), findings=tuple(findings))


def machine_of(key: str, site: Site) -> str:
    """The machine that a step is about, by the step's key; empty if it is about the site."""
    kind, _, rest = key.partition(" ")
    name = rest.partition(" ")[0] if kind == "machine" else key.partition("/")[0]
    return name if name in site.machines else ""


def _with_vlans(key: str, body: Objects) -> Objects:
    """A fabric and its VLANs, by key."""
    name = key.removeprefix("fabric")
    of = f" of{name}" if name else ""
    return {key: body, **{f"VLAN {vlan['vid']}{of}": vlan for vlan in body["vlans"]}}


@dataclass(frozen=True)
class NewFabric(Write):
    """Makes a fabric. MAAS makes its VLAN 0 by itself."""

    def run(self, system: Maas) -> None:
        super().run(system)
        name = self.values["name"]
        made = next((each for each in answers.listed(system, "fabrics") if each["name"] == name), None)
        if made is None:
            raise StepError(f"MAAS took the request, but has no fabric {name}")
        system.objects |= _with_vlans(self.key, made)


def _network_of(site: Site, objects: Objects, machine: Machine) -> tuple[list[MaasStep], list[Finding]]:
    """How the network of one machine is made as its tag has it, or why that is not possible now."""
    body = objects.get(f"machine {machine.name}", {})
    status = body.get("status_name", "New")
    if unmanaged.settled(status) and (told := deployed.unusual(machine, status)):
        return [], [told]
    if unknown := [port for port in machine.every_port if f"{machine.name}/{port}" not in objects]:
        return [], [_unknown_ports(machine, unknown, body)]
    if unmanaged.settled(status):
        return [], [*deployed.findings(site, machine, body)]
    if found := unmanaged.interfaces(site, objects, machine, body):
        return [], [found]
    stacks = site.stacks(machine)
    wanted = [step for stack in stacks for step in _stack_steps(objects, machine, stack)]
    if not wanted or status in OPEN:
        said = [_failed(machine, status)] if status in unmanaged.FAILED else []
        return wanted, [*said, *deployed.other_values(site, machine, body)]
    what = f"its network differs ({wanted[0].what}), but it is {status}"
    return [], [Finding(Severity.WAITING, machine.name, what, "wait, then apply again")]


def _failed(machine: Machine, status: str) -> Finding:
    """Juju gets no machine in this status."""
    remedy = "see its results and its log in MAAS, mend it, and commission it again"
    return Finding(Severity.HELD, machine.name, f"it is {status}", remedy)


def _unknown_ports(machine: Machine, unknown: list[str], body: Objects) -> Finding:
    """Ports that MAAS has not seen: before commissioning it knows none, afterwards it knows their names.

    Source of the statuses: maasserver/enum.py, NODE_STATUS.
    """
    status = body.get("status_name", "New")
    if status in unmanaged.BUSY:
        what = f"its ports {', '.join(unknown)} are not known yet: it is {status}"
        return Finding(Severity.WAITING, machine.name, what, "wait, then apply again")
    physical = unmanaged.ports(body)
    if status in UNSEEN or not physical:
        if status in unmanaged.FAILED:
            return _failed(machine, status)
        if unmanaged.settled(status):
            what = f"it is {status}, and MAAS knows none of its ports"
            return Finding(Severity.WARNING, machine.name, what, "commission it once nobody has it")
        remedy = "commission it: pipx run tox -e maas -- commission SITE --power-on"
        if status == "Ready":
            remedy += "; if MAAS then still knows none, see in MAAS what its commissioning printed"
            return Finding(Severity.HELD, machine.name, unmanaged.unseen(body), remedy)
        what = f"its ports {', '.join(machine.every_port)} are not known yet"
        return Finding(Severity.WAITING, machine.name, what, remedy)
    # The kernel of another release may append the port's own name: enp63s0f0 becomes enp63s0f0np0.
    stems = {port_stem(name) for name in unknown}
    alike = [name for name in physical if port_stem(name) in stems]
    named = alike or [name for name in physical if name not in machine.every_port]
    known_as = "are known under other names" if alike else "are not among those that MAAS knows"
    what = f"its ports {', '.join(unknown)} {known_as}: {', '.join(named) or 'none'}"
    return Finding(Severity.BLOCKED, machine.name, what, "write the names that MAAS knows in the site file")


def _step(write: Write, what: str, why: str) -> MaasStep:
    return Step(write.key, what, why, Disruption.NONE, write)


def _ensure(
    objects: Objects,
    key: str,
    request: str,
    once: Values,
    values: Values,
    within: str = "",
    after: tuple[str, ...] = (),
) -> Iterator[MaasStep]:
    """A step that makes the object, or that sets those values that differ; `once` is for making it."""
    found = objects.get(key)
    if found is None:
        yield _step(Write(key, request, {**once, **values}, within, after), f"create {key}", "there is none")
        return
    wrong = {field: value for field, value in values.items() if known(value, objects) != stored(found, field)}
    if wrong:
        what = ", ".join(f"{field} of {key} to {value}" for field, value in wrong.items())
        # A secret is not told, and ids tell people nothing.
        told = [field for field, value in wrong.items() if not isinstance(value, Ref | Secret)]
        why = ", ".join(f"{field} is {stored(found, field) or 'not set'}" for field in told) or "it differs"
        path = str(found["resource_uri"]).partition("/api/2.0/")[2]
        yield _step(Write(key, f"PUT {path}", wrong, after=after), f"set {what}", why)


def _site_steps(site: Site, objects: Objects) -> Iterator[MaasStep]:
    dns, known_dns = " ".join(site.dns), stored(objects["DNS"], "value")
    if dns and not known_dns:
        write = Write("DNS", "POST maas/?op=set_config", {"name": "upstream_dns", "value": dns})
        yield _step(write, f"set upstream DNS to {dns}", "it is not set")
    for key, name in site.fabrics.items():
        if key not in objects:
            write = NewFabric(key, "POST fabrics/", {"name": name})
            yield _step(write, f"create fabric {name}", "there is none")
        elif unmanaged.nameless(site, objects, key):
            yield from _ensure(objects, key, "", {}, {"name": name})
    free = unmanaged.free(site, objects)
    for network in site.networks.values():
        yield from _network_steps(objects, network, free)
    for tag in site.tags.values():
        key = f"tag {tag.name}"
        yield from _ensure(objects, key, "POST tags/", {"name": tag.name}, free[key])


def _network_steps(objects: Objects, network: Network, free: dict[str, Values]) -> Iterator[MaasStep]:
    space = f"space {network.name}"
    yield from _ensure(objects, space, "POST spaces/", {"name": network.name}, {})
    vlan, subnet = network.vlan_key(), f"subnet {network.cidr}"
    if network.fabric_key not in objects and not network.vid:
        # MAAS makes VLAN 0 with the fabric.
        what = f"set {' and '.join(free[vlan])} of {vlan}"
        write = Write(vlan, "PUT vlans/{}/", free[vlan], vlan, (network.fabric_key, space))
        yield _step(write, what, "it is new")
    else:
        path, within = "POST fabrics/{}/vlans/", network.fabric_key
        yield from _ensure(objects, vlan, path, {"vid": network.vid}, free[vlan], within, (space,))
    # One that is there is in that VLAN already, or the plan is blocked: a subnet is never moved.
    once: Values = {"cidr": network.cidr, "vlan": Ref(vlan)}
    yield from _ensure(objects, subnet, "POST subnets/", once, free[subnet])
    for text in filter(None, (*network.reserved, network.dhcp)):
        if unmanaged.reserved_already(objects, network, text):
            continue
        kind = "dynamic" if text is network.dhcp else "reserved"
        first, _, last = text.partition("-")
        values: Values = {"type": kind, "start_ip": first, "end_ip": last, "subnet": Ref(subnet)}
        yield from _ensure(objects, f"{kind} range {text}", "POST ipranges/", values, {})
    found = objects.get(vlan, {})
    if network.dhcp and not found.get("dhcp_on"):
        # Without one, the plan is blocked unless there is only one to choose.
        (chosen, *_) = unmanaged.racks(objects, network) or [""]
        chosen_id = objects.get(f"rack {chosen}", {}).get("system_id")
        rack = {} if found.get("primary_rack") else {"primary_rack": chosen_id}
        on: Values = {"dhcp_on": True, **rack}
        write = Write(f"DHCP of {vlan}", "PUT vlans/{}/", on, vlan, (f"dynamic range {network.dhcp}",))
        yield _step(write, f"turn DHCP on for {vlan}", "it is off")


def _machine_steps(site: Site, objects: Objects, machine: Machine) -> Iterator[MaasStep]:
    key, tag = f"machine {machine.name}", site.tags[machine.tag]
    values: Values = {f"power_parameters_{field}": value for field, value in machine.power.items()}
    values |= {"power_type": machine.power_type}
    if tag.hwe_kernel:
        values["min_hwe_kernel"] = tag.hwe_kernel
    # Without commissioning, which would power it on.
    once: Values = {"hostname": machine.name, "architecture": "amd64/generic", "commission": False}
    if machine.mac:
        once["mac_addresses"] = machine.mac
    yield from _ensure(objects, key, "POST machines/", once, values)
    if tag.name not in objects.get(key, {}).get("tag_names", ()):
        path = f"POST tags/{tag.name}/?op=update_nodes"
        write = Write(f"{key} tag", path, {"add": Ref(key)}, after=(f"tag {tag.name}",))
        yield _step(write, f"tag {machine.name} as {tag.name}", "it does not have that tag")


def _vlan_on(objects: Objects, machine: Machine, top: str, vlan: Ref) -> Ref | None:
    """The interface of a VLAN on another one, whatever its name is: MAAS makes no second one."""
    number = known(vlan, objects)
    for each in objects[f"machine {machine.name}"]["interface_set"]:
        on = each["vlan"] if each["type"] == "vlan" and each["parents"] == [top] else None
        if on and on["id"] == number:
            return Ref(f"{machine.name}/{each['name']}")
    return None


def _stack_steps(objects: Objects, machine: Machine, stack: Stack) -> Iterator[MaasStep]:
    """The ports on the untagged VLAN, bond, bridge, VLANs on it, and an address on each."""
    ports = [Ref(f"{machine.name}/{port}") for port in stack.ports]
    bond, bridge = Ref(f"{machine.name}/{stack.bond}"), Ref(f"{machine.name}/{stack.bridge}")
    path = f"POST nodes/{objects[f'machine {machine.name}']['system_id']}/interfaces/"
    for port in ports:
        # A port gets its VLAN from what is on it.
        if not {bond, bridge} & objects.keys():
            yield from _ensure(objects, port, path, {}, {"vlan": Ref(stack.untagged_key)})
    if stack.bond:
        once: Values = {"name": stack.bond, "parents": ports}
        values = deployed.bond_values(objects.get(bond))
        yield from _ensure(objects, bond, f"{path}?op=create_bond", once, values)
    if stack.bridge:
        once = {"name": stack.bridge, "parent": bond if stack.bond else ports[0]}
        yield from _ensure(objects, bridge, f"{path}?op=create_bridge", once, {"bridge_type": "ovs"})
    top = Ref(f"{machine.name}/{stack.top}")
    for network in stack.networks:
        key = top
        if network.vid:
            vlan = Ref(network.vlan_key())
            key = _vlan_on(objects, machine, stack.top, vlan) or Ref(f"{top}.{network.vid}")
            yield from _ensure(objects, key, f"{path}?op=create_vlan", {"parent": top}, {"vlan": vlan})
        if network.cidr not in deployed.addressed(objects.get(key, {})):
            address: Values = {"mode": "auto", "subnet": Ref(f"subnet {network.cidr}")}
            write = Write(f"{key} {network.cidr}", f"{path}{{}}/?op=link_subnet", address, key)
            yield _step(write, f"give {key} an address in {network.cidr}", "it has none")
