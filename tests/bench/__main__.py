# SPDX-License-Identifier: Apache-2.0
"""Ratios, from one run: an idle hook against an empty charm, the boot units against a bare shell script.

The other parts need no guest: cumulus-fabric alone, operators' commands at 256 nodes, and a simulated site
with its rolling reboot. The ratios compare two ways on one machine, so that they mean the same in a slow
guest and on a fast host. Times are printed, never asserted.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import exporter_cost
import fabric
import operators
import switches
import verifying
from lab import site
from lab.guest import Guest, GuestError
from lab.host import HostError
from lab.progress import Step

CHARM = "sriov-switchdev"
CONFIG = {"num-vfs": 8, "reboot-policy": "always", "reboot-settle": 0}
DIRECTORY = f"/var/lib/juju/agents/unit-{CHARM}-0/charm"
PYTHON = ["/usr/bin/python3"]
ATTEMPTS = 20


def converge(guest: Guest) -> None:
    """Bring the node to where an update-status hook has nothing to do."""
    unit = guest.unit(CHARM, config=CONFIG)
    result = unit.start()
    for _ in range(ATTEMPTS):
        if unit.reboot_requested:
            guest.reboot()
            unit.emit("start")
        result = unit.emit("update_status")
        if result.status[0] == "active" and not result.writes:
            return
        time.sleep(2)
    raise GuestError(f"the node did not converge: {result.status} {result.writes}")


def measure(guest: Guest, script: str, *arguments: str) -> dict[str, Any]:
    """Run one of this directory's scripts in the guest and return what it prints."""
    command = [*PYTHON, f"/opt/ovn-offload/tests/bench/{script}.py", *arguments]
    return json.loads(guest.run(command, timeout=900).stdout)


def row(what: str, seconds: float, ratio: float | None = None) -> None:
    """One line of the result."""
    print(f"{what:58} {seconds:7.2f} s" + (f"   ratio {ratio:.2f}" if ratio else ""), flush=True)


def main() -> int:
    """Measure cumulus-fabric here and a converged node in its guest; print each result as it comes."""
    argparse.ArgumentParser(prog="tox -e bench --", description=__doc__).parse_args()
    fabric.main()
    exporter_cost.main()
    verifying.main()
    switches.main()
    operators.main()
    # Its name is that of a module of Python's, and each charm has modules with the same names.
    subprocess.run([sys.executable, str(Path(__file__).with_name("site.py")), "8", "64"], check=True)
    subprocess.run([sys.executable, str(Path(__file__).with_name("many_vfs.py"))], check=True)
    try:
        with Guest("trixie") as guest:
            with Step("Converging one node"):
                converge(guest)
            with Step("Idle hooks"):
                idle = measure(guest, "idle", DIRECTORY, json.dumps(CONFIG))
            row("update-status of an empty ops charm", idle["empty"])
            row(f"update-status of {CHARM}, nothing to do", idle["charm"], idle["ratio"])
            spawned = ", ".join(idle["processes"]) or "none"
            print(f"processes that it starts besides Juju's hook tools: {spawned}", flush=True)
            with Step("VFs and switchdev mode"):
                boot = measure(guest, "orchestrate", json.dumps(site.PFS), site.BOND)
            row(f"a shell script of {boot['writes']} writes: VFs, switchdev, binding", boot["shell"])
            row("the boot units, which make the same writes", boot["units"], boot["ratio"])
            row("the boot units with nothing to do: Python, a look each", boot["idle"])
            row("what the writes add to that", boot["units"] - boot["idle"], boot["work_ratio"])
    except (HostError, GuestError) as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
