# SPDX-License-Identifier: Apache-2.0
"""What it takes to make MAAS what the site file says, in MAAS' own order. Nothing is ever deleted."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from converge import Disruption, Finding, Plan, Severity, Step
from maas.client import Maas
from maas.sitefile import Machine, Network, Site, secret
from maas.write import Ref, Secret, Value, Write

BOND = {
    "bond_mode": "802.3ad",
    "bond_lacp_rate": "fast",
    "bond_xmit_hash_policy": "layer3+4",
    "bond_miimon": 100,
}
"""VF-LAG takes 802.3ad; a fast rate notices a dead leaf in three seconds."""
OPEN = ("New", "Ready", "Failed testing", "Allocated", "Broken")
"""Statuses in which MAAS lets a network be changed (maasserver/api/interfaces.py, ALLOWED_STATES)."""
POWER = {"driver": "power_driver", "address": "power_address", "user": "power_user", "pass": "power_pass"}
MaasStep = Step[Maas]
Path = tuple[str | Ref, ...]
Values = dict[str, Value]


@dataclass(frozen=True)
class Observed:
    """MAAS' own answers; fabrics hold their VLANs, machines and power settings are by hostname."""

    dns: str
    fabrics: list[Any]
    spaces: list[Any]
    subnets: list[Any]
    ranges: list[Any]
    tags: list[Any]
    racks: list[Any]
    machines: dict[str, Any]
    power: dict[str, Any]


def observe(maas: Maas, site: Site) -> Observed:
    """Read what the site file is about."""
    machines = {machine["hostname"]: machine for machine in maas.get("machines/")}
    known = [name for name in site.machines if name in machines]
    paths = {name: f"machines/{machines[name]['system_id']}/" for name in known}
    power = {name: maas.get(path, op="power_parameters") for name, path in paths.items()}
    dns = str(maas.get("maas/", op="get_config", name="upstream_dns") or "")
    kinds = ("fabrics", "spaces", "subnets", "ipranges", "tags", "rackcontrollers")
    return Observed(dns, *(maas.get(f"{kind}/") for kind in kinds), machines, power)


def plan(site: Site, observed: Observed) -> Plan[Maas]:
    """Every write that is missing: space, VLAN, subnet, range, DHCP, tag, machine, interfaces."""
    steps = [*_site_steps(site, observed)]
    findings: list[Finding] = []
    for machine in site.machines.values():
        found = observed.machines.get(machine.name)
        steps += _machine_steps(site, observed, machine)
        interfaces = {item["name"]: item for item in found["interface_set"]} if found else {}
        if found is None or not set(machine.ports) <= set(interfaces):
            what = f"its ports {', '.join(machine.ports)} are not known yet"
            remedy = "commission it: maas PROFILE machine commission SYSTEM_ID skip_bmc_config=1"
            findings.append(Finding(Severity.WAITING, machine.name, what, remedy))
            continue
        fabric = (_fabric(site, observed) or {}).get("id")
        wanted = [*_interface_steps(site, machine, found["system_id"], interfaces, fabric)]
        foreign = [*_foreign(site, machine, interfaces)]
        findings += foreign
        if wanted and found["status_name"] not in OPEN:
            what = f"its network differs ({wanted[0].what}), but it is {found['status_name']}"
            findings.append(Finding(Severity.HELD, machine.name, what, "release it in MAAS first"))
        elif not any(finding.severity is Severity.HELD for finding in foreign):
            steps += wanted
    return Plan(tuple(steps), findings=tuple(findings))


def _step(
    key: str, what: str, why: str, method: str, path: Path, values: Values, expect: Any = None, read: str = ""
) -> MaasStep:
    """A step that expects to read back what it wrote, unless told what else."""
    op = Write(method, path, values, values if expect is None else expect, read)
    return Step(key, what, why, Disruption.NONE, op)


def _create(key: str, what: str, path: Path, values: Values, expect: Any = None) -> MaasStep:
    return _step(key, f"create {what}", "there is none", "POST", path, values, expect)


def _change(key: str, name: str, path: Path, wanted: Values, found: Any) -> Iterator[MaasStep]:
    have = {field: found.get(field) or "" for field in wanted}  # MAAS has null for what is empty
    differing = {field: value for field, value in wanted.items() if have[field] != value}
    if differing:
        what = ", ".join(f"{field} of {name} to {value}" for field, value in differing.items())
        why = ", ".join(f"{field} is {have[field] or 'not set'}" for field in differing)
        yield _step(key, f"set {what}", why, "PUT", path, differing)


def _fabric(site: Site, observed: Observed) -> Any:
    """The fabric of that name, or the one that machines boot from, which will get it; or None."""
    first = next(iter(site.networks.values()))
    boot = [subnet["vlan"]["fabric"] for subnet in observed.subnets if subnet["cidr"] == first.cidr]
    fabrics = {fabric["name"]: fabric for fabric in observed.fabrics}
    return next((fabrics[name] for name in (site.fabric, *boot) if name in fabrics), None)


