# SPDX-License-Identifier: Apache-2.0
"""How the integration test opens Vault, against a server that keeps Vault's rules (sys/init, sys/unseal)."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from integration import vault

KEYS = [f"key{number}" for number in range(vault.SHARES)]


class _Vault(BaseHTTPRequestHandler):
    def handle_post(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, said = self.answer(self.path.removeprefix("/v1/"), body)
        text = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def answer(self, path, body):
        state = self.server
        match path:
            case "sys/init" if not state.initialised:
                state.initialised = True
                assert (body["secret_shares"], body["secret_threshold"]) == (5, 3)
                return 200, {"keys": KEYS, "root_token": "root"}
            case "sys/init":
                return 400, {"errors": ["Vault is already initialized"]}
            case "sys/unseal":
                state.given.add(body["key"])
                return 200, {"sealed": len(state.given) < vault.THRESHOLD}
            case "auth/token/create" if len(state.given) < vault.THRESHOLD:
                return 503, {"errors": ["Vault is sealed"]}
            case "auth/token/create" if self.headers["X-Vault-Token"] == "root" and body["ttl"] == "10m":
                return 200, {"auth": {"client_token": "short-lived"}}
        return 403, {"errors": ["permission denied"]}

    def log_message(self, *_):
        pass


_Vault.do_POST = _Vault.handle_post


@pytest.fixture
def server(monkeypatch):
    server = HTTPServer(("127.0.0.1", 0), _Vault)
    server.given, server.initialised = set(), False
    monkeypatch.setattr(vault, "PORT", server.server_port)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_new_vault_is_opened_and_gives_a_token_of_short_life(server):
    assert vault.open_up("127.0.0.1") == (KEYS, "short-lived")
    assert len(server.given) == vault.THRESHOLD


def test_after_a_reboot_the_kept_keys_unseal_it(server):
    keys, _ = vault.open_up("127.0.0.1")
    server.given.clear()
    vault.unseal("127.0.0.1", keys)
    assert len(server.given) == vault.THRESHOLD


def test_a_vault_that_somebody_else_initialised_is_said(server):
    server.initialised = True
    with pytest.raises(AssertionError, match="already initialized"):
        vault.open_up("127.0.0.1")
