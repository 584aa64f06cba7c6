# SPDX-License-Identifier: Apache-2.0
"""Runs in the guest: apply the charm's live plan through a System that refuses the first write of one step.

``fault_at.py KEY`` prints ``{"steps": [keys], "failed": key, "reason": sentence}``.
"""

import errno
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
sys.path[:0] = [str(ROOT / "lib"), str(ROOT / "charms/sriov-switchdev/src"), "/opt/site-packages"]

from apply import apply  # noqa: E402
from config import Options  # noqa: E402
from hostnic.machine import Machine  # noqa: E402
from hostnic.process import CommandError  # noqa: E402
from observe import observe  # noqa: E402
from plan import Policy, plan  # noqa: E402
from selection import resolve  # noqa: E402
from steps import HostStep  # noqa: E402


class Faulty(Machine):
    """The real host, whose next write fails once when ``armed``."""

    armed = False

    def announce(self, step: HostStep) -> None:
        self.armed = step.key == sys.argv[1]

    def _note(self, verb: str, *arguments: str) -> None:
        if self.armed:
            self.armed = False
            if verb == "run":
                raise CommandError(arguments, f"{arguments[0]} failed (1): Input/output error", 1)
            raise OSError(errno.EIO, "Input/output error")
        super()._note(verb, *arguments)


def main() -> dict[str, Any]:
    system = Faulty()
    observed = observe(system)
    count = observed.previous.ports[0].num_vfs if observed.previous else 2
    wanted, findings = resolve(Options(num_vfs=count, allow_live=True), observed)
    made = plan(wanted, observed, Policy(allow_live=True, controllers=("192.168.25.1",)), findings)
    outcome = apply(made, system, system.announce)
    return {
        "steps": [step.key for step in made.steps],
        "failed": outcome.failed.key if outcome.failed else None,
        "reason": outcome.error.reason if outcome.error else "",
    }


if __name__ == "__main__":
    print(json.dumps(main()))
