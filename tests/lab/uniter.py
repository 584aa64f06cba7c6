# SPDX-License-Identifier: Apache-2.0
"""In which order Juju's agent runs the hooks of one unit: for the lab, the bench and the unit tests.

Source: juju/juju 4.0, internal/worker/uniter: resolver.go (which kind comes first), relation/resolver.go
(within a relation), relation/relationer.go (when a unit leaves one), leadership/resolver.go,
reboot/resolver.go, operation/runhook.go (what follows directly on a hook). ``hooks.yaml`` has what that makes
of each charm of the bundle.
"""

from collections.abc import Collection, Iterable, Mapping

NEW = ("install", "config-changed", "start")
REFRESHED = ("upgrade-charm", "config-changed")
"""The second follows directly on the first."""

MET = ("relation-joined", "relation-changed")
"""For each unit at the other end; the second follows directly on the first."""

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
