# SPDX-License-Identifier: Apache-2.0
"""The images of a switch: two partitions, files, and the actions that fetch, install and boot one.

Facts: Cumulus Linux user guide, "Upgrading Cumulus Linux" (optimized image upgrade, 5.11 and later) and "NVUE
API" (an action answers with its number alone; ``action/N`` has its state). The bodies are those that NVIDIA's
own REST clients send. How long each action takes, and what a switch answers to a second one while it is at
one, is not published.
"""

import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lab.nvue.factory import HOSTNAME, factory
from lab.nvue.revision import RefusedError
from lab.nvue.trees import Tree

if TYPE_CHECKING:
    from lab.nvue.switch import Switch

SINCE = (5, 11)
"""The release from which on NVUE installs images."""

MODES = (5, 15)
"""The release from which on a reboot has a mode, and ``force`` instead of ``no-confirm``."""

ACTIONS = {
    ("system", "image"): ("@fetch", "@boot-next"),
    ("system", "image", "files"): ("@install",),
    ("system",): ("@reboot",),
}

SECONDS = {"@fetch": 60.0, "@install": 300.0, "@boot-next": 2.0}
"""Seconds that an action takes, unless told otherwise."""


@dataclass
class Images:
    """The images of one switch.

    Attributes:
        server: the releases of the images that its operator's server has, by URL.
        boots: seconds from a reboot until it answers again.
        takes: seconds of each other action.
        partitions: the release in each partition; one on a switch with a small disk.
        comes_back: ``kept`` with its configuration, ``factory`` without, ``old`` in the earlier release, or
            ``never``.
        reboots: how often it has booted.

    """

    switch: "Switch"
    server: dict[str, str] = field(default_factory=dict)
    boots: float = 240.0
    takes: dict[str, float] = field(default_factory=lambda: {**SECONDS})
    partitions: dict[int, str] = field(default_factory=dict)
    comes_back: str = "kept"
    reboots: int = 0
    down: bool = False
    current: int = 1
    next: int = 1
    files: dict[str, str] = field(default_factory=dict)
    jobs: dict[str, Tree] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.partitions = {1: self.switch.release, 2: ""}

    def shown(self) -> Tree:
        """GET /system/image."""
        found: Tree = {
            "current": str(self.current),
            "next": str(self.next),
            "files": {name: {} for name in self.files},
        }
        for number, release in self.partitions.items():
            if release:
                told = {
                    "build-id": f"{release}.0018",
                    "description": f"Cumulus Linux {release}",
                    "release": release,
                }
                found[f"partition{number}"] = told
        return found

    def job(self, number: str) -> Tree:
        """GET /action/N."""
        if number not in self.jobs:
            raise RefusedError(404, f"action {number} does not exist")
        return self.jobs[number]

    def post(self, path: tuple[str, ...], body: Any) -> int:
        """POST: start an action; its number."""
        (word, content), *more = body.items() if isinstance(body, dict) and body else [("", {})]
        known = ACTIONS.get(path[:3] if path[:3] == ("system", "image", "files") else path, ())
        if more or word not in known or (word != "@reboot" and self.switch.version < SINCE):
            raise RefusedError(404, f"The requested URL was not found: /{'/'.join(path)}")
        if content.get("state") != "start" or not isinstance(content.get("parameters"), dict):
            raise RefusedError(400, f"'state' and 'parameters' are required - '{word}'")
        if any(job["state"] == "running" for job in self.jobs.values()):
            raise RefusedError(409, "another action is being executed")
        given = content["parameters"]
        number = len(self.jobs) + 1
        work = {
            "@fetch": self._fetch,
            "@install": lambda given: self._install(path[-1], given),
            "@boot-next": self._boot_next,
            "@reboot": self._reboot,
        }[word](given)
        self.jobs[str(number)] = _job("running", "")
        self.switch.clock.later(self.takes.get(word, 0.0), lambda: self._finish(str(number), work))
        return number

    def _finish(self, number: str, work: Callable[[], str]) -> None:
        with self.switch.lock:
            wrong = work()
            self.jobs[number] = _job("action_error" if wrong else "action_success", wrong)

    def _fetch(self, given: Tree) -> Callable[[], str]:
        if set(given) != {"remote-url"} or not re.match("(https?|ftp|scp)://", str(given["remote-url"])):
            raise RefusedError(400, f"{given!r} has no 'remote-url' that is one")
        url = given["remote-url"]

        def work() -> str:
            if url not in self.server:
                return f"Failed to fetch {url}: 404 Not Found"
            self.files[url.rpartition("/")[2]] = self.server[url]
            return ""

        return work

    def _install(self, name: str, given: Tree) -> Callable[[], str]:
        if set(given) - {"force"}:
            raise RefusedError(400, f"Additional properties are not allowed - {given!r}")

        def work() -> str:
            if name not in self.files:
                return f"File not found: {name}"
            if len(self.partitions) < 2:
                return "The disk is too small for a second partition"
            self.partitions[3 - self.current] = self.files[name]
            return ""

        return work

    def _boot_next(self, given: Tree) -> Callable[[], str]:
        if given.get("partition") not in ("other", "partition1", "partition2"):
            raise RefusedError(400, f"{given!r} is no 'partition'")
        other = 3 - self.current

        def work() -> str:
            if not self.partitions.get(other):
                return f"partition{other} has no image"
            self.next = other
            return ""

        return work

    def _reboot(self, given: Tree) -> Callable[[], str]:
        if given not in ({"mode": "cold", "force": True}, {"no-confirm": True}):
            raise RefusedError(400, f"{given!r} is not of this action")
        if ("mode" in given) != (self.switch.version >= MODES):
            raise RefusedError(400, f"Additional properties are not allowed - {given!r}")

        def work() -> str:
            self.down = True
            self.switch.backend.apply({})  # its links are down
            if self.comes_back != "never":
                self.switch.clock.later(self.boots, self.boot)
            return ""

        return work

    def boot(self) -> None:
        """Start with the partition that is next; another image begins without the revisions."""
        with self.switch.lock:
            self.reboots += 1
            changed = self.next != self.current and self.comes_back != "old"
            if changed:
                self.current = self.next
            self.next = self.current
            tree = deepcopy(self.switch.revisions[self.switch.saved_id].tree)
            if changed:
                self.switch.become(self.partitions[self.current])
                tree = translated(tree, self.switch.rules.new)
            if self.comes_back == "factory":
                tree = factory(HOSTNAME, self.switch.rules.new)
            self.switch.restart(tree, fresh=changed or self.comes_back == "factory")
            self.down, self.jobs = False, {}


