# SPDX-License-Identifier: Apache-2.0
"""Ends a hook that is nothing to this unit, before ops is loaded: that takes most of such a hook's time.

- A unit that joins a relation has published nothing yet; what it publishes has a hook of its own.
- A subordinate's principal has nothing to tell by juju-info. Juju 4.0 has these hooks for the principals of
  all machines.
- Only the leader reads what its peers publish for the reboots. The leader's own state is in the
  application's databag, whose changes have hooks without a remote unit.

In a roll, two of three hooks are such ones; in a deployment, most. A charm imports this module first.
"""

import os

OF_A_PEER = ("reboot-relation-changed", "reboot-relation-departed")


def end_early() -> None:
    """End this program if its hook is nothing to this unit."""
    hook = os.environ.get("JUJU_DISPATCH_PATH", "").removeprefix("hooks/")
    endpoint, of_relation, kind = hook.partition("-relation-")
    if not of_relation:
        return
    if kind == "joined" or endpoint == "juju-info":
        raise SystemExit(0)
    if hook not in OF_A_PEER or not os.environ.get("JUJU_REMOTE_UNIT"):
        return

    from hostnic.process import run
    from hostnic.system import CommandError

    try:
        leads = run(["is-leader", "--format=json"]).strip()
    except CommandError:
        return  # ops says what is wrong
    if leads == "false":
        raise SystemExit(0)


end_early()
