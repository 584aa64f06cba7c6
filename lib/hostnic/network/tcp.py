# SPDX-License-Identifier: Apache-2.0
"""Which hosts answer at a TCP port. Only what :meth:`hostnic.system.System.answering` promises."""

import functools
import ipaddress
import socket
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

AT_ONCE = 32
"""Connections that are tried at the same time."""


def answering(addresses: Collection[str], port: int, timeout: float) -> frozenset[str]:
    """Return those of ``addresses`` whose host accepts or resets a connection within ``timeout`` seconds."""
    tried = sorted(set(addresses))
    if not tried:
        return frozenset()
    with ThreadPoolExecutor(min(AT_ONCE, len(tried))) as pool:
        found = pool.map(functools.partial(_answers, port=port, timeout=timeout), tried)
        return frozenset(address for address, answers in zip(tried, found, strict=True) if answers)


def _answers(address: str, port: int, timeout: float) -> bool:
    try:
        ipaddress.ip_address(address)  # a name would be resolved first, without a limit of time
        with socket.create_connection((address, port), timeout):
            return True
    except (ConnectionRefusedError, ConnectionResetError):
        return True  # its kernel answered
    except (OSError, ValueError):
        return False
