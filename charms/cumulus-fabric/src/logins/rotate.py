# SPDX-License-Identifier: Apache-2.0
"""Gives one switch its new password in a confirmed commit, from wherever an earlier run has left it.

What a run has done is not noted anywhere: which password opens the switch shows how far it is. The new one is
tried before the change is confirmed, so that a switch which does not take it goes back by itself. NVUE keeps
the hash of a password that it is given in clear (user guide, "User Accounts").
"""

import enum
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus

from observe import release_of, version_of
from rest.answers import BUSY
from rest.client import USERS, Nvue, Progress
from rest.connection import Clock, Credentials, SwitchError
from rest.transition import AwaitsConfirmation, Polling, apply_to_confirm, confirm
from rest.undo import ROLLBACK_TIMEOUT_S
from rest.warned import overwritten, refusal
from tree import Path, Tree, leaves, nested

CONFIRM_S = 120
"""Seconds after which a switch takes back a password that nobody has confirmed."""

DEADLINE_S, POLL_S = 90.0, 1.0
"""Seconds that one step of a change may take, and those between two looks."""

UNDER_WAY = ("apply", "checking", "ays", "confirm")
"""States of a change that somebody has begun, and that may still be taken back."""

NAMES_CURRENT = (5, 18)
"""The first release that may ask for the current password, too (its OpenAPI document)."""

SAVES_ITSELF = (5, 9)
"""The first release that saves what it applies."""

AGAIN = "run rotate-password again"
"""The remedy after an interruption."""


class Has(enum.Enum):
    """The password of a switch, as a sentence's end."""

    NEW = "has the new password"
    UNSAVED = "has the new password, and would boot with the earlier one"
    BEGUN = "is at a change that is not confirmed yet, which is waited for"
    EARLIER = "has the earlier password, and gets the new one"


def has(switch: Nvue) -> Has:
    """Which password a switch has. It is asked with each of the two.

    Raises SwitchError if it takes neither, or its user is not its own.
    """
    new, earlier = _opens(switch)
    if not new and not earlier:
        remedy = "give the password that it has as the earlier one"
        raise SwitchError("credentials", "takes neither the new password nor the earlier one", remedy)
    if switch.in_states(UNDER_WAY):
        return Has.BEGUN
    if earlier:
        return Has.EARLIER
    return Has.NEW if _saved(switch) else Has.UNSAVED


def rotate(switch: Nvue, clock: Clock, announce: Callable[[str], None]) -> None:
    """Give a switch the new password, unless it has it; read back that the earlier one is refused.

    Raises SwitchError if it does not get there; no sentence shows a password.
    """
    with _without_passwords(switch.login):
        _wait(switch, clock, announce)
        found = has(switch)
        if found is Has.EARLIER:
            announce(f"{switch.name}: changing the password")
            _change(switch, clock)
            found = has(switch)
        if found is Has.UNSAVED:
            switch.save()
            found = has(switch)
        if found is not Has.NEW:
            raise SwitchError("refused", f"{found.value} after the change", AGAIN)


def _opens(switch: Nvue) -> tuple[bool, bool]:
    """Whether the new password opens a switch, and whether the earlier one does."""
    login = switch.login
    return _opened(switch, login.password), bool(login.previous) and _opened(switch, login.previous)


def _opened(switch: Nvue, password: str) -> bool:
    way = switch.entered_with(Credentials(switch.login.user, password))
    try:
        told = way.account()
    except SwitchError as error:
        if error.status == HTTPStatus.UNAUTHORIZED:
            return False
        raise
    finally:
        way.close()
    if not told:
        what = f"has no user {switch.login.user} of its own"
        raise SwitchError("credentials", what, "change the password where that user is kept, such as TACACS+")
    return True


def _saved(switch: Nvue) -> bool:
    """Whether the switch would boot with the password that it has; from 5.9 on it saves by itself."""
    if version_of(release_of(switch)) >= SAVES_ITSELF:
        return True
    return switch.account("startup") == switch.account("applied")


def _wait(switch: Nvue, clock: Clock, announce: Callable[[str], None]) -> None:
    """Wait until what an earlier run has begun is confirmed, or taken back by the switch itself."""
    end = clock.monotonic() + CONFIRM_S + ROLLBACK_TIMEOUT_S
    told = False
    while waiting := switch.in_states(UNDER_WAY):
        if clock.monotonic() > end:
            raise SwitchError("slow", f"revision {waiting[0]} is not confirmed yet", BUSY)
        if not told:
            announce(f"{switch.name}: waiting for the end of a change that is not confirmed")
            told = True
        clock.sleep(POLL_S)


def _change(switch: Nvue, clock: Clock) -> None:
    """Apply the new password, log in with it, and confirm it."""
    polling = Polling(clock, DEADLINE_S, POLL_S)
    revision = switch.create()
    try:
        switch.patch(revision, _tree(switch))
        ours = _node(switch)
        beside = [path for path, _ in leaves(switch.difference(revision)) if path[: len(ours)] != ours]
        if beside:
            what = f"another change landed at the same moment: {' '.join(beside[0])}"
            raise SwitchError("refused", what, AGAIN)
    except SwitchError:
        with suppress(SwitchError):
            switch.drop(revision)
        raise
    seen = _apply(switch, revision, polling)
    new, earlier = _opens(switch)
    if not new or earlier:
        with suppress(SwitchError):  # without it the switch goes back when the time is over
            switch.refuse(revision)
        what = "takes the earlier password still" if earlier else "does not take the new password"
        raise SwitchError("refused", f"{what}, and goes back to the earlier one", f"see its log, and {AGAIN}")
    if not seen.applied:
        confirm(switch, revision, polling)


def _apply(switch: Nvue, revision: str, polling: Polling) -> Progress:
    """Apply a revision up to its confirmation."""
    waiting = AwaitsConfirmation(polling.clock)

    def done(seen: Progress) -> bool:
        return seen.applied or waiting(seen)

    def heed(said: Sequence[str]) -> None:
        if files := overwritten(said):
            with suppress(SwitchError):  # unanswered, the switch gives up by itself
                switch.go_on(revision, yes=False)
            raise refusal(files)

    return apply_to_confirm(switch, revision, CONFIRM_S, done=done, heed=heed, polling=polling)


def _tree(switch: Nvue) -> Tree:
    """The patch that sets the password."""
    login = switch.login
    given: Tree = {"password": login.password}
    if version_of(release_of(switch)) >= NAMES_CURRENT:
        given["current-password"] = login.previous
    return nested(_node(switch), given)


def _node(switch: Nvue) -> Path:
    return (*USERS, switch.login.user)


@contextmanager
def _without_passwords(login: Credentials) -> Generator[None]:
    """Take the passwords out of what a switch says: NVUE repeats the values that it refuses."""
    try:
        yield
    except SwitchError as error:
        reason, remedy = error.reason, error.remedy
        for secret in filter(None, (login.password, login.previous)):
            reason, remedy = reason.replace(secret, "…"), remedy.replace(secret, "…")
        raise SwitchError(error.kind, reason, remedy, error.status) from None
