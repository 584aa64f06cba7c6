# SPDX-License-Identifier: Apache-2.0
"""Where the operator's commands look for a site's files if no option names them."""

from pathlib import Path

INTENT = "site-fabric.yaml"
"""In the folder of the command, which is the clone for `tox`."""
CREDENTIALS = "~/.config/ovn-offload/switches.txt"
"""Who logs in to the switches: lines user:password and NAME user:password, mode 0600."""
PREVIOUS = "~/.config/ovn-offload/previous-switches.txt"
"""The same with the passwords that some switches still have, while they are being changed."""
PINS = "~/.config/ovn-offload/pins.txt"
"""The certificates of the switches, as the verb pins prints them."""
BACKUPS = "~/.local/state/ovn-offload/backups"
"""The configurations of switches before and after each run that changed one: a folder of mode 0700."""


def previous(named: str | None, credentials: str) -> str:
    """The file with the earlier passwords: the one that is named, else that of :data:`PREVIOUS` if it exists.

    Empty without one, and where other ``credentials`` than those of :data:`CREDENTIALS` are given: the file
    may be one of other switches.
    """
    return _there(PREVIOUS, named, asked=credentials == CREDENTIALS)


def pins(named: str | None, *, others: bool) -> str:
    """The file with pinned certificates: the one that --pins names, else that of :data:`PINS` if it exists.

    Empty without one, and with ``others``: --ca or --pin say then whom the operator trusts.
    """
    return _there(PINS, named, asked=not others)


def _there(default: str, named: str | None, *, asked: bool) -> str:
    if named is not None:
        return named
    return default if asked and Path(default).expanduser().exists() else ""
