# SPDX-License-Identifier: Apache-2.0
"""Watch one compute node go from "two plain PFs in a bond" to an offloading node, through a reboot.

The charm's own code runs on a real kernel with a virtual ConnectX; :mod:`lab.juju.service` plays Juju's part.
Ends with what the kernel says. Exit status 0 only if all of it holds.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from cos.server import ServerError

from lab import checks
from lab.accel import accelerator
from lab.guest import Guest, GuestError
from lab.host import HostError
from lab.image import choose, image
from lab.juju.remote import HookError, Unit
from lab.observed.faults import IN_USE, NODE, OF_A_NODE, OFFLOADING, Seen, quiet, table, try_out
from lab.observed.panels import empty
from lab.observed.watch import Target, watching
from lab.progress import Step, seconds
from lab.releases import RELEASES
from lab.shell import interact

CHARM = "sriov-switchdev"
VFS = 8
CONFIG = {"num-vfs": VFS, "reboot-policy": "when-idle", "reboot-settle": 0}
PATIENCE = 600  # seconds until the node must have settled
MORE = ("list-devices", "show-offload", "show-health")


def main() -> int:
    """Run the lab; returns the exit status."""
    parser = argparse.ArgumentParser(prog="tox -e node --", description=__doc__.partition("\n")[0])
    parser.add_argument("--release", choices=RELEASES, help="what the node runs; default: Ubuntu 22.04")
    parser.add_argument("--charm", default=CHARM, help="the charm to converge the node with")
    parser.add_argument("--keep", action="store_true", help="leave the node running until Enter is pressed")
    parser.add_argument("--shell", action="store_true", help="end with a root shell on the node")
    parser.add_argument(
        "--observed",
        action="store_true",
        help="then let parts of it fail, watched by Prometheus and Alertmanager",
    )
    options = parser.parse_args()
    if options.observed and options.charm != CHARM:
        parser.error(f"--observed is for {CHARM}; {options.charm} declares other things")
    began = time.monotonic()
    try:
        release = RELEASES[options.release or choose()[0]]
        print(f"One compute node: {release.title}; {options.charm}\n")
        with Step("Image and accelerator") as step:
            step.note(accelerator(image(release.name))[1].partition(",")[0])
        with ExitStack() as stack:
            with Step("Starting the node"):
                guest = stack.enter_context(Guest(release.name))
            holds = converge(guest, options.charm)
            if holds and options.observed:
                holds = observed(guest)
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
    except (HostError, GuestError, HookError, ServerError) as problem:
        print(f"\n{problem}", file=sys.stderr)
        return 1


def converge(guest: Guest, charm: str) -> bool:
    """Deploy, follow every hook and reboot until the unit has settled, then verify."""
    with Step(f"Deploying {charm}"):
        node = Node(guest, guest.unit(charm, config=CONFIG))
    print("\n  What would be done, before anything is written:")
    node.show("plan")
    for event in ("install", "leader_elected", "config_changed", "start"):
        node.hook(event)
    patience = guest.patience(PATIENCE)
    while node.status != "active" and not patience.over():
        time.sleep(2)
        node.hook("update_status")
    with Step("A second run, which must write nothing") as step:
        again = node.unit.emit("update_status").writes
        step.note("no write" if not again else f"{len(again)} writes: {again[0]}")
    for action in MORE:
        node.show(action)
    verified = node.show("verify").get("verified") == "true"
    with Step("Asking the kernel"):
        found = checks.converged(guest, VFS)
    width = max(len(check.subject) for check in found)
    for check in found:
        print(check.line(width))
    return verified and not again and node.status == "active" and all(check.holds for check in found)


class Alone:
    """The node as :mod:`lab.observed` wants it."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest

    def run(self, _: str, script: str) -> object:
        """On the only machine."""
        return self._guest.run(script, check=False, timeout=120)

    def until(self, holds: Callable[[], bool], limit: float) -> bool:
        """While nothing else happens."""
        return self._guest.until(holds, limit)


def observed(guest: Guest) -> bool:
    """One fault after the other: its alert fires, it alone, and clears."""
    seen: list[Seen] = []
    lab, targets = Alone(guest), [Target(NODE, f"{CHARM}/0", guest)]
    lab.run(NODE, f"{IN_USE}{OFFLOADING}")
    with tempfile.TemporaryDirectory() as directory, watching(lab, targets, Path(directory)) as watch:
        with Step("Prometheus and Alertmanager watch the node"):
            calm = quiet(watch)
            restless = watch.restless()
        for fault in OF_A_NODE if calm else ():
            with Step(f"{fault.name}: {fault.alert}"):
                seen.append(try_out(watch, fault))
        without_data = empty(watch, ("site", "node"), NODE)
    if not calm:
        print(f"No fault was made, since it never was quiet: {'; '.join(restless) or 'it is now'}")
    print(f"\n{table(seen, watch.factor)}")
    print("Queries of the dashboards without data:", "; ".join(without_data) or "none")
    return calm and not without_data and all(each.holds for each in seen)


class Node:
    """The unit and its machine, told as they go along."""

    def __init__(self, guest: Guest, unit: Unit) -> None:
        self.guest = guest
        self.unit = unit
        self.status = "unknown"
        self._told: set[str] = set()

    def hook(self, event: str) -> None:
        """Emit an event, show what the charm did and says, and reboot if it asked for that."""
        with Step(f"{self.unit.app}/0 {event.replace('_', '-')}") as step:
            result = self.unit.emit(event)
            self.status = result.status[0]
            step.note(": ".join(part for part in result.status if part))
        for level, message in result.logs:
            for line in message.splitlines():
                # What a charm warns of at each hook is news only once.
                if level == "INFO" or (level != "DEBUG" and line not in self._told):
                    print(f"        {line}", flush=True)
                self._told.add(line)
        if self.unit.reboot_requested:
            with Step("Rebooting the node"):
                self.guest.reboot()

    def show(self, action: str) -> dict[str, str]:
        """Run an action and print its results."""
        result = self.unit.action(action)
        print(f"\n  {self.unit.app}/0 {action}" + (f": {result.failure}" if result.failure else ""))
        for key, text in result.results.items():
            lines = (text if "\n" in text else f"{key}: {text}").splitlines()
            print("\n".join(f"    {line}".rstrip() for line in lines))
        print(flush=True)
        return result.results


if __name__ == "__main__":
    sys.exit(main())
