# SPDX-License-Identifier: Apache-2.0
"""Options and action parameters as dataclasses that check themselves. Does not import ops.

A charm's ``config.py`` declares one dataclass; field names are the options' with ``_`` for ``-``::

    @dataclass(frozen=True)
    class Config:
        num_vfs: int = option(8, minimum=1, maximum=127)
        vf_lag: str = option("auto", choices=("auto", "required", "disabled"))
        devices: str = option("auto")

        def __post_init__(self) -> None:
            check(self)
            parse_selector(self.devices)  # raises InvalidValue("devices", …) itself

A wrong value raises :class:`converge.shape.InvalidValue`, one sentence with the option as the operator types
it, the value and what is allowed.
"""

import dataclasses
import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from converge.shape import AnyText, Boolean, Integer, InvalidValue, OneOf, limits, within

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Value = TypeVar("Value", bool, int, float, str)


def option(
    default: Value,
    *,
    choices: Sequence[str] = (),
    minimum: float | None = None,
    maximum: float | None = None,
) -> Value:
    """A dataclass field with a default and limits; its annotation decides its type.

    Args:
        default: also what holds while the option is unset; must be charmcraft.yaml's default.
        choices: for text: the words that are allowed.
        minimum: for numbers: the smallest value allowed.
        maximum: for numbers: the largest value allowed.

    """
    metadata = {"choices": tuple(choices), "minimum": minimum, "maximum": maximum}
    return cast("Any", dataclasses.field(default=default, metadata=metadata))


def check(instance: "DataclassInstance") -> None:
    """Check every field of a (frozen) dataclass against its type and limits.

    Juju hands whole numbers over as floats now and then (JSON knows one number type); they become ints.
    Fields of other types than bool, int, float and str are left to their owner.

    Raises InvalidValue about the first field that is wrong, in the order of declaration.
    """
    for field in dataclasses.fields(instance):
        value = _read(field, field.name.replace("_", "-"), getattr(instance, field.name))
        object.__setattr__(instance, field.name, value)


def _read(field: "dataclasses.Field[Any]", where: str, value: object) -> object:
    kind = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", "")
    least, most = field.metadata.get("minimum"), field.metadata.get("maximum")
    if kind == "bool":
        return Boolean().read(where, value)
    if kind == "str":
        choices = field.metadata.get("choices")
        return OneOf(choices).read(where, value) if choices else AnyText().read(where, value)
    if kind == "int":
        number = int(value) if isinstance(value, float) and value.is_integer() else value
        return Integer(least, most).read(where, number)
    if kind == "float":
        number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
        if abs(number) <= sys.float_info.max and within(number, least, most):  # NaN is not
            return float(number)
        raise InvalidValue(where, value, "a number" + limits(least, most))
    return value
