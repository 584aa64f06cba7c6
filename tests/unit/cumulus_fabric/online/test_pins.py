# SPDX-License-Identifier: Apache-2.0
"""Self-signed switches: one command prints their certificates' pins, and a file of them is trusted."""

import json
from pathlib import Path
from typing import Any

import pytest
from lab.nvue import Certificate
from unit.cumulus_fabric.online.shell import NET, Shell, here
from unit.cumulus_fabric.online.unit import intent


def show(shell: Shell, *arguments: str) -> tuple[int, str, str]:
    file = str(shell.directory / "intent.yaml")
    return shell.alone("pins", "--intent", file, *arguments)


def kept(shell: Shell, text: str) -> str:
    (shell.directory / "pins.txt").write_text(text)
    return str(shell.directory / "pins.txt")


def test_what_pins_prints_is_what_the_other_verbs_take(shell: Shell, authority: Certificate) -> None:
    status, out, err = show(shell)
    digits = authority.fingerprint.replace(":", "").lower()
    assert (status, out.splitlines()) == (0, [f"{name}={digits}" for name in shell.rack.applied])
    assert "compare them with the switches' consoles" in err
    assert all(server.calls == [] for server in shell.rack.servers.values())

    pins = kept(shell, f"# after a look at the consoles\n{out}")
    assert shell("plan", "--pins", pins)[0] == 0
    changed = out.replace(f"Leaf0-1={digits}", f"Leaf0-1={'0' * 64}")
    status, out, _ = shell("plan", "--format", "json", "--pins", kept(shell, changed))
    assert status == 1
    assert "it is not the pinned one" in out


def test_a_switch_that_does_not_answer_is_named_with_what_turns_its_api_on(shell: Shell) -> None:
    def elsewhere(content: dict[str, Any]) -> None:
        here(content)
        content["leaves"]["management"] = f"{NET}.99"

    (shell.directory / "intent.yaml").write_text(intent(elsewhere))
    status, out, err = show(shell)
    assert (status, [line.partition("=")[0] for line in out.splitlines()]) == (1, ["Spine0"])
    assert "Leaf0-2" in err
    said = " ".join(err.split())
    assert "Connection refused" in said
    assert "Errno" not in said
    assert "if its REST API is off, see docs/how-to/fabric-day-zero.md" in said


def test_openssls_own_line_is_a_pin(shell: Shell, authority: Certificate) -> None:
    line = f"sha256 Fingerprint={authority.fingerprint}"
    pins = [f"--pin={name}={line}" for name in shell.rack.applied]
    assert shell("plan", *pins)[0] == 0


@pytest.mark.parametrize(
    ("text", "pin", "said"),
    [
        ("Leaf9-9=" + "0" * 64, None, "--pins: Leaf9-9 is not a switch of the intent"),
        ("Leaf0-1=12", None, "--pins: 'Leaf0-1=12' is not allowed"),
        ("", "Leaf9-9=" + "0" * 64, "--pin: Leaf9-9 is not a switch of the intent"),
        (
            "Leaf0-1=" + "0" * 64,
            "Leaf0-1=" + "1" * 64,
            "--pin: 'Leaf0-1' is not allowed; give switches that --pins does not name",
        ),
    ],
)
def test_a_wrong_pin_is_one_sentence(shell: Shell, text: str, pin: str | None, said: str) -> None:
    more = [f"--pin={pin}"] if pin else []
    status, _, err = shell("plan", "--pins", kept(shell, text), *more)
    assert status == 2
    assert said in err
    assert err.count("\n") == 1


def test_without_options_the_files_of_the_guide_are_taken(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also where they are named in the home folder; --ca and --pin say whom to trust instead of pins.txt."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(shell.directory)
    (shell.directory / "intent.yaml").rename("site-fabric.yaml")
    kept = tmp_path / ".config/ovn-offload"
    kept.mkdir(parents=True)
    status, out, _ = shell.alone("pins")
    (kept / "pins.txt").write_text(out)
    status, _, err = shell.alone("plan")
    assert (status, "--credentials: " in err, "switches.txt" in err) == (2, True, True)
    shell.credentials.rename(kept / "switches.txt")
    status, out, err = shell.alone("plan", "--format", "json")
    assert (status, bool(json.loads(out)["steps"])) == (0, True), err
    (kept / "pins.txt").write_text("not a pin\n")
    assert shell.alone("plan")[0] == 2
    assert shell.alone("plan", "--ca", str(shell.ca))[0] == 0
