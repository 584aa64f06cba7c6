# SPDX-License-Identifier: Apache-2.0
"""Processes that end with the one that started them."""

import ctypes
import signal

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def die_with_parent() -> None:
    """Called in a new process, which then ends when its starter does, however that ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
