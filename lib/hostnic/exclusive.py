# SPDX-License-Identifier: Apache-2.0
"""One program at a time changes a host: hooks, boot units, the unit that restores ports, the revert timer.

Juju lets one hook run at a time on a machine; systemd starts the others beside it. Each takes the lock for as
long as it changes NICs, and looks at the host anew if it had to wait. The kernel frees the lock of a program
that ends, however it ends. Reading needs no lock.
"""

import contextlib
from collections.abc import Generator
from typing import NamedTuple

from hostnic.ops import until
from hostnic.system import System

PATH = "/run/ovn-offload/changing.lock"
SUBJECT = "changes of this host"
REMEDY = f"fuser -v {PATH} shows which program it is"


class Turn(NamedTuple):
    """Whether this program has the lock, and whether it waited for another one."""

    held: bool
    waited: bool = False


def take(system: System, wait: float) -> Turn:
    """Take the lock; wait for it ``wait`` seconds at most.

    Raises:
        OSError: the lock file cannot be opened.

    """
    if system.files.lock(PATH):
        return Turn(held=True)
    return Turn(until(system, lambda: system.files.lock(PATH), wait), waited=True)


@contextlib.contextmanager
def turn(system: System, wait: float) -> Generator[Turn, None, None]:
    """:func:`take` the lock for a ``with`` block, which looks whether it has it; give it up at the end."""
    try:
        yield take(system, wait)
    finally:
        give_up(system)


def give_up(system: System) -> None:
    """Let others change the host; nothing happens without the lock."""
    system.files.unlock(PATH)


def held_by_another(wait: float) -> str:
    """What to say when it could not be taken."""
    return f"another program of these charms has been changing this host for {wait:g} s"
