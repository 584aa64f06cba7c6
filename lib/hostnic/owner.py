# SPDX-License-Identifier: Apache-2.0
"""Whose file it is: what the real and the modelled host check before they read a file as root's own."""

import stat
from collections.abc import Collection

from hostnic.system import NotOwnError


def check_owner(path: str, owner: int, group: int, mode: int, trusted: Collection[int] = (0,)) -> None:
    """Refuse what ``lstat`` says of a file or directory unless it is root's, or of the ``trusted`` users.

    Raises NotOwnError if others can write it. They may add files to a sticky directory, as /tmp is.
    """
    shared = 0o002 | (0o020 if group else 0)  # the group of number 0 is root's
    if stat.S_ISLNK(mode) or (stat.S_ISDIR(mode) and mode & stat.S_ISVTX):
        shared = 0
    if owner not in trusted or mode & shared:
        raise NotOwnError(
            path, f"belongs to user {owner} and group {group} with mode {stat.S_IMODE(mode):04o}"
        )
