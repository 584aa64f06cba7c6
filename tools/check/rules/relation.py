# SPDX-License-Identifier: Apache-2.0
"""Relations: their ends fit each other, and those without which a charm stays blocked are there."""

from collections.abc import Iterator
from itertools import product

from yamlfile.values import Place

from check.facts import Endpoint, own
from check.model import Bundle, End, Relation
from check.rule import Wrong, listed, near, rule

PAIR = {"provides", "requires"}
REQUIRED = {
    "ovn-chassis": ("nova-compute", "ovsdb", "certificates"),
    "ovn-central": ("certificates",),  # Neutron's plugin says if it has none. Other clouds have no Neutron.
    "neutron-api-plugin-ovn": ("neutron-plugin", "ovsdb-cms", "certificates"),
    "mysql-router": ("shared-db", "db-router"),
}
INSTEAD = {"nova-compute": ("ovsdb-subordinate", "juju-info")}
"""Endpoints that do as well: Octavia's ovn-chassis, for one, serves no hypervisor."""
DATABASE_USERS = {
    **dict.fromkeys(("keystone", "glance", "placement", "neutron-api", "nova-cloud-controller"), ()),
    "vault": ("db", "etcd"),
}
"""Charms that need a database, and the endpoints of what each can use instead.

openstack-dashboard keeps sessions in memcached or cookies where it has none.
"""


@rule(
    "relation-endpoint",
    "The ends of a relation name endpoints of their charms, or leave open what fits alone.",
)
def relation_endpoint(bundle: Bundle) -> Iterator[Wrong]:
    for ends, place in bundle.written:
        applications = [bundle.applications.get(end.partition(":")[0]) for end in ends]
        missing = [
            (application, endpoint)
            for application, (_, _, endpoint) in zip(applications, (end.partition(":") for end in ends))
            if application and application.facts and endpoint
            if endpoint not in (*application.facts.endpoints, "juju-info")
        ]
        for application, endpoint in missing:
            what = f"{application.charm} {application.channel} has no endpoint {endpoint}".replace("  ", " ")
            known = application.facts.endpoints if application.facts else ()
            yield place, what, near(endpoint, known)
        if missing or len(ends) != 2 or not all(each and each.facts for each in applications):
            continue
        fitting = sorted(f"[{', '.join(map(':'.join, pair))}]" for pair in bundle.endpoints(*ends))
        if len(fitting) != 1:
            what = f"of {' and '.join(ends)} {listed(fitting) or 'no endpoints'} fit"
            yield place, what, f"Write {fitting[0]}, or another" if fitting else "Remove the relation"


@rule("relation-role", "One end of a relation provides and the other requires.")
def relation_role(bundle: Bundle) -> Iterator[Wrong]:
    for relation in bundle.relations:
        left, right = (end.facts for end in relation.ends)
        if (
            left
            and right
            and not any({one, other} == PAIR for one, other in product(*map(_roles, relation.ends)))
        ):
            what = f"{relation}: one end {left.role} and the other {right.role}"
            yield relation.place, what, f"Relate {_partners(bundle, relation.ends[0], left)}"


def _roles(end: End) -> list[str]:
    """List the roles that an end may have: each charm provides `juju-info`, also one that requires it."""
    return [*([end.facts.role] if end.facts else []), *(["provides"] if end.endpoint == "juju-info" else [])]


@rule("relation-interface", "Both ends of a relation speak the same interface.")
def relation_interface(bundle: Bundle) -> Iterator[Wrong]:
    for relation in bundle.relations:
        left, right = (end.facts for end in relation.ends)
        if left and right and left.interface != right.interface and left.role != right.role:
            what = f"{relation}: interface {left.interface} on one end, {right.interface} on the other"
            yield relation.place, what, f"Relate {_partners(bundle, relation.ends[0], left)}"


def _partners(bundle: Bundle, end: End, known: Endpoint) -> str:
    """The endpoints of the bundle that this one can be related to."""
    wanted = {"provides": "requires", "requires": "provides"}.get(known.role)
    found = {
        f"{application.name}:{name}"
        for application in bundle.applications.values()
        if application.facts
        for name, endpoint in application.facts.endpoints.items()
        if (endpoint.role, endpoint.interface) == (wanted, known.interface)
    }
    return f"{end.application.name}:{end.endpoint} to " + (" or ".join(sorted(found)[:3]) or "nothing here")


