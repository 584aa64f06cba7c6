# SPDX-License-Identifier: Apache-2.0
"""The verbs of the command line about configurations that are kept: list-backups and compare-backups."""

import argparse
import json
from typing import TYPE_CHECKING

from backups import folder
from backups.folder import Folder
from converge import StepError
from converge.render import cut_table
from intent.model import Fabric

from cli import wording
from cli.arguments import chosen, most
from cli.inputs import UsageError

if TYPE_CHECKING:
    from observe import SwitchState

VERBS = {
    "list-backups": "the configurations that earlier runs have kept; contacts no switch",
    "compare-backups": "what leads from a kept configuration to another one, or to what the switch runs",
}


def listed(options: argparse.Namespace, fabric: Fabric) -> bool:
    """Print a row for each configuration. Raises UsageError if the folder cannot be read."""
    names = [switch.name for switch in chosen(fabric, options.switch)]
    try:
        rows = Folder(options.backups).rows(names)
    except StepError as error:
        raise _usage(error) from None
    if options.format == "json" or not rows:
        print(json.dumps(rows, indent=2) if options.format == "json" else folder.NONE)
    else:
        cells = [list(row.values()) for row in rows]
        print(cut_table(folder.COLUMNS, cells, most(options), "configurations"))
    return True


def compare(options: argparse.Namespace, fabric: Fabric) -> bool:
    """Print what differs. Raises UsageError if one of the two cannot be read."""
    from backups import keeping  # these load HTTP and TLS, which list-backups does not need

    from cli import access, switches

    def running(name: str) -> "SwitchState":
        logins = access.logins(options, fabric)
        with switches.site(options, fabric, [name], logins) as site:
            return keeping.running_now(site.fleet, name)

    try:
        print(keeping.difference(Folder(options.backups), options.backup, options.against, running))
    except StepError as error:
        raise _usage(error) from None
    return True


def _usage(error: StepError) -> UsageError:
    return UsageError(wording.translated("; ".join(filter(None, (str(error), error.remedy)))))
