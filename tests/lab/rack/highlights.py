# SPDX-License-Identifier: Apache-2.0
"""The main results of a rack as a few figures, made of its checks. What was not measured is left out."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lab.progress import seconds

Said = Mapping[str, Any]
_IN_NIC = re.compile(r"rung (\S+), in-nic")
_SHARE = re.compile(r"([\d.]+)%")


class Highlight(NamedTuple):
    """A figure, what it is about, and whether all checks behind it hold."""

    figure: str
    about: str
    holds: bool


def highlights(said: Said) -> list[Highlight]:
    """The rack's own, in the order in which a report shows them."""
    return [*_reboots(said), *_lag(said), *_share(said), *_writes(said), *_time(said)]


def share(found: str) -> float | None:
    """The share in the NIC of a rung's check by the witness that says less, from 0 to 1; None without any."""
    return min((float(each) / 100 for each in _SHARE.findall(found)), default=None)


def _of(said: Said, area: str, pattern: str) -> list[Mapping[str, Any]]:
    return [
        check for check in said["checks"] if check["area"] == area and re.fullmatch(pattern, check["subject"])
    ]


def _all_hold(checks: Sequence[Mapping[str, Any]]) -> bool:
    return all(check["holds"] for check in checks)


def _reboots(said: Said) -> Iterator[Highlight]:
    if each := _of(said, "reboots", r"\S+ reboots"):
        together = _of(said, "reboots", "down at the same time")
        numbers = sorted({check["found"] for check in each})
        apart = ", one node after the other" if together and together[0]["found"] == "none" else ""
        word = "reboot" if numbers == ["1"] else "reboots"
        yield Highlight(" to ".join(numbers), f"{word} per node{apart}", _all_hold([*each, *together]))


def _lag(said: Said) -> Iterator[Highlight]:
    if ports := _of(said, "VF-LAG", ".+: VF-LAG"):
        active = sum(check["found"].startswith("active") for check in ports)
        yield Highlight(f"{active} of {len(ports)}", "ports have an active VF-LAG", _all_hold(ports))
    wanted, bound = (_of(said, "VFs", rf".+: {what}") for what in ("VFs", "VFs bound"))
    if bound and all(check["found"].isdecimal() for check in (*wanted, *bound)):
        numbers = [sum(int(check["found"]) for check in checks) for checks in (bound, wanted)]
        yield Highlight("{} of {}".format(*numbers), "VFs are bound", _all_hold([*wanted, *bound]))


def _share(said: Said) -> Iterator[Highlight]:
    """The best share that the acceptance test found, else the flows that Open vSwitch has put there."""
    rungs = {check["subject"]: check for check in _of(said, "OpenStack", _IN_NIC.pattern)}
    shares = [(found, check) for check in rungs.values() if (found := share(check["found"])) is not None]
    if shares:
        best, check = max(shares, key=lambda each: each[0])
        yield Highlight(f"{best:.2%}", "of a VF's packets in the NIC", check["holds"])
    elif flows := _of(said, "offload", ".+ Geneve flows in the NIC, .+"):
        figure = " or ".join(sorted({check["found"] for check in flows}))
        yield Highlight(figure, "flows of a node's tunnel in the NIC, out and in", _all_hold(flows))


def _writes(said: Said) -> Iterator[Highlight]:
    if again := _of(said, "charms", ".+, once more: writes"):
        figure = " or ".join(sorted({check["found"] for check in again}))
        yield Highlight(figure, "writes when the charms run once more", _all_hold(again))


def _time(said: Said) -> Iterator[Highlight]:
    if spent := sum(said["seconds"].values()):
        yield Highlight(seconds(spent), "from power-on to verified", holds=True)
