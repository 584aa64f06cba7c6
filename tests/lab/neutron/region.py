# SPDX-License-Identifier: Apache-2.0
"""The real Neutron in the simulated OpenStack: its identity, and what Nova and ovn-controller do with ports.

`lab.openstack.http` sends it the requests below /network once Keystone's token is checked; it passes them on
with the identity that Keystone's middleware would add. Statuses, headers and bodies are Neutron's own.
"""

import http.client
import json
import urllib.parse

from lab.neutron.configuration import YOGA
from lab.openstack.answer import PROJECT, Answer

IDENTITY = {
    "X-Identity-Status": "Confirmed",
    "X-User-Id": "a" * 32,
    "X-User-Name": "admin",
    "X-Project-Id": PROJECT,
    "X-Project-Name": "admin",
    "X-Roles": "admin,manager,member,reader",
}
"""The operator's identity as Keystone's middleware passes it to Neutron."""
NOVA = {**IDENTITY, "X-User-Id": "c" * 32, "X-User-Name": "nova", "X-Roles": "admin,service"}
OTHER = {**IDENTITY, "X-Project-Id": "f" * 32, "X-Project-Name": "other"}
"""An administrator of another project."""


class RealNeutron:
    """A Neutron in `services`, with the policies of a release: its own, or on 2024.1 those of `yoga`."""

    def __init__(self, services, release):
        self.services, self.url = services, ""
        services.policy(YOGA if release == "yoga" else "")

    def answer(self, method, words, values, _headers, body):
        path = "/" + "/".join(map(urllib.parse.quote, words))
        status, text = self._send(method, f"{path}?{urllib.parse.urlencode(values)}", IDENTITY, body)
        # Links point to the front.
        text = text.replace(f"http://127.0.0.1:{self.services.port}/", f"{self.url}/network/")
        return Answer(status, json.loads(text) if text else None)

    def ask(self, method, path, content=None, identity=IDENTITY):
        """Return Neutron's answer to somebody; a refusal is an error of the test."""
        status, text = self._send(method, f"/v2.0/{path}", identity, json.dumps(content) if content else None)
        if status >= 400:
            raise AssertionError(f"{method} {path}: {status} {text}")
        return json.loads(text) if text else None

    def _send(self, method, path, identity, body):
        self.services.processes.check()
        connection = http.client.HTTPConnection("127.0.0.1", self.services.port, timeout=300)
        try:
            connection.request(method, path, body or None, {**identity, "Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def all(self, collection, **values):
        """A collection's objects in every project."""
        found = self.ask("GET", f"{collection}?{urllib.parse.urlencode(values)}")
        return found[collection.replace("-", "_")]

    def quota(self, **limits):
        """Limit what the operator's project may have; without limits, Neutron's own ones."""
        self.ask("PUT", f"quotas/{PROJECT}", {"quota": limits}) if limits else self.ask(
            "DELETE", f"quotas/{PROJECT}"
        )

    def port(self, number):
        found = self.all("ports", id=number)
        return found[0] if found else None

    def ports_of(self, server):
        return self.all("ports", device_id=server)

    def bind(self, number, values):
        return self.ask("PUT", f"ports/{number}", {"port": values}, NOVA)["port"]

    def unbind(self, number, profile):
        taken = {"device_id": "", "device_owner": "", "binding:host_id": "", "binding:profile": profile}
        self.services.unplug(number)
        self.bind(number, taken)

    def plug(self, number, host):
        self.services.plug(number, host)