def _site_steps(site: Site, observed: Observed) -> Iterator[MaasStep]:
    dns = " ".join(site.dns)
    if dns and observed.dns != dns:
        values, read = {"name": "upstream_dns", "value": dns}, "maas/?op=get_config&name=upstream_dns"
        what, why = f"set upstream DNS to {dns}", f"it is {observed.dns or 'not set'}"
        yield _step("dns", what, why, "POST", ("maas/?op=set_config",), values, {"": dns}, read)
    subnets = {subnet["cidr"]: subnet for subnet in observed.subnets}
    fabric = _fabric(site, observed)
    if fabric is None:
        yield _create("fabric", f"fabric {site.fabric}", ("fabrics/",), {"name": site.fabric})
    else:
        yield from _change(
            "fabric", fabric["name"], (f"fabrics/{fabric['id']}/",), {"name": site.fabric}, fabric
        )
    spaces = {space["name"] for space in observed.spaces}
    vlans = {vlan["vid"]: vlan for vlan in fabric["vlans"]} if fabric else {}
    for space, network in site.networks.items():
        if space not in spaces:
            yield _create(space, f"space {space}", ("spaces/",), {"name": space})
        yield from _vlan_steps(site, network, vlans.get(network.vid))
        yield from _subnet_steps(site, observed, network, vlans.get(network.vid), subnets.get(network.cidr))
    tags = {tag["name"]: tag for tag in observed.tags}
    for name, tag in site.tags.items():
        values = {"comment": tag.comment, "kernel_opts": tag.kernel_opts}
        if name in tags:
            yield from _change(f"tag {name}", f"tag {name}", (f"tags/{name}/",), values, tags[name])
        else:
            yield _create(f"tag {name}", f"tag {name}", ("tags/",), {"name": name, **values})


def _vlan_steps(site: Site, network: Network, vlan: Any) -> Iterator[MaasStep]:
    path = ("fabrics/", Ref("fabric", site.fabric), "/vlans/")
    values: Values = {"name": network.vlan, "mtu": network.mtu, "space": network.name}
    if vlan is None and network.vid:  # MAAS makes VLAN 0 with the fabric
        yield _create(
            network.vlan, f"VLAN {network.vid} {network.vlan}", path, {"vid": network.vid, **values}
        )
    else:
        yield from _change(
            network.vlan, f"VLAN {network.vid}", (*path, f"{network.vid}/"), values, vlan or {}
        )


def _subnet_steps(
    site: Site, observed: Observed, network: Network, vlan: Any, subnet: Any
) -> Iterator[MaasStep]:
    key, cidr, place = network.subnet, network.cidr, Ref("vlan", str(network.vid), site.fabric)
    values: Values = {"name": network.subnet, **({"gateway_ip": network.gateway} if network.gateway else {})}
    if subnet is None:
        expect = {"vlan.vid": network.vid, "cidr": cidr, **values}
        yield _create(key, f"subnet {cidr}", ("subnets/",), {**values, "cidr": cidr, "vlan": place}, expect)
    else:
        path = (f"subnets/{subnet['id']}/",)
        yield from _change(key, f"subnet {cidr}", path, values, subnet)
        if subnet["vlan"]["vid"] != network.vid:
            what, why = f"move subnet {cidr} to VLAN {network.vid}", f"it is on {subnet['vlan']['vid']}"
            yield _step(f"{key}/vlan", what, why, "PUT", path, {"vlan": place}, {"vlan.vid": network.vid})
    known = {(found["type"], found["start_ip"], found["end_ip"]) for found in observed.ranges}
    for kind, text in (*(("reserved", text) for text in network.reserved), ("dynamic", network.dhcp)):
        first, dash, last = text.partition("-")
        if dash and (kind, first, last) not in known:
            made: Values = {"type": kind, "start_ip": first, "end_ip": last}
            values = {**made, "subnet": Ref("subnet", cidr)}
            yield _create(f"{key}/{text}", f"{kind} range {text}", ("ipranges/",), values, made)
    if network.dhcp and not (vlan or {}).get("dhcp_on"):
        racks = [rack["system_id"] for rack in observed.racks]
        rack = (vlan or {}).get("primary_rack") or (racks[0] if len(racks) == 1 else "")
        values = {"dhcp_on": True, "primary_rack": rack}
        path = ("fabrics/", Ref("fabric", site.fabric), f"/vlans/{network.vid}/")
        what = f"turn DHCP on for VLAN {network.vid}, by rack controller {rack or '(MAAS has several)'}"
        yield _step(f"{network.vlan}/dhcp", what, "it is off", "PUT", path, values, {"dhcp_on": True})


