# SPDX-License-Identifier: Apache-2.0
"""Names that a charm may not declare: Juju keeps them for itself, refuses them, or cannot be told them.

Settings of Juju's own (``SETTINGS``) are the checker's. Sources: juju/juju 4.0, whose internal/charm is
juju/charm in 3.6, and canonical/charmcraft:

- internal/charm/meta.go: ``reservedName``, ``Meta.Check``; extra_bindings.go; actions.go: ``actionNameRule``,
  which cmd/juju/action also holds parameters to; juju/names: ``RelationSnippet``, ``StorageNameSnippet``;
- charmcraft/models/actions.py: no action has the name of a Python keyword.
"""

import keyword
import re
from collections.abc import Iterator, Mapping
from typing import Any

from check.facts import SETTINGS

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
"""The spelling that Juju takes for every kind of name but storage; of some kinds it takes others, too."""
SPELLING = "a name is words of lower-case letters and digits joined by dashes, and begins with a letter"
STORAGE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]*[a-z][a-z0-9]*)*")
STORAGE_SPELLING = f"{SPELLING}; a word of digits alone would be the number of an instance"
JUJUS = "juju, and whatever begins with juju-, is Juju's own"
ROLES = ("provides", "requires", "peers")


def reserved(declared: Mapping[str, Any]) -> list[str]:
    """List the faults of the names in a charmcraft.yaml, one sentence each."""
    found = [*_misspelt(declared), *_options(declared), *_actions(declared)]
    return [*found, *_relations(declared), *_bindings(declared)]


def _section(declared: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return declared.get(name) or {}


def _names(declared: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each name with its kind."""
    options = _section(_section(declared, "config"), "options")
    actions = _section(declared, "actions")
    sections = {
        "option": options,
        "action": actions,
        **{f"parameter of {name},": _section(action or {}, "params") for name, action in actions.items()},
        **{f"{role} endpoint": _section(declared, role) for role in ROLES},
        "binding": _section(declared, "extra-bindings"),
        "resource": _section(declared, "resources"),
        "storage": _section(declared, "storage"),
    }
    return ((kind, str(name)) for kind, section in sections.items() for name in section)


def _misspelt(declared: Mapping[str, Any]) -> Iterator[str]:
    for kind, name in _names(declared):
        pattern, spelling = (STORAGE, STORAGE_SPELLING) if kind == "storage" else (NAME, SPELLING)
        if not pattern.fullmatch(name):
            yield f"{kind} {name}: {spelling}"


def _options(declared: Mapping[str, Any]) -> Iterator[str]:
    for name in _section(_section(declared, "config"), "options"):
        if name in SETTINGS:
            yield f"option {name}: {SETTINGS[name]}"


def _actions(declared: Mapping[str, Any]) -> Iterator[str]:
    for name in _section(declared, "actions"):
        if _jujus(name):
            yield f"action {name}: {JUJUS}"
        if keyword.iskeyword(name):
            yield f"action {name}: charmcraft refuses Python's keywords"


def _relations(declared: Mapping[str, Any]) -> Iterator[str]:
    """Only a subordinate may name the endpoint to its principal `juju-info`."""
    seen: set[str] = set()
    for role in ROLES:
        for name, endpoint in _section(declared, role).items():
            container = role == "requires" and endpoint.get("scope") == "container"
            if _jujus(name) and not (container and declared.get("subordinate")):
                yield f"{role} endpoint {name}: {JUJUS}"
            if role != "requires" and _jujus(endpoint["interface"]):
                yield f"interface {endpoint['interface']} of {name}: {JUJUS}"
            if name in seen:
                yield f"{role} endpoint {name}: another role has an endpoint of this name"
            seen.add(name)


def _bindings(declared: Mapping[str, Any]) -> Iterator[str]:
    """Endpoints can be bound anyhow, and every charm has the endpoint `juju-info`."""
    endpoints = {"juju-info", *(name for role in ROLES for name in _section(declared, role))}
    for name in _section(declared, "extra-bindings"):
        if name in endpoints:
            yield f"binding {name}: it is an endpoint, which can be bound without this"


def _jujus(name: str) -> bool:
    return name == "juju" or name.startswith("juju-")
