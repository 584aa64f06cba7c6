# SPDX-License-Identifier: Apache-2.0
"""In which order Juju's agent runs the hooks of one unit: for the lab, the bench and the unit tests.

Source: juju/juju 4.0, internal/worker/uniter: resolver.go (which kind comes first), relation/resolver.go
(within a relation), relation/relationer.go (when a unit leaves one), leadership/resolver.go,
reboot/resolver.go, operation/runhook.go (what follows directly on a hook). ``hooks.yaml`` has what that makes
of each charm of the bundle, and ``tests/recorded/juju`` what a controller ran.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

NEW = ("install", "config-changed", "start")
REFRESHED = ("upgrade-charm", "config-changed")
"""The second follows directly on the first."""

TOLD = "relation-changed"
"""Once before the others, of an application that has written something: peers, and the fabric's hosts."""

MET = ("relation-joined", "relation-changed")
"""For each unit at the other end; hooks of another relation may come between the two. At the end of juju-info
there is a unit for each principal on any machine, not only the subordinate's own."""

_ORDER = (
    "start",  # once, after a boot of the machine; only a hook that was interrupted is run again before it
    "relation-created",
    "leader-elected",
    "secret-changed",
    "action",
    "juju-exec",
    "upgrade-charm",
    "config-changed",
    "relation-departed",
    "relation-broken",
    "relation-changed",  # of an application
    "relation-joined",
    "relation-changed of a unit",
    "update-status",
)


def of_a_new_unit(endpoints: Iterable[str], *, leads: bool) -> list[str]:
    """Up to start, after which it meets the units at the other ends of its relations.

    A unit that does not lead has no hook for that: Juju 3.6 still has leader-settings-changed, of which the
    charms know nothing.
    """
    install, *last = NEW
    created = [f"{endpoint}-relation-created" for endpoint in endpoints]
    return [install, *created, *(["leader-elected"] if leads else []), *last]


def of_a_removed_relation(endpoint: str, units: int) -> list[str]:
    """It loses each unit that it sees there, and then the relation. So do the units at the other end."""
    return [f"{endpoint}-relation-departed"] * units + [f"{endpoint}-relation-broken"]


def of_a_removed_unit(units: Mapping[str, int], peers: Collection[str]) -> list[str]:
    """The last ones: it loses each unit, and each relation but those with its peers.

    That is all of them, as of a unit that is removed alone. The peers' relation is broken, too, for the last
    ones of an application, and where the principal goes; Juju 4.0 may leave out any of the last ones.

    With relation-broken it has left the relation, and the units at the other end lose it then. It is gone
    when its peers lose it. Juju elects no unit that is being removed, and tells the former leader nothing.

    Args:
        units: how many it sees in the relation, by endpoint.
        peers: the endpoints of relations with its peers.

    """
    hooks = list[str]()
    for endpoint, seen in units.items():
        lost = of_a_removed_relation(endpoint, seen)
        hooks += lost[:-1] if endpoint in peers else lost
    return [*hooks, "stop", "remove"]


def rank(hook: str, unit: str = "") -> tuple[int, str]:
    """Which of several hooks that are due comes first: the least.

    Args:
        hook: its name, of a relation without the endpoint.
        unit: the other unit, of a relation; empty for an application.

    """
    return _ORDER.index(f"{hook} of a unit" if unit and hook == "relation-changed" else hook), unit


def contradictions(ran: Sequence[str]) -> Iterator[str]:
    """Yield the faults in a unit's hooks that no Juju makes, from its install or a later moment on.

    With several relations Juju goes back and forth between them, so that ``joined`` need not be followed
    directly by its ``changed``. Last hooks may be missing: Juju 4.0 ends a unit without some or all of them
    under load, and with its principal; one whose agent lost its connection runs twice.
    """
    joined, changed, departed = Counter[str](), Counter[str](), Counter[str]()
    left, whole = set[str](), ran[:1] == ["install"]
    for number, hook in enumerate(ran):
        before = ran[:number]
        endpoint, of_relation, kind = hook.partition("-relation-")
        if {"remove", "stop"} & {*before} and hook not in ("stop", "remove"):
            yield f"{hook} after the unit has stopped"
        if hook == "remove" and "stop" not in before:
            yield "remove before stop"
        if hook == "start" and whole and "config-changed" not in before:
            yield "start before config-changed"
        if not of_relation:
            continue
        if endpoint in left and kind not in ("created", "broken"):
            yield f"{hook} after relation-broken"
        left = left - {endpoint} if kind == "created" else left | {endpoint} if kind == "broken" else left
        if kind == "created" and endpoint not in left:
            for seen in (joined, changed, departed):
                seen[endpoint] = 0
        counted = {"joined": joined, "changed": changed, "departed": departed}.get(kind, Counter[str]())
        counted[endpoint] += 1
        if kind in ("joined", "changed", "departed") and whole and "start" not in before:
            yield f"{hook} before start"
        if kind == "departed" and whole and departed[endpoint] > joined[endpoint]:
            yield f"{hook} of a unit that has not joined"
    for endpoint in (each for each, count in joined.items() if count and not departed[each]):
        after = ran[len(ran) - [*reversed(ran)].index(f"{endpoint}-relation-joined") :]
        if endpoint not in left and f"{endpoint}-relation-changed" not in after:
            yield f"{endpoint}-relation-joined without its relation-changed"
