# SPDX-License-Identifier: Apache-2.0
"""NVUE's questions before it applies a revision, and the revision's state after each answer."""

import pytest
from lab.nvue import SimulatedTime, Switch
from lab.nvue.caller import APPLY, CONFIRM, Caller, commit

ASK = {"state": "apply", "auto-prompt": {"ignore_fail": "ignore_fail_no"}}
FRR = {"router": {"bgp": {"enable": "on", "autonomous-system": 65001, "router-id": "10.0.0.1"}}}


def asked(call: Caller, patch: object, body: object = ASK) -> str:
    """The id of a revision that was applied so, and has come as far as it comes by itself."""
    name = call.create()
    assert call("PATCH", f"/?rev={name}", patch)[0] == 200
    call("PATCH", f"/revision/{name}", body)
    call.settle(name)
    return name


def state(call: Caller, name: str) -> tuple[str, list[str]]:
    shown = call("GET", f"/revision/{name}")[1]
    return shown["state"], [each["message"] for each in shown["transition"]["issue"].values()]


def test_the_first_apply_asks_whether_to_overwrite_the_images_files(call: Caller, switch: Switch) -> None:
    running = switch.applied_id
    name = asked(call, {"system": {"hostname": "new"}})
    found, (files, host) = state(call, name)
    assert found == "ays"
    assert files.startswith(
        "The following files have been changed since the last save, and they WILL be over"
    )
    assert "WILL be overwritten.\n\t- /etc/nsswitch.conf" in files
    assert "\n\t- /etc/frr/frr.conf" in files
    assert host == "current hostname `leaf0-1` will be replaced with `new`"
    assert switch.applied_id == running
    assert call("PATCH", f"/revision/{name}", {"state": "ays_yes"})[0] == 200
    assert call.settle(name)["state"] == "applied_and_saved"
    assert switch.edited == []


def test_a_restart_of_frr_is_asked_about(call: Caller, switch: Switch) -> None:
    switch.edited = []
    found, (said,) = state(call, asked(call, FRR))
    assert found == "ays"
    assert said.startswith(
        "The frr service will need to be restarted because the list of router services has"
    )


def test_nothing_is_asked_where_nothing_is_to_be_warned_of(call: Caller, switch: Switch) -> None:
    switch.edited = []
    name = asked(call, {"interface": {"eth0": {"description": "management"}}})
    assert state(call, name) == ("applied_and_saved", [])


def test_an_answer_in_advance_is_an_answer(call: Caller) -> None:
    assert state(call, asked(call, {"system": {"hostname": "new"}}, APPLY))[0] == "applied_and_saved"


@pytest.mark.parametrize("waits", ["confirm", "ays"])
def test_no_leaves_everything_as_it_is(call: Caller, switch: Switch, waits: str) -> None:
    switch.waits, running, files = waits, switch.applied_id, list(switch.edited)
    name = asked(call, {"system": {"hostname": "new"}}, {**ASK, **commit(300), **ASK})
    assert call("PATCH", f"/revision/{name}", {"state": "apply"})[0] == 409
    assert call("PATCH", f"/revision/{name}", {"state": "ays_no"})[0] == 200
    assert state(call, name) == ("ays_fail", [])
    assert (switch.applied_id, switch.edited) == (running, files)
    assert call("PATCH", f"/revision/{name}", {"state": "ays_yes"})[0] == 409


def test_a_question_that_nobody_answers_ends_the_apply(
    call: Caller, switch: Switch, time: SimulatedTime
) -> None:
    running, name = switch.applied_id, asked(call, {"system": {"hostname": "new"}})
    time.sleep(31)
    assert state(call, name) == ("ays_fail", ["Timeout while waiting for client response"])
    assert switch.applied_id == running


@pytest.mark.parametrize("waits", ["confirm", "ays"])
def test_a_commit_asks_before_it_waits_for_its_confirmation(call: Caller, switch: Switch, waits: str) -> None:
    switch.waits = waits
    name = asked(call, {"system": {"hostname": "new"}}, {**commit(300), **ASK})
    assert state(call, name)[1]
    assert call("PATCH", f"/revision/{name}", {"state": "ays_yes"})[0] == 200
    assert call.settle(name)["state"] == waits
    assert state(call, name) == (waits, [])
    assert call("PATCH", f"/revision/{name}", CONFIRM if waits == "confirm" else APPLY)[0] == 200
    assert state(call, name)[0] == "applied_and_saved"
