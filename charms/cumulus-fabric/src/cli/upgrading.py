# SPDX-License-Identifier: Apache-2.0
"""The verb upgrade of the command line."""

import argparse
from collections.abc import Collection
from functools import partial

import online
from converge import Finding
from converge.render import findings_as_table
from converge.shape import InvalidValue
from intent import image
from intent.model import Fabric
from names import cut_off
from upgrade.run import Upgrade

from cli import access, switches, wording
from cli.arguments import chosen, most, require_known
from cli.inputs import UsageError


def upgrade(options: argparse.Namespace, fabric: Fabric) -> bool:
    """Show the plan, or do it; whether nothing stands against it. Raises UsageError for a wrong argument."""
    names = [switch.name for switch in chosen(fabric, options.switch)]
    if options.canary:
        require_known(fabric, [options.canary], "--canary")
    try:
        wanted = image.read("--image", options.image, options.sha256)
    except InvalidValue as error:
        raise UsageError(f"{error.where}: {error.shown} is not allowed; give {error.allowed}") from None
    policy = partial(switches.policy, options)
    policy()  # a wrong time-out is a wrong argument
    logins = access.logins(options, fabric)
    with switches.site(options, fabric, (), logins) as site:
        work = Upgrade(
            site,
            wanted,
            policy,
            options.canary,
            cut_off(options.cut_off),
            partial(_remember, options, site),
            names=names,
        )
        if not options.plan:
            found = work.plan()
            ended = work.ended(found)
            print(ended.verdict if ended and not ended.failed else _table(options, found.shown))
            print("nothing was sent to any switch")
            return not found.stopped
        outcome = work.run(options.plan)
        if outcome.reasons:
            print(_table(options, outcome.reasons))
        print(wording.translated(outcome.verdict))
        return not outcome.failed


def _table(options: argparse.Namespace, found: Collection[Finding]) -> str:
    return findings_as_table(wording.of_findings(found), most=most(options))


def _remember(options: argparse.Namespace, site: online.Site, returned: Collection[str]) -> None:
    switches.remember(options, site, site.names, returned)
