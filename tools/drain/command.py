# SPDX-License-Identifier: Apache-2.0
"""The verbs `drain`, `roll` and `firmware` of `tox -e juju`: the plan, or with --apply what it says."""

import argparse
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from acceptance.cloud import Clock, connect
from converge import StepError
from converge.execute import execute
from converge.render import plan_as_table, table
from drain import firmware as rollout
from drain import node, rolling
from drain.compute import Compute
from drain.steps import Clients, plan
from operate.client import Juju

DONE, FAILED = 0, 1


@dataclass(frozen=True)
class Around:
    """The outside world of the verbs, so that tests can replace it."""

    connect: Any = connect
    clock: Clock = field(default=time)


def drain(juju: Juju, options: argparse.Namespace, around: Around | None = None) -> int:
    """Empty one node, reboot it, and take it into use again."""
    clients = clients_of(juju, options, around or Around())
    status = juju.data("status")
    place = node.find(node.places(status), options.node)
    found = node.observe(clients.compute, place, node.look(juju, place, status))
    steps = plan(place, found, keep=options.keep, stop=options.stop_instances)
    print(plan_as_table(steps))
    if not options.apply or steps.blocked:
        return FAILED if steps.blocked else DONE
    outcome = execute(steps, clients, lambda step: clients.say(step.what))
    return ended(outcome, held=bool(steps.held))


def roll(juju: Juju, options: argparse.Namespace, around: Around | None = None) -> int:
    """The same for all nodes that ask for a reboot, one after the other."""
    clients = clients_of(juju, options, around or Around())
    every = rolling.turns(juju, clients.compute)
    if not every:
        print("Nothing to do: no node asks for a reboot.")
        return DONE
    rows = [
        (each.place.host, each.service.zone, str(each.live), str(each.cold), str(each.stay)) for each in every
    ]
    print(table(("node", "zone", "move live", "move cold", "stay"), rows))
    if not options.apply:
        return DONE
    return ended(rolling.roll(clients, every, stop=options.stop_instances), held=False)


def firmware(juju: Juju, options: argparse.Namespace, around: Around | None = None) -> int:
    """Show the firmware of all NICs, and with --apply roll out the images that nic-firmware has."""
    known = rollout.cards(juju)
    wanted = rollout.baseline(options.baseline, known)
    print(rollout.table(known, wanted, options.most))
    if not options.apply:
        states = {rollout.state(each, wanted) for each in known}
        return DONE if states <= {rollout.AS_WANTED, rollout.NONE} else FAILED
    clients = clients_of(juju, options, around or Around())
    todo = rollout.plan_of(clients, known, wanted, options.canary, options.percent)
    rollout.roll_out(clients, todo, stop=options.stop_instances)
    print("All NICs that the baseline names run its versions.")
    return DONE


VERBS = {"drain": drain, "roll": roll, "firmware": firmware}


def clients_of(juju: Juju, options: argparse.Namespace, around: Around) -> Clients:
    """The clients and limits that the options name. Raises StepError without the name of a cloud."""
    if not options.cloud:
        raise StepError(
            "the nodes have instances of a cloud, which is not named",
            "name the cloud of clouds.yaml with --cloud",
        )
    compute = Compute(around.connect(options.cloud, options.cacert), around.clock)
    return Clients(juju, compute, around.clock, say, options.wait * 60.0)


def say(text: str) -> None:
    """Tell the operator how far it is."""
    print(text, file=sys.stderr, flush=True)


def ended(outcome: Any, *, held: bool) -> int:
    """The exit code of a plan that was run; what failed is told."""
    if outcome.finding is not None:
        print(outcome.finding.sentence(), file=sys.stderr)
        return FAILED
    return FAILED if held else DONE
