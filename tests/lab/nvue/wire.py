# SPDX-License-Identifier: Apache-2.0
"""A connection to a simulated switch without sockets: trouble is what http.client makes of it."""

import http.client
import ssl
from collections.abc import Mapping

from lab.nvue.rest import Reply, Rest


class Wire:
    """One connection, and the answer to its last request; the methods are http.client's.

    A client that is kept waiting gives up after ``timeout`` seconds of the switch's clock.
    """

    def __init__(self, rest: Rest, timeout: float) -> None:
        if rest.exchanged():
            refused = ssl.SSLCertVerificationError(1, "certificate verify failed")
            refused.verify_message = "self-signed certificate"
            raise refused
        self._rest, self._timeout = rest, timeout
        self._reply = Reply()

    @property
    def status(self) -> int:
        """Of the answer."""
        return self._reply.status

    def request(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> None:
        self._reply = self._rest.serve(method, url, headers.get("Authorization", ""), body or b"")

    def getresponse(self) -> "Wire":
        if self._reply.trouble in ("hang", "drip", "stall"):
            self._rest.switch.clock.sleep(self._timeout)
            raise TimeoutError("timed out")
        if self._reply.trouble == "reset":
            raise http.client.RemoteDisconnected("Remote end closed connection without response")
        return self

    def read(self) -> bytes:
        content = self._reply.content
        if self._reply.trouble == "partial":
            got = content[: len(content) // 2]
            raise http.client.IncompleteRead(got, len(content) - len(got))
        if self._reply.trouble == "flood":
            raise OSError("the answer is too long")
        return content

    def close(self) -> None:
        """Nothing is kept open."""
