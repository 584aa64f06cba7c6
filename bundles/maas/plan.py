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
            what, remedy = (
                "its ports {} are not known yet",
                "commission it: maas PROFILE machine commission SYSTEM_ID",
            )
            findings.append(
                Finding(Severity.WAITING, machine.name, what.format(", ".join(machine.ports)), remedy)
            )
            continue
        wanted = [*_interface_steps(site, machine, interfaces)]
        foreign = [*_foreign(site, machine, interfaces)]
        findings += foreign
        if wanted and found["status_name"] not in OPEN:
            what = f"its network differs ({wanted[0].what}), but it is {found['status_name']}"
            findings.append(Finding(Severity.HELD, machine.name, what, "release it in MAAS first"))
        elif not any(finding.severity is Severity.HELD for finding in foreign):
            steps += wanted
    return Plan(tuple(steps), findings=tuple(findings))


def _create(
    key: str,
    what: str,
    path: tuple[str | Ref, ...],
    values: dict[str, Value],
    expect: dict[str, Any] | None = None,
) -> MaasStep:
    op = Write("POST", path, values, values if expect is None else expect)
    return Step(key, f"create {what}", "there is none", Disruption.NONE, op)


def _change(
    key: str, name: str, path: tuple[str | Ref, ...], wanted: dict[str, Any], found: Any
) -> Iterator[MaasStep]:
    differing = {field: value for field, value in wanted.items() if found.get(field) != value}
    if differing:
        what = ", ".join(f"{field} of {name} to {value}" for field, value in differing.items())
        why = ", ".join(f"{field} is {found.get(field) or 'not set'}" for field in differing)
        yield Step(key, f"set {what}", why, Disruption.NONE, Write("PUT", path, differing, differing))


def _site_steps(site: Site, observed: Observed) -> Iterator[MaasStep]:
    dns = " ".join(site.dns)
    if dns and observed.dns != dns:
        read = "maas/?op=get_config&name=upstream_dns"
        op = Write("POST", ("maas/?op=set_config",), {"name": "upstream_dns", "value": dns}, {"": dns}, read)
        yield Step(
            "dns", f"set upstream DNS to {dns}", f"it is {observed.dns or 'not set'}", Disruption.NONE, op
        )
    subnets = {subnet["cidr"]: subnet for subnet in observed.subnets}
    fabrics = {fabric["name"]: fabric for fabric in observed.fabrics}
    boot = subnets.get(next(iter(site.networks.values())).cidr)
    fabric = fabrics.get(site.fabric) or (fabrics[boot["vlan"]["fabric"]] if boot else None)
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
    values: dict[str, Value] = {"name": network.vlan, "mtu": network.mtu, "space": network.name}
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
    place = Ref("vlan", str(network.vid), site.fabric)
    values: dict[str, Value] = {
        "name": network.subnet,
        **({"gateway_ip": network.gateway} if network.gateway else {}),
    }
    if subnet is None:
        made, expect = (
            {**values, "cidr": network.cidr},
            {"vlan.vid": network.vid, "cidr": network.cidr, **values},
        )
        yield _create(
            network.subnet, f"subnet {network.cidr}", ("subnets/",), {**made, "vlan": place}, expect
        )
    else:
        path = (f"subnets/{subnet['id']}/",)
        yield from _change(network.subnet, f"subnet {network.cidr}", path, values, subnet)
        if subnet["vlan"]["vid"] != network.vid:
            op = Write("PUT", path, {"vlan": place}, {"vlan.vid": network.vid})
            what, why = (
                f"move subnet {network.cidr} to VLAN {network.vid}",
                f"it is on {subnet['vlan']['vid']}",
            )
            yield Step(f"{network.subnet}/vlan", what, why, Disruption.NONE, op)
    known = {(found["type"], found["start_ip"], found["end_ip"]) for found in observed.ranges}
    wanted = [*(("reserved", text) for text in network.reserved), ("dynamic", network.dhcp)]
    for kind, text in wanted:
        first, dash, last = text.partition("-")
        if dash and (kind, first, last) not in known:
            made = {"type": kind, "start_ip": first, "end_ip": last}
            values = {**made, "subnet": Ref("subnet", network.cidr)}
            yield _create(f"{network.subnet}/{text}", f"{kind} range {text}", ("ipranges/",), values, made)
    if network.dhcp and not (vlan or {}).get("dhcp_on"):
        racks = [rack["system_id"] for rack in observed.racks]
        path = ("fabrics/", Ref("fabric", site.fabric), f"/vlans/{network.vid}/")
        rack = (vlan or {}).get("primary_rack") or (racks[0] if len(racks) == 1 else "")
        op = Write("PUT", path, {"dhcp_on": True, "primary_rack": rack}, {"dhcp_on": True})
        what = f"turn DHCP on for VLAN {network.vid} (rack controller {rack})"
        yield Step(f"{network.vlan}/dhcp", what, "it is off", Disruption.NONE, op)


