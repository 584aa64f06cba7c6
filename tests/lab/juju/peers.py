# SPDX-License-Identifier: Apache-2.0
"""The peer relation as one hook of one unit sees it, without ops and Juju."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from charmkit.reboot.databag import KEY
from charmkit.reboot.relation import NOTHING_KEPT, Databags
from charmkit.reboot.state import UnitNow, UnitState


def kept() -> Any:
    """Return the values that a unit keeps from hook to hook, as before its first one."""
    return SimpleNamespace(**NOTHING_KEPT)


class Entity:
    """A unit or an application, as ops has it."""

    def __init__(self, name: str, *, leader: bool = False) -> None:
        self.name = name
        self._leader = leader

    @property
    def app(self) -> "Entity":
        return Entity(self.name.partition("/")[0])

    def is_leader(self) -> bool:
        return self._leader

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entity) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


class _Databags(dict[Entity, dict[str, str]]):
    """Databags by unit and application; ``read`` has those that were asked for."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__({Entity(name): {KEY: text} if text else {} for name, text in texts.items()})
        self.read: set[str] = set()

    def __getitem__(self, entity: Entity) -> dict[str, str]:
        self.read.add(entity.name)
        return super().__getitem__(entity)


class Peers:
    """The relation; ``data`` has all databags, and then what the hook wrote."""

    def __init__(self, me: str, units: Iterable[str], texts: Mapping[str, str]) -> None:
        self.units = {Entity(name) for name in units if name != me}
        self.data = _Databags(texts)

    def text(self, name: str) -> str:
        """Return the text of the databag of ``name``."""
        return self.data.get(Entity(name), {}).get(KEY, "")


def databags(me: str, peers: Peers, memory: Any, *, leader: bool) -> Databags:
    """The databags as ``me`` reads and writes them."""
    relation: Any = peers
    unit: Any = Entity(me, leader=leader)
    return Databags(relation, unit, memory)


@dataclass
class Given:
    """The inputs of one hook of one unit (``charmkit.reboot.hook.Inputs``)."""

    bags: Databags
    here: UnitNow
    away: tuple[str, ...] = ()  # the peers whose hosts do not answer
    lacks: str = ""  # what the clusters in this host's containers miss
    parallel_is: str = "1"  # the option

    def boot_id(self) -> str:
        return self.here.boot_id

    def now(self) -> int:
        return self.here.now

    def host(self, own: UnitState) -> UnitNow:
        return self.here

    def silent(self) -> tuple[str, ...]:
        return self.away

    def missing_members(self) -> str:
        return self.lacks

    def parallel(self) -> str:
        return self.parallel_is
