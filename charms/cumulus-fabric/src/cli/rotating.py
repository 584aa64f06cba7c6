# SPDX-License-Identifier: Apache-2.0
"""The verb rotate-password of the command line."""

import argparse

from converge import Finding
from converge.render import findings_as_table
from intent import places
from intent.model import Fabric
from logins.rotation import VERB, Rotation

from cli import access, switches, wording
from cli.arguments import chosen, most
from cli.inputs import UsageError


def rotate_password(options: argparse.Namespace, fabric: Fabric) -> bool:
    """Show the plan, or do it; whether nothing stands against it. Raises UsageError for a wrong argument."""
    if not places.previous(options.previous_credentials, options.credentials):
        what = f"--previous-credentials: {VERB} needs the file with the passwords of now; name it, or have it"
        raise UsageError(f"{what} as {places.PREVIOUS} beside {places.CREDENTIALS}")
    names = [each.name for each in chosen(fabric, options.switch) if each.platform == "cumulus"]
    logins = access.logins(options, fabric)
    with switches.site(options, fabric, names, logins) as site:
        work = Rotation(site.fleet, names, switches.announce)
        if not options.plan:
            found = work.plan()
            print(_table(options, found.shown))
            print("nothing was sent to any switch")
            return not found.blocked
        outcome = work.run(options.plan)
        if outcome.reasons:
            print(_table(options, outcome.reasons))
        print(outcome.verdict)
        return not outcome.left


def _table(options: argparse.Namespace, found: tuple[Finding, ...]) -> str:
    return findings_as_table(wording.of_findings(found), most=most(options))
