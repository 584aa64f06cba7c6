# SPDX-License-Identifier: Apache-2.0
"""A Vault with Vault's rules: initialised once, sealed until enough keys are given, tokens for the root.

Each answer is as a real Vault 1.8.12 gave it: tests/recorded/vault/answers.yaml.
"""

import base64
import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

SHARES, THRESHOLD = 5, 3
BYTES = 33
"""Of a key; the last one tells the keys of a Vault apart."""
KEYS = tuple(f"{number:02x}" * BYTES for number in range(1, SHARES + 1))
ROOT = "s.root"
TIME = re.compile(r"\d+[smh]")


class Answer(BaseHTTPRequestHandler):
    """One request; `given` of the server are the keys so far, `open` that they were enough, `broken` that it
    does not initialise.

    `threshold` is how many keys unseal it: as whoever initialised it chose.
    """

    def handle_any(self):
        text = self.rfile.read(int(self.headers["Content-Length"] or 0))
        status, said = self.answer(self.path.removeprefix("/v1/"), json.loads(text or "{}"))
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
            case "sys/init":
                return self._init(body)
            case "sys/seal-status":
                return 200, self._seal()
            case "sys/unseal":
                return self._unseal(body)
            case _ if not state.open:
                return _refused(503, "Vault is sealed")
            case _ if not self.headers["X-Vault-Token"]:
                return _refused(400, "missing client token")
            case _ if self.headers["X-Vault-Token"] != ROOT:
                return _refused(403, "permission denied")
            case "auth/token/create" if not TIME.fullmatch(body["ttl"]):
                return _refused(400, f'strconv.ParseInt: parsing "{body["ttl"]}": invalid syntax')
            case "auth/token/create":
                return 200, _token(body["ttl"])
        return _refused(404, "1 error occurred:\n\t* unsupported path\n\n")

    def _init(self, body):
        state = self.server
        if state.broken:
            return _refused(503, "restarting")
        if state.initialised:
            return _refused(400, "Vault is already initialized")
        for field in ("secret_shares", "secret_threshold"):
            if isinstance(body.get(field), str):
                why = f"json: cannot unmarshal string into Go struct field InitRequest.{field} of type int"
                return _refused(400, f"failed to parse JSON input: {why}")
        shares, threshold = (body.get(field, 0) for field in ("secret_shares", "secret_threshold"))
        if shares < 1:
            return _refused(400, f"{SEAL}: shares must be at least one")
        if threshold > shares:
            return _refused(400, f"{SEAL}: threshold cannot be larger than shares")
        if shares > 1 and threshold == 1:
            return _refused(400, f"{SEAL}: threshold must be greater than one for multiple shares")
        assert shares == SHARES
        state.initialised, state.threshold = True, threshold
        in_base64 = [base64.b64encode(bytes.fromhex(key)).decode() for key in KEYS]
        return 200, {"keys": [*KEYS], "keys_base64": in_base64, "root_token": ROOT}

    def _unseal(self, body):
        """Vault takes any key, and finds out what they are worth when it has as many as it needs."""
        state, key = self.server, body.get("key", "")
        if not state.initialised:
            return _refused(400, "Vault is not initialized")
        if body.get("reset"):
            state.given.clear()
            return 200, self._seal()
        if not key:
            return _refused(400, "'key' must be specified in request body as JSON, or 'reset' set to true")
        if not re.fullmatch(r"([0-9a-f]{2}){2,}", key):
            return _refused(400, "'key' must be a valid hex or base64 string")
        if len(key) > 2 * BYTES:
            return _refused(400, f"invalid key: key is longer than maximum {BYTES} bytes")
        if not state.open:
            state.given.add(key)
            if len(state.given) >= state.threshold:
                enough = state.given <= {*KEYS}
                state.used, state.given = state.given, set()
                if not enough:
                    why = "failed to decrypt keys from storage: cipher: message authentication failed"
                    return _refused(500, f"unable to retrieve stored keys: {why}")
                state.open = True
        return 200, self._seal()

    def _seal(self):
        state = self.server
        made = {"cluster_name": "vault-cluster-1", "cluster_id": "c1"} if state.open else {}
        return {
            "type": "shamir",
            "initialized": state.initialised,
            "sealed": not state.open,
            "t": state.threshold if state.initialised else 0,
            "n": SHARES if state.initialised else 0,
            "progress": len(state.given),
            "nonce": "n1" if state.given else "",
            "version": "1.8.12",
            "migration": False,
            **made,
            "recovery_seal": False,
        }

    def log_message(self, *_):
        pass


SEAL = "invalid seal configuration"


def _refused(status, why):
    return status, {"errors": [why]}


def _token(ttl):
    auth = {
        "client_token": "short-lived",
        "accessor": "a1",
        "policies": ["root"],
        "token_policies": ["root"],
        "metadata": None,
        "lease_duration": int(ttl[:-1]) * {"s": 1, "m": 60, "h": 3600}[ttl[-1]],
        "renewable": True,
        "entity_id": "",
        "token_type": "service",
        "orphan": False,
    }
    rest = dict.fromkeys(("data", "wrap_info", "warnings"))
    return {"request_id": "r1", "lease_id": "", "renewable": False, "lease_duration": 0, **rest, "auth": auth}


Answer.do_POST = Answer.do_GET = Answer.handle_any


@contextmanager
def serving(context=None):
    """A new Vault on a port of this machine, by HTTPS with a context."""
    server = HTTPServer(("127.0.0.1", 0), Answer)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.threshold = THRESHOLD
    server.given, server.used = set(), set()
    server.initialised = server.open = server.broken = False
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
