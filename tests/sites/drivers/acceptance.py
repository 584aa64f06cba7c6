# SPDX-License-Identifier: Apache-2.0
"""`tox -e acceptance` on a site's cloud: plan, apply, apply again and destroy on a simulated OpenStack.

cloud.yaml has the operator's networks with their subnets, compute services beside the two that offload, and
what the site file says. ``then`` is what the operator changes there, after `destroy`, once apply has failed.
"""

import json
import re

from lab.openstack.answer import Answer
from lab.openstack.operator import World, one_sentence
from sites.gallery import Found, Seen, Site

ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
OTHERS = {"shared": True, "project_id": "another"}


def see(site: Site, world: World) -> Seen:
    """Plan and run the whole way. What the operator had is unchanged after it."""
    data = site.data("cloud")
    neutron = world.openstack.neutron
    for each in (data, *data.get("more", ())):
        if "network" in each:
            network = neutron._create("networks", {**OTHERS, "router:external": True, **each["network"]})
            for subnet in each.get("subnets", ()):
                given = {"network_id": network["id"], "enable_dhcp": False, "project_id": "another", **subnet}
                neutron._create("subnets", given)
    nova = world.openstack.nova
    for kind, hosts in data.get("computes", {}).items():
        nova.hosts |= dict.fromkeys(hosts, "nova")
        {"ironic": nova.bare, "kvm": nova.without_vfs}[kind].update(hosts)
    world.site |= data.get("site", {})
    before = _theirs(neutron)
    for fault in data.get("faults", ()):
        answer = Answer(fault["status"], fault.get("body"), fault.get("text"))
        world.openstack.faults.append((fault["method"], fault["path"], answer))
    status, out, err = world.run("plan", "--json")
    found = [_found(each) for each in json.loads(out)["findings"]] if out else [_failed("plan", err)]
    assert world.writes() == [], "plan wrote"
    if status == 0:
        status, _, err = world.run("apply")
        found += [] if status == 0 else [_failed("apply", err)]
        made = {ID.sub("ID", " ".join(map(str, each)).split("?")[0]) for each in world.writes()}
        hosts = {each["OS-EXT-SRV-ATTR:host"] for each in nova.servers.values()}
        writes = sorted(made | {f"server on {host}" for host in hosts})
        if then := data.get("then"):
            assert world.run("destroy")[0] == 0
            world.writes()
            world.site |= then
        assert world.run("apply")[0] == 0
        assert status == 0 or world.writes()
        assert world.writes() == [], "a second apply wrote"
        assert world.run("destroy")[0] == 0
    else:
        writes = []
    assert _theirs(neutron) == before, "what the operator has was changed"
    return Seen(found, writes)


def _failed(verb: str, said: str) -> Found:
    return Found("failed", verb, one_sentence(said))


def _found(finding: dict[str, str]) -> Found:
    says = "; ".join(filter(None, (finding["what"], finding["remedy"])))
    return Found(finding["severity"], finding["subject"], says)


def _theirs(neutron) -> str:
    kinds = ("networks", "subnets")
    return repr(
        [each for kind in kinds for each in neutron.objects[kind].values() if each["project_id"] == "another"]
    )
