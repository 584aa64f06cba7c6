# SPDX-License-Identifier: Apache-2.0
"""A Vault with Vault's rules: initialised once, sealed until enough keys are given, tokens for the root.

Source: hashicorp/vault, website/content/api-docs/system/{init,unseal}.mdx and auth/token.mdx.
"""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

SHARES, THRESHOLD = 5, 3
KEYS = tuple(f"key{number}" for number in range(SHARES))


class Answer(BaseHTTPRequestHandler):
    """One request; `given` of the server are the keys so far, `broken` that it does not initialise.

    `threshold` is how many keys unseal it: as whoever initialised it chose.
    """

    def handle_any(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or "{}")
        status, said = self.answer(self.path.removeprefix("/v1/"), body)
        text = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def answer(self, path, body):
        state = self.server
        match path:
            case "sys/init" if self.command == "GET":
                return 200, {"initialized": state.initialised}
            case "sys/init" if state.broken:
                return 503, {"errors": ["restarting"]}
            case "sys/init" if not state.initialised:
                state.initialised = True
                state.threshold = body["secret_threshold"]
                assert body["secret_shares"] == SHARES
                return 200, {"keys": [*KEYS], "root_token": "root"}
            case "sys/init":
                return 400, {"errors": ["Vault is already initialized"]}
            case "sys/unseal" if body["key"] not in KEYS:
                return 400, {"errors": ["failed to unseal: invalid key"]}
            case "sys/unseal":
                state.given.add(body["key"])
                progress = len(state.given) % state.threshold
                return 200, {
                    "sealed": len(state.given) < state.threshold,
                    "t": state.threshold,
                    "progress": progress,
                }
            case "auth/token/create" if len(state.given) < state.threshold:
                return 503, {"errors": ["Vault is sealed"]}
            case "auth/token/create" if self.headers["X-Vault-Token"] == "root" and body["ttl"] == "10m":
                return 200, {"auth": {"client_token": "short-lived"}}
        return 403, {"errors": ["permission denied"]}

    def log_message(self, *_):
        pass


Answer.do_POST = Answer.do_GET = Answer.handle_any


@contextmanager
def serving(context=None):
    """A new Vault on a port of this machine, by HTTPS with a context."""
    server = HTTPServer(("127.0.0.1", 0), Answer)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.threshold = THRESHOLD
    server.given, server.initialised, server.broken = set(), False, False
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
