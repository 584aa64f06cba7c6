# SPDX-License-Identifier: Apache-2.0
"""Who is not let in, and what may go wrong with a call."""

import http.client
import ssl

import pytest
from lab.nvue import Certificate, Fault, Server, Switch
from lab.nvue.caller import Caller
from lab.nvue.faults import KINDS


def test_access(switch: Switch, certificate: Certificate, server: Server) -> None:
    assert Caller(server, certificate, "wrong")("GET", "/system")[0] == 401
    with Server(switch, certificate, password="cumulus") as fresh:
        status, answer = Caller(fresh, certificate, "cumulus")("GET", "/system")
        assert (status, answer["title"]) == (403, "Forbidden")
    server.role = False
    assert Caller(server, certificate)("GET", "/system")[0] == 403


@pytest.mark.parametrize("kind", KINDS)
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


@pytest.mark.parametrize("kind", ["reset", "reset-after"])
def test_a_reset_comes_before_or_after_the_work(call: Caller, server: Server, kind: str) -> None:
    server.inject(Fault(kind))
    with pytest.raises((OSError, http.client.HTTPException)):
        call("POST", "/revision")
    assert len(server.switch.revisions) == (2 if kind == "reset-after" else 1)
