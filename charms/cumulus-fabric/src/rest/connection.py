# SPDX-License-Identifier: Apache-2.0
"""A connection to a switch: credentials, certificates, proxy and clock.

The password is only in the header of a request, never in a log, an exception, an argument or an address.
"""

import base64
import hashlib
import hmac
import http.client
import ipaddress
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, cast
from urllib.parse import unquote, urlsplit

from converge import StepError, bounded, words

from rest.identity import Identity

RETRY_DELAYS_S = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each retry."""

LOOK_S = 120.0
"""Seconds after which no further part of a switch is read; a healthy one takes a few for all."""

REST_OFF = (
    "if its REST API is off, see docs/how-to/fabric-day-zero.md; it is off at first on Cumulus Linux 5.5"
)
"""The remedy where nothing listens at the REST API's port."""

MOST = 32 * bounded.MIB
"""Bytes of one answer. 128 ports with 4,094 VLANs each, the most that a switch can have, take 17 MiB."""


class SwitchError(StepError):
    """Why a request failed; ``kind`` is the kind of failure.

    ``unreachable`` may be temporary, and the switch may have done what was asked; with ``slow`` it is still
    at it; with ``refused`` it rejected it; ``certificate``, ``credentials`` and ``proxy`` are for the
    operator to fix.
    """

    def __init__(self, kind: str, reason: str, remedy: str = "", status: int = 0) -> None:
        super().__init__(reason, remedy)
        self.kind = kind
        self.status = status


class Clock(Protocol):
    """The clock for waiting; the module ``time`` is the real one."""

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float, /) -> None: ...


class Response(Protocol):
    """A response, as in http.client."""

    status: int

    def read(self) -> bytes: ...


class Connection(Protocol):
    """The part of http.client's connections that a request needs."""

    def request(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str], /) -> None: ...

    def getresponse(self) -> Response: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Credentials:
    """User and password. Neither ``repr`` nor ``str`` shows the password."""

    user: str
    password: str = field(repr=False)
    # The password that switches have until it is changed there; empty if all have the other one
    previous: str = field(default="", repr=False)

    @property
    def usable(self) -> bool:
        """Whether both are one line of text that HTTP can transport."""
        lines = all(text and text.isprintable() for text in (self.user, self.password))
        return lines and ":" not in self.user and self.previous.isprintable()

    @property
    def header(self) -> str:
        """The value of ``Authorization``."""
        return _basic(self.user, self.password)

    @property
    def headers(self) -> tuple[str, ...]:
        """The values of ``Authorization`` to try, one after the other."""
        return (self.header, *([_basic(self.user, self.previous)] if self.previous else []))


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class Logins(NamedTuple):
    """Who logs in to the switches."""

    default: Credentials
    others: Mapping[str, Credentials] = {}  # by the name of a switch that has others

    def of(self, name: str) -> Credentials:
        """Who logs in to this switch."""
        return self.others.get(name, self.default)


@dataclass(frozen=True)
class Access:
    """How switches are reached."""

    credentials: Credentials  # of a user with access to NVUE
    # PEM of the authorities that may sign the switches' certificates; empty for those of the system
    ca: str = ""
    # By switch name, the SHA-256 of the only certificate that it may present, in hex without colons
    pins: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout: float = 30.0  # seconds for one request, from connecting to the last byte of the answer
    proxy: str = field(default="", repr=False)  # URL of an HTTP proxy, used by CONNECT; empty for none
    no_proxy: str = ""  # hosts, suffixes and subnets that are reached directly, separated by commas
    pauses: Sequence[float] = RETRY_DELAYS_S  # seconds before each retry after a status of 5xx
    clock: Clock = time  # for pauses and timeouts
    # By switch name, those that the switch takes instead
    others: Mapping[str, Credentials] = field(default_factory=dict[str, Credentials])
    identity: Identity | None = None  # for switches that ask their clients for a certificate
    look: float = LOOK_S  # seconds after which no further part of a switch is read


def connect(name: str, address: str, port: int, access: Access) -> Connection:
    """A connection to the switch ``name``, which its first request opens, within the time of that request.

    A request raises ssl.SSLCertVerificationError if no authority of ``access`` signed the certificate, and
    SwitchError if that is not the pinned one.

    Raises SwitchError if the proxy's URL cannot be used.
    """
    return _connection(address, port, access, access.pins.get(name))


def fingerprint(address: str, port: int, access: Access) -> str:
    """The SHA-256 of the certificate that the switch presents, which nobody has checked; sends no request.

    Raises SwitchError if it cannot be reached in the time of a request.
    """
    connection = _connection(address, port, access, pin="")
    try:
        return connection.presented()
    except (OSError, http.client.HTTPException) as error:
        raise unreachable(address, port, error) from None
    finally:
        connection.close()