@rule(
    "relation-scope",
    "A container-scoped relation has a subordinate on one end; two subordinates share a principal.",
)
def relation_scope(bundle: Bundle) -> Iterator[Wrong]:
    for relation in bundle.relations:
        charms = [end.application.facts for end in relation.ends]
        if not all(end.facts for end in relation.ends) or not all(charms):
            continue
        if "container" not in [end.facts.scope for end in relation.ends if end.facts]:
            continue
        subordinate = [charm.subordinate for charm in charms if charm]
        names = " and ".join(end.application.name for end in relation.ends)
        if not any(subordinate):
            yield relation.place, f"{names} share no machine: neither is a subordinate", "Remove the relation"
        elif all(subordinate) and not _same_principal(bundle, relation):
            what = f"{names} are both subordinates: this relation creates no unit"
            yield relation.place, what, "Relate each to its principal"


def _same_principal(bundle: Bundle, relation: Relation) -> bool:
    """Whether both ends have their units on the machines of one principal, so that they meet there."""
    left, right = (
        {found.name for found in bundle.related(end.application, "juju-info")} for end in relation.ends
    )
    return bool(left & right)


@rule("relation-twice", "No relation is there twice, once of them without its endpoints.")
def relation_twice(bundle: Bundle) -> Iterator[Wrong]:
    seen: dict[frozenset[str], Place] = {}
    for relation in bundle.relations:
        first = seen.setdefault(frozenset(str(relation).split(" - ")), relation.place)
        if first is not relation.place:
            yield relation.place, f"{relation} is already at {first}", "Remove one of the two"


@rule("relation-required", "Charms have the relations without which they stay blocked.")
def relation_required(bundle: Bundle) -> Iterator[Wrong]:
    for charm, endpoints in REQUIRED.items():
        for application in bundle.of(charm):
            for endpoint in endpoints:
                either = (endpoint, *INSTEAD.get(endpoint, ()))
                if not any(
                    bundle.related(application, each) or bundle.elsewhere(application, each)
                    for each in either
                ):
                    what = f"{application.name} has no relation on {endpoint}"
                    yield application.place(), what, f"Add a relation of {application.name}:{endpoint}"


@rule("database-router", "Every database user has a mysql-router of its own.")
def database_router(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.of(*DATABASE_USERS):
        instead = DATABASE_USERS[application.charm]
        if application.facts is None or bundle.elsewhere(application, "shared-db"):
            continue
        if any(bundle.related(application, endpoint) for endpoint in instead):
            continue
        routers = bundle.related(application, "shared-db")
        if len(routers) != 1 or (routers[0].charm != "mysql-router" and routers[0].facts):
            what = f"{application.name} reaches no database through a router"
            yield (
                application.place(),
                what,
                f"Relate {application.name}:shared-db to a mysql-router:shared-db",
            )
    for router in bundle.of("mysql-router"):
        # nova-cloud-controller reaches a cell's database through the cell's router, with another endpoint.
        users = {
            each for each, user in bundle.applications.items() if router in bundle.related(user, "shared-db")
        }
        if len(users) > 1:
            names = listed(users)
            yield router.place(), f"{router.name} serves {names}", "Give each a mysql-router of its own"


@rule("host-charm-once", "A machine has one unit of each of this project's host charms.")
def host_charm_once(bundle: Bundle) -> Iterator[Wrong]:
    for charm in (name for name, known in own().items() if known.subordinate):
        seen: dict[str, tuple[str, str]] = {}
        for application in bundle.of(charm):
            for principal in bundle.related(application, "juju-info"):
                this = (application.name, principal.name)
                twice = [
                    name for name in sorted(bundle.hosts(principal)) if seen.setdefault(name, this) != this
                ]
                if twice:
                    first = " with ".join(seen[twice[0]])
                    what = f"machine {twice[0]} gets {application.name} with {principal.name}, and {first}"
                    yield application.place(), what, "Relate one application of the charm to one of the two"


@rule("principal", "This project's host charms are related to a principal through juju-info.")
def principal(bundle: Bundle) -> Iterator[Wrong]:
    for application in bundle.of(*(name for name, known in own().items() if known.subordinate)):
        others = bundle.related(application, "juju-info")
        if not any(other.facts is None or not other.facts.subordinate for other in others):
            what = f"{application.name} gets no unit: it is related to no principal"
            yield application.place(), what, f"Add [{application.name}:juju-info, nova-compute:juju-info]"
