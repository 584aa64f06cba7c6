# SPDX-License-Identifier: Apache-2.0
"""Who is not let in, and what may go wrong with a call."""

import http.client
import socket
import ssl

import pytest
from lab.nvue import Certificate, Fault, Server, Switch
from lab.nvue.caller import Caller
from lab.nvue.faults import ENDLESS, KINDS


def test_access(switch: Switch, certificate: Certificate, server: Server) -> None:
    assert Caller(server, certificate, "wrong")("GET", "/system")[0] == 401
    with Server(switch, certificate, password="cumulus") as fresh:
        status, answer = Caller(fresh, certificate, "cumulus")("GET", "/system")
        assert (status, answer["title"]) == (403, "Forbidden")
    server.role = False
    assert Caller(server, certificate)("GET", "/system")[0] == 403


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ENDLESS])
def test_each_fault_hits_the_call_that_it_is_for(call: Caller, server: Server, kind: str) -> None:
    server.inject(Fault(kind, at=1))
    assert call("GET", "/system")[0] == 200
    try:
        outcome = str(call("GET", "/system", timeout=0.2 if kind == "hang" else 10)[0])
    except (OSError, http.client.HTTPException) as error:
        outcome = type(error).__name__
    gone = ("RemoteDisconnected", "SSLEOFError", "ConnectionResetError")
    expected = {
        "hang": ("TimeoutError",),
        "302": ("302",),
        "500": ("500",),
        "500-after": ("500",),
        "partial": ("IncompleteRead",),
    }
    assert outcome in expected.get(kind, gone)
    if kind == "certificate":
        with pytest.raises(ssl.SSLCertVerificationError):
            call("GET", "/system")
    assert call("GET", "/system")[0] == 200


@pytest.mark.parametrize("kind", ENDLESS)
def test_an_endless_answer_begins_well_and_does_not_end(
    server: Server, certificate: Certificate, kind: str
) -> None:
    server.inject(Fault(kind))
    server.drip = 0.001
    client = ssl.create_default_context(cadata=certificate.pem)
    with socket.create_connection(("127.0.0.1", server.port), 10) as plain:
        connection = client.wrap_socket(plain, server_hostname="127.0.0.1")
        token = Caller(server, certificate).token
        connection.sendall(f"GET /nvue_v1/system HTTP/1.1\r\nAuthorization: Basic {token}\r\n\r\n".encode())
        got = b""
        while b"hostname" not in got:
            got += connection.recv(4096)
        assert got.startswith(b"HTTP/1.1 200 OK\r\n")
        if kind == "stall":
            connection.settimeout(0.2)
            with pytest.raises(TimeoutError):
                connection.recv(1)
        for _ in range(20 if kind == "flood" else 0):
            assert connection.recv(4096)
        connection.close()


@pytest.mark.parametrize("kind", ["reset", "reset-after"])
def test_a_reset_comes_before_or_after_the_work(call: Caller, server: Server, kind: str) -> None:
    server.inject(Fault(kind))
    with pytest.raises((OSError, http.client.HTTPException)):
        call("POST", "/revision")
    assert len(server.switch.revisions) == (2 if kind == "reset-after" else 1)
