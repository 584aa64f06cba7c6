# SPDX-License-Identifier: Apache-2.0
"""The verb `undo` of `tox -e juju`: everything back, of nodes or of the whole model."""

import argparse

from converge import StepError
from converge.execute import execute
from converge.render import plan_as_table
from drain import node
from drain.command import DONE, FAILED, Around, clients_of, ended, say
from drain.compute import Compute, Guest
from drain.rolling import looked
from operate.client import Juju
from undo import found, steps
from undo.found import Found


def undo(juju: Juju, options: argparse.Namespace, around: Around | None = None) -> int:
    """Print what would be undone, and with --apply do it."""
    around = around or Around()
    if options.node:
        return _nodes(juju, options, around)
    model = found.observe(juju)
    users = _users(juju, options, around, model) if options.without_vfs else None
    plan = steps.site(model, users, options.cloud)
    if plan.empty and not plan.blocked:
        print("Nothing to undo: the model has no charm of this project.")
        return DONE
    print(plan_as_table(plan))
    if not options.apply or plan.blocked:
        return FAILED if plan.blocked else DONE
    desk = steps.Around(juju, around.clock, say, options.wait * 60.0)
    return ended(execute(plan, desk, lambda step: say(step.what)), held=bool(plan.held))


def _nodes(juju: Juju, options: argparse.Namespace, around: Around) -> int:
    """One node after the other; the first that is held or fails ends it."""
    if options.without_vfs:
        raise StepError("--without-vfs is for the whole model", "a node that leaves loses its VFs anyway")
    clients = clients_of(juju, options, around)
    known = node.places(juju.data("status"))
    for place in [node.find(known, name) for name in options.node]:
        emptied = node.observe(clients.compute, place, looked(clients, place))
        plan = steps.node(place, emptied, found.of_place(juju, place) if emptied.unit.answers else None)
        print(plan_as_table(plan))
        if plan.blocked:
            return FAILED
        if options.apply:
            status = ended(execute(plan, clients, lambda step: say(step.what)), held=bool(plan.held))
            if status != DONE:
                return status
    return DONE


def _users(juju: Juju, options: argparse.Namespace, around: Around, model: Found) -> list[tuple[str, Guest]]:
    """The instances with a device of their host, on all hosts with sriov-switchdev."""
    compute: Compute = clients_of(juju, options, around).compute
    services = compute.services()
    hosts = [node.service_of(place, services).host for place in model.places if found.DRIVER in place.units]
    return [(host, guest) for host in hosts for guest in compute.guests(host) if guest.cold]
