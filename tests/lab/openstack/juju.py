# SPDX-License-Identifier: Apache-2.0
"""The Juju model of the simulated cloud."""

from lab.juju.deployed import subordinates

CHARMS = ("sriov-switchdev", "roce-qos")


def model(hosts):
    """The Juju model of a cloud with these compute nodes."""
    short = [host.partition(".")[0] for host in hosts]
    machines = {str(n): {"hostname": name, "dns-name": f"10.0.0.{n}"} for n, name in enumerate(short)}
    applications = subordinates("nova-compute", CHARMS, len(hosts))
    for number, unit in enumerate(applications["nova-compute"]["units"].values()):
        unit["machine"] = str(number)
    applications["vault"] = {"charm-name": "vault"}
    keystone = {"keystone/0": {"public-address": "10.7.208.20"}}
    relations = {"certificates": [{"related-application": "vault"}]}
    applications["keystone"] = {"charm-name": "keystone", "units": keystone, "relations": relations}
    options = {"region": "RegionOne", "vip": None, "os-public-hostname": None}
    return {"status": {"machines": machines, "applications": applications}, "config": {"keystone": options}}
