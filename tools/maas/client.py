# SPDX-License-Identifier: Apache-2.0
"""The MAAS 2.0 API: signed requests (OAuth 1.0, method PLAINTEXT), and writes that look at what they did.

Facts (canonical/maas, src/maasserver/api): parameters are form-encoded, an operation beyond REST goes in
the query as `?op=`, a refused value is 400 with {field: [message]}, a machine in the wrong state 409. Writes
at the same time may be 409 with Retry-After (utils/views.py). An answer is JSON, but for the text "OK" of
set_config (maas.py).
"""

import http.client
import json
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPMessage
from itertools import chain
from typing import IO, Any, cast
from urllib.request import Request

from converge import StepError, words
from converge.bounded import MIB
from converge.opener import Bounded, plain
from maas.sitefile.model import Secret
from operate import private

TIMEOUT, MOST = 120.0, 128 * MIB
"""Seconds for one answer, from connecting to its last byte, and its bytes.

MAAS takes its time with hundreds of machines, each of which has some 100 KB.
"""
TRIES = 5
"""How often a request is sent for which MAAS asks again: it met another write, and nothing of it was kept."""
KEY = "copy the whole API key of an administrator: sudo maas apikey --username NAME"
"""The remedy where MAAS refuses the key."""
WORDS = 300
"""Characters of an answer that an error sentence quotes."""
READ = 64 * 1024
"""Bytes that are read of a refusal: a secret in it has to be whole to be found."""
Objects = dict[str, Any]
"""MAAS' objects, by the key that each has in plans."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: urllib would send the key to any host, and make a GET of a write."""

    def http_error_302(self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage) -> None:
        """Handle no redirect, so that urllib raises HTTPError."""

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


class Maas:
    """One MAAS region, the key to it, its objects as it told of them last; `lost` if it gave no answer."""

    def __init__(self, address: str, key: str) -> None:
        parts = re.fullmatch(r"(\w+):(\w+):(\w+)", key.strip())
        if parts is None:
            raise StepError("the API key does not have three parts", "copy it whole from `maas apikey`")
        self._address = address.rstrip("/") + "/api/2.0/"
        self._oauth = (
            'OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="{}", '
            'oauth_token="{}", oauth_signature="%26{}"'
        ).format(*parts.groups())
        for part in parts.groups():
            private.keep(part)
        # Without a ProxyHandler of its own, urllib would send the key to the proxy of the environment.
        direct = urllib.request.ProxyHandler({})
        self._open = urllib.request.build_opener(_NoRedirects, direct, Bounded(MOST)).open
        self.objects: Objects = {}
        self.lost = self._gone = False
        self._asking = threading.Lock()

    def send(
        self, path: str, method: str = "GET", values: dict[str, Any] | None = None, *, tries: int = TRIES
    ) -> Any:
        """Send a request and return MAAS' answer; values that are lists are sent one by one."""
        data = None if values is None else urllib.parse.urlencode(values, doseq=True).encode()
        request = Request(self._address + path, data, method=method)
        once = f'oauth_nonce="{uuid.uuid4().hex}", oauth_timestamp="{int(time.time())}"'
        request.add_header("Authorization", f"{self._oauth}, {once}")
        try:
            with self._open(request, timeout=TIMEOUT) as answer:
                self.lost = self._gone = False
                text = answer.read().decode()
                return text if answer.headers.get_content_type() == "text/plain" else json.loads(text)
        except urllib.error.HTTPError as error:
            said = _said(error)
            remedy = _remedy(error.code, path, said)
            if error.code == http.client.UNAUTHORIZED:
                said = "it does not take the API key"  # its own words may have the right secret in them
            wait = error.headers["Retry-After"] or ""
            if error.code == http.client.CONFLICT and re.fullmatch("[0-9]{1,2}", wait) and tries > 1:
                time.sleep(int(wait))
                return self.send(path, method, values, tries=tries - 1)
            if 300 <= error.code < 400 and error.headers["Location"]:
                raise _redirected(error, method, path) from error
            raise StepError(f"MAAS answers {error.code} to {method} {path}: {said}", remedy) from error
        except (OSError, http.client.HTTPException) as error:
            self.lost = True
            reason = words(getattr(error, "reason", error))
            remedy = "check the network to it, and what listens there"
            raise StepError(f"MAAS at {self._address} cannot be reached: {reason}", remedy) from error
        except (ValueError, RecursionError) as error:
            raise StepError(f"MAAS answers {method} {path} with something that is not JSON") from error

    def silent(self) -> bool:
        """Whether the last request had no answer, nor one that was sent then to see whether MAAS is there."""
        with self._asking:
            if self.lost and not self._gone:
                self._gone = True
                with suppress(StepError):
                    self.send("spaces/")
        return self.lost


