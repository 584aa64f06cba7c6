# SPDX-License-Identifier: Apache-2.0
"""The databags of the peer relation: what is read from them, and what is written."""

import ops
from converge import Finding, Severity
from converge.shape import InvalidValue

from charmkit.reboot import databag
from charmkit.reboot.state import Cluster, UnitState
from charmkit.reboot.status import unusable


def read_units(peers: ops.Relation, me: ops.Unit) -> tuple[dict[str, UnitState], list[Finding]]:
    """What ``me`` publishes and, on the leader, what its peers do: each costs a ``relation-get``.

    A malformed databag is a finding and no candidate.
    """
    units: dict[str, UnitState] = {}
    findings: list[Finding] = []
    seen = {me, *peers.units} if me.is_leader() else {me}
    for unit in sorted(seen, key=lambda unit: unit.name):
        try:
            units[unit.name] = databag.decode_unit(peers.data[unit].get(databag.KEY))
        except InvalidValue as error:
            units[unit.name] = UnitState()
            findings.append(unusable(Severity.WARNING, f"what {unit.name} publishes", error))
    return units, findings


def read_cluster(peers: ops.Relation, application: ops.Application) -> Cluster | Finding:
    """What the leader publishes, or why it cannot be read."""
    try:
        return databag.decode_cluster(peers.data[application].get(databag.KEY))
    except InvalidValue as error:
        return unusable(Severity.BLOCKED, "no reboot is granted: what the leader publishes", error)


def publish(peers: ops.Relation, me: ops.Unit, own: UnitState, cluster: Cluster) -> None:
    """Write what has changed: ``own`` and, on the leader, ``cluster``."""
    bags: list[tuple[ops.Unit | ops.Application, str]] = [(me, databag.encode(own))]
    if me.is_leader():
        bags.append((me.app, databag.encode(cluster)))
    for entity, text in bags:
        if peers.data[entity].get(databag.KEY) != text:
            peers.data[entity][databag.KEY] = text
