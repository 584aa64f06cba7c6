# SPDX-License-Identifier: Apache-2.0
"""A Juju unit on a guest, as seen from the host; :mod:`lab.juju.service` does the work inside the guest."""

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lab.juju import service

if TYPE_CHECKING:
    from lab.guest import Guest

ASK = """
import socket, sys
with socket.socket(socket.AF_UNIX) as unit:
    unit.connect(sys.argv[1])
    unit.sendall(sys.stdin.buffer.read())
    sys.stdout.buffer.write(unit.makefile("rb").read())
"""
"""Imports no more than it needs: the guest may be an emulated one."""


class HookError(RuntimeError):
    """The charm raised; Juju would show ``hook failed``. The message is the traceback."""


@dataclass(frozen=True)
class Result:
    """The result of one event or action."""

    status: tuple[str, str]  # the unit's, as ("active", "message")
    reboot_requested: bool  # it asked Juju for a reboot after this hook
    relations: list[dict[str, Any]]  # all of them afterwards, with the unit's own data
    logs: list[list[str]]  # level and message of what it logged to Juju
    writes: list[str]  # what it wrote to the machine, one line each, in order
    results: dict[str, Any]  # an action's
    failure: str | None  # an action's


class Unit:
    """The unit of an application on this guest; its events and actions raise :class:`HookError`.

    Args:
        app: the application's name, and its charm's directory under charms/ unless ``charm`` names another
            one there or ``path`` one in the guest, with its ``lib``.
        known: ``number`` of the unit, ``config``, ``leader``, ``planned_units``, ``relations`` (dicts of
            ``endpoint``, ``id`` and what else ops.testing's relation classes take), ``secrets``. Without
            ``relations`` it has peers, and as a subordinate its principal.

    """

    def __init__(self, guest: "Guest", app: str, **known: Any) -> None:
        self._guest = guest
        self.app = app
        self._ask("deploy", **known)

    def on(self, guest: "Guest") -> "Unit":
        """The same unit, on a guest that its machine's files were carried to (:mod:`lab.carry`)."""
        other = copy.copy(self)
        other._guest = guest
        return other

    def emit(self, event: str, **given: Any) -> Result:
        """Run one event; before ``upgrade_charm`` the charm is unpacked anew, as ``juju refresh`` does.

        Args:
            event: ``config_changed``, ``update_status``, ``<endpoint>_relation_changed`` …
            given: what is set first: options in ``config`` (None resets one), remote data of ``relations``,
                ``leader``, ``planned_units``; the ``remote_unit`` of a relation's event; variables of the
                environment in which Juju has ``told`` more of it; and for ``upgrade_charm`` the ``path`` of
                another revision of the charm, and its ``lib``.

        """
        return self._dispatch(event=event, **given)

    def action(self, action: str, params: Mapping[str, Any] | None = None, timeout: float = 900) -> Result:
        """Run an action; see the result's ``failure``."""
        return self._dispatch(timeout=timeout, action=action, params=dict(params or {}))

    def start(self) -> Result:
        """The events of a new unit that leads, in Juju's order; the last one's result."""
        for event in ("install", "leader_elected", "config_changed"):
            self.emit(event)
        return self.emit("start")

    def remove(self) -> None:
        """Take the unit's agent away, after its last hook."""
        self._ask("remove")

    @property
    def known(self) -> dict[str, Any]:
        """A controller's knowledge of this unit."""
        return self._ask("known")

    @property
    def reboot_requested(self) -> bool:
        """A hook of this boot, also one that the charm itself had dispatched, asked Juju for a reboot."""
        return self.known.get("reboot_requested") == self._guest.boot_id

    def _dispatch(self, timeout: float = 900, **request: Any) -> Result:
        answer = self._ask("dispatch", timeout, **request)
        if "error" in answer:
            raise HookError(answer["error"])
        return Result(**answer | {"status": tuple(answer["status"])})

    def _ask(self, verb: str, timeout: float = 300, **request: Any) -> Any:
        message = json.dumps({"verb": verb, "app": self.app, **request}) + "\n"
        ask = ["/usr/bin/python3", "-I", "-S", "-c", ASK, service.SOCKET]
        answer = json.loads(self._guest.run(ask, stdin=message, timeout=timeout).stdout)
        if "problem" in answer:
            raise RuntimeError(f"{self.app}: {answer['problem']}")
        return answer["answer"]
