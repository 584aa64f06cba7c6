# SPDX-License-Identifier: Apache-2.0
"""The objects of a whole apply, counted and found."""

KINDS = ("networks", "subnets", "ports", "routers", "floatingips", "security-groups", "security-group-rules")


def counts(openstack):
    found = {kind: len(openstack.neutron.objects[kind]) for kind in KINDS}
    nova = openstack.nova
    return {
        **found,
        "flavors": len(nova.flavors),
        "keypairs": len(nova.keypairs),
        "servers": len(nova.servers),
    }


ALL = {
    "networks": 5,
    "subnets": 5,
    # Four of each server and two of the router; Neutron's own are one of each network with DHCP, one of the
    # router's gateway, and one of each floating IP.
    "ports": 19,
    "routers": 1,
    "floatingips": 4,
    "security-groups": 3,
    "security-group-rules": 9 + 3 * 2,  # Neutron lets out what the servers of each group send
    "flavors": 1,
    "keypairs": 1,
    "servers": 2,
}


def only(objects, **values):
    (found,) = [
        each for each in objects.values() if all(each.get(key) == value for key, value in values.items())
    ]
    return found
