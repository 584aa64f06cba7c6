# SPDX-License-Identifier: Apache-2.0
"""While the switches' password is changed one after the other, nothing stands still: both are known."""

from dataclasses import replace
from pathlib import Path

import pytest
from lab.nvue import Certificate
from ops import testing
from rest.connection import Credentials
from unit.cumulus_fabric.online.shell import Shell
from unit.cumulus_fabric.online.site import PASSWORD, USER
from unit.cumulus_fabric.online.unit import Unit

NEW = "Battery-Staple-7"


def both(unit: Unit, previous: str = PASSWORD) -> None:
    """The secret has the new password, and that of before."""
    content = {"user": USER, "password": NEW, **({"previous-password": previous} if previous else {})}
    secret = testing.Secret(content, id=unit.secret.id)
    unit.state = replace(unit.state, secrets={secret})


def changed(unit: Unit, *names: str) -> None:
    for name in names:
        unit.rack.servers[name].password = NEW


@pytest.mark.parametrize("done", [(), ("Leaf0-1",), ("Leaf0-1", "Spine0"), ("Leaf0-1", "Leaf0-2", "Spine0")])
def test_with_both_every_switch_answers_however_many_have_the_new_one(
    running: Unit, done: tuple[str, ...]
) -> None:
    changed(running, *done)
    both(running)
    assert "the switch refused" not in running.action("verify")["findings"]
    assert running.action("drain", switch="Leaf0-2")["applied"] == "true"


def test_with_the_new_one_alone_those_that_have_the_earlier_one_refuse(running: Unit) -> None:
    changed(running, "Leaf0-1")
    both(running, previous="")
    assert "Spine0" in running.action("verify")["findings"]
    assert "the switch refused user cumulus" in running.action("verify")["findings"]


def test_a_switch_that_gets_the_new_one_while_it_is_talked_to_goes_on(running: Unit) -> None:
    both(running)
    site = running.rack.site
    for name, client in site.fleet.switches.items():
        client._headers = Credentials(USER, NEW, PASSWORD).headers
        assert client.applied()
        running.rack.servers[name].password = NEW
        assert client.applied()


def test_each_is_tried_once(running: Unit, certificate: Certificate) -> None:
    """A switch may lock a user out after some wrong passwords."""
    server = running.rack.servers["Leaf0-1"]
    server.password = "another"
    tried: list[str] = []
    serve = server.serve

    def serves(method: str, target: str, authorization: str, raw: bytes) -> object:
        tried.append(authorization)
        return serve(method, target, authorization, raw)

    server.serve = serves  # type: ignore[method-assign]
    both(running)
    running.action("verify")
    assert len(tried) == 2
    assert certificate.pem


def test_neither_password_is_shown() -> None:
    assert "Battery" not in repr(Credentials(USER, "x", NEW)) + str(Credentials(USER, NEW, "y"))


def test_the_command_line_takes_the_earlier_one_from_a_file(shell: Shell) -> None:
    shell.rack.servers["Leaf0-1"].password = NEW
    earlier = shell.directory / "earlier"
    earlier.write_text(f"{USER}:{PASSWORD}\n")
    earlier.chmod(0o600)
    shell.credentials.write_text(f"{USER}:{NEW}\n")
    status, out, _ = shell("plan")
    assert (status, "the switch refused user cumulus" in out) == (1, True)
    status, out, _ = shell("plan", "--previous-credentials", str(earlier))
    assert (status, "the switch refused" in out) == (0, False)
    earlier.write_text(f"other:{PASSWORD}\n")
    status, _, err = shell("plan", "--previous-credentials", str(earlier))
    says = "has another user than the new credentials; give the earlier password of the same user"
    assert (status, err) == (2, f"--previous-credentials: {earlier} {says}\n")


def own(home: Path, name: str, password: str) -> None:
    """A file in the operator's own folder."""
    folder = home / ".config/ovn-offload"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"{USER}:{password}\n")
    (folder / name).chmod(0o600)


def by_default(shell: Shell, verb: str, *arguments: str) -> tuple[int, str, str]:
    """The command line without --credentials."""
    common = ("--intent", str(shell.directory / "intent.yaml"), "--ca", str(shell.ca))
    return shell.alone(verb, *common, *arguments)


def test_the_earlier_ones_are_those_of_the_operators_own_folder_if_it_has_any(
    shell: Shell, home: Path
) -> None:
    for server in shell.rack.servers.values():
        server.switch.edited = []
    own(home, "switches.txt", NEW)
    needed = "needs the file with the passwords of now; name it, or have it as "
    places = "~/.config/ovn-offload/previous-switches.txt beside ~/.config/ovn-offload/switches.txt\n"
    assert by_default(shell, "rotate-password") == (
        2, "", f"--previous-credentials: rotate-password {needed}{places}"
    )  # fmt: skip
    own(home, "previous-switches.txt", PASSWORD)
    status, out, err = by_default(shell, "rotate-password")
    assert (status, shell.rack.writes()) == (0, [])
    assert err == (
        "takes the earlier passwords of ~/.config/ovn-offload/previous-switches.txt "
        "where a switch refuses those of ~/.config/ovn-offload/switches.txt\n"
    )
    assert by_default(shell, "rotate-password", "--plan", out.partition("--plan ")[2].split()[0])[0] == 0
    assert all(server.opens(NEW) for server in shell.rack.servers.values())


@pytest.mark.parametrize("named", [[], ["--previous-credentials", ""]], ids=["other credentials", "none"])
def test_the_operators_own_folder_is_left_where_other_files_are_named(
    shell: Shell, home: Path, named: list[str]
) -> None:
    shell.rack.servers["Leaf0-1"].password = NEW
    own(home, "switches.txt", PASSWORD)
    own(home, "previous-switches.txt", NEW)
    status, out, err = by_default(shell, "plan", *named) if named else shell("plan")
    assert (status, "the switch refused user cumulus" in out, "earlier" in err) == (1, True, False)
