# SPDX-License-Identifier: Apache-2.0
"""The steps that bring the observed switches to the intent, by switch and area. Pure.

A step patches its area of a candidate revision. The running configuration changes when the candidate is
applied (apply.py), in all areas at once.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from converge import Finding, Held, Plan, Severity, Step
from intent import ports
from rest.answers import ITS_RESULT
from rest.client import Nvue
from tree import Path, Tree, as_tree, get_path, leaves
from tree.cost import disruption, restarts_frr
from tree.diff import inverse


@dataclass
class Candidate:
    """A revision of one switch in preparation."""

    switch: Nvue
    revision: str


@dataclass(frozen=True)
class PatchCandidate:
    """Patch the candidate; NVUE refuses an unknown path or a wrong value at once."""

    patch: Tree

    def run(self, candidate: Candidate) -> None:
        candidate.switch.patch(candidate.revision, self.patch)


SwitchStep = Step[Candidate]

AREAS = {
    "system": ("system",),
    "interfaces": ("interface",),
    "VLANs": ("bridge",),
    "EVPN": ("nve", "evpn"),
    "BGP": ("router", "vrf"),
    "DHCP relay": ("service",),
    "RoCE": ("qos",),
}
"""Areas in the order in which they are shown, and the top-level keys of the tree in each."""

MAX_SHOWN = 4
"""Settings that a step lists one by one; for more it names the interfaces, VLANs and neighbours."""

DIGEST_DIGITS = 16
"""Hexadecimal digits of a plan's digest."""


@dataclass(frozen=True)
class Change:
    """The change that one switch needs."""

    name: str
    before: Tree  # the running configuration
    patch: Tree  # brings it to the intent

    @property
    def steps(self) -> tuple[SwitchStep, ...]:
        """One step for each area that differs."""
        return tuple(self._steps())

    def _steps(self) -> Iterator[SwitchStep]:
        for area, parts in AREAS.items():
            patch = {part: self.patch[part] for part in parts if part in self.patch}
            if patch:
                what, why = _words(area, patch, self.before)
                cost = disruption(patch, self.before)
                yield Step(f"{self.name}/{area}", f"{self.name}: {what}", why, cost, PatchCandidate(patch))


def digest(
    needed: Mapping[str, Change], scripts: Mapping[str, Sequence[str]], cutting: Iterable[str] = ()
) -> str:
    """Stands for all changes, with the values that they replace, and for the scripts of other switches.

    Also for what the changes take from hosts, which is ``cutting`` (attachments.toll).

    It starts with a letter, so that YAML never reads it as a number.
    """
    content = {
        "changes": {
            name: [each.patch, inverse(each.before, each.patch)] for name, each in sorted(needed.items())
        },
        "scripts": {name: list(lines) for name, lines in sorted(scripts.items())},
        "cutting": sorted(cutting),
    }
    return f"p{hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:DIGEST_DIGITS]}"


def approval(verb: str, digest: str, does: str = "") -> Finding:
    """The finding that ends a plan: its digest, and how to run just this."""
    remedy = f"to {does or verb} exactly this, run {verb} with plan={digest}"
    return Finding(Severity.INFO, "digest", digest, remedy)


