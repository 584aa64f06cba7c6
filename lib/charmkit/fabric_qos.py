# SPDX-License-Identifier: Apache-2.0
"""What is allowed in :mod:`charmkit.qos`, for all who read, write or choose such values. Imports no ops."""

from typing import Any, TypeVar, cast

from converge.shape import Integer, InvalidValue, ListOf, MappingOf, OneOf, Record, Union

from charmkit.qos import STRICT, Marking, Qos

T = TypeVar("T")


class _Checked(Record[T]):
    """A record of a class that does not check itself: it is checked wherever it is read or contained."""

    def read(self, where: str, value: object) -> T:
        read = super().read(where, value)
        try:
            self.check(read)
        except InvalidValue as error:
            raise error.under(where) from None
        return read


class _Qos(_Checked[Qos]):
    """A record whose fields also fit each other."""

    def check(self, instance: object) -> None:
        super().check(instance)
        qos = cast("Qos", instance)
        if tuple(sorted(set(qos.pfc))) != qos.pfc:
            raise InvalidValue("pfc", list(qos.pfc), "each lossless priority once, in ascending order")
        percent = [share for share in qos.ets.values() if share != STRICT]
        if 0 not in qos.ets or (percent and sum(percent) != 100):
            shown = {str(tc): share for tc, share in qos.ets.items()}
            raise InvalidValue("ets", shown, "a share for class 0, and percentages that total 100")


class _TrafficClass:
    """The number of a traffic class; as a key of a JSON object it is text."""

    allowed = "a traffic class from 0 to 7"

    def read(self, where: str, value: object) -> int:
        number = int(str(value)) if value in tuple("01234567") else value
        return Integer(0, 7, "a traffic class").read(where, number)

    def schema(self) -> dict[str, Any]:
        return {"enum": list("01234567")}


PRIORITY = Integer(0, 7)
MARKING = _Checked(
    Marking, {"dscp": Integer(0, 63), "priority": PRIORITY}, required=["dscp", "priority"], lenient=True
)
SHARE = Union[Any]({int: Integer(1, 100), str: OneOf((STRICT,))})
QOS = _Qos(
    Qos,
    {
        "trust": OneOf(("dscp", "pcp")),
        "pfc": ListOf(PRIORITY, "priorities"),
        "roce": MARKING,
        "cnp": MARKING,
        "ets": MappingOf(_TrafficClass(), SHARE, "traffic classes and their shares"),
    },
    required=["trust", "pfc", "roce", "cnp", "ets"],
    lenient=True,
)
