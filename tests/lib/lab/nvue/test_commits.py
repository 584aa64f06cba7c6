# SPDX-License-Identifier: Apache-2.0
"""A commit is confirmed, or rolls itself back."""

import threading

import pytest
from lab.nvue import Issue, SimulatedTime, Switch, Tree
from lab.nvue.caller import APPLY, CONFIRM, PACE, REFUSE, Caller, commit


def test_a_commit_that_is_confirmed_stays(call: Caller, time: SimulatedTime) -> None:
    name = call.create()
    call("PATCH", f"/?rev={name}", {"system": {"hostname": "new"}})
    call("PATCH", f"/revision/{name}", commit(300))
    assert call.settle(name)["state"] == "confirm"
    assert call.applied()["system"]["hostname"] == "new"
    assert call("PATCH", f"/revision/{name}", APPLY)[0] == 409
    assert call("PATCH", f"/revision/{name}", CONFIRM)[1]["state"] == "applied_and_saved"
    time.sleep(301)
    assert call.applied()["system"]["hostname"] == "new"


def test_where_ays_waits_a_plain_apply_confirms(call: Caller, switch: Switch, time: SimulatedTime) -> None:
    switch.waits = "ays"
    name = call.create()
    call("PATCH", f"/?rev={name}", {"system": {"hostname": "new"}})
    call("PATCH", f"/revision/{name}", commit(300))
    assert call.settle(name)["state"] == "ays"
    assert call("PATCH", f"/revision/{name}", CONFIRM)[0] == 409
    assert call("PATCH", f"/revision/{name}", APPLY)[1]["state"] == "applied_and_saved"
    time.sleep(301)
    assert call.applied()["system"]["hostname"] == "new"


def test_a_confirmation_in_advance_leaves_nothing_to_wait_for(call: Caller) -> None:
    name = call.create()
    call("PATCH", f"/?rev={name}", {"system": {"hostname": "new"}})
    body = commit(300)
    body["auto-prompt"] = {**body["auto-prompt"], "confirm": "confirm_yes"}
    call("PATCH", f"/revision/{name}", body)
    assert call.settle(name)["state"] == "applied_and_saved"


def test_what_does_not_wait_cannot_be_confirmed(call: Caller) -> None:
    name = call.create()
    call("PATCH", f"/?rev={name}", {"system": {"hostname": "new"}})
    assert call("PATCH", f"/revision/{name}", CONFIRM)[0] == 409


def test_a_commit_that_nobody_confirms_rolls_itself_back(
    call: Caller, switch: Switch, time: SimulatedTime
) -> None:
    before = call.applied()
    name = call.create()
    call("PATCH", f"/?rev={name}", {"system": {"hostname": "new"}})
    call("PATCH", f"/revision/{name}", commit(300))
    assert call.settle(name)["state"] == "confirm"
    time.sleep(297)
    assert call("GET", f"/revision/{name}")[1]["state"] == "confirm"
    time.sleep(2)
    shown = call("GET", f"/revision/{name}")[1]
    assert (shown["state"], shown["transition"]["issue"]["00000"]["code"]) == ("confirm_fail", "rollback")
    time.sleep(PACE)
    assert call.applied() == before
    assert switch.rolled_back == 1


def test_in_real_time_a_commit_goes_back_with_nobody_asking() -> None:
    """As in the twin, whose switches have the machine's clock."""
    switch = Switch("leaf0-1", pace=0.01)
    before = switch.applied
    (name,) = switch.create()
    switch.patch(name, ("system", "hostname"), "new")
    gone_back = threading.Event()
    apply = switch.backend.apply

    def seen(tree: Tree) -> Issue | None:
        if tree == before:
            gone_back.set()
        return apply(tree)

    switch.backend.apply = seen
    switch.request(name, commit(0.1))
    assert gone_back.wait(30)
    with switch.lock:
        assert (switch.applied, switch.rolled_back) == (before, 1)


def test_a_change_that_cuts_management_is_answered_again_after_its_rollback(
    call: Caller, time: SimulatedTime
) -> None:
    name = call.create()
    call("PATCH", f"/?rev={name}", {"interface": {"eth0": {"link": {"state": {"down": {}}}}}})
    call("PATCH", f"/revision/{name}", commit(300))
    time.sleep(4 * PACE)
    with pytest.raises(TimeoutError):
        call("GET", f"/revision/{name}", timeout=0.3)
    time.sleep(301)
    assert call("GET", f"/revision/{name}")[1]["state"] == "confirm_fail"


def pending(call: Caller) -> str:
    """A commit that waits for its confirmation."""
    name = call.create()
    call("PATCH", f"/?rev={name}", {"system": {"hostname": "new"}})
    call("PATCH", f"/revision/{name}", commit(300))
    assert call.settle(name)["state"] == "confirm"
    return name


def test_a_commit_that_is_refused_is_rolled_back_by_a_revision_of_its_own(
    call: Caller, switch: Switch, time: SimulatedTime
) -> None:
    before = call.applied()
    name = pending(call)
    shown = call("PATCH", f"/revision/{name}", REFUSE)[1]
    assert shown["state"] == "confirm_fail"
    target = shown["rollback_target"].replace("/", "%2F")
    assert call("GET", f"/revision/{target}")[1]["state"] == "apply"
    assert call("PATCH", f"/revision/{call.create()}", APPLY)[0] == 409
    time.sleep(PACE)
    assert call("GET", f"/revision/{target}")[1]["state"] == "applied_and_saved"
    assert (call.applied(), switch.rolled_back) == (before, 1)


def test_a_release_without_refusals_says_so(call: Caller, switch: Switch) -> None:
    switch.declines = False
    name = pending(call)
    assert call("PATCH", f"/revision/{name}", REFUSE)[0] == 400
    assert call("GET", f"/revision/{name}")[1]["state"] == "confirm"


def test_a_revision_may_be_shown_below_its_own_name(call: Caller, switch: Switch) -> None:
    switch.nested = True
    name = call.create()
    shown = call("GET", f"/revision/{name}")[1]
    assert shown == {name.replace("%2F", "/"): switch.revisions[name.replace("%2F", "/")].as_json()}