def unreachable(address: str, port: int, error: Exception) -> SwitchError:
    """The error for a switch to which no connection can be made, or whose connection broke."""
    remedy = REST_OFF if isinstance(error, ConnectionRefusedError) else ""
    return SwitchError("unreachable", f"{place(address, port)}: {words(error)}", remedy)


def place(address: str, port: int) -> str:
    """An address and a port in words; an IPv6 address in brackets."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _connection(address: str, port: int, access: Access, pin: str | None) -> "_Https":
    context = ssl.create_default_context(cadata=access.ca or None)
    if access.identity:
        access.identity.load(context)
    if pin is not None:
        # The certificate itself is compared by _Https, before anything is sent.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    proxy = proxy_for(address, access.proxy, access.no_proxy)
    if proxy and ":" in address:
        # Some versions of http.client ask a proxy for such an address without brackets.
        what = f"{address}: an IPv6 address is not reached through a proxy"
        raise SwitchError("proxy", what, "add it to juju-no-proxy, or give the switch a host name")
    if proxy:
        host, at, headers = _through(proxy)
        connection = _Https(address, pin, host, at, access, context)
        connection.set_tunnel(address, port, headers)
    else:
        connection = _Https(address, pin, address, port, access, context)
    return connection


class _Https(bounded.Connection):
    """A connection to the switch at ``address`` that checks the pinned certificate whenever it connects.

    http.client reconnects by itself before a request if the switch has sent ``Connection: close``.
    """

    def __init__(
        self, address: str, pin: str | None, host: str, port: int, access: Access, context: ssl.SSLContext
    ) -> None:
        super().__init__(host, port, access.timeout, most=MOST, context=context)
        self._address, self._pin = address, pin

    def connect(self) -> None:
        """Connect, through the proxy's tunnel if there is one.

        Raises SwitchError if the certificate is not the pinned one; nothing was sent to the switch.
        """
        presented = self.presented()
        if self._pin is not None and not hmac.compare_digest(presented, self._pin):
            self.close()
            raise refused(self._address, "it is not the pinned one")

    def presented(self) -> str:
        """Connect, and return the SHA-256 of the certificate at the other end."""
        super().connect()
        certificate: bytes | None = cast("Any", self.sock).getpeercert(binary_form=True)
        return hashlib.sha256(certificate or b"").hexdigest()


def refused(address: str, said: str) -> SwitchError:
    """The error for a certificate that is not trusted."""
    remedy = "set ca-certificate to the authority that signed it; or pin it with pinned-certificates"
    return SwitchError("certificate", f"the certificate of {address} is refused: {said}", remedy)


def proxy_for(host: str, proxy: str, no_proxy: str) -> str:
    """The proxy for a host, or nothing. ``no_proxy`` has names, domains and, as in Juju, subnets."""
    passed = any(_matches(item.strip().lower(), host.lower()) for item in no_proxy.split(","))
    return "" if passed else proxy


def _matches(item: str, host: str) -> bool:
    if item == "*":
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(item, strict=False)
    except ValueError:
        domain = item.lstrip(".")
        return bool(domain) and (host == domain or host.endswith(f".{domain}"))


def _through(proxy: str) -> tuple[str, int, dict[str, str]]:
    """Host, port and headers of a proxy. CONNECT is sent over plain TCP, whatever the URL's scheme.

    Raises SwitchError if its URL cannot be used. The message does not repeat it: it may hold a password.
    """
    remedy = "set it to a URL such as http://192.0.2.1:3128"
    unusable = SwitchError("proxy", "option juju-https-proxy: is not the URL of an HTTP proxy", remedy)
    try:
        parts = urlsplit(proxy)
        host, port = parts.hostname or "", parts.port or 3128
        host.encode("idna")  # as the socket does: refuses invalid host names
    except ValueError:
        raise unusable from None
    if not host or parts.scheme not in ("http", "https"):
        raise unusable
    if parts.username is None:
        return host, port, {}
    if parts.scheme == "https":
        # Its password needs TLS to the proxy, and the tunnel TLS within TLS, which http.client lacks.
        what = "option juju-https-proxy: a proxy with a password is not supported at an https:// URL"
        remedy = "give a proxy without a password; or its http:// URL, which sends that password unencrypted"
        raise SwitchError("proxy", what, remedy)
    user = Credentials(unquote(parts.username), unquote(parts.password or ""))
    return host, port, {"Proxy-Authorization": user.header}
