# SPDX-License-Identifier: Apache-2.0
"""Families of generic netlink, which the kernel numbers at run time (include/uapi/linux/genetlink.h)."""

from functools import lru_cache

from hostnic.netlink.channel import ACK, ANSWER_TIME, GENERIC, Channel, Untyped, codec

CONTROL, GET_FAMILY = 16, 3


@lru_cache(maxsize=1)
def _control() -> Untyped:
    nl = codec()

    class Control(nl.genlmsg):
        nla_map = ((1, "FAMILY_ID", "uint16"), (2, "FAMILY_NAME", "asciiz"))

    return Control


class Family:
    """Requests to one family, over a socket of its own."""

    def __init__(self, name: str, answer_time: float = ANSWER_TIME) -> None:
        self._channel = Channel(GENERIC, answer_time)
        self._name = name
        self._id: int | None = None

    def ask(self, message: Untyped, command: int, attrs: list[tuple[str, object]]) -> list[Untyped]:
        """The answers to ``command`` with ``attrs``; ``message`` is the class of both."""
        if self._id is None:
            self._id = self._find()
        return self._request(self._id, message, command, attrs)

    def _find(self) -> int:
        (answer,) = self._request(CONTROL, _control(), GET_FAMILY, [("FAMILY_NAME", self._name)])
        return answer.get_attr("FAMILY_ID")

    def _request(
        self, number: int, message: Untyped, command: int, attrs: list[tuple[str, object]]
    ) -> list[Untyped]:
        request = message()
        request["cmd"], request["version"], request["attrs"] = command, 1, attrs
        return self._channel.request(request, number, ACK)
