# SPDX-License-Identifier: Apache-2.0
"""A survey ends, whatever one of the switches does, and names that switch."""

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from converge import Severity
from lab.nvue import Certificate, Fault, Server, Wire
from rest.answers import MAX_VALUES, read
from rest.client import Nvue
from rest.connection import LOOK_S, MOST, Access, Credentials, SwitchError
from rest.fleet import Fleet
from rest.history import earlier
from unit.cumulus_fabric.fabrics import fabric
from unit.cumulus_fabric.online.site import PASSWORD, USER, InTurn, Rack, rack

ROOT = Path(__file__).parents[4]
BAD = "Leaf0-1"


def found(made: Rack) -> tuple[str, str]:
    """Return the survey's finding on the only switch that it could not read."""
    survey = made.site.survey(state=True)
    assert survey.observed.switches.keys() == made.servers.keys() - {BAD}
    blocked = [each for each in survey.plan.findings if each.severity is Severity.BLOCKED]
    (finding,) = blocked
    assert finding.subject == BAD
    return finding.what, finding.remedy


@pytest.mark.parametrize("kind", ["drip", "stall", "flood"])
def test_a_survey_of_six_ends_though_one_never_does(certificate: Certificate, kind: str) -> None:
    with rack(fabric(), certificate, applied=True) as made:
        access = Access(Credentials(USER, PASSWORD), ca=certificate.pem, timeout=5.0, clock=made.clock)
        ports = {name: server.port for name, server in made.servers.items() if isinstance(server, Server)}
        clients = {name: Nvue(name, "127.0.0.1", access, port) for name, port in ports.items()}
        made.site = replace(made.site, fleet=Fleet(clients, clock=made.clock))
        made.servers[BAD].inject(Fault(kind, times=0))
        what, remedy = found(made)
        made.site.fleet.close()
    assert ("sends more than 32 MiB" if kind == "flood" else "no complete answer within 5 s") in what
    assert "check" in remedy


def test_many_slow_answers_do_not_add_up() -> None:
    """Each comes right before its time is over."""
    with rack(fabric(), applied=True, fleet=InTurn) as made:
        made.servers[BAD].latency = 29.0
        began = made.clock.monotonic()
        what, _ = found(made)
        assert what == f"it cannot be read within {LOOK_S:g} s"
        assert LOOK_S < made.clock.monotonic() - began <= LOOK_S + 29


def test_many_refusals_do_not_add_up() -> None:
    with rack(fabric(), applied=True, fleet=InTurn) as made:
        made.servers[BAD].latency = 29.0
        made.servers[BAD].inject(Fault("500", times=0))
        began = made.clock.monotonic()
        assert found(made)[0] == f"it cannot be read within {LOOK_S:g} s"
        assert made.clock.monotonic() - began <= LOOK_S + 29


def test_many_earlier_configurations_do_not_add_up() -> None:
    with rack(fabric(), applied=True, fleet=InTurn) as made:
        server, client = made.servers[BAD], made.site.fleet.switches[BAD]
        server.switch.shown = lambda: {str(number): {"state": "applied"} for number in range(50)}
        now = client.applied()
        server.latency, began = 29.0, made.clock.monotonic()
        with pytest.raises(SwitchError, match=f"it cannot be read within {LOOK_S:g} s"):
            earlier(client, now)
        assert made.clock.monotonic() - began <= LOOK_S + 29


def test_switches_that_are_known_to_be_slow_get_more_time() -> None:
    with rack(fabric(), applied=True, fleet=InTurn) as made:
        access = Access(Credentials(USER, PASSWORD), clock=made.clock, look=10 * LOOK_S)

        def connect(name: str, *_: object) -> Wire:
            return Wire(made.servers[name], access.timeout)

        clients = {name: Nvue(name, "192.0.2.1", access, connect=connect) for name in made.servers}
        made.site = replace(made.site, fleet=InTurn(clients, clock=made.clock))
        made.servers[BAD].latency = 29.0
        assert not made.site.survey(state=True).observed.errors


def test_a_survey_that_was_late_does_not_shorten_the_next() -> None:
    with rack(fabric(), applied=True, fleet=InTurn) as made:
        made.servers[BAD].latency = 29.0
        found(made)
        made.servers[BAD].latency = 0.0
        made.clock.sleep(1000)
        assert not made.site.survey(state=True).plan.steps
        assert made.site.fleet.switches[BAD].applied()


@pytest.mark.parametrize("part", ["[]", "{}", '{"":0}', "0", '""'])
def test_an_answer_of_nothing_but_values_takes_no_hundreds_of_megabytes(part: str) -> None:
    """Python takes some sixty bytes for what may be sent as two."""
    content = ('{"a": [' + ",".join([part] * (2**24 // (len(part) + 1))) + "]}").encode()
    tracemalloc.start()
    with pytest.raises(SwitchError, match="the answer to GET / cannot be read"):
        read("u", "p:1", "GET /", 200, content)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2**20


def test_values_may_be_as_many_as_the_limit() -> None:
    content = json.dumps({"a": ["a,{["] * (MAX_VALUES // 4 - 3)}).encode()
    assert read("u", "p:1", "GET /", 200, content)


def test_the_documents_name_the_limits() -> None:
    security = " ".join((ROOT / "SECURITY.md").read_text().split())
    times = f"`request-timeout`; no request to a switch begins when reading it has taken {LOOK_S:g} s"
    assert f"| an answer of a switch | {MOST >> 20} MiB | {times} |" in security
    page = (ROOT / "docs/how-to/when-the-fabric-fails.md").read_text()
    assert f"sends more than {MOST >> 20} MiB in answer to GET /`" in page
    assert f"it cannot be read within {LOOK_S:g} s`" in page
