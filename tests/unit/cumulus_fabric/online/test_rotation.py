# SPDX-License-Identifier: Apache-2.0
"""The switches' password is changed on one after the other; a run may be killed anywhere, and is led on."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from lab.nvue import Fault, Rest, Wire
from lab.nvue.users import users
from logins.rotate import CONFIRM_S
from logins.rotation import Outcome, Rotation
from ops import testing
from rest.client import Nvue
from rest.connection import Access, Connection, Credentials
from rest.fleet import Fleet
from unit.cumulus_fabric.online.shell import Shell
from unit.cumulus_fabric.online.site import PASSWORD, USER, Rack, rack
from unit.cumulus_fabric.online.small import PLAIN
from unit.cumulus_fabric.online.test_killed import Calls, Killed
from unit.cumulus_fabric.online.unit import Unit, intent

NEW = "Battery-Staple-7"
NAMES = ["Spine0", "Leaf0-1", "Leaf0-2"]
NOTHING = "nothing to do: every switch has the new password, and refuses the earlier one"


@contextmanager
def three(release: str = "5.9.2", waits: str = "confirm") -> Iterator[Rack]:
    with rack(PLAIN, applied=True, release=release, waits=waits) as made:
        yield made


def rotation(made: Rack, password: str = NEW, said: list[str] | None = None) -> Rotation:
    """The work of a new process, which knows nothing of an earlier one."""

    def wire(name: str, address: str, port: int, access: Access) -> Connection:
        return Wire(made.servers[name], access.timeout)

    access = Access(Credentials(USER, password, PASSWORD), clock=made.clock)
    clients = {name: Nvue(name, "192.0.2.1", access, connect=wire) for name in made.servers}
    return Rotation(Fleet(clients, 1, made.clock), NAMES, (said if said is not None else []).append)


def run(made: Rack, **given: Any) -> Outcome:
    work = rotation(made, **given)
    return work.run(work.plan().digest)


def opening(made: Rack) -> dict[str, list[str]]:
    """By switch, the passwords that open it."""
    return {
        name: [word for word in (PASSWORD, NEW) if server.opens(word)]
        for name, server in made.servers.items()
    }


def all_have(made: Rack, password: str) -> bool:
    return opening(made) == {name: [password] for name in made.servers}


@pytest.mark.parametrize("release", ["5.5.0", "5.9.2", "5.15.0", "5.18.0"])
@pytest.mark.parametrize("waits", ["confirm", "ays"])
def test_all_switches_get_it_one_after_the_other_and_a_second_run_writes_nothing(
    release: str, waits: str
) -> None:
    with three(release, waits) as made:
        before = made.applied
        outcome = run(made)
        assert outcome.verdict == f"{', '.join(NAMES)} changed: {NOTHING.partition(': ')[2]}"
        assert all_have(made, NEW)
        made.clock.sleep(CONFIRM_S * 2)
        assert all_have(made, NEW)
        for name, server in made.servers.items():
            assert server.switch.saved_id == server.switch.applied_id
            assert {**made.applied[name], "system": None} == {**before[name], "system": None}
        made.forget()
        assert run(made).verdict == NOTHING
        assert made.writes() == []


def test_a_switch_changes_only_when_the_one_before_it_has_the_new_password() -> None:
    with three() as made:
        for name in NAMES[:2]:
            following = made.servers[NAMES[NAMES.index(name) + 1]]
            made.servers[name].inject(Fault("hang", call="confirm", times=0))
            outcome = run(made)
            assert outcome.left == NAMES[NAMES.index(name) :]
            assert [call.name for call in following.calls if call.method != "GET"] == []
            made.servers[name].inject()
            made.clock.sleep(CONFIRM_S * 2)
            rotate_one(made, name)


def rotate_one(made: Rack, name: str) -> None:
    work = replace(rotation(made), names=[name])
    assert work.run(work.plan().digest).done == [name]


def test_the_plan_names_each_switch_and_writes_nothing() -> None:
    with three() as made:
        rotate_one(made, "Leaf0-1")
        made.forget()
        found = rotation(made).plan()
        rows = [(each.subject, each.what) for each in found.shown]
        assert rows[:-1] == [
            ("Spine0", "has the earlier password, and gets the new one"),
            ("Leaf0-1", "has the new password"),
            ("Leaf0-2", "has the earlier password, and gets the new one"),
        ]
        assert found.shown[-1].remedy == f"to do exactly this, run rotate-password with plan={found.digest}"
        assert made.writes() == []


def test_another_digest_changes_nothing() -> None:
    with three() as made:
        outcome = rotation(made).run("p0123456789abcdef")
        assert [each.subject for each in outcome.reasons] == ["plan"]
        assert made.writes() == []


@pytest.mark.parametrize("release", ["5.8.0", "5.15.0"])
def test_killed_in_any_request_the_same_command_leads_it_on(release: str) -> None:
    """The switch has done what it was asked, and nothing of the program runs after that."""
    name = NAMES[1]
    with three(release) as made:
        digest = rotation(made).plan().digest
        made.forget()
        rotation(made).run(digest)
        requests = len(made.calls(name))
    ended: set[str] = set()
    for call in range(1, requests + 1):
        with three(release) as made:
            server = made.servers[name]
            server.calls = Calls(call)
            with pytest.raises(Killed):
                rotation(made).run(digest)
            assert all(len(words) == 1 for words in opening(made).values()), call
            ended.add(opening(made)[name][0])
            server.calls = []
            assert not rotation(made).run(digest).left, call
            assert all_have(made, NEW)
            assert server.switch.saved_id == server.switch.applied_id
            made.clock.sleep(CONFIRM_S * 2)
            assert all_have(made, NEW), call
            made.forget()
            assert rotation(made).run(digest).verdict == NOTHING
            assert made.writes() == []
    assert ended == {PASSWORD, NEW}


@pytest.mark.parametrize("kind", ["reset", "reset-after", "500", "500-after", "hang"])
def test_a_lost_request_or_answer_locks_nobody_out(kind: str) -> None:
    name = NAMES[1]
    with three() as made:
        digest = rotation(made).plan().digest
        made.forget()
        rotation(made).run(digest)
        requests = len(made.calls(name))
    for at in range(requests):
        with three() as made:
            made.servers[name].inject(Fault(kind, at=at))
            rotation(made).run(digest)
            assert all(len(words) == 1 for words in opening(made).values()), at
            made.servers[name].inject()
            assert not rotation(made).run(digest).left, at
            made.clock.sleep(CONFIRM_S * 2)
            assert all_have(made, NEW), at


def test_a_switch_that_does_not_take_what_it_has_applied_goes_back_to_the_earlier_one() -> None:
    with three() as made:
        server = made.servers["Spine0"]
        opens = server.opens
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(server, "opens", lambda word: word != NEW and opens(word))
            outcome = run(made)
            made.clock.sleep(CONFIRM_S * 2)
        assert outcome.left == NAMES
        assert all_have(made, PASSWORD)


def test_a_password_that_a_switch_refuses_is_not_repeated() -> None:
    with three() as made:
        made.servers["Spine0"].switch.hardening.dictionary = (NEW,)
        outcome = run(made)
        (reason,) = outcome.reasons
        assert reason.subject == "Spine0"
        assert reason.what == "invalid: system.aaa.user.cumulus.password: '…' is based on a dictionary word"
        assert all_have(made, PASSWORD)


def test_from_5_18_on_the_current_password_is_given_too() -> None:
    with three("5.18.0") as made:
        for server in made.servers.values():
            server.switch.hardening.compares = True
        run(made)
        for server in made.servers.values():
            assert "current-password" not in users(server.switch.applied)[USER]
        assert all_have(made, NEW)


def other(server: Rest) -> None:
    server.password = "Another-Horse-1"


def reading(server: Rest) -> None:
    server.reads_only = True


def remote(server: Rest) -> None:
    server.local = False


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (other, "takes neither the new password nor the earlier one"),
        (
            reading,
            "user cumulus has the role nvue-monitor, which may only read; changes need nvue-admin",
        ),
        (remote, "has no user cumulus of its own"),
    ],
)
def test_what_stands_against_it_is_found_before_the_first_write(change: Any, says: str) -> None:
    with three() as made:
        change(made.servers["Leaf0-2"])
        outcome = run(made)
        assert [(each.subject, each.what) for each in outcome.reasons] == [("Leaf0-2", says)]
        assert made.writes() == []


@pytest.mark.parametrize("password", [PASSWORD])
def test_the_earlier_password_is_no_new_one(password: str) -> None:
    with three() as made:
        outcome = run(made, password=password)
        assert "has the same password" in outcome.reasons[0].what
        assert made.writes() == []


def test_files_that_somebody_edited_on_a_switch_are_kept() -> None:
    with three() as made:
        made.servers["Spine0"].switch.edited = ["/etc/frr/frr.conf"]
        outcome = run(made)
        assert "NVUE would overwrite /etc/frr/frr.conf" in outcome.reasons[0].what
        assert all_have(made, PASSWORD)


def test_a_change_of_somebody_else_is_waited_for() -> None:
    with three() as made:
        client = made.site.fleet.switches["Leaf0-1"]
        revision = client.create()
        client.patch(revision, {"system": {"hostname": "renamed"}})
        client.apply(revision, 60)
        made.clock.sleep(10)
        said: list[str] = []
        assert not run(made, said=said).left
        assert "Leaf0-1: waiting for the end of a change that is not confirmed" in said
        assert made.applied["Leaf0-1"]["system"]["hostname"] != "renamed"
        assert all_have(made, NEW)


# -- the action, and the command line


def give(unit: Unit, **content: str) -> None:
    keys = {key.replace("_", "-"): value for key, value in content.items()}
    secret = testing.Secret({"user": USER, **keys}, id=unit.secret.id)
    unit.state = replace(unit.state, secrets={secret})


def test_the_action_shows_its_plan_and_does_it(running: Unit, caplog: pytest.LogCaptureFixture) -> None:
    give(running, password=NEW, previous_password=PASSWORD)
    digest = running.digest("rotate-password")
    assert running.writes == []
    results = running.action("rotate-password", plan=digest)
    assert (results["changed"], results["left"]) == (" ".join(NAMES), "")
    assert all_have(running.rack, NEW)
    assert running.action("rotate-password", plan=digest)["result"] == NOTHING
    give(running, password=NEW)
    assert "refused" not in running.action("verify")["findings"]
    shown = str(results) + caplog.text + str(running.state.unit_status)
    shown += str([each.local_app_data for each in running.state.relations])
    assert not {word for word in (NEW, PASSWORD) if word in shown}


def test_the_action_names_what_the_secret_lacks(running: Unit) -> None:
    give(running, password=NEW)
    with pytest.raises(testing.ActionFailed, match="has no earlier password of user cumulus"):
        running.action("rotate-password")


def with_another_network(content: dict[str, Any]) -> None:
    content["networks"]["storage"] = {"vlan": 50}


def test_a_rollback_after_it_goes_back_over_the_change_of_the_password(running: Unit) -> None:
    running.configure(intent=intent(with_another_network))
    running.action("apply")
    give(running, password=NEW, previous_password=PASSWORD)
    running.action("rotate-password", plan=running.digest("rotate-password"))
    assert running.roll_back()["applied"] == "true"
    assert "50" not in running.rack.applied["Leaf0-1"]["bridge"]["domain"]["br_default"]["vlan"]
    assert all_have(running.rack, NEW)


def test_the_command_line_does_the_same(shell: Shell) -> None:
    earlier = shell.directory / "earlier"
    earlier.write_text(f"{USER}:{PASSWORD}\nLeaf0-1 admin:Own-Horse-1\n")
    earlier.chmod(0o600)
    shell.credentials.write_text(f"{USER}:{NEW}\nLeaf0-1 admin:Own-Horse-2\n")
    leaf = shell.rack.servers["Leaf0-1"]
    leaf.user, leaf.password = "admin", "Own-Horse-1"
    for server in shell.rack.servers.values():
        server.switch.edited = []
    status, _, err = shell("rotate-password")
    assert (status, err.partition(":")[0]) == (2, "--previous-credentials")
    words = ("--previous-credentials", str(earlier))
    status, out, _ = shell("rotate-password", *words)
    assert (status, shell.rack.writes()) == (0, [])
    digest = out.partition("--plan ")[2].split()[0]
    status, out, err = shell("rotate-password", *words, "--plan", digest)
    assert status == 0, out
    assert all(word not in out + err for word in (NEW, "Own-Horse"))
    assert leaf.opens("Own-Horse-2")
    assert not leaf.opens("Own-Horse-1")
    assert shell("verify")[1].count("refused") == 0
