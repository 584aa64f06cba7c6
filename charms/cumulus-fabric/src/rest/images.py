# SPDX-License-Identifier: Apache-2.0
"""The images of a switch by NVUE's actions: fetch, install, boot, and how far such an action is.

Facts: Cumulus Linux user guide, "Upgrading Cumulus Linux" (optimized image upgrade) and "NVUE API" (an action
answers with its number, and ``action/N`` has its state); the bodies are those of NVIDIA's own REST clients.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import quote

from tree import Tree, get_tree, nodes

from rest.client import Nvue
from rest.connection import SwitchError

SINCE = (5, 11)
"""The first release that installs an image by NVUE; earlier ones only with ONIE."""

ONIE = "install it with ONIE, and run upgrade again: it goes on from there"
"""The remedy for an earlier one."""

MODES = (5, 15)
"""The first release in which a reboot has a mode, and ``force`` in place of ``no-confirm``."""

OTHER = "other"
"""NVUE's name for the partition that the switch does not run from."""


class Images(NamedTuple):
    """The images of one switch."""

    current: str  # the partition that it runs from, `1` or `2`
    next: str  # the one of the next boot
    releases: Mapping[str, str]  # of Cumulus Linux, by partition
    files: frozenset[str]  # names of the image files that it has

    @property
    def other(self) -> str:
        """The release in the partition that it does not run from; empty without one."""
        return next((release for number, release in self.releases.items() if number != self.current), "")


class Job(NamedTuple):
    """The state of an action."""

    state: str
    said: str  # NVUE's last words

    @property
    def done(self) -> bool:
        """Whether it has succeeded."""
        return self.state == "action_success"

    @property
    def failed(self) -> bool:
        """Whether it has failed. An unknown state counts as in progress."""
        return self.state.startswith("action_") and not self.done


def images(switch: Nvue) -> Images:
    """The images that a switch has. Raises SwitchError of kind ``release`` if its release installs none."""
    told = switch.get("/system/image")
    if not told:
        what = "its release installs no image by NVUE: 5.11 and later do"
        raise SwitchError("release", what, ONIE)
    releases = {
        name.removeprefix("partition"): str(part.get("release", ""))
        for name, part in nodes(told)
        if name.startswith("partition")
    }
    current, following = (str(told.get(key, "")).removeprefix("partition") for key in ("current", "next"))
    return Images(current, following, releases, frozenset(get_tree(switch.get("/system/image/files"))))


def fetch(switch: Nvue, url: str) -> str:
    """Start to copy an image to the switch; the number of the action."""
    return _start(switch, "/system/image", "@fetch", {"remote-url": url})


def install(switch: Nvue, name: str) -> str:
    """Start to install an image file on the other partition; the number of the action."""
    return _start(switch, f"/system/image/files/{quote(name, safe='')}", "@install", {"force": True})


def boot_other(switch: Nvue) -> str:
    """Have the next boot start from the other partition; the number of the action."""
    return _start(switch, "/system/image", "@boot-next", {"partition": OTHER})


def reboot(switch: Nvue, version: tuple[int, int]) -> None:
    """Start a reboot of a switch whose release has this ``version``; it may end before it has answered."""
    given: Tree = {"mode": "cold", "force": True} if version >= MODES else {"no-confirm": True}
    try:
        _start(switch, "/system", "@reboot", given)
    except SwitchError as error:
        if error.kind != "unreachable":
            raise


def job(switch: Nvue, number: str) -> Job:
    """The state of an action."""
    try:
        told = switch.request("GET", f"/action/{quote(number, safe='')}")
    except SwitchError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return Job("", "")  # it was lost with a restart of nvued
        raise
    return Job(str(told.get("state", "")), str(told.get("detail") or told.get("status") or "no reason given"))


def _start(switch: Nvue, path: str, action: str, parameters: Tree) -> str:
    # Sent once: a second request would begin a second action.
    body = {action: {"state": "start", "parameters": parameters}}
    return str(switch.request("POST", path, body=body, pauses=())["number"])
