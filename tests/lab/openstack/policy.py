# SPDX-License-Identifier: Apache-2.0
"""The refusals of Nova, Neutron and Placement to a user who is no administrator, and the things they hide.

Their default policies: nova/policies, neutron/conf/policies, placement/policies. Messages as of Nova's
Forbidden, Neutron's PolicyNotAuthorized (rules nested as neutron/policy.py builds them), Placement's 403.
"""

from lab.openstack.answer import Answer

_NOVA = {
    ("GET", "os-services"): "os-services:list",
    ("GET", "os-hypervisors"): "os-hypervisors:list",
    ("GET", "os-quota-sets"): "os-quota-sets:show",
    ("PUT", "os-quota-sets"): "os-quota-sets:update",
    ("POST", "flavors"): "os-flavor-manage:create",
    ("DELETE", "flavors"): "os-flavor-manage:delete",
}
_NEUTRON = {
    "networks": {
        "provider:network_type", "provider:physical_network", "provider:segmentation_id", "router:external",
        "shared",
    },
    "ports": {"binding:host_id", "binding:profile"},
    "floatingips": {"floating_ip_address"},
}  # fmt: skip
"""Attributes that only administrators may give, by collection."""
_HIDDEN = {
    "networks": {"provider:network_type", "provider:physical_network", "provider:segmentation_id"},
    "ports": {"binding:host_id", "binding:profile", "binding:vif_type", "binding:vif_details"},
}


def refusal(method, words, body):
    """The Answer that refuses what only administrators may ask; None for what everybody may."""
    service, path = words[0], words[2:]
    if service == "placement":
        said = "Access was denied to this resource.\n\n   placement:resource_providers:list is disallowed"
        error = {"status": 403, "title": "Forbidden", "detail": f"{said} by policy  "}
        return Answer(403, {"errors": [error]})
    if service == "compute" and path:
        return _nova(method, path, body)
    if service == "network" and path and method in ("POST", "PUT"):
        return _neutron(method, path, body)
    return None


def _nova(method, path, body):
    rule = _NOVA.get((method, path[0]))
    if method == "POST" and path == ["servers"] and ":" in body["server"].get("availability_zone", ""):
        rule = "servers:create:forced_host"
    if method == "POST" and path[0] == "flavors" and path[-1] == "os-extra_specs":
        rule = "os-flavor-extra-specs:create"
    if rule is None:
        return None
    said = f"Policy doesn't allow os_compute_api:{rule} to be performed."
    return Answer(403, {"forbidden": {"code": 403, "message": said}})


def _neutron(method, path, body):
    kind = path[0].rstrip("s")
    given = set(body.get(kind, ()))
    if not given & _NEUTRON.get(path[0], set()):
        return None
    action = f"{'create' if method == 'POST' else 'update'}_{kind}"
    rule = f"rule:{action}"
    for attribute in sorted(given & _NEUTRON[path[0]]):
        rule = f"({rule} and rule:{action}:{attribute})"
    error = {"type": "PolicyNotAuthorized", "message": f"{rule} is disallowed by policy", "detail": ""}
    return Answer(403, {"NeutronError": error})


def shown(words, answer, project):
    """An Answer as a member of a project sees it."""
    if not isinstance(answer.body, dict) or len(words) < 3:
        return answer
    keep = {"compute": _of_nova, "network": _of_neutron}.get(words[0])
    if keep:
        body = {key: keep(words[2], each, project) for key, each in answer.body.items()}
        return Answer(answer.status, body, answer.text, answer.headers)
    return answer


def _of_nova(collection, value, project):
    if isinstance(value, list):
        return [_of_nova(collection, each, project) for each in value]
    if collection == "servers" and isinstance(value, dict):
        return {key: each for key, each in value.items() if not key.startswith("OS-EXT-SRV-ATTR:")}
    return value


def _of_neutron(collection, value, project):
    if isinstance(value, list):
        return [_of_neutron(collection, each, project) for each in value if _visible(each, project)]
    if isinstance(value, dict):
        return {key: each for key, each in value.items() if key not in _HIDDEN.get(collection, ())}
    return value


def _visible(found, project):
    """Whether a member sees an object at all: the project's own, shared, or external."""
    if not isinstance(found, dict):
        return True
    return found.get("project_id", project) == project or found.get("shared") or found.get("router:external")
