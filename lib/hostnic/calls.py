# SPDX-License-Identifier: Apache-2.0
"""How records and injected faults spell the methods of :mod:`hostnic.system`, and which of them write."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from hostnic.netlink.dcb import App, Dcb


class Call(NamedTuple):
    """How records and injected faults spell a method.

    Attributes:
        verb: ``write``, ``set_eswitch_mode`` …
        writes: it changes the machine.
        words: how they spell its arguments.

    """

    verb: str
    writes: bool
    words: Callable[..., Sequence[str]]


CALLS: dict[str, Call] = {}
"""The doors' methods by ``Door.method``. ``exists`` and ``unlock`` are not here: they cannot fail."""

F = TypeVar("F", bound=Callable[..., object])


def _plain(*arguments: object) -> Sequence[str]:
    return [str(argument) for argument in arguments]


def reads(verb: str) -> Callable[[F], F]:
    """Enter a method that only reads."""
    return _call(verb, False, _plain)


def writes(verb: str, words: Callable[..., Sequence[str]] = _plain) -> Callable[[F], F]:
    """Enter a method that changes the machine."""
    return _call(verb, True, words)


def _call(verb: str, writes: bool, words: Callable[..., Sequence[str]]) -> Callable[[F], F]:
    def enter(method: F) -> F:
        CALLS[method.__qualname__] = Call(verb, writes, words)
        return method

    return enter


def path(path: str, *_: object) -> Sequence[str]:
    """The path alone."""
    return [path]


def master(link: str, master: str | None) -> Sequence[str]:
    """``nomaster`` as "none"."""
    return link, master or "none"


def up(link: str, up: bool) -> Sequence[str]:
    """The state as "up" or "down"."""
    return link, "up" if up else "down"


def on(link: str, *switches: bool) -> Sequence[str]:
    """Each switch as "on" or "off"."""
    return link, *("on" if switch else "off" for switch in switches)


def values(link: str, wanted: Sequence[object]) -> Sequence[str]:
    """Each of the values."""
    return link, *(str(int(value)) if isinstance(value, bool) else str(value) for value in wanted)


def settings(link: str, wanted: "Dcb") -> Sequence[str]:
    """What is set of data centre bridging."""
    return link, *wanted.names


def count(link: str, apps: "Sequence[App]") -> Sequence[str]:
    """How many entries."""
    return link, str(len(apps))


def dcbx(link: str, mode: int) -> Sequence[str]:
    """The mode's bits in words."""
    return link, dcbx_words(mode)


def dcbx_words(mode: int) -> str:
    """A DCBX mode (the bits of :mod:`hostnic.netlink.dcb`) in words: ``host ieee``."""
    names = {0x01: "host", 0x02: "firmware", 0x04: "cee", 0x08: "ieee", 0x10: "static"}
    return " ".join(name for bit, name in names.items() if mode & bit) or "none"