def _machine_steps(site: Site, observed: Observed, machine: Machine) -> Iterator[MaasStep]:
    role, found, ref = (
        site.roles[machine.role],
        observed.machines.get(machine.name),
        Ref("machine", machine.name),
    )
    kernel: dict[str, Any] = {"min_hwe_kernel": role.hwe_kernel} if role.hwe_kernel else {}
    power: dict[str, Value] = {"power_type": machine.power["type"]}
    for key, value in machine.power.items():
        if key != "type":
            sent = Secret(value, machine.name) if value.startswith("file:") else value
            power[f"power_parameters_{POWER.get(key, key)}"] = sent
    if found is None:  # without commissioning, which would power it on
        values = {
            "hostname": machine.name,
            "architecture": "amd64/generic",
            "commission": False,
            **power,
            **kernel,
        }
        expect = {"hostname": machine.name, **kernel}
        yield _create(machine.name, f"machine {machine.name}", ("machines/",), values, expect)
    else:
        differing = _power_differs(found, observed.power[machine.name], machine)
        if differing:
            op = Write("PUT", ("machines/", ref, "/"), power, {"power_type": machine.power["type"]})
            what, why = f"set how {machine.name} is powered", f"{', '.join(differing)} differ"
            yield Step(f"{machine.name}/power", what, why, Disruption.NONE, op)
        yield from _change(f"{machine.name}/kernel", machine.name, ("machines/", ref, "/"), kernel, found)
    if found is None or role.tag not in found["tag_names"]:
        path, read = (f"tags/{role.tag}/?op=update_nodes",), f"tags/{role.tag}/?op=machines"
        op = Write("POST", path, {"add": ref}, {"*.hostname": machine.name}, read)
        what, why = f"tag {machine.name} as {role.tag}", f"its role is {role.name}"
        yield Step(f"{machine.name}/tag", what, why, Disruption.NONE, op)


def _power_differs(found: Any, parameters: Any, machine: Machine) -> list[str]:
    """Which power settings differ, by name only."""
    known = {
        "type": found["power_type"],
        **{key: parameters.get(POWER.get(key, key)) for key in machine.power if key != "type"},
    }
    read = {
        key: secret(value, machine.name) if value.startswith("file:") else value
        for key, value in machine.power.items()
    }
    return [key for key in read if read[key] != known[key]]


def _interface_steps(site: Site, machine: Machine, known: dict[str, Any]) -> Iterator[MaasStep]:
    role = site.roles[machine.role]
    first, *tagged = (site.networks[space] for space in role.networks)
    path = ("nodes/", Ref("machine", machine.name), "/interfaces/")

    def ref(name: str) -> Ref:
        return Ref("interface", name, machine.name)

    def create(name: str, kind: str, values: dict[str, Value], expect: dict[str, Any]) -> Iterator[MaasStep]:
        if name not in known:
            where = (*path, f"?op=create_{kind}")
            yield _create(f"{machine.name}/{name}", f"{kind} {name} on {machine.name}", where, values, expect)

    def link(name: str, cidr: str) -> Iterator[MaasStep]:
        links = known[name]["links"] if name in known else []
        if not any(
            item["mode"] == "auto" and (item.get("subnet") or {}).get("cidr") == cidr for item in links
        ):
            values: dict[str, Value] = {"mode": "auto", "subnet": Ref("subnet", cidr)}
            op = Write("POST", (*path, ref(name), "/?op=link_subnet"), values, {"links.*.subnet.cidr": cidr})
            what = f"give {name} of {machine.name} an address in {cidr}"
            yield Step(f"{machine.name}/{name}/link", what, "it has none", Disruption.NONE, op)

    for port in machine.ports:
        vlan = known[port]["vlan"] or {}
        if (vlan.get("fabric"), vlan.get("vid")) != (site.fabric, first.vid) and role.bond not in known:
            values: dict[str, Value] = {"vlan": Ref("vlan", str(first.vid), site.fabric)}
            op = Write("PUT", (*path, ref(port), "/"), values, {"vlan.vid": first.vid})
            what = f"put {port} of {machine.name} on VLAN {first.vid}"
            yield Step(f"{machine.name}/{port}", what, "it is elsewhere", Disruption.NONE, op)
    top = role.bridge or machine.ports[0]
    if role.bond:
        expect = {f"params.{key}": value for key, value in BOND.items()}
        values = {"name": role.bond, "parents": tuple(map(ref, machine.ports)), **BOND}
        yield from create(role.bond, "bond", values, {"parents": sorted(machine.ports), **expect})
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
