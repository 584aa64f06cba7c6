# SPDX-License-Identifier: Apache-2.0
"""The kernel's dcbnl interface (net/dcb/dcbnl.c): one client for every driver that has it.

Two traps are handled here. A driver's refusal does not come as a netlink error: the reply acknowledges, and
its attribute has the negative errno in one byte. And settings for which a driver has no operation are
silently accepted: whoever sets reads back (:mod:`hostnic.ops.dcb`).
"""

import errno
import os
from collections.abc import Iterable
from functools import lru_cache

from hostnic.netlink import dcbattrs
from hostnic.netlink.channel import ACK, ROUTE, Channel, Untyped, codec
from hostnic.netlink.dcb import App, Dcb, dcbx_words

GETDCB, SETDCB = 78, 79
IEEE_SET, IEEE_GET, GET_DCBX, SET_DCBX, IEEE_DEL = 20, 21, 22, 23, 27

_ENOTSUPP = 524
"""Kernel-internal, but some drivers let it out; one byte of it reads as ENOMEM."""


@lru_cache(maxsize=1)
def _message() -> Untyped:
    nl = codec()

    class DcbMessage(nl.nlmsg):
        fields = (("family", "B"), ("cmd", "B"), ("pad", "H"))
        nla_map = ((1, "IFNAME", "asciiz"), (13, "IEEE", "cdata"), (14, "DCBX", "uint8"))

    return DcbMessage


class DcbClient:
    """One rtnetlink socket for the data centre bridging of all netdevs."""

    def __init__(self) -> None:
        self._channel = Channel(ROUTE)

    def get(self, link: str) -> Dcb:
        """Return the settings that the driver of ``link`` reports.

        Raises OSError: EOPNOTSUPP when it has no data centre bridging, ENODEV when there is no such netdev.
        """
        content = self._ask(GETDCB, IEEE_GET, link).get_attr("IEEE")
        try:
            mode = self._ask(GETDCB, GET_DCBX, link).get_attr("DCBX")
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:
                raise
            mode = None
        return dcbattrs.decode(content or b"")._replace(dcbx=mode)

    def set(self, link: str, wanted: Dcb) -> None:
        """Set all that ``wanted`` has but ``dcbx``: one request each, so that a refusal has a name.

        Raises OSError whose ``strerror`` starts with the name of the setting: ``PFC: Invalid argument``.
        """
        parts = {
            "ETS": Dcb(ets=wanted.ets) if wanted.ets else None,
            "APP": Dcb(apps=wanted.apps) if wanted.apps else None,
            "PFC": Dcb(pfc=wanted.pfc) if wanted.pfc else None,
        }
        for name, part in parts.items():
            if part is not None:
                self._change(IEEE_SET, link, name, part)

    def delete_apps(self, link: str, apps: Iterable[App]) -> None:
        """Delete APP entries."""
        self._change(IEEE_DEL, link, "APP", Dcb(apps=tuple(apps)))

    def set_dcbx(self, link: str, mode: int) -> None:
        """Set the bits of the DCBX mode; the driver only says that it refuses, not why."""
        if self._ask(SETDCB, SET_DCBX, link, ("DCBX", mode)).get_attr("DCBX"):
            raise OSError(errno.EINVAL, f"DCBX: the driver refuses mode {dcbx_words(mode)}")

    def _change(self, command: int, link: str, name: str, part: Dcb) -> None:
        answer = self._ask(SETDCB, command, link, ("IEEE", dcbattrs.encode(part)))
        raise_refusal(name, answer.get_attr("IEEE"))

    def _ask(self, kind: int, command: int, link: str, *attrs: tuple[str, object]) -> Untyped:
        message = _message()()
        message["cmd"] = command
        message["attrs"] = [("IFNAME", link), *attrs]
        answers = self._channel.request(message, kind, ACK)
        if not answers:
            raise OSError(errno.EPROTO, f"{link}: the kernel acknowledged without an answer")
        return answers[0]


def raise_refusal(name: str, content: bytes | None) -> None:
    """Raise what the reply's attribute says: one byte, 0 or a negative errno."""
    if content is None or len(content) != 1:
        raise OSError(errno.EPROTO, f"{name}: the kernel's answer has no result")
    if content[0] == 0:
        return
    code = 256 - content[0]
    if code == 256 - (-_ENOTSUPP & 0xFF):
        code = errno.EOPNOTSUPP
    raise OSError(code, f"{name}: {os.strerror(code)}")