def blocking(held: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the held findings of a plan as findings that stop a run."""
    return tuple(each._replace(severity=Severity.BLOCKED) for each in held)


def not_approved(digest: str) -> Finding:
    """The finding for a plan that is not the approved one."""
    what = f"what would be done now is not the plan with the digest {digest}"
    return Finding(
        Severity.BLOCKED, "plan", what, "run plan again, and run apply with the digest that plan then shows"
    )


def nothing_left(digest: str) -> Finding:
    """The finding for an approved plan that has changes, where the intent leaves none."""
    what = f"nothing is left to change, and the plan with the digest {digest} has changes"
    remedy = (
        f"if an earlier apply made them, {ITS_RESULT}; if plan was run with remove, run apply with the same"
    )
    return Finding(Severity.BLOCKED, "plan", what, remedy)


def plan(needed: Iterable[Change], findings: Sequence[Finding] = ()) -> Plan[Candidate]:
    """The steps for all switches, and what blocks them: the audit's findings, switches that do not answer."""
    changes = tuple(needed)
    steps = tuple(step for change in changes for step in change.steps)
    result = Plan[Candidate](steps, (), (*_restarts(changes), *findings))
    return replace(result, steps=()) if result.blocked else result


def hold(found: Plan[Candidate], why: Sequence[Finding]) -> Plan[Candidate]:
    """The plan whose steps all wait for what the operator says to these findings."""
    if not why:
        return found
    more = f", and {len(why) - 1} more, see the findings" if len(why) > 1 else ""
    reason = f"{why[0].subject}: {why[0].what}{more}"
    held = tuple(Held(step, reason, why[0].remedy) for step in found.steps)
    return replace(found, steps=(), held=held, findings=(*why, *found.findings))


def _restarts(needed: Iterable[Change]) -> list[Finding]:
    """Where an apply restarts a service of the switch, which NVUE would ask about."""
    names = [each.name for each in needed if restarts_frr(each.patch, each.before)]
    told = f"restarts on {', '.join(names)}, where BGP or BFD begins or ends, with all its sessions"
    return [Finding(Severity.INFO, "FRR", told)] if names else []


def unplanned(would: Tree, patch: Tree) -> list[str]:
    """List the settings that a candidate would change beside ``patch``, as ``nv`` has them; the first few.

    NVUE makes a candidate from what ran then: to apply it takes back what was applied by others since.
    """
    return _few([" ".join(path) for path in _beside(would, patch, ())])


def _beside(would: Tree, patch: Tree, path: Path) -> Iterator[Path]:
    for key, value in would.items():
        below, planned = as_tree(value), as_tree(patch.get(key))
        if key == "auto" and path[-1:] == ("vni",) and None in patch.values():
            continue  # the plan unsets it by the number that it stands for
        if key not in patch:
            yield from (each for each, _ in leaves({key: value}, path))
        elif planned and below:
            yield from _beside(below, planned, (*path, key))
        elif planned and value is None and any(set_to is not None for _, set_to in leaves(planned)):
            yield (*path, key)


def _words(area: str, patch: Tree, before: Tree) -> tuple[str, str]:
    """Describe a step, setting by setting if they are few, and the difference that makes it necessary."""
    gone = [path for path, value in leaves(patch) if value is None]
    set_to = {path: value for path, value in leaves(patch) if value is not None}
    changed = [path for path in set_to if get_path(before, path) is not None]
    added = [path for path in set_to if get_path(before, path) is None]
    what = [_command(path, value) for path, value in leaves(patch)]
    if len(what) > MAX_SHOWN:
        verbs = ("set", added), ("change", changed), ("unset", gone)
        # Interfaces, VLANs and neighbours by name, other settings by their path.
        named = ((verb, _subjects((path, "", "") for path in paths)) for verb, paths in verbs)
        what = [f"{verb} {'; '.join(objects)}" for verb, objects in named if objects]
    why = _subjects(
        (path, f"is {get_path(before, path)}, not {set_to[path]}", _setting(path)) for path in changed
    )
    if missing := _subjects((path, "", _missing(path, before)) for path in added):
        why.append(f"{', '.join(_few(missing))} not set")
    if surplus := _subjects(each for path in gone for each in _surplus(path, before)):
        why.append(f"{', '.join(_few(surplus))} not in the intent")
    return f"{area}: {'; '.join(what)}", "; ".join(_few(why))


def _missing(path: Path, before: Tree) -> str:
    """The setting that is missing; nothing if its whole object is."""
    instance = _object(path).instance
    return _setting(path) if get_path(before, instance) is not None else ""


def _surplus(path: Path, before: Tree) -> Iterator[tuple[Path, str, str]]:
    """Yield the losses with an unset path: the object itself, or each of the settings below."""
    have = get_path(before, path)
    below = as_tree(have)
    if path == _object(path).instance or not below:
        yield path, _value(have), _setting(path)
        return
    for each, value in leaves(below, path):
        yield each, _value(value), _setting(each)


def _value(value: object) -> str:
    return "" if value is None or isinstance(value, dict) else str(value)


def _subjects(differences: Iterable[tuple[Path, str, str]]) -> list[str]:
    """Name the differences: objects with the same setting and the same value are named together.

    Each difference is a path, what to say of its value, and its setting.
    """
    alike: dict[tuple[str, str, str], dict[str, None]] = {}
    for path, value, setting in differences:
        found = _object(path)
        alike.setdefault((found.kind, setting, value), {})[found.name] = None
    return [
        " ".join(filter(None, (kind, ports.compact(names, ", "), setting, value)))
        for (kind, setting, value), names in alike.items()
    ]


def _few(items: list[str]) -> list[str]:
    return items if len(items) <= MAX_SHOWN else [*items[:MAX_SHOWN], f"{len(items) - MAX_SHOWN} more"]


class _Object(NamedTuple):
    """The object that a path belongs to: an instance of a kind, or only the words of a setting."""

    kind: str
    name: str
    instance: Path = ()


def _object(path: Path) -> _Object:
    match path:
        case ("interface", name, *_):
            return _Object("", name, path[:2])
        case ("bridge", "domain", _, "vlan", vlan, *_):
            return _Object("VLAN", vlan, path[:5])
        case ("vrf", "default", "router", "bgp", "neighbor", name, *_):
            return _Object("neighbor", name, path[:6])
        case ("vrf", "default", "router", "bgp", *rest):
            words = [word for word in rest if word not in ("enable", "state")]
            return _Object("", " ".join(words) or "BGP in VRF default")
        case ("vrf", vrf, *_):
            return _Object("VRF", vrf, path[:2])
        case ("router", "policy", kind, name, *_):
            return _Object(kind, name, path[:4])
        case ("service", "dhcp-relay", vrf, *_):
            return _Object("DHCP relay in VRF", vrf, path[:3])
        case ("service", "dhcp-relay6", vrf, *_):
            return _Object("DHCPv6 relay in VRF", vrf, path[:3])
        case _:
            return _Object("", " ".join(word for word in path if word not in ("enable", "state")))


def _setting(path: Path) -> str:
    """The keys of a path behind those of its instance."""
    instance = _object(path).instance
    return " ".join(path[len(instance) :]) if instance else ""


def _command(path: Path, value: object) -> str:
    if value is None:
        return f"unset {' '.join(path)}"
    return f"set {' '.join(path)}" + ("" if isinstance(value, dict) else f" {value}")
