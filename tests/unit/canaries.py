# SPDX-License-Identifier: Apache-2.0
"""A host with secrets in every place that a charm reads."""

import base64
import json
import zlib
from collections.abc import Callable
from typing import Any

from hostnic.system import CommandError, Link
from lab.modelled import FakeHost

HOST, DOMAIN = "rack7-canary", "rack7-canary.customer.example"
SERIAL, CARD = "SN-CANARY-99", "MT2015X01234"
MAC, IPV4, IPV6, WORD = "ec:0d:9a:ca:fe:42", "198.51.100.77", "2001:db8:77::1234", "hunter2-canary"
ANYWHERE = f"{DOMAIN} {HOST} {SERIAL} {CARD} {MAC} {IPV4} {IPV6} {MAC.upper()}"
"""The words that may turn up anywhere."""
WRITTEN = f"{ANYWHERE} {WORD} {MAC.replace(':', '')}"
"""The words of people and other programs in files; the kernel's attributes have no words of people."""
SECRETS = (HOST, DOMAIN, "customer", SERIAL, CARD, MAC, IPV4, IPV6, WORD, MAC.replace(":", ""))


class Canaries(FakeHost):
    """Hands out one text with the secrets behind it; its links have their MAC address.

    Attributes:
        answered: each file and command that was read.
        place: the one whose text has the secrets; None for none.

    """

    place: str | None = None

    def plant(self) -> "Canaries":
        """From now on."""
        self.answered: dict[str, None] = {}
        self.disk.install("/proc/sys/kernel/hostname", f"{DOMAIN}\n".encode(), 0o444)
        self.disk.install("/sys/class/dmi/id/product_serial", f"{SERIAL}\n".encode(), 0o400)
        own_read, own_links, own_query = self.files.read, self.links.all, self.query

        def read(path: str) -> str:
            text = own_read(path)
            self.answered[path] = None
            secrets = ANYWHERE if path.startswith(("/sys/", "/proc/")) else WRITTEN
            return f"{text}\n{secrets}\n" if path == self.place else text

        def links() -> list[Link]:
            return [link._replace(mac=MAC, permanent_mac=MAC, partner_mac=MAC) for link in own_links()]

        def query(argv: Any, timeout: float = 60.0) -> str:
            place = " ".join(argv)
            self.answered[place] = None
            secrets = WRITTEN if place == self.place else ""
            try:
                return f"{own_query(argv, timeout)}{secrets}\n"
            except CommandError as error:
                reason = f"{error.reason} {ANYWHERE if secrets else ''}"
                raise CommandError(argv, reason, 1, f"{error.stdout}\n{secrets}", secrets) from None

        self.files.read, self.links.all, self.query = read, links, query  # type: ignore[method-assign]
        return self


def leaks(host: FakeHost, take: Callable[[], str]) -> tuple[list[str], dict[str, list[str]]]:
    """The places that a capture reads; and of those whose secrets are in the capture, which.

    One place at a time has them: a host that is full of them is hardly read.
    """
    assert isinstance(host, Canaries)
    host.plant()
    take()
    found: dict[str, list[str]] = {}
    own = ("/proc/sys/kernel/hostname", "/sys/class/dmi/id/product_serial")
    places = [place for place in host.answered if place not in own]
    for place in places:
        host.place = place
        if kept := leaked(take()):
            found[place] = kept
    return places, found


def leaked(capture: str) -> list[str]:
    """The secrets that a capture has."""
    text = zlib.decompress(base64.b64decode(capture.partition(":")[2])).decode().lower()
    assert json.loads(text)["answers"]
    return [secret for secret in SECRETS if secret.lower() in text]
