# SPDX-License-Identifier: Apache-2.0
"""The charms' metadata: endpoints, scopes, interfaces, extra bindings, options and their types.

`facts.yaml` holds the upstream charms of the bundles. It is derived from a folder of charms, laid out as
`<charm>/<branch>/{metadata,config}.yaml` or `<charm>/<branch>/charmcraft.yaml`:

    python tools/check/facts.py FOLDER > tools/check/facts.yaml

This project's own charms are read from charms/ each time.
"""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TABLE = HERE / "facts.yaml"
ROLES = ("provides", "requires", "peers")
BASES = {
    "bionic": "18.04",
    "focal": "20.04",
    "jammy": "22.04",
    "kinetic": "22.10",
    "lunar": "23.04",
    "mantic": "23.10",
    "noble": "24.04",
}
TRACKS = {
    ("mysql-innodb-cluster", "stable_jammy"): "8.0",
    ("mysql-router", "stable_jammy"): "8.0",
    ("rabbitmq-server", "stable_jammy"): "3.12",  # 3.9 is also published for focal, which this branch is not
    ("hacluster", "stable_jammy"): "2.4",
}
"""Channel tracks of the branches that are not named after theirs; the others are `stable_<track>`."""

DEPLOYED = {
    "ubuntu@24.04": {
        ("mysql-innodb-cluster", "8.0"),
        ("mysql-router", "8.0"),
        ("nova-cloud-controller", "2024.1"),
        ("openstack-dashboard", "2024.1"),
        ("ovn-central", "24.03"),
        ("ovn-chassis", "24.03"),
        ("rabbitmq-server", "3.12"),
        ("vault", "1.8"),
    }
}
"""Bases on which Canonical's own bundle deploys tracks whose branches do not name them.

Source: openstack/charm-guide, doc/source/getting-started/bundle-noble-2024.1.yaml, read on 2026-11-29.
"""

REWRITTEN = {"vault": "1.15"}
"""From this track on, Charmhub has another charm under the name: Vault with its own storage, raft."""

SETTINGS = {
    "trust": "Juju keeps that name for a setting of its own (juju trust), and hands the charm nothing of it"
}
"""Keys of `juju config` that are the application's on a machine model, and why no charm can have them.

Source: juju/juju 4.0, apiserver/facades/client/application: ``trustFields``, and
``splitApplicationAndCharmConfig``, which takes these keys out of what is meant for the charm.
"""


@dataclass(frozen=True)
class Endpoint:
    """One endpoint: its role (provides, requires, peers), interface and scope (global, container)."""

    role: str
    interface: str
    scope: str


@dataclass(frozen=True)
class Facts:
    """One charm in one track. Options map to their Juju type, `defaults` is known for own charms only."""

    charm: str
    track: str
    subordinate: bool
    bases: frozenset[str]
    endpoints: Mapping[str, Endpoint]
    extra_bindings: frozenset[str]
    options: Mapping[str, str]
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def bindable(self) -> set[str]:
        """The names that may stand in `bindings:`."""
        return {"", *self.endpoints, *self.extra_bindings}


def of_charm(name: str, track: str, metadata: Mapping[str, Any], config: Mapping[str, Any]) -> Facts:
    """The facts of a charm from its metadata (or charmcraft.yaml) and config."""
    endpoints = {
        endpoint: Endpoint(role, body["interface"], body.get("scope", "global"))
        for role in ROLES
        for endpoint, body in _section(metadata, role).items()
    }
    options = _section(config, "options")
    return Facts(
        name,
        track,
        bool(metadata.get("subordinate")),
        frozenset(_bases(metadata)),
        endpoints,
        frozenset(metadata.get("extra-bindings") or ()),
        {option: body.get("type", "string") for option, body in options.items()},
        {option: body["default"] for option, body in options.items() if body.get("default") is not None},
    )


