# SPDX-License-Identifier: Apache-2.0
"""The handler with which urllib keeps to the limits of :mod:`converge.bounded`, and what servers answer."""

import math
import re
import ssl
import urllib.request
from functools import partial
from http.client import HTTPResponse
from typing import Any
from urllib.request import Request

from converge.bounded import Connection
from converge.finding import one_line


def plain(text: str) -> str:
    """Return a server's answer in one line, without the HTML that proxies and Glance write into errors."""
    if re.search(r"<html|<!doctype|<br */?>", text, re.IGNORECASE):
        text = re.sub(r"<[^>]*>", " ", text)
    return " ".join(one_line(text).split())


class Bounded(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Opens http and https URLs, in place of urllib's own handlers.

    The ``timeout`` of an opener's ``open`` is then the time of each request as a whole: a redirect that is
    followed is a request of its own.

    The answer to one request may have ``most`` bytes, and a server has to send something within ``silence``
    seconds.
    """

    def __init__(self, most: int, silence: float = math.inf) -> None:
        self._tls = ssl.create_default_context()
        super().__init__(context=self._tls)
        self._connection: Any = partial(Connection, most=most, silence=silence)

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(self._connection, req)

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(self._connection, context=self._tls), req)
