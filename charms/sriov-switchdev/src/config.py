# SPDX-License-Identifier: Apache-2.0
"""The charm's options: each value is checked here, and a wrong one is refused in one sentence."""

import re
from dataclasses import dataclass

from charmkit.options import OptionError, check, option

MAX_VFS = 1000

_BDF = re.compile(r"(?P<bdf>(?:[0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-1][0-9a-fA-F]\.[0-7])(?::(?P<count>.*))?")
_NETDEV = re.compile(r"(?P<name>[^\s/:]{1,15})(?::(?P<count>.*))?")
_FORMS = "auto, or names such as enp63s0f0, 0000:3f:00.0 or bond0, each optionally with :<VFs>"


@dataclass(frozen=True)
class Selector:
    """One word of the option ``devices``.

    Attributes:
        name: netdev, bond, or PCI address with domain in lower case.
        num_vfs: VFs per port; None when the word names no number.

    """

    name: str
    num_vfs: int | None = None


def parse_devices(value: str) -> tuple[Selector, ...]:
    """The words of the option ``devices``; empty for ``auto``.

    Raises:
        OptionError: names the option, the value and what is allowed.

    """
    words = value.split()
    if words == ["auto"]:
        return ()
    if not words:
        raise OptionError("devices", "", _FORMS)
    selectors: list[Selector] = []
    for word in words:
        if word == "auto":
            raise OptionError("devices", value, "auto alone, or names alone")
        selector = _selector(word)
        if selector.name in (known.name for known in selectors):
            raise OptionError("devices", value, f"each device once; {selector.name} is there twice")
        selectors.append(selector)
    return tuple(selectors)


def _selector(word: str) -> Selector:
    if match := _BDF.fullmatch(word):
        bdf = match["bdf"].lower()
        name = bdf if bdf.count(":") == 2 else f"0000:{bdf}"
    elif (match := _NETDEV.fullmatch(word)) and match["name"] not in (".", ".."):
        name = match["name"]
    else:
        raise OptionError("devices", word, _FORMS)
    if match["count"] is None:
        return Selector(name)
    if not re.fullmatch(r"[0-9]{1,4}", match["count"]) or not 1 <= int(match["count"]) <= MAX_VFS:
        raise OptionError("devices", word, f"1 to {MAX_VFS} VFs after the colon")
    return Selector(name, int(match["count"]))


@dataclass(frozen=True)
class Options:
    """The options of ``charmcraft.yaml``, with ``-`` spelled ``_``."""

    devices: str = option("auto")
    num_vfs: int = option(8, minimum=1, maximum=MAX_VFS)
    vf_lag: str = option("auto", choices=("auto", "required", "disabled"))
    steering_mode: str = option("keep", choices=("keep", "smfs", "dmfs"))
    reboot_policy: str = option("manual", choices=("manual", "when-idle", "always"))
    reboot_settle: int = option(300, minimum=0, maximum=3600)
    allow_live: bool = option(False)

    def __post_init__(self) -> None:
        check(self)
        parse_devices(self.devices)

    @property
    def selectors(self) -> tuple[Selector, ...]:
        """What ``devices`` names; empty for ``auto``."""
        return parse_devices(self.devices)


@dataclass(frozen=True)
class Output:
    """The parameter of the actions that print a table."""

    format: str = option("table", choices=("table", "json"))

    def __post_init__(self) -> None:
        check(self)
