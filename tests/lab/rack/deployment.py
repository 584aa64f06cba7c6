# SPDX-License-Identifier: Apache-2.0
"""The part of a bundle that runs in the lab: the applications whose charms are this repository's.

Options, placements and relations are the bundle's and its overlays', merged by Juju's rules; the lab's own
overlay (``overlay.yaml``) comes last, for those of its applications that are there.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from check.merge import Part, merge, parts
from yamlfile.values import Map

from lab.cloud import translate
from lab.juju.model import Relation

ROOT = Path(__file__).parents[3]
CHARMS = ROOT / "charms"
OVERLAY = Path(__file__).with_name("overlay.yaml")


@dataclass(frozen=True)
class Application:
    """One application; unit N is on ``machines[N]``.

    Attributes:
        name: in the model.
        charm: directory under charms/.
        meta: of its charmcraft.yaml.
        options: what the bundle sets.
        machines: Juju's numbers of the machines.

    """

    name: str
    charm: str
    meta: dict[str, Any]
    options: dict[str, Any]
    machines: tuple[str, ...]


@dataclass(frozen=True)
class Deployment:
    """A deployment of the bundle.

    Attributes:
        applications: by name.
        relations: among them.
        nodes: the machines that subordinates can be on, since only these have a NIC: the compute nodes.
        left_out: subordinates that are on none of them.
        options: what the whole bundle sets, by charm: also of the charms that are not this repository's.

    """

    applications: dict[str, Application]
    relations: tuple[Relation, ...]
    nodes: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])


def read(bundle: Path, overlays: list[Path], nodes: int) -> Deployment:
    """The lab's part of a bundle, with this many compute nodes.

    Raises:
        FileError: a file cannot be read, or is no bundle.

    """
    whole = merge(list(parts([bundle, *overlays])))
    (own,) = parts([OVERLAY])
    own.data["applications"] = _only(own.data["applications"], whole["applications"])
    whole = merge([Part(bundle, whole), own])
    metas = {name: meta for name, body in whole["applications"].items() if (meta := _meta(body))}
    related = [[str(end).partition(":")[::2] for end in pair] for pair in whole.get("relations") or []]
    hosts = {
        mine: principal
        for pair in related
        for (mine, endpoint), (principal, _) in (pair, pair[::-1])
        if mine in metas and _container(metas[mine][1], endpoint)
    }
    placed = {name: _machines(body) for name, body in whole["applications"].items()}
    compute = next(iter(hosts.values()), "")
    free = [str(number) for number in range(1000) if str(number) not in (whole.get("machines") or {})]
    # More nodes than the bundle has machines for are more units of the principal there.
    placed[compute] = machines = (*placed.get(compute, ()), *free)[:nodes]
    for mine, principal in hosts.items():
        placed[mine] = tuple(machine for machine in placed.get(principal, ()) if machine in machines)
    left_out = tuple(name for name in hosts if not placed[name])
    metas = {name: meta for name, meta in metas.items() if name not in left_out}
    applications: dict[str, Application] = {}
    for name, (charm, meta) in metas.items():
        given = whole["applications"][name].get("options") or {}
        options = {key: _typed(meta, key, value) for key, value in given.items()}
        applications[name] = Application(name, charm, meta, options, placed[name])
    relations: list[Relation] = []
    for name, (_, meta) in metas.items():
        for peer in meta.get("peers", {}):
            relations.append(Relation(len(relations), {name: peer}))
    for pair in related:
        ends = {name: endpoint for name, endpoint in pair if name in metas}
        container = any(_container(metas[name][1], endpoint) for name, endpoint in ends.items())
        relations += [Relation(len(relations), ends, container)] if ends else []
    by_charm = translate.by_charm(whole["applications"])
    return Deployment(applications, tuple(relations), machines, left_out, by_charm)


def _only(bodies: Map, known: Map) -> Map:
    kept = Map(bodies.place)
    for name, body in bodies.items():
        if name in known:
            kept.put(name, body, bodies.places[name])
    return kept


def _meta(body: Any) -> tuple[str, dict[str, Any]] | None:
    """A charm of this repository: its directory and its metadata."""
    name = re.match(r"[a-z0-9-]+", Path(str(body.get("charm", ""))).name)
    file = CHARMS / (name[0] if name else "") / "charmcraft.yaml"
    is_path = "/" in str(body.get("charm", ""))
    return (file.parent.name, yaml.safe_load(file.read_text())) if is_path and file.exists() else None


def _typed(meta: dict[str, Any], option: str, value: Any) -> Any:
    """A bundle's words as the option's type."""
    kind = meta["config"]["options"].get(option, {}).get("type")
    return str(value).lower() == "true" if kind == "boolean" else int(value) if kind == "int" else str(value)


def _container(meta: dict[str, Any], endpoint: str) -> bool:
    return meta.get("requires", {}).get(endpoint, {}).get("scope") == "container"


def _machines(body: Any) -> tuple[str, ...]:
    """Of each unit; a container is on its machine."""
    to = body.get("to") or []
    return tuple(str(place).rpartition(":")[2] for place in (to if isinstance(to, list) else [to]))
