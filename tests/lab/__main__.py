# SPDX-License-Identifier: Apache-2.0
"""Watch one compute node go from "two plain PFs in a bond" to an offloading node, through a reboot.

The charm's own code runs on a real kernel with a virtual ConnectX; Juju's part is played by :mod:`lab.unit`.
Ends with what the kernel says. Exit status 0 only if all of it holds.
"""

import argparse
import sys
import time

from lab import checks, juju
from lab.accel import accelerator
from lab.guest import Guest, GuestError
from lab.host import HostError
from lab.image import RELEASES, image
from lab.progress import Step, seconds
from lab.shell import interact

VFS = 8
CONFIG = {"num-vfs": VFS, "reboot-policy": "when-idle", "reboot-settle": 0}
PATIENCE = 600  # seconds until the node must have settled
MORE = ("list-devices", "show-offload")


def main() -> int:
    """Run the lab; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m lab", description=__doc__.partition("\n")[0])
    parser.add_argument("--release", choices=RELEASES, default="trixie", help="guest: Debian 13 or 12")
    parser.add_argument("--charm", default="sriov-switchdev", help="the charm to converge the node with")
    parser.add_argument("--keep", action="store_true", help="leave the node running until Enter is pressed")
    parser.add_argument("--shell", action="store_true", help="end with a root shell on the node")
    options = parser.parse_args()
    began = time.monotonic()
    try:
        release = RELEASES[options.release]
        print(f"One compute node: Debian {release.name} for Ubuntu {release.series}; {options.charm}\n")
        with Step("Image and accelerator") as step:
            step.note(accelerator(image(release.name))[1].partition(",")[0])
        with Step("Starting the node"):
            guest = Guest(release.name)
            guest.__enter__()
        with guest:
            holds = converge(guest, options.charm)
            print(
                f"\n{'All holds' if holds else 'NOT all holds'}; {seconds(time.monotonic() - began)} in all."
            )
            if options.shell:
                interact(guest)
            elif options.keep:
                input("The node runs on; Enter ends it. ")
        return 0 if holds else 1
    except KeyboardInterrupt:
        print("\nStopped; nothing is left running.", file=sys.stderr)
        return 130
    except (HostError, GuestError, juju.HookError) as problem:
        print(f"\n{problem}", file=sys.stderr)
        return 1


def converge(guest: Guest, charm: str) -> bool:
    """Deploy, follow every hook and reboot until the unit has settled, then verify."""
    with Step(f"Deploying {charm}"):
        unit = guest.unit(charm, config=CONFIG)
    print("\nThe plan, before anything is written:\n")
    hook(unit, "install")
    hook(unit, "leader_elected")
    print_action(unit, "plan")
    result = hook(unit, "config_changed")
    result = hook(unit, "start")
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if unit.reboot_requested:
            with Step("Rebooting the node"):
                guest.reboot()
            result = hook(unit, "start")
        elif result.status[0] == "active":
            break
        else:
            time.sleep(2)
            result = hook(unit, "update_status")
    with Step("A second run, which must write nothing") as step:
        again = unit.emit("update_status")
        step.note("no write" if not again.writes else f"{len(again.writes)} writes: {again.writes[0]}")
    for action in MORE:
        print_action(unit, action)
    verified = print_action(unit, "verify").get("verified") == "true"
    with Step("Asking the kernel"):
        found = checks.converged(guest, VFS)
    print()
    width = max(len(check.subject) for check in found)
    for check in found:
        mark = "ok " if check.holds else "BAD"
        wrong = "" if check.holds else f"   wanted: {check.wanted}"
        print(f"  {mark} {check.subject.ljust(width)}  {check.found}{wrong}")
    return (
        verified and not again.writes and result.status[0] == "active" and all(check.holds for check in found)
    )


def hook(unit: juju.Unit, event: str) -> juju.Result:
    """Emit an event, and show what the charm did and says."""
    with Step(f"{unit.app}/0 {event.replace('_', '-')}") as step:
        result = unit.emit(event)
        step.note(": ".join(part for part in result.status if part))
    for level, message in result.logs:
        if level != "DEBUG":
            print(f"        {message}")
    return result


def print_action(unit: juju.Unit, name: str) -> dict[str, str]:
    """Run an action and print its results."""
    result = unit.action(name)
    print(f"\n  {unit.app}/0 {name}" + (f": {result.failure}" if result.failure else ""))
    for key, text in result.results.items():
        print("\n".join(f"    {line}" for line in (text if "\n" in text else f"{key}: {text}").splitlines()))
    print()
    return result.results


if __name__ == "__main__":
    sys.exit(main())
