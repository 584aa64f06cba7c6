# SPDX-License-Identifier: Apache-2.0
"""The secret of cumulus-fabric, in one command."""

from pathlib import Path

import pytest
from operate.__main__ import main

PASSWORD = "S3cr3t: with #odd 'characters'"
COLONS, DIGITS = ":".join(["AB"] * 32), "ef" * 32
"""Fingerprints, as openssl prints one, and as tox -e fabric -- pins does."""


@pytest.fixture
def give(world):
    world.private("switches.txt", f"cumulus:{PASSWORD}\n")

    def give(*words, expected=0):
        said = world.run(main, "secret", "--credentials", "switches.txt", *words, expected=expected)
        assert PASSWORD not in said
        assert all(PASSWORD not in word for call in world.state["calls"] for word in call)
        return said

    return give


def test_the_secret_is_made_granted_and_named_in_the_option(world, give):
    said = give()
    (key,) = world.model["secrets"]
    assert world.model["secrets"][key]["content"] == {"user": "cumulus", "password": PASSWORD}
    assert world.model["grants"] == [["switches", "cumulus-fabric"]]
    assert world.model["config"] == {"cumulus-fabric": {"credentials": f"secret:{key}"}}
    assert f"cumulus-fabric has secret:{key}; juju run cumulus-fabric/leader plan uses it." in said


def test_it_is_granted_before_the_option_names_it(world, give):
    give()
    verbs = [call[0] for call in world.state["calls"]]
    assert verbs == ["status", "secrets", "add-secret", "grant-secret", "config"]


def test_the_password_goes_through_a_file_that_only_the_operator_reads(world, give):
    give()
    (read,) = world.state["files"].values()
    assert read["mode"] == 0o600


def test_a_new_password_becomes_a_new_revision_of_the_same_secret(world, give):
    give()
    world.private("switches.txt", "cumulus:another\n")
    world.run(main, "secret", "--credentials", "switches.txt")
    ((_, body),) = world.model["secrets"].items()
    assert (body["revision"], body["content"]["password"]) == (2, "another")


def test_switches_with_others_are_a_key_of_the_secret(world):
    world.private("switches.txt", f"cumulus:{PASSWORD}\n\nLeaf0-1 admin:a b:c\nSpine0 cumulus:x\n")
    world.run(main, "secret", "--credentials", "switches.txt")
    ((_, body),) = world.model["secrets"].items()
    assert body["content"] == {
        "user": "cumulus",
        "password": PASSWORD,
        "switches": "Leaf0-1 admin:a b:c\nSpine0 cumulus:x",
    }


def test_certificates_are_set_together_with_it(world, give):
    (world.folder / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    give("--ca", "ca.pem", "--pin", f"Leaf0-1={COLONS}", "--pin", f"Leaf0-2={DIGITS}")
    config = world.model["config"]["cumulus-fabric"]
    assert config["ca-certificate"] == "-----BEGIN CERTIFICATE-----\n"
    assert config["pinned-certificates"] == f"Leaf0-1={'ab' * 32} Leaf0-2={DIGITS}"


def test_a_file_of_pins_is_set_together_with_it(world, give):
    world.private(
        "pins.txt", f"Leaf0-1={COLONS}\n# looked at on the console\n\nLeaf0-2={DIGITS}  # the same\n"
    )
    give("--pins", "pins.txt")
    config = world.model["config"]["cumulus-fabric"]
    assert config["pinned-certificates"] == f"Leaf0-1={'ab' * 32} Leaf0-2={DIGITS}"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["--pin", "Leaf0-1=AB:CD"],
            "--pin: 'Leaf0-1=AB:CD' is not allowed; give pairs such as Leaf0-1=9F:86:",
        ),
        (
            ["--pins", "pins.txt", "--pin", f"Leaf0-1={DIGITS}"],
            "'Leaf0-1' is not allowed; give switches that --pins",
        ),
        (["--pins", "none.txt"], "none.txt cannot be read: No such file or directory; name the file with"),
        (["--pins", "binary"], "binary cannot be read: it is not UTF-8 text; name the file with --pins"),
    ],
)
def test_a_pin_that_is_not_right_is_said_before_a_secret_is_made(world, give, words, says):
    world.private("pins.txt", f"Leaf0-1={COLONS}\n")
    (world.folder / "binary").write_bytes(b"\x1f\x8b")
    assert says in give(*words, expected=2)
    assert world.state["calls"] == []


def test_no_rights_of_a_folder_are_said_to_be_wrong(world, give):
    (world.folder / "switches.txt").unlink(missing_ok=True)
    (world.folder / "switches.txt").mkdir(0o755)
    assert give(expected=2) == "switches.txt cannot be read: Is a directory\n"


def test_a_file_that_others_can_read_is_refused(world, give):
    world.private("switches.txt", f"cumulus:{PASSWORD}", mode=0o644)
    assert give(expected=2) == "switches.txt can be read by others; run chmod 600 switches.txt\n"
    assert world.state["calls"] == []


def test_a_file_that_is_not_text_is_said_in_words(world, give):
    world.private("switches.txt", "")
    (world.folder / "switches.txt").write_bytes(b"\x1f\x8b")
    assert give(expected=2) == "switches.txt cannot be read: it is not UTF-8 text\n"


REFUSED = {
    "": "has no value",
    "cumulus": "has no line user:password",
    "cumulus:": "has no line user:password",
    ":secret": "has no line user:password",
    f"cumulus:{PASSWORD}\nadmin:{PASSWORD}\n": "has a line 2 that is not NAME user:password",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_file_without_just_a_user_and_a_password_is_refused(world, give, text):
    world.private("switches.txt", text)
    assert give(expected=2) == f"switches.txt {REFUSED[text]}; write one line user:password into it\n"
    assert world.state["calls"] == []


def test_an_application_that_is_not_there_is_said_before_a_secret_is_made(world, give):
    assert "the model has no application fabric" in give("--application", "fabric", expected=2)
    assert world.model["secrets"] == {}


def test_without_options_the_files_of_the_guide_are_taken(world):
    kept = Path.home() / ".config/ovn-offload"
    kept.mkdir(parents=True)
    (kept / "switches.txt").write_text(f"cumulus:{PASSWORD}\n")
    (kept / "switches.txt").chmod(0o600)
    (kept / "pins.txt").write_text(f"Leaf0-1={DIGITS}\n")
    world.run(main, "secret")
    assert world.model["config"]["cumulus-fabric"]["pinned-certificates"] == f"Leaf0-1={DIGITS}"
    world.run(main, "secret", "--pin", f"Leaf0-2={DIGITS}")
    assert world.model["config"]["cumulus-fabric"]["pinned-certificates"] == f"Leaf0-2={DIGITS}"
