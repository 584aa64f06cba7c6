# SPDX-License-Identifier: Apache-2.0
"""The refusals of Nova and Neutron to a user who is no administrator, and the things they hide.

Their default policies: nova/policies, neutron/conf/policies. Messages as of Nova's Forbidden and Neutron's
PolicyNotAuthorized (rules nested as neutron/policy.py builds them).
"""

from lab.openstack.answer import Answer

_NOVA = {
    ("GET", "os-services"): "os-services:list",
    ("GET", "os-hypervisors"): "os-hypervisors:list-detail",
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
_RULED = {
    "ports": ("binding:vnic_type", "binding:host_id", "binding:profile"),
    **{collection: sorted(_NEUTRON[collection]) for collection in ("networks", "floatingips")},
}
"""Attributes with a policy of their own, in the order in which Neutron's refusal names them."""
_HIDDEN = {
    "networks": {"provider:network_type", "provider:physical_network", "provider:segmentation_id"},
    "ports": {"binding:host_id", "binding:profile", "binding:vif_type", "binding:vif_details"},
}


def refusal(method, words, body):
    """The Answer that refuses what only administrators may ask; None for what everybody may."""
    service, path = words[0], words[2:]
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
    said = disallowed("create" if method == "POST" else "update", path[0], given)
    error = {"type": "PolicyNotAuthorized", "message": said, "detail": ""}
    return Answer(403, {"NeutronError": error})


def disallowed(verb, collection, given):
    """Neutron's words about a request that gives these attributes, one of which it refuses."""
    action = f"{verb}_{collection.rstrip('s')}"
    rule = f"rule:{action}"
    for attribute in _RULED[collection]:
        if attribute in given:
            rule = f"({rule} and rule:{action}:{attribute})"
    return f"{rule} is disallowed by policy"


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
