# SPDX-License-Identifier: Apache-2.0
"""Runs in the guest: apply the charm's live plan through a System that refuses the first write of one step.

``fault_at.py KEY``, with the charm's modules on PYTHONPATH, prints
``{"steps": [keys], "failed": key, "reason": sentence}``.
"""

import errno
import json
import sys
from collections.abc import Sequence
from typing import Any

from config import Options
from hostnic.calls import Call
from hostnic.machine import Machine
from hostnic.system import CommandError, HostStep
from lab.modelled.recorder import Recorder
from live import apply
from nic.judge import joined
from observe import observe
from selection import resolve
from survey import plan_host


class Faulty(Recorder):
    """The real host, whose next write fails once when ``armed``."""

    armed = False

    def announce(self, step: HostStep) -> None:
        self.armed = step.key == sys.argv[1]

    def _note(self, call: Call, words: Sequence[str]) -> None:
        if call.writes and self.armed:
            self.armed = False
            raise OSError(errno.EIO, "Input/output error")
        super()._note(call, words)

    def run(self, argv: Sequence[str], timeout: float = 60.0, given: str = "") -> str:
        if self.armed:
            self.armed = False
            raise CommandError(argv, f"{argv[0]} failed (1): Input/output error", 1)
        return super().run(argv, timeout, given)


def main() -> dict[str, Any]:
    system = Faulty(Machine())
    observed = observe(system)
    count = observed.previous.ports[0].num_vfs if observed.previous else 2
    wanted, findings = resolve(Options(num_vfs=count, allow_live=True), observed, "sriov-switchdev")
    nics = joined(wanted, observed)
    made = plan_host(nics, wanted, observed, findings, True, ("192.168.25.1",)).plan
    outcome = apply(made, system, system.announce)
    return {
        "steps": [step.key for step in made.steps],
        "failed": outcome.failed.key if outcome.failed else None,
        "reason": outcome.error.reason if outcome.error else "",
    }


if __name__ == "__main__":
    print(json.dumps(main()))