def _said(error: urllib.error.HTTPError) -> str:
    """Return the words of a refusal, as far as they arrive."""
    try:
        with error:
            return plain(private.without(error.read(READ).decode(errors="replace")))[:WORDS]
    except (OSError, http.client.HTTPException) as broken:
        return words(broken)


def _remedy(code: int, path: str, said: str) -> str:
    """Return the remedy for MAAS' words; each text is from MAAS 3.4."""
    if expired := re.search(r"Expired timestamp: given (\d+) and now (\d+)", said):
        apart = abs(int(expired[1]) - int(expired[2]))
        return f"set the clocks: those of this machine and of MAAS are {apart} s apart"
    if code in (http.client.UNAUTHORIZED, http.client.FORBIDDEN):
        return KEY
    if "Ephemeral operating system" in said:
        return "wait until the rack controllers have the image; MAAS shows it under Controllers"
    if code == http.client.CONFLICT and path == "machines/":  # the database holds each BMC once
        return "repeat this; if it stays, see which node or VM host in MAAS has that power address"
    return ""


def _redirected(error: urllib.error.HTTPError, method: str, path: str) -> StepError:
    target = private.without(error.headers["Location"])[:WORDS]
    reason = f"MAAS answers {error.code} to {method} {path}: it redirects to {target}"
    # `…/MAAS/api/2.0/spaces/` is of the MAAS at `…/MAAS`; anything else is a login page or the like.
    base = re.fullmatch(rf"(https?://[\w.:/-]+)/api/2\.0/{re.escape(path)}", target)
    remedy = f"if that is your MAAS, set maas in the site file to {base[1] if base else 'its address'}"
    return StepError(f"{reason}, to which the API key is not sent", remedy)


def every(objects: Objects, kind: str) -> list[Any]:
    """The objects of a kind: `machine`, `subnet`, `rack` or another first word of keys."""
    return [body for key, body in objects.items() if key.startswith(f"{kind} ")]


class Ref(str):
    """Another object, by its key: MAAS' own id may not be known before an earlier step has run."""


Values = dict[str, str | int | list[Ref]]


@dataclass(frozen=True)
class Write:
    """A request ("POST spaces/") with values; `{}` in it is the id of the object `within`.

    MAAS answers with the object as it stored it: what it tells of the values must be what was sent. `after`
    has the keys of what must be there before it, and that it names in another way than by an id.
    """

    key: str
    request: str
    values: Values
    within: str = ""
    after: tuple[str, ...] = ()

    @property
    def needs(self) -> set[str]:
        """The keys of everything that has to be there before it: without that, MAAS would refuse it."""
        lists = (value if isinstance(value, list) else [value] for value in self.values.values())
        return {*self.after, self.within, *(each for each in chain(*lists) if isinstance(each, Ref))}

    def run(self, system: Maas) -> None:
        values = {field: known(value, system.objects) for field, value in self.values.items()}
        method, path = self.request.format(known(Ref(self.within), system.objects)).split(" ")
        answer = system.send(path, method, values)
        if isinstance(answer, dict):
            system.objects[self.key] = answer
            for field, value in values.items():
                took = stored(answer, field)
                if took not in (None, "", value) and not isinstance(took, list):
                    is_now = (
                        "another value" if isinstance(self.values[field], Secret) else f"{took}, not {value}"
                    )
                    raise StepError(f"MAAS took the request, but {field} is {is_now}")


def stored(found: Any, field: str) -> Any:
    """A field of an object, "" when empty: MAAS has null there, and another object whole."""
    beside: Any = found.get("params")  # of bonds and bridges
    value = found.get(field, cast("Objects", beside).get(field) if isinstance(beside, dict) else None)
    return number(value) if isinstance(value, dict) else "" if value is None else value


def number(found: Any) -> Any:
    """MAAS' id of an object; a machine has a system id instead."""
    return found.get("id", found.get("system_id"))


def known(value: Any, objects: Objects) -> Any:
    """A value as MAAS takes it; None for an object that is still to be made."""
    if isinstance(value, list):
        return [known(item, objects) for item in cast("list[Any]", value)]
    if isinstance(value, Secret):
        return value.read()
    return number(objects.get(value, {})) if isinstance(value, Ref) else value
