# SPDX-License-Identifier: Apache-2.0
"""How openstacksdk lists, creates, changes and deletes each kind of object, and which of them the tool made.

Objects are plain dictionaries with openstacksdk's attribute names.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from acceptance.wanted import MARK

Object = dict[str, Any]
INTERFACES = (
    "network:router_interface",
    "network:router_interface_distributed",
    "network:ha_router_replicated_interface",
)
"""device_owner of a router's port."""


class Kind(NamedTuple):
    """One kind of object.

    Attributes:
        service: openstacksdk's proxy, as `network`.
        noun: in the proxy's create_NOUN, update_NOUN and delete_NOUN.
        listing: the method that lists them, and its arguments.
        project: whether the list is limited to the cloud's project.
        tagged: whether the service has tags on them.
        described: whether they have a description, which is set in the same request as the object.

    """

    service: str
    noun: str
    listing: str
    arguments: dict[str, Any] = {}  # noqa: RUF012 - never changed
    project: bool = False
    tagged: bool = False
    described: bool = False


KINDS = {
    "image": Kind("image", "image", "images", tagged=True),
    "keypair": Kind("compute", "keypair", "keypairs"),
    "flavor": Kind("compute", "flavor", "flavors", {"get_extra_specs": True}),
    "security_group": Kind("network", "security_group", "security_groups", {}, True, True, True),
    "security_group_rule": Kind(
        "network", "security_group_rule", "security_group_rules", {}, True, False, True
    ),
    "network": Kind("network", "network", "networks", {}, False, True, True),
    "subnet": Kind("network", "subnet", "subnets", {}, False, True, True),
    "router": Kind("network", "router", "routers", {}, True, True, True),
    "port": Kind("network", "port", "ports", {}, True, True, True),
    "floating_ip": Kind("network", "ip", "ips", {}, True, True, True),
    "server_group": Kind("compute", "server_group", "server_groups"),
    "server": Kind("compute", "server", "servers", {"details": True}, False, True),
}
"""The kinds in an order in which they can be created; router interfaces are ports, listed with the others."""


def ours(found: Object) -> bool:
    """Whether the tool made an object."""
    number, name = str(found.get("id") or ""), found.get("name")
    by_id = name == MARK or (number.startswith(f"{MARK}-") and number != name)  # a keypair's id is its name
    return by_id or MARK in (found.get("tags") or ()) or found.get("description") == MARK


def lets_out(group: Object) -> bool:
    """Whether a security group lets out all that its servers send over IPv4."""
    narrow = ("protocol", "remote_ip_prefix", "remote_group_id", "remote_address_group_id")
    return any(
        rule["direction"] == "egress" and rule["ethertype"] == "IPv4" and not any(map(rule.get, narrow))
        for rule in group["security_group_rules"]
    )


def unmarked(found: Object) -> Object:
    """An object without the tool's mark."""
    return {**found, "tags": [tag for tag in found.get("tags") or () if tag != MARK], "description": ""}


def named(kind: str, found: list[Object], known: dict[str, list[Object]]) -> list[tuple[str, Object]]:
    """Objects of a kind with their keys; those that the tool never looks for have none."""
    key = _KEYS.get(kind, lambda each, _: each["name"])
    names = [(key(each, known), each) for each in found]
    if kind in _IDS:  # the site file may name an external network by its id
        names += [(_IDS[kind](each), each) for each in found]
    return [(f"{kind.replace('_', ' ')} {name}", each) for name, each in names if name]


def _rule(rule: Object, known: dict[str, list[Object]]) -> str:
    groups = {group["id"]: group["name"] for group in known["security_group"]}
    if rule["direction"] != "ingress" or rule.get("remote_group_id") or rule.get("ether_type") != "IPv4":
        return ""
    first, last = rule["port_range_min"], rule["port_range_max"]
    ports = f" {first}-{last}" if first is not None else ""
    return f"{groups.get(rule['security_group_id'])} {rule['protocol']}{ports}"


def _floating(floating: Object, known: dict[str, list[Object]]) -> str:
    return {port["id"]: port["name"] for port in known["port"]}.get(floating["port_id"], "")


def _subnet(subnet: Object, known: dict[str, list[Object]]) -> str:
    """Return a subnet's name here by its network and version of IP, whatever its own one is."""
    networks = {network["id"]: network["name"] for network in known["network"]}
    network = networks.get(subnet["network_id"])
    version = "" if subnet["ip_version"] == 4 else subnet["ip_version"]
    return f"{network}_subnet{version}" if network else ""


_IDS: dict[str, Callable[[Object], str]] = {
    "network": lambda each: each["id"],
    "subnet": lambda each: f"{each['network_id']}_subnet" if each["ip_version"] == 4 else "",
}

_KEYS: dict[str, Callable[[Object, dict[str, list[Object]]], str]] = {
    "security_group_rule": _rule,
    "subnet": _subnet,
    "floating_ip": _floating,
}


def interfaces(known: dict[str, list[Object]]) -> list[tuple[str, Object]]:
    """The interfaces of routers, by router and subnet, each as the port that it is."""
    routers = {router["id"]: router["name"] for router in known["router"]}
    subnets = {subnet["id"]: _subnet(subnet, known) for subnet in known["subnet"]}
    return [
        (f"router interface {routers.get(port['device_id'])} {subnets.get(fixed['subnet_id'])}", port)
        for port in known["port"]
        if port["device_owner"] in INTERFACES
        for fixed in port["fixed_ips"]
    ]
