# SPDX-License-Identifier: Apache-2.0
"""The measurements, and the file that keeps them: finished rungs survive an interruption."""

import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from converge import StepError
from converge.document import read_json
from converge.shape import LINE, AnyText, Boolean, Integer, InvalidValue, ListOf, MappingOf, Record

from acceptance.measure.congestion import Protection
from acceptance.measure.evidence import Evidence, Guest, Sample
from acceptance.measure.parse import Figure
from acceptance.measure.tracking import Tracked
from acceptance.measure.witness import Witness
from acceptance.sitefile import LINE_SHARE

VERSION = 1
LONGEST = 64 * 1024 * 1024
"""Characters of a file; one ladder on two nodes is a few megabytes."""

SAME_DAY = 24 * 3600
"""Seconds within which a run may be continued: figures are compared with host to host of the same day."""


@dataclass
class RungResult:
    """One rung.

    Attributes:
        figures: by measurement.
        commands: what ran on the server and the client for each measurement.
        problems: why a measurement failed, by measurement; under "" why the whole rung could not be measured.
        skipped: why a measurement was not meant to be made, by measurement.
        refused: what the client says of a port that the security group closes; "" if it was connected, None
            if nobody tried.
        probe: why the largest packet did not arrive; "" if it did, None if nobody probed.
        probed: the length of that packet with its IP header; 0 if unknown.
        cores: CPUs that each compute node itself spent, by measurement and node.
        uncounted: why those of a node are not known, by node.
        witnesses: what each compute node counted of the packets, by measurement and node.
        tracked: what each compute node had of the connections while they ran, where they are tracked.
        evidence: by compute host.
        guests: by server.
        protection: what protects RoCE while a second stream loads its port, by compute host.
        gpus: what of its GPUs costs throughput, with the command that helps, by server.

    """

    figures: dict[str, Figure] = field(default_factory=dict[str, Figure])
    commands: dict[str, str] = field(default_factory=dict[str, str])
    problems: dict[str, str] = field(default_factory=dict[str, str])
    skipped: dict[str, str] = field(default_factory=dict[str, str])
    refused: str | None = None
    probe: str | None = None
    probed: int = 0
    cores: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])
    uncounted: dict[str, str] = field(default_factory=dict[str, str])
    witnesses: dict[str, dict[str, Witness]] = field(default_factory=dict[str, dict[str, Witness]])
    tracked: dict[str, Tracked] = field(default_factory=dict[str, Tracked])
    evidence: dict[str, Evidence] = field(default_factory=dict[str, Evidence])
    guests: dict[str, Guest] = field(default_factory=dict[str, Guest])
    protection: dict[str, Protection] = field(default_factory=dict[str, Protection])
    gpus: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


@dataclass
class Results:
    """One run of the ladder.

    Attributes:
        started: in seconds since 1970.
        conditions: what all rungs must have in common, by name: the servers, and keys of the site file.
        substituted: sentences about what was not as in production.
        unseen: sentences about what no check can look at.
        line_share: % of the line rate that host to host must reach.
        computes: how many compute hosts are up in the cloud; 0 if unknown.

    """

    cloud: str
    started: int
    seconds: int
    hosts: dict[str, str] = field(default_factory=dict[str, str])
    rungs: dict[str, RungResult] = field(default_factory=dict[str, RungResult])
    finished: bool = False
    substituted: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    conditions: dict[str, str] = field(default_factory=dict[str, str])
    computes: int = 0
    line_share: int = LINE_SHARE

    def outdated(self, now: "Results") -> str:
        """Why an interrupted run cannot be continued as `now`; "" if it can."""
        if now.started - self.started > SAME_DAY:
            return "it was interrupted more than a day ago"
        before, after = ({**each.conditions, "compute hosts": str(each.hosts)} for each in (self, now))
        changed = sorted(name for name in before | after if before.get(name) != after.get(name))
        return f"{' and '.join(changed)} changed in between" if changed else ""

    def age(self, now: float) -> str:
        """When this was measured, and how long ago that is; for a report that is read later."""
        when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(self.started))
        days, rest = divmod(max(int(now) - self.started, 0), SAME_DAY)
        hours = rest // 3600
        ago = f"{days} day{'s' * (days != 1)}" if days else f"{hours} hour{'s' * (hours != 1)}"
        return f"Measured on {when}, {ago} ago" if days or hours else f"Measured on {when}"

    @property
    def line_rate(self) -> float:
        """Gb/s of all ports of one compute node's bond together; 0 if unknown."""
        speeds = [
            evidence.after.speed / 1000
            for rung in self.rungs.values()
            for evidence in rung.evidence.values()
            if evidence.after.speed
        ]
        return min(speeds, default=0.0)

    def write(self, path: Path) -> None:
        """Replace the file with this.

        Raises:
            StepError: it cannot be written.

        """
        keep(path, json.dumps({"version": VERSION, **as_data(self)}, indent=1))

    @staticmethod
    def read(path: Path) -> "Results | None":
        """The file's content; None if there is none.

        Raises:
            StepError: it is not what this version wrote.

        """
        try:
            return read_json(path.read_text(), VERSION, _RESULTS, longest=LONGEST)
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise StepError(f"{path} cannot be read: {error}") from None
        except InvalidValue as error:
            raise StepError(f"{path}: {error}", "move it away, then measure again") from None


def keep(path: Path, text: str) -> None:
    """Replace a file of the tool's state as a whole.

    Raises:
        StepError: it cannot be written.

    """
    try:
        new = path.with_suffix(".new")
        new.write_text(text)
        new.replace(path)
    except OSError as error:
        raise StepError(f"{path} cannot be written: {error.strerror}") from None


