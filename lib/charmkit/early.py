# SPDX-License-Identifier: Apache-2.0
"""Ends a hook that gives this unit nothing to do, before ops is loaded, which takes most of its time.

- A unit that joins a relation has published nothing yet; what it publishes has a hook of its own.
- Juju runs a changed hook after each joined one. It is of no use to the other side of ``fabric`` while
  neither the unit nor its application has published anything.
- A subordinate's principal has nothing to tell by juju-info. Juju 4.0 has these hooks for the principals of
  all machines.
- Only the leader reads what its peers publish for the reboots. The leader's own state is in the
  application's databag, whose changes have hooks without a remote unit.

In a rolling reboot two of three hooks end here, in a deployment most. A charm imports this module first.
"""

import os

OF_A_PEER = ("reboot-relation-changed", "reboot-relation-departed")
OF_THE_OTHER_SIDE = "fabric-relation-changed"
BY_JUJU = {"egress-subnets", "ingress-address", "private-address"}
"""The keys that a unit's databag has from the beginning."""

read: dict[str, dict[str, str]] = {}
"""The databags that were read here, by owner; a charm that takes one out starts no hook tool for it."""


def end_early() -> None:
    """End this program if its hook gives this unit nothing to do."""
    hook = os.environ.get("JUJU_DISPATCH_PATH", "").removeprefix("hooks/")
    endpoint, of_relation, kind = hook.partition("-relation-")
    if not of_relation:
        return
    if kind == "joined" or endpoint == "juju-info":
        raise SystemExit(0)
    if not (unit := os.environ.get("JUJU_REMOTE_UNIT")):
        return
    if hook in OF_A_PEER and _told("is-leader") is False:
        raise SystemExit(0)
    if hook == OF_THE_OTHER_SIDE and not (_published(unit) or _published(unit.partition("/")[0], "--app")):
        raise SystemExit(0)


def _published(owner: str, *option: str) -> bool:
    """Whether a databag has, or may have, anything that its owner has written."""
    from typing import cast  # other hooks end sooner without it

    found = _told("relation-get", *option, "-r", os.environ.get("JUJU_RELATION_ID", ""), "-", owner)
    if not isinstance(found, dict):
        return True
    read[owner] = bag = cast("dict[str, str]", found)
    return bool(bag.keys() - BY_JUJU)


def _told(tool: str, *words: str) -> object:
    """Return the answer of a hook tool; None where it fails, so that ops runs and says what is wrong."""
    import json

    from hostnic.process import run
    from hostnic.system import CommandError

    try:
        return json.loads(run([tool, "--format=json", *words]))
    except (CommandError, ValueError):
        return None


end_early()
