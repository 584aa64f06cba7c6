# SPDX-License-Identifier: Apache-2.0
"""The logins of all switches with the earlier ones, for as long as some switches still have these. Pure."""

from collections.abc import Collection

from rest.connection import Credentials, Logins
from yamlfile.logins import Login
from yamlfile.logins import Logins as Read


class LoginError(ValueError):
    """A login cannot be used; the sentence shows no password. ``earlier``: it is one of the earlier ones."""

    def __init__(self, what: str, remedy: str = "", *, earlier: bool = False) -> None:
        super().__init__(what)
        self.remedy, self.earlier = remedy, earlier


def paired(found: Read, earlier: Read | None, names: Collection[str]) -> Logins:
    """Who logs in to each of the switches with these ``names``.

    Raises LoginError for a switch that is none of them, a login that HTTP cannot transport, or an earlier one
    of another user.
    """
    for given in (found, earlier):
        for name in given.others if given else ():
            if name not in names:
                what = f"has a line for {name}, which is not a switch of the intent"
                raise LoginError(what, "take the line out, or correct the name", earlier=given is not found)
    before = earlier.default if earlier else None
    named = {*found.others, *(earlier.others if earlier else ())}
    default = _one(found.default, before, "")
    others = {
        name: _one(found.others.get(name, found.default), _earlier(earlier, name, found), name)
        for name in sorted(named)
    }
    return Logins(default, others)


def _earlier(earlier: Read | None, name: str, found: Read) -> Login | None:
    """The earlier login of a switch: its own, or that of all, if it is of the same user."""
    if earlier is None:
        return None
    own = earlier.others.get(name)
    same = earlier.default[0] == found.others.get(name, found.default)[0]
    return own or (earlier.default if same else None)


def _one(now: Login, earlier: Login | None, name: str) -> Credentials:
    where = f" for {name}" if name else ""
    if earlier and earlier[0] != now[0]:
        remedy = "give the earlier password of the same user"
        raise LoginError(f"has another user{where} than the new credentials", remedy, earlier=True)
    credentials = Credentials(*now, earlier[1] if earlier else "")
    if not Credentials(*now).usable:
        raise LoginError(f"has no usable user or password{where}")
    if not credentials.usable:
        raise LoginError(f"has no usable earlier password{where}", earlier=True)
    return credentials