def _section(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A mapping of a charm's file; YAML has null for one that is empty."""
    return data.get(name) or {}


def _bases(metadata: Mapping[str, Any]) -> Iterable[str]:
    yield from (f"ubuntu@{BASES[series]}" for series in metadata.get("series", ()))
    yield from (platform.rpartition(":")[0] for platform in metadata.get("platforms", ()) if "@" in platform)


def from_folder(folder: Path) -> list[Facts]:
    """The facts of each charm and branch of a folder."""
    found: list[Facts] = []
    for branch in sorted(path for path in folder.glob("*/*") if path.is_dir()):
        charm = branch.parent.name
        track = TRACKS.get((charm, branch.name), branch.name.removeprefix("stable_"))
        files = {path.stem: yaml.safe_load(path.read_text()) for path in branch.glob("*.yaml")}
        metadata = files.get("metadata") or files["charmcraft"]
        config = files.get("config") or metadata.get("config", {})
        found.append(of_charm(charm, track, metadata, config))
    return found


def is_another_charm(charm: str, track: str) -> bool:
    """Whether the track is, or may be, of a charm that shares nothing but its name with the table's."""

    def numbers(text: str) -> list[int]:
        return [int(number) for number in text.split(".") if number.isdecimal()]

    return track != "" and charm in REWRITTEN and not numbers(REWRITTEN[charm]) > numbers(track) > []


@cache
def own() -> dict[str, Facts]:
    """This project's charms, by name."""
    found: dict[str, Facts] = {}
    for path in sorted(ROOT.glob("charms/*/charmcraft.yaml")):
        data = yaml.safe_load(path.read_text())
        found[data["name"]] = of_charm(data["name"], "local", data, data.get("config", {}))
    return found


@cache
def upstream() -> dict[tuple[str, str], Facts]:
    """The upstream charms of the table, by name and track, with the bases of :data:`DEPLOYED`."""
    found: dict[tuple[str, str], Facts] = {}
    for facts in load(yaml.safe_load(TABLE.read_text())):
        key = facts.charm, facts.track
        deployed = {base for base, charms in DEPLOYED.items() if key in charms}
        found[key] = replace(facts, bases=facts.bases | deployed)
    return found


def of_all_tracks(charm: str) -> list[Facts]:
    """Return the table's rows for an upstream charm."""
    return [known for (name, _), known in upstream().items() if name == charm]


def _flat(facts: Facts) -> set[tuple[str, ...]]:
    """The facts as a set of records, so that tracks can be compared."""
    return {
        *(("base", base) for base in facts.bases),
        *((e.role, name, f"{e.interface} {e.scope}") for name, e in facts.endpoints.items()),
        *(("extra-bindings", name) for name in facts.extra_bindings),
        *(("options", kind, name) for name, kind in facts.options.items()),
    }


def _nested(records: set[tuple[str, ...]]) -> dict[str, Any]:
    """Records as they stand in the table: endpoints by role, options by type, `global` left out."""
    result: dict[str, Any] = {}
    for key, *rest in sorted(records):
        if key in ROLES:
            result.setdefault(key, {})[rest[0]] = rest[1].removesuffix(" global")
        elif key == "options":
            result.setdefault(key, {}).setdefault(rest[0], []).append(rest[1])
        else:
            result.setdefault(key, []).append(rest[0])
    return {key: result[key] for key in ("base", "extra-bindings", *ROLES, "options") if key in result}


def _records(nested: Mapping[str, Any]) -> set[tuple[str, ...]]:
    """The inverse of `_nested`."""
    return {
        *(("base", base) for base in nested.get("base", ())),
        *(("extra-bindings", name) for name in nested.get("extra-bindings", ())),
        *(
            (role, name, body if body.endswith(" container") else f"{body} global")
            for role in ROLES
            for name, body in nested.get(role, {}).items()
        ),
        *(("options", kind, name) for kind, names in nested.get("options", {}).items() for name in names),
    }


def table(found: Iterable[Facts]) -> dict[str, Any]:
    """The table: per charm what all its tracks share, and under `only` what one of them has alone."""
    by_charm: dict[str, list[Facts]] = {}
    for facts in found:
        by_charm.setdefault(facts.charm, []).append(facts)
    result: dict[str, Any] = {}
    for charm, tracks in by_charm.items():
        first, *others = map(_flat, tracks)
        common = first.intersection(*others)
        only = {facts.track: _nested(_flat(facts) - common) for facts in tracks if _flat(facts) - common}
        entry: dict[str, Any] = {"tracks": [facts.track for facts in tracks]}
        if tracks[0].subordinate:
            entry["subordinate"] = True
        result[charm] = {**entry, **_nested(common), **({"only": only} if only else {})}
    return result


def load(table: Mapping[str, Any]) -> list[Facts]:
    """The facts of a table."""
    found: list[Facts] = []
    for charm, entry in table.items():
        for track in entry["tracks"]:
            records = _records(entry) | _records(entry.get("only", {}).get(track, {}))
            endpoints = {
                record[1]: Endpoint(record[0], *record[2].split()) for record in records if record[0] in ROLES
            }
            found.append(
                Facts(
                    charm,
                    track,
                    entry.get("subordinate", False),
                    frozenset(record[1] for record in records if record[0] == "base"),
                    endpoints,
                    frozenset(record[1] for record in records if record[0] == "extra-bindings"),
                    {record[2]: record[1] for record in records if record[0] == "options"},
                )
            )
    return found


class _Dumper(yaml.SafeDumper):
    """Lists of words in flow style, so that a page holds a charm."""

    def represent_sequence(
        self, tag: str, sequence: Iterable[Any], flow_style: bool | None = None
    ) -> yaml.SequenceNode:
        return super().represent_sequence(tag, sequence, flow_style=flow_style is not False)


def main(arguments: list[str]) -> int:
    """Print the table of the folder that the argument names."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python tools/check/facts.py FOLDER", file=sys.stderr)
        return 2
    print("# SPDX-License-Identifier: Apache-2.0")
    print("# Derived by tools/check/facts.py from the metadata of the charms; do not edit.")
    print(
        yaml.dump(table(from_folder(Path(arguments[0]))), Dumper=_Dumper, sort_keys=False, width=110), end=""
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
