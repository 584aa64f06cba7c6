# SPDX-License-Identifier: Apache-2.0
"""Switches may have users and passwords of their own: in the command line's file and in Juju's secret."""

from dataclasses import replace

import pytest
from ops import testing
from unit.cumulus_fabric.online.shell import Shell
from unit.cumulus_fabric.online.site import PASSWORD, USER
from unit.cumulus_fabric.online.unit import Unit

OTHER = "Battery-Staple-7"
EARLIER = "Staple-Battery-6"


@pytest.fixture
def differing(running: Unit) -> Unit:
    """One leaf has another user with another password."""
    running.rack.servers["Leaf0-1"].user = "admin"
    running.rack.servers["Leaf0-1"].password = OTHER
    return running


def secret(unit: Unit, **content: str) -> Unit:
    keys = {key.replace("_", "-"): value for key, value in content.items()}
    given = testing.Secret({"user": USER, "password": PASSWORD, **keys}, id=unit.secret.id)
    unit.state = replace(unit.state, secrets={given})
    return unit


def findings(unit: Unit) -> str:
    return " ".join(unit.action("verify")["findings"].split())


def test_a_key_of_the_secret_has_the_switches_that_differ(differing: Unit) -> None:
    assert "the switch refused user cumulus" in findings(differing)
    secret(differing, switches=f"Leaf0-1 admin:{OTHER}\n")
    assert "refused" not in findings(differing)
    assert differing.action("drain", switch="Leaf0-1")["applied"] == "true"


@pytest.mark.parametrize(
    ("previous", "refused"),
    [
        ({"previous_switches": f"Leaf0-1 admin:{OTHER}"}, False),
        ({"previous_password": OTHER}, True),  # that is the other user's
        ({}, True),
    ],
)
def test_a_switch_has_the_earlier_password_of_its_own_user(
    differing: Unit, previous: dict[str, str], refused: bool
) -> None:
    secret(differing, switches="Leaf0-1 admin:New-Horse-1", **previous)
    assert ("the switch refused user admin" in findings(differing)) == refused


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            {"switches": f"Leaf9 admin:{OTHER}"},
            "the secret has a line for Leaf9, which is not a switch of the intent; "
            "take the line out, or correct the name",
        ),
        (
            {"switches": f"Leaf0-1 {OTHER}"},
            "the secret has a line 1 that is not NAME user:password in its key switches; "
            "give switches a line NAME user:password for each switch that has others",
        ),
        (
            {"previous_switches": f"Leaf0-1 admin:{OTHER}"},
            "the secret has another user for Leaf0-1 than the new credentials; "
            "give the earlier password of the same user",
        ),
        (
            {"previous_password": "a\nb"},
            "the secret has no usable earlier password; give it the keys user and password; "
            "each is one line of text, the user without a colon",
        ),
    ],
)
def test_an_entry_that_cannot_be_used_is_one_sentence(
    running: Unit, content: dict[str, str], says: str
) -> None:
    with pytest.raises(testing.ActionFailed) as failed:
        secret(running, **content).action("plan")
    assert failed.value.message == f"option credentials: {says}"


def write(shell: Shell, *lines: str) -> None:
    shell.credentials.write_text("\n".join((f"{USER}:{PASSWORD}", *lines, "")))


def test_the_command_lines_file_has_them_too(shell: Shell) -> None:
    shell.rack.servers["Leaf0-1"].user = "admin"
    shell.rack.servers["Leaf0-1"].password = OTHER
    assert "the switch refused user cumulus" in shell("plan")[1]
    write(shell, f"Leaf0-1 admin:{OTHER}")
    assert shell("apply")[0] == 0
    earlier = shell.directory / "earlier"
    earlier.write_text(f"{USER}:{EARLIER}\nLeaf0-1 admin:{OTHER}\n")
    earlier.chmod(0o600)
    write(shell, "Leaf0-1 admin:New-Horse-1")
    status, out, _ = shell("verify", "--previous-credentials", str(earlier))
    assert "refused" not in out
    assert status == 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (
            f"Leaf9 admin:{OTHER}",
            "has a line for Leaf9, which is not a switch of the intent; "
            "take the line out, or correct the name",
        ),
        (
            "Leaf0-1 ad\x01min:x",
            "has no usable user or password for Leaf0-1; give one line user:password, then lines NAME "
            "user:password for switches with others, in a file that only you can read, "
            "or - for standard input",
        ),
    ],
)
def test_a_line_that_cannot_be_used_is_one_sentence(shell: Shell, line: str, says: str) -> None:
    write(shell, line)
    status, _, err = shell("plan")
    assert (status, err) == (2, f"--credentials: {shell.credentials} {says}\n")
    assert all(not server.calls for server in shell.rack.servers.values())
