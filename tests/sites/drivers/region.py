# SPDX-License-Identifier: Apache-2.0
"""`tox -e maas` on a site: plan, then apply twice, on a simulated region.

With ``built``, the site was applied and its machines commissioned before; ``deployed`` ones, those with
``statuses`` of their own, their ports, ``power`` and VLANs are then as others ``changed`` them. ``racks`` are
further rack controllers.

maas.yaml says what the example site file has different (`replace`), and what others have in the region: its
fabrics with their VLANs and subnets, machines with ports in those, and the region's settings.
"""

import copy
from pathlib import Path
from typing import Any

from lab.maas import Region
from lab.maassite import NUMA, PORTS, commission, edit, interfaces, machine, writes
from maas import __main__ as command
from maas.client import Maas
from maas.plan import observe, plan
from maas.sitefile.reader import read_site
from sites.gallery import Found, Seen, Site


def see(site: Site, region: Region, path: Path) -> Seen:
    """Plan, apply, apply again. What others have is as it was, and the second apply writes nothing."""
    data = site.data("maas")
    region.rackcontrollers += data.get("racks", [])
    for old, new in data.get("replace", {}).items():
        edit(path, old, new)
    if data.get("built"):
        _build(region, path, data)
    theirs = _others(region, data)
    before = copy.deepcopy(theirs)
    read = read_site(path)
    wanted = plan(read, observe(Maas(read.maas, read.api_key.read()), read))
    found = [Found(each.severity.name.lower(), each.subject, each.sentence()) for each in wanted.findings]
    assert writes(region) == [], "plan wrote"
    assert command.main(["apply", str(path)]) in (0, 1)
    made = [f"{method} {what}" for method, what, _ in writes(region)]
    region.requests.clear()
    command.main(["apply", str(path)])
    assert writes(region) == [], "a second apply wrote"
    assert theirs == before, "what others have was changed"
    return Seen(found, list(dict.fromkeys(made)))


def _build(region: Region, path: Path, data: dict[str, Any]) -> None:
    """The site as it was applied and commissioned, then changed by others."""
    command.main(["apply", str(path)])
    commission(region, "controller", PORTS[:1])
    for name in ("node1", "node2", "node3"):
        commission(region, name, data.get("ports", PORTS), NUMA)
    command.main(["apply", str(path)])
    system = {"osystem": "ubuntu", "distro_series": data.get("release", "jammy"), "hwe_kernel": "ga-22.04"}
    deployed = {name: {"status_name": "Deployed", **system} for name in data.get("deployed", ())}
    for name, values in {**deployed, **data.get("statuses", {})}.items():
        machine(region, name).update(values)
        region.power[machine(region, name)["system_id"]].update(data.get("power", {}).get(name, {}))
        for port, values in data.get("changed", {}).items():
            if port in interfaces(region, name):
                interfaces(region, name)[port]["params"] |= values
    for vlan in region.vlans:
        vlan.update(data.get("vlans", {}).get(vlan["vid"], {}))
    region.requests.clear()


def _others(region: Region, data: dict[str, Any]) -> list[Any]:
    """Make what others have; all of it, to be compared later."""
    made: list[Any] = []
    vlans: dict[str, Any] = {}
    for name, content in data.get("fabrics", {}).items():
        fabric = region.add("fabrics", name=name, vlans=[])
        for vid, cidrs in content.items():
            vlan = region.post_vlans({"vid": vid, "name": f"{name}-{vid}"}, fabric)
            subnets = [region.add("subnets", name=cidr, cidr=cidr, vlan=vlan) for cidr in cidrs]
            vlans |= {subnet["cidr"]: (vlan, subnet) for subnet in subnets}
            made += subnets
        made.append(fabric)
    for name, content in data.get("machines", {}).items():
        machine = region.add(
            "machines", hostname=name, system_id=name, tag_names=[], interface_set=[], numanode_set=[]
        )
        machine["status_name"], region.power[name], region.devices[name] = content["status"], {}, []
        for port, cidr in content["ports"].items():
            vlan, subnet = vlans[cidr]
            region.interface(machine, "physical", port, vlan, [], [{"mode": "auto", "subnet": subnet}])
        layers = [("bond", name, parents) for name, parents in content.get("bonds", {}).items()]
        layers += [("bridge", name, [below]) for name, below in content.get("bridges", {}).items()]
        for kind, name, parents in layers:
            below = [each for each in machine["interface_set"] if each["name"] in parents]
            region.interface(machine, kind, name, None, below, [])
        made.append(machine)
    region.config.update(data.get("config", {}))
    return [*made, *([region.config] if "config" in data else [])]
