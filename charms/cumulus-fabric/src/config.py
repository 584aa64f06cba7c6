# SPDX-License-Identifier: Apache-2.0
"""The charm's options and action parameters; each wrong value gets one sentence."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from charmkit.options import check, option
from charmkit.output import Output
from converge.shape import InvalidValue, OneOf
from intent import pins
from intent.image import Image, read
from intent.pins import NAME
from intent.values import DIALECTS

_PEM = re.compile(
    r"\s*(?:-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*)+", re.ASCII
)
_DIGEST = re.compile(r"p[0-9a-f]{16}", re.ASCII)


class Secret(Protocol):
    """A Juju secret, as an option of type secret returns it."""

    def get_content(self, *, refresh: bool = False) -> dict[str, str]: ...


@dataclass(frozen=True)
class Options:
    """The options of ``charmcraft.yaml``, with ``-`` spelled ``_``."""

    intent: str = option("")
    credentials: Secret | None = None
    ca_certificate: str = option("")
    pinned_certificates: str = option("")
    apply_policy: str = option("manual", choices=("manual", "auto"))
    apply_order: str = option("all", choices=("all", "role"))
    canary: str = option("")
    request_timeout: int = option(30, minimum=1, maximum=300)
    settle_timeout: int = option(90, minimum=5, maximum=900)
    confirm_timeout: int = option(300, minimum=60, maximum=3600)
    parallel: int = option(64, minimum=1, maximum=256)

    def __post_init__(self) -> None:
        check(self)
        if self.ca_certificate and not _PEM.fullmatch(self.ca_certificate):
            raise InvalidValue("ca-certificate", self.ca_certificate, "certificates in PEM form")
        if self.canary and not NAME.fullmatch(self.canary):
            raise InvalidValue("canary", self.canary, "the name of a switch, or nothing for the first one")
        least = int(least_confirm(self.settle_timeout))
        if self.confirm_timeout < least:
            allowed = f"at least {least}, twice settle-timeout and 60 s"
            raise InvalidValue("confirm-timeout", self.confirm_timeout, allowed)
        pins.read("pinned-certificates", self.pinned_certificates)


def least_confirm(settle: float) -> float:
    """Seconds that a group of switches may need before it is confirmed.

    The first switch waits from its own apply on: for the others to apply (at most ``settle`` + 30), for the
    fabric to settle (``settle``), and for the confirmations to arrive (30).
    """
    return 2 * settle + 60


@dataclass(frozen=True)
class Switches:
    """Which switches an action is about."""

    switch: str = option("")

    def __post_init__(self) -> None:
        check(self)
        _names("switch", self.switch)

    @property
    def names(self) -> tuple[str, ...]:
        """The switches; none means all."""
        return _names("switch", self.switch)


@dataclass(frozen=True)
class Approving(Switches):
    """Parameters of actions that are approved by the digest of their plan."""

    plan: str = option("")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.plan and not _DIGEST.fullmatch(self.plan):
            raise InvalidValue("plan", self.plan, "the digest that plan ends with, such as p0123456789abcdef")


@dataclass(frozen=True)
class Restoring(Approving):
    """Parameters of such actions that may take somebody's network."""

    cut_off: str = option("")


@dataclass(frozen=True)
class RollingBack(Restoring):
    """Parameters of ``rollback``."""

    backup: str | float = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.numbers and self.names:
            raise InvalidValue(
                "switch", self.switch, "nothing together with backup, whose numbers name switches"
            )

    @property
    def numbers(self) -> tuple[int, ...]:
        """The kept configurations to restore; none for what switches ran before their last change."""
        return _numbers("backup", self.backup)


@dataclass(frozen=True)
class Listing(Switches, Output):
    """Parameters of ``list-backups``."""

    def __post_init__(self) -> None:
        Switches.__post_init__(self)
        check(self)


