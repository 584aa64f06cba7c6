# SPDX-License-Identifier: Apache-2.0
"""The client of one switch: what it sends, what it repeats, and what it says of trouble."""

import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from lab.nvue import Fault, Server, SimulatedTime, Wire
from lab.nvue.faults import ENDLESS, KINDS
from rest.client import Nvue, Progress
from rest.connection import MOST, RETRY_DELAYS_S, Access, Credentials, SwitchError
from rest.fleet import Fleet
from unit.cumulus_fabric.online.site import PASSWORD


@pytest.fixture
def nvue(server: Server, access: Access) -> Iterator[Nvue]:
    client = Nvue("leaf", "127.0.0.1", access, server.port)
    yield client
    client.close()


def test_one_connection_serves_many_requests(nvue: Nvue, server: Server) -> None:
    for _ in range(5):
        nvue.applied()
    assert server.connections == 1


def test_a_revision_with_slashes_goes_all_the_way(nvue: Nvue, time: SimulatedTime) -> None:
    revision = nvue.create()
    assert "/" in revision
    nvue.patch(revision, {"system": {"hostname": "new"}})
    assert nvue.difference(revision) == {"system": {"hostname": "new"}}
    nvue.apply(revision)
    assert nvue.progress(revision) == Progress("apply")
    time.sleep(4)
    assert nvue.progress(revision).applied
    assert nvue.applied()["system"]["hostname"] == "new"
    assert nvue.revisions()[0] == revision


@pytest.mark.parametrize("limit", [1, 3])
def test_switches_are_contacted_in_parallel_up_to_a_limit(access: Access, limit: int) -> None:
    fleet = Fleet({str(number): Nvue(str(number), "", access) for number in range(3 * limit)}, limit)
    together, now, most = threading.Barrier(limit), [0], [0]

    def work(switch: Nvue) -> str:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        together.wait(30)  # passes when as many as the limit are here at once
        with lock:
            now[0] -= 1
        return switch.name

    lock = threading.Lock()
    done, failed = fleet.each(fleet.switches, work)
    assert (list(done), failed, most) == (list(fleet.switches), {}, [limit])


def test_revisions_are_listed_by_their_time_whoever_made_them(nvue: Nvue, server: Server) -> None:
    slashed = ["changeset/zoe/2026-01-02_10.00.00_AAAA", "changeset/ann/2026-01-03_09.00.00_AAAA"]
    failed = {"changeset/ann/2026-01-04_09.00.00_AAAA": {"state": "apply_fail"}, "4": {"state": "pending"}}
    huge = "9" * 5000  # more digits than Python reads as a number
    names = (*slashed, "startup", "10", "9", huge, "applied", "empty", "pending")
    server.switch.shown = lambda: failed | {name: {"state": "applied_and_saved"} for name in names}
    assert nvue.revisions() == [huge, "10", "9", *reversed(slashed)]


def test_a_missing_node_is_empty(nvue: Nvue) -> None:
    assert nvue.get("/qos/roce") == {}


@pytest.mark.parametrize("times", [1, 2, len(RETRY_DELAYS_S)])
def test_a_request_is_retried_after_5xx(nvue: Nvue, server: Server, time: SimulatedTime, times: int) -> None:
    server.inject(Fault("500", times=times))
    assert nvue.applied()
    assert (len(server.calls), time.monotonic()) == (times + 1, sum(RETRY_DELAYS_S[:times]))


def test_the_last_failed_attempt_is_reported(nvue: Nvue, server: Server) -> None:
    server.inject(Fault("500", times=0))
    with pytest.raises(SwitchError, match="answers 500 to GET /: nvued is busy") as failed:
        nvue.applied()
    assert (failed.value.kind, len(server.calls)) == ("unreachable", 1 + len(RETRY_DELAYS_S))


@pytest.mark.parametrize("call", ["read", "create"])
def test_a_redirect_is_an_error_and_is_not_followed(nvue: Nvue, server: Server, call: str) -> None:
    """Its answer may well be JSON; an empty object would pass for a switch without configuration."""
    server.inject(Fault("302"))
    place = f"127.0.0.1:{server.port}"
    what = "GET /" if call == "read" else "POST /revision"
    with pytest.raises(SwitchError, match=f"^the switch answers 302 to {what}: Found$") as failed:
        nvue.applied() if call == "read" else nvue.create()
    assert (
        failed.value.remedy
        == f"check what listens at {place}; NVUE sends no redirects, and the charm follows none"
    )
    assert len(server.calls) == 1


@pytest.mark.parametrize("kind", ["reset", "partial"])
def test_nothing_but_5xx_is_retried(nvue: Nvue, server: Server, kind: str) -> None:
    server.inject(Fault(kind))
    with pytest.raises(SwitchError) as failed:
        nvue.create()
    assert (failed.value.kind, len(server.calls)) == ("unreachable", 1)


