# SPDX-License-Identifier: Apache-2.0
"""New switches: one command replaces the factory's password on all of them, typed at the terminal."""

import os
import pty
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from cli import passwords, ssh
from cli.passwords import FACTORY, Door, Outcome
from lab.nvue import Rest, Switch
from lab.nvue.login import Login
from rest.connection import Credentials, SwitchError
from unit.cumulus_fabric.online.shell import ADDRESSES, here
from unit.cumulus_fabric.online.unit import ROOT, intent

NEW = "Correct-Horse-9"
CHILD = """
import sys
from cli import __main__, passwords
passwords.PORT = {port}
sys.exit(__main__.main(sys.argv[1:]))
"""


@pytest.fixture
def three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Login]]:
    """Three switches from the factory, at a port of their own instead of SSH's."""
    with ExitStack() as stack:
        port = 0
        made: dict[str, Login] = {}
        for name, address in ADDRESSES.items():
            rest = Rest(Switch(), password=FACTORY)
            made[name] = stack.enter_context(Login(rest, address=address, port=port))
            port = made[name].port
        monkeypatch.setattr(passwords, "PORT", port)
        yield made


def known(tmp_path: Path, *logins: Login) -> Path:
    file = tmp_path / "known_hosts"
    file.write_text("".join(login.known_host for login in logins))
    return file


def door(login: Login, tmp_path: Path, password: str = NEW, seconds: float = 10.0) -> Door:
    return Door(login.address, password, str(known(tmp_path, login)), seconds)


@pytest.fixture
def one(three: dict[str, Login]) -> Login:
    return three["Leaf0-1"]


def authorization(password: str) -> str:
    return Credentials("cumulus", password).header


def test_the_rest_api_opens_with_the_password_that_was_set(one: Login, tmp_path: Path) -> None:
    assert one.rest.serve("GET", "/nvue_v1/system", authorization(FACTORY), b"").status == 403
    assert door(one, tmp_path).set_first() is Outcome.SET
    assert one.rest.serve("GET", "/nvue_v1/system", authorization(NEW), b"").status == 200


def test_a_factory_password_that_has_not_expired_is_replaced_too(one: Login, tmp_path: Path) -> None:
    one.expired = False
    assert door(one, tmp_path).set_first() is Outcome.SET
    assert one.rest.password == NEW


@pytest.mark.parametrize(("has", "outcome"), [(NEW, Outcome.SAME), ("Another-Horse-1", Outcome.OTHER)])
def test_another_password_is_left_as_it_is(one: Login, tmp_path: Path, has: str, outcome: Outcome) -> None:
    one.rest.password, one.expired = has, False
    assert door(one, tmp_path).set_first() is outcome
    assert one.rest.password == has
    assert len(one.logins) == 2  # one try with each, so that nothing locks the user


@pytest.mark.parametrize(
    ("password", "said"),
    [
        ("short", "You must choose a longer password."),
        ("Password1", "BAD PASSWORD: The password fails the dictionary check"),
    ],
)
def test_a_password_that_the_switch_refuses_changes_nothing(
    one: Login, tmp_path: Path, password: str, said: str
) -> None:
    one.dictionary = ("Password1",)
    with pytest.raises(SwitchError) as caught:
        door(one, tmp_path, password).set_first()
    assert caught.value.reason == f"refuses the password: {said}"
    assert (one.rest.password, one.expired) == (FACTORY, True)


def test_no_password_is_sent_to_a_host_whose_key_is_not_known(one: Login, tmp_path: Path) -> None:
    with pytest.raises(passwords.UnknownKeyError) as caught:
        Door(one.address, NEW, str(tmp_path / "none")).set_first()
    assert (caught.value.line, one.logins) == (one.known_host, [])


def test_nor_to_one_with_another_key_than_the_known_one(three: dict[str, Login], tmp_path: Path) -> None:
    one, two = three["Leaf0-1"], three["Leaf0-2"]
    file = known(tmp_path, one)
    file.write_text(file.read_text().replace(one.key.get_base64(), two.key.get_base64()))
    with pytest.raises(SwitchError, match="differs from the one in") as caught:
        Door(one.address, NEW, str(file)).set_first()
    assert "ssh-keygen -R" in caught.value.remedy
    assert one.logins == []


def test_a_switch_that_stops_within_the_dialogue_takes_no_longer_than_it_may(
    one: Login, tmp_path: Path
) -> None:
    one.deaf = True
    with pytest.raises(SwitchError, match="within 1 s"):
        door(one, tmp_path, seconds=1.0).set_first()


@pytest.mark.parametrize("late", [0.0, 0.6], ids=["in time", "late, as on a busy machine"])
def test_nor_does_one_that_drips_its_greeting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: float
) -> None:
    """Its connection is cut by our own limit; paramiko has none that could come first."""
    cuts, cut = list[socket.socket](), passwords._cut
    monkeypatch.setattr(passwords, "_cut", lambda sock: [time.sleep(late), cuts.append(sock), cut(sock)])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setattr(passwords, "PORT", listener.getsockname()[1])
        with pytest.raises(SwitchError, match="within 1 s"):
            Door("127.0.0.1", NEW, str(tmp_path / "none"), 1.0).set_first()
        assert len(cuts) == 1


