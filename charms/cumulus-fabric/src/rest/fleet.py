# SPDX-License-Identifier: Apache-2.0
"""Many switches in parallel, up to a limit."""

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from rest import MAX_PARALLEL
from rest.client import Nvue
from rest.connection import Clock, SwitchError

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True)
class Fleet:
    """The switches of a site by name, and the clock for waiting."""

    switches: Mapping[str, Nvue]
    limit: int = MAX_PARALLEL
    clock: Clock = time

    def each(
        self, names: Iterable[str], work: Callable[[Nvue], T]
    ) -> tuple[dict[str, T], dict[str, SwitchError]]:
        """Do ``work`` on these switches in parallel; the results and the errors by name."""
        return in_parallel({name: self.switches[name] for name in names}, work, self.limit)

    def close(self) -> None:
        """Close all connections; the next request opens a new one."""
        for switch in self.switches.values():
            switch.close()


def in_parallel(
    switches: Mapping[str, S], work: Callable[[S], T], limit: int = MAX_PARALLEL
) -> tuple[dict[str, T], dict[str, SwitchError]]:
    """Do ``work`` on all of these, so many at once; the results and the errors by name."""
    done: dict[str, T] = {}
    failed: dict[str, SwitchError] = {}
    with ThreadPoolExecutor(max_workers=max(1, min(limit, len(switches)))) as pool:
        running = {name: pool.submit(work, switch) for name, switch in switches.items()}
    for name, future in running.items():
        try:
            done[name] = future.result()
        except SwitchError as error:
            failed[name] = error
    return done, failed