def test_a_switch_that_hangs_is_given_up(server: Server, access: Access) -> None:
    """In real time: the socket's own time-out, long enough for a slow machine to shake hands in."""
    server.inject(Fault("hang"))
    client = Nvue("leaf", "127.0.0.1", replace(access, timeout=3.0), server.port)
    with pytest.raises(SwitchError, match="no answer within 3 s to POST /revision") as failed:
        client.create()
    assert (failed.value.kind, len(server.calls)) == ("unreachable", 1)


@pytest.mark.parametrize("kind", ["drip", "stall"])
def test_a_switch_has_no_more_time_for_its_bytes_than_for_its_answer(
    server: Server, access: Access, kind: str
) -> None:
    server.inject(Fault(kind))
    server.drip = 0.2
    client = Nvue("leaf", "127.0.0.1", replace(access, timeout=3.0), server.port)
    with pytest.raises(SwitchError, match=r"^no complete answer within 3 s to GET /system$") as failed:
        client.get("/system")
    assert (failed.value.kind, len(server.calls)) == ("unreachable", 1)
    assert "request-timeout" in failed.value.remedy
    assert client.get("/system"), "the next request has a connection of its own"
    client.close()


def test_a_switch_that_floods_is_left_at_the_limit(nvue: Nvue, server: Server) -> None:
    server.inject(Fault("flood"))
    place = f"127.0.0.1:{server.port}"
    with pytest.raises(SwitchError, match=f"^{place} sends more than 32 MiB in answer to GET /$") as failed:
        nvue.applied()
    assert failed.value.kind == "unreachable"
    assert failed.value.remedy.startswith("check what listens there")
    server.hang(0.2)
    assert server.flooded < MOST + 2**24, "beside what the kernel keeps"


def test_the_largest_answer_that_a_switch_can_have_is_read(nvue: Nvue, server: Server) -> None:
    """Each of 128 ports with each VLAN that there is."""
    vlans = {str(number): {"tag-state": "tagged"} for number in range(1, 4095)}
    ports = {f"swp{number}": {"vlan": vlans} for number in range(1, 129)}
    server.switch.operational = lambda _: {"bridge": {"domain": {"br_default": {"port": ports}}}}
    assert nvue.get("/bridge/domain/br_default/port") == ports


@pytest.mark.parametrize("kind", [each for each in KINDS if each not in ("hang", *ENDLESS)])
def test_a_wire_has_the_troubles_of_a_socket(nvue: Nvue, server: Server, access: Access, kind: str) -> None:
    """It stands for sockets in the tests of faults."""
    wire = Nvue("leaf", "127.0.0.1", access, server.port, lambda *_: Wire(server, access.timeout))
    said: list[str] = []
    for client in (nvue, wire):
        server.inject(Fault(kind, at=1, times=0))
        assert client.applied()
        for _ in range(2):
            with pytest.raises(SwitchError) as failed:
                client.applied()
            said.append(f"{failed.value.kind}: {failed.value.reason}")
    assert said[:2] == said[2:]


def test_an_idle_connection_is_replaced(nvue: Nvue, server: Server, time: SimulatedTime) -> None:
    nvue.applied()
    time.sleep(21)
    nvue.applied()
    assert server.connections == 2


def test_an_apply_is_requested_once_even_after_5xx(nvue: Nvue, server: Server) -> None:
    revision = nvue.create()
    nvue.patch(revision, {"system": {"hostname": "new"}})
    server.inject(Fault("500-after"))
    with pytest.raises(SwitchError):
        nvue.apply(revision, 60)
    assert [call.name for call in server.calls].count("apply") == 1


@pytest.mark.parametrize("waits", ["confirm", "ays"])
def test_what_waits_is_confirmed_in_the_words_for_its_state(
    nvue: Nvue, server: Server, time: SimulatedTime, waits: str
) -> None:
    server.switch.waits = waits
    revision = nvue.create()
    nvue.patch(revision, {"system": {"hostname": "new"}})
    nvue.apply(revision, 60)
    time.sleep(4)
    assert nvue.progress(revision) == Progress(waits)
    nvue.confirm(revision)
    assert nvue.progress(revision).applied
    time.sleep(61)
    assert nvue.applied()["system"]["hostname"] == "new"


@pytest.mark.parametrize("waits", ["confirm", "ays"])
def test_a_late_confirmation_does_not_apply_a_rolled_back_revision(
    nvue: Nvue, server: Server, time: SimulatedTime, waits: str
) -> None:
    server.switch.waits = waits
    revision, before = nvue.create(), nvue.applied()
    nvue.patch(revision, {"system": {"hostname": "new"}})
    nvue.apply(revision, 60)
    time.sleep(64)
    nvue.confirm(revision)
    time.sleep(3)
    assert nvue.progress(revision).failed
    assert nvue.applied() == before


