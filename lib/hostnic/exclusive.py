# SPDX-License-Identifier: Apache-2.0
"""One program at a time changes a host: hooks, boot units, the unit that restores ports, the revert timer.

Juju lets one hook run at a time on a machine; systemd starts the other programs whenever they are due. Each
takes the lock for as long as it changes NICs, and looks at the host anew if it had to wait. The kernel frees
the lock when its program ends, however it ends. Reading needs no lock.
"""

import contextlib
from collections.abc import Generator
from typing import NamedTuple

from hostnic.ops import until
from hostnic.system import System

PATH = "/run/ovn-offload/changing.lock"
SUBJECT = "changes of this host"
REMEDY = f"fuser -v {PATH} shows which program it is"


class Lock(NamedTuple):
    """Whether this program has the lock, and whether it had to wait for another program."""

    held: bool
    waited: bool = False


def take(system: System, wait: float) -> Lock:
    """Take the lock; wait ``wait`` seconds for it at most.

    Raises OSError if the lock file cannot be opened.
    """
    if system.files.lock(PATH):
        return Lock(held=True)
    return Lock(until(system, lambda: system.files.lock(PATH), wait), waited=True)


@contextlib.contextmanager
def lock(system: System, wait: float) -> Generator[Lock, None, None]:
    """:func:`take` the lock for a ``with`` block, and give it up at its end.

    The block runs also without the lock: it has to ask whether the lock is ``held``.
    """
    try:
        yield take(system, wait)
    finally:
        give_up(system)


def give_up(system: System) -> None:
    """Let others change the host; nothing happens without the lock."""
    system.files.unlock(PATH)


def held_by_another(wait: float) -> str:
    """Return the sentence for a lock that could not be taken."""
    return f"another program of these charms has been changing this host for {wait:g} s"
