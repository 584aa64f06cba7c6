# SPDX-License-Identifier: Apache-2.0
"""The plainest client of a simulated switch, and the bodies that it sends."""

import base64
import http.client
import json
import ssl
from typing import Any

from lab.nvue import Certificate, Server, Tree

YES = {"ays": "ays_yes"}
APPLY = {"state": "apply", "auto-prompt": YES}
CONFIRM = {"state": "confirm_yes", "auto-prompt": YES}
REFUSE = {"state": "confirm_no", "auto-prompt": YES}
PACE = 3.0


def commit(seconds: float) -> Tree:
    return {**APPLY, "state-controls": {"confirm": seconds}}


class Caller:
    """The plainest client: what is sent and answered is what the test says."""

    def __init__(self, server: Server, certificate: Certificate, password: str = "CumulusLinux!") -> None:
        self.server = server
        self.context = ssl.create_default_context(cadata=certificate.pem)
        self.token = base64.b64encode(f"cumulus:{password}".encode()).decode()

    def __call__(self, method: str, path: str, body: Any = None, timeout: float = 5) -> tuple[int, Any]:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.server.port, context=self.context, timeout=timeout
        )
        try:
            headers = {"Authorization": f"Basic {self.token}", "Content-Type": "application/json"}
            content = None if body is None else json.dumps(body)
            connection.request(method, f"/nvue_v1{path}", content, headers)
            answer = connection.getresponse()
            raw = answer.read()
            return answer.status, json.loads(raw) if raw else None
        finally:
            connection.close()

    def create(self) -> str:
        (name,) = self("POST", "/revision")[1]
        return name.replace("/", "%2F")

    def settle(self, name: str) -> Tree:
        """A revision once the steps of its apply are over."""
        self.server.switch.clock.sleep(4 * PACE)
        return self("GET", f"/revision/{name}")[1]

    def applied(self) -> Tree:
        return self("GET", "/?rev=applied&filled=false")[1]