def as_data(results: Results) -> dict[str, Any]:
    """The results as JSON has them: named tuples with their names."""
    data = asdict(results)
    for rung in data["rungs"].values():
        rung["figures"] = {key: figure._asdict() for key, figure in rung["figures"].items()}
        rung["witnesses"] = {
            key: {node: told._asdict() for node, told in nodes.items()}
            for key, nodes in rung["witnesses"].items()
        }
        rung["tracked"] = {key: told._asdict() for key, told in rung["tracked"].items()}
        rung["protection"] = {key: told._asdict() for key, told in rung["protection"].items()}
        rung["guests"] = {key: told._asdict() for key, told in rung["guests"].items()}
        rung["evidence"] = {
            key: {"before": both.before._asdict(), "after": both.after._asdict()}
            for key, both in rung["evidence"].items()
        }
    return data


class _Number:
    """A number."""

    allowed = "a number"

    def read(self, where: str, value: object) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        raise InvalidValue(where, value, self.allowed)

    def schema(self) -> dict[str, Any]:
        return {"type": "number"}


class _TextOrNull:
    """Text or null."""

    allowed = "text or null"

    def read(self, where: str, value: object) -> str | None:
        return None if value is None else LINE.read(where, value)

    def schema(self) -> dict[str, Any]:
        return {"type": ["string", "null"]}


_COUNT = Integer(None, None)
_TEXTS = MappingOf(AnyText(), AnyText(), "texts")
_NUMBERS = MappingOf(LINE, _Number(), "numbers")
_ROWS = ListOf(_TEXTS, "rows")


def _sample(**values: Any) -> Sample:
    rows: dict[str, Any] = {key: list(values.pop(key)) for key in ("offload", "counters")}
    for key in ("down", "slows"):
        values[key] = tuple(values.pop(key, ()))
    return Sample(**rows, **values)


_SAMPLE_KEYS = {
    "offload": _ROWS,
    "counters": _ROWS,
    "ports": MappingOf(LINE, MappingOf(LINE, _COUNT, "counters"), "ports"),
    "speed": _COUNT,
    "pins": _TEXTS,
}
_SAMPLE = Record(
    _sample,
    {
        **_SAMPLE_KEYS,
        "near": LINE,
        "active": LINE,
        "down": ListOf(LINE, "ports"),
        "versions": _TEXTS,
        "slows": ListOf(LINE, "sentences"),
    },
    tuple(_SAMPLE_KEYS),
)
_FIGURE_KEYS = {"value": _Number(), "unit": LINE, "details": _NUMBERS}
_PROTECTION_KEYS = {"unit": LINE, "priority": _COUNT, "share": _COUNT, "dcqcn": _COUNT, "off": LINE}
_PACKETS = MappingOf(LINE, _COUNT, "packets")
_OF_PORTS = MappingOf(LINE, _PACKETS, "ports")
_WITNESS = Record(
    Witness,
    {
        **dict.fromkeys(("resets", "seen", "flows", "inside", "outside"), _COUNT),
        **dict.fromkeys(("seconds", "busy"), _Number()),
        **dict.fromkeys(("vf", "slow"), _PACKETS),
        **dict.fromkeys(("wire", "kernel", "priorities", "quiet"), _OF_PORTS),
        **dict.fromkeys(("others", "before"), _NUMBERS),
    },
)
_TRACKED_KEYS = {"in_nic": _COUNT, "connections": _COUNT, "flows": _COUNT, "why_not": LINE}
_RUNG = Record(
    RungResult,
    {
        "figures": MappingOf(LINE, Record(Figure, _FIGURE_KEYS, tuple(_FIGURE_KEYS)), "figures"),
        "commands": _TEXTS,
        "problems": _TEXTS,
        "skipped": _TEXTS,
        "refused": _TextOrNull(),
        "probe": _TextOrNull(),
        "probed": _COUNT,
        "cores": MappingOf(LINE, _NUMBERS, "measurements"),
        "uncounted": _TEXTS,
        "witnesses": MappingOf(LINE, MappingOf(LINE, _WITNESS, "nodes"), "measurements"),
        "tracked": MappingOf(LINE, Record(Tracked, _TRACKED_KEYS), "nodes"),
        "evidence": MappingOf(
            LINE, Record(Evidence, {"before": _SAMPLE, "after": _SAMPLE}, ("before", "after")), "evidence"
        ),
        "guests": MappingOf(LINE, Record(Guest, dict.fromkeys(Guest._fields, _COUNT)), "servers"),
        "protection": MappingOf(LINE, Record(Protection, _PROTECTION_KEYS), "nodes"),
        "gpus": MappingOf(LINE, ListOf(LINE, "sentences"), "servers"),
    },
)


def _results(version: int, **values: Any) -> Results:
    del version
    return Results(**values)


_RESULTS = Record(
    _results,
    {
        "version": _COUNT,
        "cloud": LINE,
        "started": _COUNT,
        "seconds": _COUNT,
        "hosts": _TEXTS,
        "rungs": MappingOf(LINE, _RUNG, "rungs"),
        "finished": Boolean(),
        "substituted": ListOf(LINE, "sentences"),
        "unseen": ListOf(LINE, "sentences"),
        "conditions": _TEXTS,
        "computes": _COUNT,
        "line_share": _COUNT,
    },
    ("version", "cloud", "started", "seconds", "rungs", "finished"),
)


def of_data(data: dict[str, Any]) -> Results:
    """The results that :func:`as_data` made this of.

    Raises:
        InvalidValue: it made something else.

    """
    return _RESULTS.read("", {"version": VERSION, **data})