class Terminal:
    """The command line at a terminal of its own, and who types there."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.known = directory / "known_hosts"
        self.arguments: list[bytes] = []

    def __call__(self, answers: list[tuple[str, str]], *more: str) -> tuple[int, str]:
        """Exit status, and all that the terminal showed; each answer after its question."""
        (self.directory / "intent.yaml").write_text(intent(here))
        command = ["first-password", "--intent", str(self.directory / "intent.yaml"), "--timeout", "10"]
        command += ["--known-hosts", str(self.known), *more]
        code = CHILD.format(port=passwords.PORT)
        child, terminal = pty.fork()
        if child == 0:
            paths = [str(ROOT / "lib"), str(ROOT / "charms/cumulus-fabric/src")]
            os.environ["PYTHONPATH"] = os.pathsep.join(paths)
            os.execv(sys.executable, [sys.executable, "-c", code, *command])  # noqa: S606
        shown, waiting = "", list(answers)
        while data := self._read(terminal):
            shown += data
            if waiting and waiting[0][0] in shown[-200:]:
                self.arguments.append(Path(f"/proc/{child}/cmdline").read_bytes())
                self.arguments.append(Path(f"/proc/{child}/environ").read_bytes())
                os.write(terminal, f"{waiting.pop(0)[1]}\n".encode())
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.replace("\r", "")

    @staticmethod
    def _read(terminal: int) -> str:
        try:
            return os.read(terminal, 4096).decode()
        except OSError:  # the other end is closed
            return ""


TYPED = [("New password of cumulus", NEW), ("once more", NEW)]
TRUSTED = [*TYPED, ("yes or no", "yes")]


def test_all_at_once_with_a_password_that_no_argument_and_no_output_has(
    three: dict[str, Login], tmp_path: Path
) -> None:
    terminal = Terminal(tmp_path)
    three["Leaf0-2"].rest.password, three["Leaf0-2"].expired = "Another-Horse-1", False
    status, shown = terminal(TRUSTED)
    assert status == 0, shown
    assert (
        "Spine0: has the new password\nLeaf0-1: has the new password\nLeaf0-2: has a password that" in shown
    )
    assert [login.rest.password for login in three.values()] == [NEW, NEW, "Another-Horse-1"]
    assert all(login.key.fingerprint in shown for login in three.values())
    assert terminal.known.read_text() == "".join(login.known_host for login in three.values())
    assert NEW not in shown
    assert all(NEW.encode() not in each for each in terminal.arguments)

    status, shown = terminal(TYPED, "--switch", "Spine0")
    assert (status, "Spine0: had this password already" in shown) == (0, True)


def test_keys_that_the_operator_does_not_know_get_no_password(
    three: dict[str, Login], tmp_path: Path
) -> None:
    terminal = Terminal(tmp_path)
    status, shown = terminal([*TYPED, ("yes or no", "no")])
    assert status == 1
    assert "is not known" in shown
    assert not terminal.known.exists()
    assert all(login.logins == [] for login in three.values())


def test_a_switch_that_cannot_be_reached_is_named_and_the_others_get_theirs(
    three: dict[str, Login], tmp_path: Path
) -> None:
    three["Leaf0-2"].__exit__()
    status, shown = Terminal(tmp_path)(TRUSTED)
    assert status == 1
    assert "Leaf0-1: has the new password" in shown
    words = " ".join(shown.split())
    assert "Leaf0-2 cannot be reached by SSH" in words.replace("blocked ", "")
    assert "Connection refused" in words
    assert "Errno" not in words
    assert f"ssh cumulus@{ADDRESSES['Leaf0-2']}" in words


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([TYPED[0], ("once more", "Correct-Horse-8")], "the two passwords differ"),
        ([("New password", FACTORY), ("once more", FACTORY)], "that is not the factory's"),
        ([("New password", ""), ("once more", "")], "give a password of printable characters"),
    ],
)
def test_a_password_that_cannot_be_is_one_sentence(
    three: dict[str, Login], tmp_path: Path, answers: list[tuple[str, str]], said: str
) -> None:
    status, shown = Terminal(tmp_path)(answers)
    assert (status, said in shown, "Traceback" in shown) == (2, True, False)
    assert all(login.logins == [] for login in three.values())


def test_security_names_the_limits_of_sessions() -> None:
    rows = (ROOT / "SECURITY.md").read_text().splitlines()
    first = f"{passwords.MOST >> 10} KiB | {Door.seconds:g} s |"
    assert f"| a session of `first-password`, by SSH | {first}" in rows
    pushed = f"{ssh.MOST >> 20} MiB | {ssh.SESSION_S:g} s; {ssh.Login.timeout:g} s for each command |"
    assert f"| a session with an Onyx or Comware switch, by SSH | {pushed}" in rows