def _job(state: str, wrong: str) -> Tree:
    said = wrong or {"running": "in progress", "action_success": "done"}[state]
    return {
        "detail": said,
        "http_status": 500 if wrong else 200,
        "issue": [{"message": wrong}] if wrong else [],
        "state": state,
        "status": said,
        "timeout": 60,
        "type": "",
    }


def translated(tree: Tree, new: bool) -> Tree:
    """A configuration as the installer of a release with the new spelling, or the old one, leaves it."""
    words = {"on": "enabled", "off": "disabled"} if new else {"enabled": "on", "disabled": "off"}
    result: Tree = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            result[key] = translated(value, new)
            continue
        switched = key in ("enable", "state") and value in (*words, *words.values())
        name = ("state" if new else "enable") if switched else key
        result[name] = words.get(value, value) if isinstance(value, str) else value
    for port in result.get("interface", {}).values():
        _addresses(port, new)
    if new and "timezone" in result.get("system", {}):
        result["system"]["date-time"] = {"timezone": result["system"].pop("timezone")}
    return result


def _addresses(port: Tree, new: bool) -> None:
    """Move what an interface has of IPv4, and its VRF, to where the release has it."""
    old = port.pop("ip" if new else "ipv4", {})
    if not new:
        if old:
            port["ip"] = old
        return
    found = old.get("address", {})
    if "dhcp" in found:
        port["ipv4"] = {"dhcp-client": {"state": "enabled"}}
    elif found:
        port["ipv4"] = {"address": found}
    if "vrf" in old:
        port["vrf"] = old["vrf"]
