# SPDX-License-Identifier: Apache-2.0
"""The HTTP server in front of the services: finds the service of a path, checks the token, records writes."""

import copy
import json
import re
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from lab.openstack import glance, policy
from lab.openstack.answer import PROJECT, Answer
from lab.openstack.glance import Glance
from lab.openstack.keystone import UNAUTHORIZED, Keystone
from lab.openstack.neutron import Neutron
from lab.openstack.nova import Nova

DISCOVERY = re.compile(r"/(identity/v3|compute/v2.1|network|network/v2.0|image|image/v2|image/versions)/?|")
"""Paths that a service answers without a token."""

BROKEN = Answer(500, {"message": "The server is currently unavailable."})


class OpenStack:
    """One region, with a simulated Neutron or another one. `writes` has all
    requests but GETs, also refused ones.

    `faults` answer instead of a service: (method, part of the path, Answer), each used once. From the write
    with the number `breaks` on, every write fails; if `loses` is set, that one is done nevertheless.
    """

    def __init__(self, release="2024.1", neutron=None):
        self.keystone = Keystone()
        self.neutron = neutron or Neutron(release)
        self.nova = Nova(release, self.neutron)
        self.glance = Glance()
        self.nova.images = self.glance.images
        self.writes, self.faults, self.breaks, self.loses = [], [], None, False
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._located()

    def _located(self):
        self.keystone.url = self.nova.url = self.neutron.url = self.glance.url = self.url

    def become(self, other):
        """Go on from where another region is now, with copies of all that its services have."""
        services = (other.keystone, other.neutron, other.nova, other.glance)
        self.keystone, self.neutron, self.nova, self.glance = copy.deepcopy(services)
        self._located()

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method, target, headers, body):
        """The Answer to one request."""
        path, _, query = target.partition("?")
        words = [urllib.parse.unquote(word) for word in path.strip("/").split("/")]
        values = dict(urllib.parse.parse_qsl(query))
        with self._lock:
            if method != "GET" and "auth" not in words:
                self.writes.append((method, path))
            for fault in self.faults:
                if fault[0] == method and fault[1] in path:
                    self.faults.remove(fault)
                    return fault[2]
            broken = method != "GET" and "auth" not in words and self._broken()
            service = {
                "identity": self.keystone,
                "compute": self.nova,
                "network": self.neutron,
                "image": self.glance,
            }.get(words[0])
            if service is None:
                return Answer(404)
            if service is not self.keystone and not DISCOVERY.fullmatch(path):
                project = self.keystone.project_of(headers.get("X-Auth-Token"))
                if project is None:
                    return glance.UNAUTHORIZED if service is self.glance else UNAUTHORIZED
                member = headers.get("X-Auth-Token") in self.keystone.members
                content = json.loads(body) if member and body[:1] == b"{" else {}
                if member and (refused := policy.refusal(method, words, content)):
                    return refused
            else:
                member = False
            if broken and not (self.loses and self.breaks == 0):
                return BROKEN
            answer = service.answer(method, words[1:], values, headers, body)
            answer = policy.shown(words, answer, PROJECT) if member else answer
            return BROKEN if broken else answer

    def _broken(self):
        if self.breaks is None:
            return False
        self.breaks -= 1
        return self.breaks <= 0


def _handler(openstack):
    class Handler(BaseHTTPRequestHandler):
        """Hands requests to the region."""

        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one packet for headers and body: two would wait for an acknowledgement

        def _any(self):
            if self.headers.get("Transfer-Encoding") == "chunked":
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
            else:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = openstack.answer(self.command, self.path, self.headers, body)
            text = answer.text.encode() if answer.text is not None else b""
            if answer.body is not None:
                text = json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header(
                "Content-Type", "application/json" if answer.text is None else "text/html; charset=UTF-8"
            )
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = _any  # noqa: N815 - names of the standard library

        def log_message(self, *_):
            pass

    return Handler
