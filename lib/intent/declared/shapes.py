# SPDX-License-Identifier: Apache-2.0
"""Shapes that the declarations of an intent are made of."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from converge.document import annotated
from converge.shape import Record, Shape

T = TypeVar("T")


def record(make: Callable[..., T]) -> Record[T]:
    """The shape of a mapping whose keys are the fields of a class, each annotated with its own shape."""
    return Record(make, {name.replace("_", "-"): shape for name, shape in annotated(make).items()})


class Short(Generic[T]):
    """One value, short for a mapping with one key: ``hosts: swp9-10`` for ``hosts: {ports: swp9-10}``."""

    def __init__(self, key: str, of: Shape[Any], make: Callable[..., T]) -> None:
        self.key, self.of, self.make, self.allowed = key, of, make, of.allowed

    def read(self, where: str, value: object) -> T:
        return self.make(**{self.key: self.of.read(where, value)})

    def schema(self) -> dict[str, Any]:
        return self.of.schema()
