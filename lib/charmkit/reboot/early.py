# SPDX-License-Identifier: Apache-2.0
"""Ends a hook that is nothing to this unit, before ops is loaded: that takes most of such a hook's time.

Only the leader reads what its peers publish for the reboots. The leader's own state is in the application's
databag, whose changes have hooks without a remote unit. In a roll, two of three hooks are such ones.

A charm with the peer relation ``reboot`` imports this module first.
"""

import os

from hostnic.process import run
from hostnic.system import CommandError

OF_A_PEER = tuple(f"hooks/reboot-relation-{kind}" for kind in ("joined", "changed", "departed"))
"""As Juju has them in ``JUJU_DISPATCH_PATH``."""


def end_early() -> None:
    """End this program if its hook is about a peer, and this unit does not lead."""
    if os.environ.get("JUJU_DISPATCH_PATH") not in OF_A_PEER or not os.environ.get("JUJU_REMOTE_UNIT"):
        return
    try:
        leads = run(["is-leader", "--format=json"]).strip()
    except CommandError:
        return  # ops says what is wrong
    if leads == "false":
        raise SystemExit(0)


end_early()
