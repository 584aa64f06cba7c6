# SPDX-License-Identifier: Apache-2.0
"""The limits of converge.bounded for openstacksdk, whose sessions send their requests through an adapter.

One question to the SDK may take many requests: pages of a list, redirects, a new token. They share one limit
of time and of bytes.
"""

import os
import re
import socket
import ssl
from typing import Any, cast
from urllib.parse import urlsplit

import requests
from converge import StepError
from converge.bounded import MIB, LateError, LongError, Meter, Metered
from keystoneauth1.session import TCPKeepAliveAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

SECONDS, MOST = 300.0, 64 * MIB
"""For one question, with all its answers."""
UPLOAD = 1e6
"""Bytes of a file for which a service has one more second."""
BUDGET = Meter("the cloud", SECONDS, MOST)
"""The bytes and the time that are left for the current question."""


class _Plain(HTTPConnection):
    """A connection whose socket keeps to the budget, from the moment in which there is one."""

    _metered: Metered | None = None

    @property
    def sock(self) -> Any:
        return self._metered

    @sock.setter
    def sock(self, value: socket.socket | None) -> None:
        self._metered = None if value is None else Metered(value, BUDGET)

    def _new_conn(self) -> socket.socket:
        made = super()._new_conn()
        made.settimeout(BUDGET.left())  # for the handshake of TLS as a whole
        return made


class _Tls(_Plain, HTTPSConnection):
    pass


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = cast("Any", _Plain)


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = cast("Any", _Tls)


POOLS = {"http": _PlainPool, "https": _TlsPool}


class Adapter(TCPKeepAliveAdapter):
    """Sends within the budget, and takes no compressed answer, which may be a thousand times as large.

    What is not encrypted goes to the service itself: a proxy would read password and token.
    """

    def init_poolmanager(self, *arguments: Any, **named: Any) -> None:
        super().init_poolmanager(*arguments, **named)
        cast("Any", self).poolmanager.pool_classes_by_scheme = POOLS

    def proxy_manager_for(self, *arguments: Any, **named: Any) -> Any:
        manager = cast("Any", super()).proxy_manager_for(*arguments, **named)
        manager.pool_classes_by_scheme = POOLS
        return manager

    def send(self, request: requests.PreparedRequest, **named: Any) -> requests.Response:
        BUDGET.count(0)  # the SDK goes on after some failures
        BUDGET.peer = urlsplit(request.url or "").netloc
        request.headers["Accept-Encoding"] = "identity"
        named["timeout"] = BUDGET.left()
        if (request.url or "").startswith("http://"):
            named["proxies"] = {}
        answer: requests.Response = cast("Any", super()).send(request, **named)
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            answer.close()
            raise LongError(f"{BUDGET.peer} compresses its answer, which nobody asked it to do")
        return answer


def check(cacert: str) -> None:
    """Whether a file has certificates.

    Raises:
        StepError: it has none.

    """
    try:
        ssl.create_default_context(cafile=cacert)
    except OSError as error:  # also ssl.SSLError
        why = error.strerror or str(error)
        raise StepError(f"--cacert {cacert} has no certificate that can be read: {why}") from None


_REASON = re.compile(r"\[SSL[^\]]*\] (?:certificate verify failed: )?(.+?)\.? \(_ssl")
"""OpenSSL's words in an error of Python's, in one of requests, in one of keystoneauth."""
_TLS = (
    (
        ("wrong version number", "record layer failure"),
        "does not speak TLS at that address",
        "write http:// in auth_url, or the port that has HTTPS",
    ),
    (
        ("is not valid for",),
        "has a certificate for other names",
        "use a name or address that the certificate has, in auth_url and in the catalog: "
        "openstack endpoint list",
    ),
    (
        ("has expired", "not yet valid"),
        "has a certificate that is not valid now",
        "have it renewed, and compare the clocks of both hosts",
    ),
    (
        ("",),
        "has a certificate that is not trusted",
        "give its CA as --cacert FILE, or as cacert in clouds.yaml, or "
        "run: pipx run tox -e acceptance -- openrc --cloud NAME",
    ),
)


def untrusted(error: str) -> tuple[str, str, str]:
    """Return the fault of a cloud's TLS: in our words, in OpenSSL's, and the remedy."""
    found = _REASON.search(error)
    reason = found[1] if found else ""
    return next(
        (words, reason, remedy) for said, words, remedy in _TLS if any(each in reason for each in said)
    )


def trusted(verify: bool | str | None) -> bool | str | None:
    """The system's CAs where nothing else is given: requests has a list of its own, without a site's CA."""
    given = any(os.environ.get(name) for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"))
    system = ssl.get_default_verify_paths()
    return (system.cafile or system.capath or verify) if verify is True and not given else verify


def begin(upload: int = 0) -> None:
    """Begin a question; with the bytes of the file that it sends."""
    BUDGET.seconds = SECONDS + upload / UPLOAD
    BUDGET.most = MOST
    BUDGET.begin()


def limit_behind(error: BaseException | None) -> OSError | None:
    """The limit that was reached, if an error of the SDK comes from one."""
    while error is not None:
        if isinstance(error, LateError | LongError):
            return error
        if isinstance(error, TimeoutError) and error.errno is None:  # while it connects, or in its handshake
            return LateError(f"timed out: {BUDGET.peer} does not answer within {BUDGET.seconds:g} s", 0)
        error = error.__cause__ or error.__context__
    return None
