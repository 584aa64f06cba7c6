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
            parse_selector(self.devices)  # raises OptionError("devices", …) itself

A wrong value raises :class:`OptionError`, which reads as one sentence naming the option, the value and
what is allowed.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Value = TypeVar("Value", bool, int, float, str)

_SHOWN = 40
"""Characters of a wrong value that a sentence repeats."""


class OptionError(ValueError):
    """A value that an option or an action parameter does not take.

    Attributes:
        name: as the operator types it, with dashes.
        value: what was given.
        allowed: what is allowed, as the end of "set …": ``a whole number from 1 to 127``.

    """

    def __init__(self, name: str, value: object, allowed: str) -> None:
        self.name = name.replace("_", "-")
        self.value = value
        self.allowed = allowed
        super().__init__(f"{self.name}: {self.shown} is not allowed; set {allowed}")

    @property
    def shown(self) -> str:
        """The value, quoted when it is text, in one line and shortened."""
        if self.value is None or self.value == "":
            return "an empty value"
        if isinstance(self.value, bool):
            return str(self.value).lower()
        text = repr(self.value)
        return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 2]}…{text[-1]}"


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

    Raises:
        OptionError: about the first field that is wrong, in the order of declaration.

    """
    for field in dataclasses.fields(instance):
        value = _typed(field, getattr(instance, field.name))
        if value is not None:
            object.__setattr__(instance, field.name, value)


def _typed(field: "dataclasses.Field[Any]", value: object) -> "bool | int | float | str | None":
    """``value`` as the field's type; None when that type is not one of ours."""
    kind = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", "")
    if kind == "bool":
        if not isinstance(value, bool):
            raise OptionError(field.name, value, "true or false")
        return value
    if kind == "str":
        choices: tuple[str, ...] = field.metadata.get("choices", ())
        if not isinstance(value, str) or (choices and value not in choices):
            raise OptionError(field.name, value, _one_of(choices) if choices else "text")
        return value
    if kind in ("int", "float"):
        return _number(field, kind, value)
    return None


def _number(field: "dataclasses.Field[Any]", kind: str, value: object) -> "int | float":
    limits = f"a whole number{_range(field)}" if kind == "int" else f"a number{_range(field)}"
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise OptionError(field.name, value, limits)
    if kind == "int" and value != int(value):
        raise OptionError(field.name, value, limits)
    minimum, maximum = field.metadata.get("minimum"), field.metadata.get("maximum")
    if (minimum is not None and value < minimum) or (maximum is not None and value > maximum):
        raise OptionError(field.name, value, limits)
    return int(value) if kind == "int" else float(value)


def _range(field: "dataclasses.Field[Any]") -> str:
    minimum, maximum = field.metadata.get("minimum"), field.metadata.get("maximum")
    if minimum is not None and maximum is not None:
        return f" from {minimum} to {maximum}"
    if minimum is not None:
        return f" of at least {minimum}"
    return "" if maximum is None else f" of at most {maximum}"


def _one_of(choices: Sequence[str]) -> str:
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} or {choices[-1]}"