@dataclass(frozen=True)
class Comparing:
    """Parameters of ``compare-backups``."""

    backup: str | float = ""
    against: str | float = ""

    def __post_init__(self) -> None:
        if len(_numbers("backup", self.backup)) != 1:
            raise InvalidValue("backup", self.backup, ONE_NUMBER)
        if len(_numbers("against", self.against)) > 1:
            raise InvalidValue("against", self.against, f"{ONE_NUMBER}, or nothing for what the switch runs")

    @property
    def number(self) -> int:
        """The kept configuration to compare."""
        return _numbers("backup", self.backup)[0]

    @property
    def other(self) -> int | None:
        """The one to compare it with; None for what the switch runs."""
        return next(iter(_numbers("against", self.against)), None)


@dataclass(frozen=True)
class _Changing:
    """Parameters of actions that compare the switches with the intent and may change them."""

    remove: str = option("")
    replaced: str = option("")

    def __post_init__(self) -> None:
        check(self)
        _names("replaced", self.replaced)

    @property
    def others(self) -> tuple[str, ...]:
        """The switches that are another device than before."""
        return _names("replaced", self.replaced)


@dataclass(frozen=True)
class Planning(_Changing, Output):
    """Parameters of ``plan``."""


@dataclass(frozen=True)
class Applying(_Changing, Restoring):
    """Parameters of ``apply``."""

    def __post_init__(self) -> None:
        Restoring.__post_init__(self)
        super().__post_init__()


@dataclass(frozen=True)
class Returning(Switches):
    """Parameters of ``undrain``."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.names) != 1:
            raise InvalidValue("switch", self.switch, "the name of one switch")


@dataclass(frozen=True)
class Draining(Returning):
    """Parameters of ``drain`` and ``decommission``."""

    cut_off: str = option("")


@dataclass(frozen=True)
class Upgrading(Restoring):
    """Parameters of ``upgrade``."""

    image: str = option("")
    sha256: str = option("")

    def __post_init__(self) -> None:
        super().__post_init__()
        read("image", self.image, self.sha256)

    @property
    def wanted(self) -> Image:
        """The image that the switches are to run."""
        return read("image", self.image, self.sha256)


@dataclass(frozen=True)
class Rendering(Switches):
    """Parameters of ``render``."""

    format: str = option("nv", choices=("nv", "yaml", "json", "ztp"))
    dialect: str | float = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "dialect", _spelled("dialect", self.dialect, DIALECTS))


@dataclass(frozen=True)
class Showing:
    """Parameters of ``show-fabric``."""

    format: str = option("text", choices=("text", "svg", "cables"))
    health: bool = option(False)

    def __post_init__(self) -> None:
        check(self)


def _spelled(where: str, value: object, words: Sequence[str]) -> str:
    """One of ``words``, also where juju run has read it as a number from YAML: 5.14 without quotes.

    A number with a single decimal may have lost a zero, so it is refused with the remedy.
    """
    number = isinstance(value, float)
    if number and str(value) in words:
        return str(value)
    shape = OneOf(words)
    if number and re.fullmatch(r"\d+\.\d", str(value)):
        lost = f"YAML reads {value}0 as {value}, so run juju run with --string-args"
        raise InvalidValue(where, value, f"{shape.allowed}; {lost}")
    return shape.read(where, value)


ONE_NUMBER = "one number that list-backups shows"


def _numbers(where: str, given: str | float) -> tuple[int, ...]:
    """Numbers such as ``17 18``; a single one comes from juju run as a number."""
    text = str(int(given)) if isinstance(given, float) and given.is_integer() else str(given)
    items = text.replace(",", " ").split()
    if not all(re.fullmatch("[0-9]{1,12}", item, re.ASCII) for item in items):
        raise InvalidValue(where, given, "numbers that list-backups shows, separated by spaces")
    return tuple(int(item) for item in items)


def _names(where: str, text: str) -> tuple[str, ...]:
    names = tuple(text.replace(",", " ").split())
    if wrong := [name for name in names if not NAME.fullmatch(name)]:
        every = ", or nothing for all" if where == "switch" else ""
        raise InvalidValue(where, wrong[0], f"names of switches{every}")
    return names
