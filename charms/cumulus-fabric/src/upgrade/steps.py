# SPDX-License-Identifier: Apache-2.0
"""The steps of one switch from its release to another one, each by what the switch shows.

What a run has done is not noted anywhere: the switch itself shows how far it is. So a run that was
interrupted is led on by the next one.
"""

import enum
from collections.abc import Callable
from http import HTTPStatus
from typing import NamedTuple

from intent.image import Image
from observe import release_of, version_of
from rest import images
from rest.client import Nvue
from rest.connection import Clock, SwitchError
from rest.images import Images

POLL_S = 5.0
"""Seconds between two looks at an action or at a switch that boots."""


class Step(enum.Enum):
    """A step, with what it does in words."""

    FETCH = "fetching the image"
    INSTALL = "installing the image"
    BOOT_NEXT = "choosing the new partition for the next boot"
    REBOOT = "rebooting"


class Waits(NamedTuple):
    """Seconds that the steps of a switch may take."""

    action: float = 1800.0  # to fetch or to install an image
    goes: float = 300.0  # until a switch that was told to reboot stops to answer
    boots: float = 1800.0  # until it answers again


WAITS = Waits()

AGAIN = "run upgrade again"
DELETE = "if it is damaged, nv action delete system image files {}; run upgrade again"
CONSOLE = "look at its console; once it answers, run upgrade again"
HELP = {
    "credentials": "it may have come back with the factory's password: set yours with first-password, "
    "run apply switch='{0}', and then upgrade again",
    "certificate": "a new image may have made it a new one: compare it with its console, "
    "set its new fingerprint, and run upgrade again",
    "release": "install a supported release on it, and run upgrade again",
    "unreachable": CONSOLE,
}
"""By kind of error of a switch that has booted, the remedy."""


def next_step(image: Image, has: Images) -> Step:
    """The next step of a switch that does not run the image's release yet. Pure."""
    if has.other != image.release:
        return Step.INSTALL if image.name in has.files else Step.FETCH
    return Step.BOOT_NEXT if has.next == has.current else Step.REBOOT


def bring(switch: Nvue, image: Image, waits: Waits, clock: Clock, announce: Callable[[str], None]) -> None:
    """Take a drained switch to the image's release, from wherever it is.

    Raises SwitchError if it does not get there; ``remedy`` is the command that helps.
    """
    before: Step | None = None
    while (release := release_of(switch)) != image.release:
        step = next_step(image, images.images(switch))
        if step is before:
            what = f"{step.value} had no effect: nv show system image does not show it"
            raise SwitchError("refused", what, DELETE.format(image.name))
        announce(f"{switch.name}: {step.value}")
        if step is Step.REBOOT:
            _reboot(switch, release, image, waits, clock)
        else:
            _act(switch, step, image, waits, clock)
        before = step


def _act(switch: Nvue, step: Step, image: Image, waits: Waits, clock: Clock) -> None:
    """Do one action, and wait for its end."""
    end = clock.monotonic() + waits.action
    number = ""
    while True:
        try:
            number = number or _start(switch, step, image)
            seen = images.job(switch, number)
            if seen.done or not seen.state:
                return  # whether one that the switch has forgotten is done, its images show
            if seen.failed:
                said = seen.said.replace(image.url, image.name)
                remedy = DELETE.format(image.name) if step is Step.INSTALL else f"mend that, and {AGAIN}"
                raise SwitchError("refused", f"{step.value}: {said}", remedy)
        except SwitchError as error:
            # An answer may be lost while it works; with 409 it is still at what an earlier run has begun.
            if not (number and error.kind == "unreachable") and error.status != HTTPStatus.CONFLICT:
                raise
        if clock.monotonic() > end:
            what = f"{step.value} takes longer than {waits.action:g} s"
            raise SwitchError("slow", what, "see nv show action on it, and run upgrade again")
        clock.sleep(POLL_S)


def _start(switch: Nvue, step: Step, image: Image) -> str:
    """Start an action; its number."""
    if step is Step.FETCH:
        return images.fetch(switch, image.url)
    return images.install(switch, image.name) if step is Step.INSTALL else images.boot_other(switch)


def _reboot(switch: Nvue, release: str, image: Image, waits: Waits, clock: Clock) -> None:
    images.reboot(switch, version_of(release))
    end = clock.monotonic() + waits.goes
    while _answers(switch):
        if clock.monotonic() > end:
            what = f"still answers {waits.goes:g} s after it was told to reboot"
            raise SwitchError("slow", what, "reboot it by hand, and run upgrade again")
        clock.sleep(POLL_S)
    end = clock.monotonic() + waits.boots
    while True:
        try:
            now = release_of(switch)
            break
        except SwitchError as error:
            if error.kind != "unreachable":
                what = f"after its reboot: {error.reason}"
                raise SwitchError(
                    error.kind, what, HELP.get(error.kind, error.remedy).format(switch.name)
                ) from None
            if clock.monotonic() > end:
                what = f"has not answered for {waits.boots:g} s since its reboot"
                raise SwitchError("unreachable", what, CONSOLE) from None
        clock.sleep(POLL_S)
    if now != image.release:
        what = f"came back with {now} instead of {image.release}"
        remedy = "see its console and nv show system image on it; run undrain to use it with that release, "
        raise SwitchError("release", what, f"{remedy}or upgrade to try again")


def _answers(switch: Nvue) -> bool:
    try:
        release_of(switch)
    except SwitchError as error:
        if error.kind != "unreachable":
            raise
        return False
    return True
