# SPDX-License-Identifier: Apache-2.0
"""One write to MAAS, and the reading back of what it set."""

from dataclasses import dataclass
from typing import Any

from converge import StepError
from maas.client import Maas
from maas.sitefile import secret


@dataclass(frozen=True)
class Ref:
    """An object by the name that people give it; MAAS' own id is looked up when the step runs.

    A VLAN is `within` a fabric, by its name; an interface within a machine, by its system id.
    """

    kind: str
    name: str
    within: str = ""


@dataclass(frozen=True)
class Secret:
    """`file:PATH`, read when the step runs; plans never hold the value."""

    reference: str
    where: str


Value = str | int | bool | Ref | Secret | tuple[Ref, ...]
LISTS = {
    "fabric": ("fabrics/", "name", "id"),
    "subnet": ("subnets/", "cidr", "id"),
    "machine": ("machines/?hostname={}", "hostname", "system_id"),
    "vlan": ("fabrics/{}/vlans/", "vid", "id"),
    "interface": ("nodes/{}/interfaces/", "name", "id"),
}


@dataclass(frozen=True)
class Write:
    """POST or PUT of values, then a look at the object: it must hold `expect`, by dotted path.

    `*` in a path is every item of a list. `read` is where to look; without it, at the object that
    MAAS answered with.
    """

    method: str
    path: tuple[str | Ref, ...]
    values: dict[str, Value]
    expect: dict[str, Any]
    read: str = ""

    def run(self, system: Maas) -> None:
        values = {key: resolve(system, value) for key, value in self.values.items()}
        path = "".join(str(resolve(system, part)) for part in self.path)
        answer = system.write(self.method, path, values)
        read = self.read or str(answer["resource_uri"]).partition("/api/2.0/")[2]
        found = system.get(read)
        for where, wanted in self.expect.items():
            if not holds(found, where, wanted):
                raise StepError(f"MAAS took the request, but {where} of {read} is not {wanted}")


def holds(found: Any, where: str, wanted: Any) -> bool:
    """Whether a dotted path of an answer has a value, or has it after a `*`; null is empty text."""
    values = [found]
    for key in filter(None, where.split(".")):
        if key == "*":
            values = [item for value in values for item in value or ()]
        else:
            values = [value.get(key) for value in values if isinstance(value, dict)]
    return wanted in values or (wanted == "" and None in values)


def resolve(maas: Maas, value: Value) -> Any:
    """A value as MAAS takes it."""
    match value:
        case Secret(reference, where):
            return secret(reference, where)
        case Ref(kind, name, within):
            path, key, number = LISTS[kind]
            outer = resolve(maas, Ref("fabric", within)) if kind == "vlan" else within or name
            found = [item[number] for item in maas.get(path.format(outer)) if str(item[key]) == name]
            if not found:
                raise StepError(f"MAAS has no {kind} {name}")
            return found[0]
        case tuple():
            return [resolve(maas, ref) for ref in value]
        case _:
            return value
