# SPDX-License-Identifier: Apache-2.0
"""The way to the switches: NVUE's REST interface over TLS, and many switches in parallel, up to a limit."""

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from rest.client import Nvue
from rest.connection import Clock, SwitchError

T = TypeVar("T")

MAX_PARALLEL = 64
"""Default number of switches that are contacted in parallel."""


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
        done: dict[str, T] = {}
        failed: dict[str, SwitchError] = {}
        wanted = list(names)
        with ThreadPoolExecutor(max_workers=max(1, min(self.limit, len(wanted)))) as pool:
            running = {name: pool.submit(work, self.switches[name]) for name in wanted}
        for name, future in running.items():
            try:
                done[name] = future.result()
            except SwitchError as error:
                failed[name] = error
        return done, failed

    def close(self) -> None:
        """Close all connections; the next request opens a new one."""
        for switch in self.switches.values():
            switch.close()