def _machine_steps(site: Site, observed: Observed, machine: Machine) -> Iterator[MaasStep]:
    name, role, found = machine.name, site.roles[machine.role], observed.machines.get(machine.name)
    ref = found["system_id"] if found else Ref("machine", name)
    kernel: Values = {"min_hwe_kernel": role.hwe_kernel} if role.hwe_kernel else {}
    power: Values = {"power_type": machine.power["type"]}
    for key, value in machine.power.items():
        if key != "type":
            sent = Secret(value, name) if value.startswith("file:") else value
            power[f"power_parameters_{POWER.get(key, key)}"] = sent
    if found is None:  # without commissioning, which would power it on
        values = {"hostname": name, "architecture": "amd64/generic", "commission": False, **power, **kernel}
        yield _create(name, f"machine {name}", ("machines/",), values, {"hostname": name, **kernel})
    else:
        path, expect = (f"machines/{ref}/",), {"power_type": machine.power["type"]}
        differing = _power_differs(found, observed.power[name], machine)
        if differing:
            what, why = f"set how {name} is powered", f"{', '.join(differing)} differ"
            yield _step(f"{name}/power", what, why, "PUT", path, power, expect)
        yield from _change(f"{name}/kernel", name, path, kernel, found)
    if found is None or role.tag not in found["tag_names"]:
        path, read = (f"tags/{role.tag}/?op=update_nodes",), f"tags/{role.tag}/?op=machines"
        what, why = f"tag {name} as {role.tag}", f"its role is {role.name}"
        yield _step(f"{name}/tag", what, why, "POST", path, {"add": ref}, {"*.hostname": name}, read)


def _power_differs(found: Any, parameters: Any, machine: Machine) -> list[str]:
    """Which power settings differ, by name only."""
    differing = [] if found["power_type"] == machine.power["type"] else ["type"]
    for key, value in machine.power.items():
        wanted = secret(value, machine.name) if value.startswith("file:") else value
        if key != "type" and parameters.get(POWER.get(key, key)) != wanted:
            differing.append(key)
    return differing


def _interface_steps(
    site: Site, machine: Machine, system_id: str, known: dict[str, Any], fabric: int | None
) -> Iterator[MaasStep]:
    host, role = machine.name, site.roles[machine.role]
    first, *tagged = (site.networks[space] for space in role.networks)
    path = (f"nodes/{system_id}/interfaces/",)

    def ref(name: str) -> Ref:
        return Ref("interface", name, system_id)

    def create(name: str, kind: str, values: Values, expect: Any) -> Iterator[MaasStep]:
        if name not in known:
            where = (*path, f"?op=create_{kind}")
            yield _create(f"{host}/{name}", f"{kind} {name} on {host}", where, values, expect)

    def link(name: str, cidr: str) -> Iterator[MaasStep]:
        links = known[name]["links"] if name in known else []
        if not any(
            item["mode"] == "auto" and (item.get("subnet") or {}).get("cidr") == cidr for item in links
        ):
            values: Values = {"mode": "auto", "subnet": Ref("subnet", cidr)}
            where, what = (
                (*path, ref(name), "/?op=link_subnet"),
                f"give {name} of {host} an address in {cidr}",
            )
            expect = {"links.*.subnet.cidr": cidr}
            yield _step(f"{host}/{name}/link", what, "it has none", "POST", where, values, expect)

    for port in machine.ports:
        vlan = known[port]["vlan"] or {}
        if (vlan.get("fabric_id"), vlan.get("vid")) != (fabric, first.vid) and role.bond not in known:
            values: Values = {"vlan": Ref("vlan", str(first.vid), site.fabric)}
            where, what = (*path, ref(port), "/"), f"put {port} of {host} on VLAN {first.vid}"
            yield _step(
                f"{host}/{port}", what, "it is elsewhere", "PUT", where, values, {"vlan.vid": first.vid}
            )
    top = role.bridge or machine.ports[0]
    if role.bond:
        values = {"name": role.bond, "parents": tuple(map(ref, machine.ports)), **BOND}
        expect = {"parents": sorted(machine.ports), **{f"params.{key}": BOND[key] for key in BOND}}
        yield from create(role.bond, "bond", values, expect)
        values = {"name": role.bridge, "parent": ref(role.bond), "bridge_type": "ovs"}
        yield from create(
            role.bridge, "bridge", values, {"parents": [role.bond], "params.bridge_type": "ovs"}
        )
    yield from link(top, first.cidr)
    for network in tagged:
        name = f"{top}.{network.vid}"
        values = {"parent": ref(top), "vlan": Ref("vlan", str(network.vid), site.fabric)}
        yield from create(name, "vlan", values, {"name": name, "vlan.vid": network.vid})
        yield from link(name, network.cidr)


def _foreign(site: Site, machine: Machine, known: dict[str, Any]) -> Iterator[Finding]:
    """What is on the machine and not in the site file; it stays."""
    role = site.roles[machine.role]
    top = role.bridge or machine.ports[0]
    wanted = {role.bond, role.bridge, *(f"{top}.{site.networks[space].vid}" for space in role.networks)}
    for name, interface in known.items():
        if name == role.bond and sorted(interface["parents"]) != sorted(machine.ports):
            what = f"{name} has ports {', '.join(interface['parents'])}, not {', '.join(machine.ports)}"
            yield Finding(Severity.HELD, machine.name, what, "delete the bond in MAAS, then apply again")
        elif interface["type"] != "physical" and name not in wanted:
            what = f"{interface['type']} {name} is not in the site file and stays"
            yield Finding(Severity.WARNING, machine.name, what, "delete it in MAAS if it is not wanted")
