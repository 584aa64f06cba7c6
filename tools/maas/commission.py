# SPDX-License-Identifier: Apache-2.0
"""Commissioning: MAAS powers machines on and looks at their hardware, when the operator asks for it.

`skip_bmc_config` keeps MAAS from making BMC users of its own (maasserver/api/machines.py, commission).
"""

import time

from converge import Disruption, Finding, Plan, Severity, Step, StepError
from maas import answers
from maas.client import Maas, Objects, Write
from maas.sitefile.model import Site
from maas.unmanaged import BUSY, unseen

POLL = 15
"""Seconds between two looks at machines that are being commissioned."""
PATIENCE = 3600
"""Seconds for commissioning and MAAS' tests of the hardware."""


def plan(site: Site, objects: Objects) -> Plan[Maas]:
    """One step for each machine of the site that MAAS has not seen yet, or could not commission."""
    steps: list[Step[Maas]] = []
    missing: list[Finding] = []
    for name in site.machines:
        found = objects.get(f"machine {name}", {})
        if not found:
            missing.append(Finding(Severity.WAITING, name, "MAAS does not know it", "run apply first"))
        elif why := unseen(found):
            path = f"machines/{found['system_id']}/?op=commission"
            write = Write(f"machine {name}", f"POST {path}", {"skip_bmc_config": "1"})
            steps.append(Step(f"{name}", f"power {name} on and commission it", why, Disruption.REBOOT, write))
    return Plan(tuple(steps), findings=tuple(missing))


def wait(maas: Maas, site: Site) -> None:
    """Wait until MAAS is done with every machine of the site; each change of a status is printed.

    Raises StepError if some are still at it when the patience ends.
    """
    end, last = time.monotonic() + PATIENCE, dict[str, str]()
    while True:
        states = {body["hostname"]: body["status_name"] for body in answers.listed(maas, "machines")}
        states = {name: states[name] for name in site.machines if name in states}
        for name in states:
            if states[name] != last.get(name):
                print(f"{name}: {states[name]}", flush=True)
        last, busy = states, [name for name in states if states[name] in BUSY]
        if not busy:
            return
        if time.monotonic() > end:
            raise StepError(f"{', '.join(busy)} did not become Ready", "see its log in MAAS, then repeat")
        time.sleep(POLL)