def test_a_refusal_has_the_switchs_words(nvue: Nvue) -> None:
    with pytest.raises(
        SwitchError, match=r"400 to PATCH /: 'yes' is not one of .* - 'qos.roce.enable'"
    ) as failed:
        nvue.patch(nvue.create(), {"qos": {"roce": {"enable": "yes"}}})
    assert failed.value.kind == "refused"


def test_an_invalid_configuration_names_place_and_reason(nvue: Nvue, time: SimulatedTime) -> None:
    revision = nvue.create()
    nvue.patch(
        revision,
        {"router": {"bgp": {"enable": "on"}}, "vrf": {"default": {"router": {"bgp": {"enable": "on"}}}}},
    )
    nvue.apply(revision)
    time.sleep(1)
    seen = nvue.progress(revision)
    assert seen.failed
    assert seen.issues == ("vrf.default.router.bgp: BGP requires autonomous-system to be set",)


ODD: list[Any] = [
    {}, {"state": None}, {"state": "invalid", "transition": None},
    {"state": "invalid", "transition": {"issue": []}},
    {"state": "invalid", "transition": {"issue": {"00000": None}}},
    {"state": "invalid", "transition": {"issue": {"00000": {"data": "x"}}}},
]  # fmt: skip


@pytest.mark.parametrize("answer", ODD)
def test_an_answer_of_another_shape_causes_no_traceback(nvue: Nvue, server: Server, answer: Any) -> None:
    revision = nvue.create()
    server.switch.show = lambda name: answer
    assert nvue.progress(revision).failed is (answer.get("state") == "invalid")


@pytest.mark.parametrize("answer", [[], "text", None, 7])
def test_an_answer_that_is_not_an_object_gets_one_sentence(nvue: Nvue, server: Server, answer: Any) -> None:
    server.switch.create = lambda: answer
    with pytest.raises(SwitchError, match="the answer to POST /revision cannot be read"):
        nvue.create()


@pytest.mark.parametrize(
    ("state", "failed", "applied"),
    [
        ("pending", False, False), ("apply", False, False), ("checking", False, False), ("ays", False, False),
        ("something_new", False, False), ("applied", False, True), ("applied_and_saved", False, True),
        ("saved", False, True), ("previous", False, False),
        ("invalid", True, False), ("ays_fail", True, False), ("apply_fail", True, False),
        ("ignore_fail", True, False), ("confirm", False, False), ("confirm_fail", True, False),
        ("confirm_yes", False, False), ("apply_error", True, False), ("ready_error", True, False),
        ("verify_error", True, False), ("verifying", False, False),
    ],
)  # fmt: skip
def test_states(state: str, failed: bool, applied: bool) -> None:
    assert (Progress(state).failed, Progress(state).applied) == (failed, applied)


def test_the_password_is_nowhere_but_in_the_request(
    server: Server, access: Access, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.password = "another"
    client = Nvue("leaf", "127.0.0.1", access, server.port)
    with pytest.raises(SwitchError) as failed:
        client.applied()
    client.close()
    said = [
        str(failed.value),
        repr(failed.value),
        failed.value.remedy,
        repr(access),
        repr(client),
        caplog.text,
    ]
    said += [repr(replace(access, proxy=f"http://me:{PASSWORD}@192.0.2.1:3128"))]
    assert PASSWORD not in " ".join(said)
    assert access.credentials.header not in " ".join(said)
    assert "the switch refused user cumulus" in said[0]
    assert "in the secret; a switch with its factory password also refuses requests" in said[2]


def test_the_factory_password_is_named_as_the_reason(server: Server, access: Access) -> None:
    server.password = "cumulus"
    new = replace(access, credentials=Credentials("cumulus", "cumulus"))
    client = Nvue("leaf", "127.0.0.1", new, server.port)
    with pytest.raises(SwitchError, match=r"^the default password has not been changed$") as failed:
        client.applied()
    client.close()
    assert failed.value.kind == "credentials"
    assert failed.value.remedy.startswith("log in to the switch once and change it")


def test_a_403_that_does_not_name_the_password_may_be_either(nvue: Nvue, server: Server) -> None:
    server.role = False
    either = (
        "user cumulus has no read access: no role grants it, or the default password has not been changed"
    )
    with pytest.raises(SwitchError, match=f"^{either}$") as failed:
        nvue.applied()
    assert failed.value.kind == "credentials"
    assert failed.value.remedy.startswith("give it the role nvue-admin, or log in to the switch once")


def test_a_403_for_a_change_has_the_switchs_words(nvue: Nvue) -> None:
    with pytest.raises(SwitchError, match=r"403 to DELETE /revision/applied: .* be changed") as failed:
        nvue.drop("applied")
    assert failed.value.kind == "refused"
