# SPDX-License-Identifier: Apache-2.0
"""The command line on simulated switches, at the intent's addresses: day 0; then the charm adopts them."""

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli import inputs
from lab.nvue import Certificate, Issue
from tree import get_tree
from tree.foreign import VLANS
from unit.cumulus_fabric.online.shell import ADDRESSES, Shell, here
from unit.cumulus_fabric.online.site import PASSWORD, USER
from unit.cumulus_fabric.online.unit import Unit, intent


def test_plan_apply_verify_and_back_again(shell: Shell) -> None:
    factory = shell.rack.applied
    status, out, _ = shell("plan", "--format", "json")
    assert status == 0
    assert json.loads(out)["steps"]
    assert shell.rack.applied == factory

    status, out, err = shell("apply", "--canary", "Leaf0-2")
    assert (status, out.splitlines()[-1]) == (0, "fully applied: 3 switches changed"), out + err
    assert err.splitlines() == ["applying on Leaf0-2", "applying on Spine0, Leaf0-1"]
    assert shell("plan")[1].startswith("Nothing to do")
    status, out, _ = shell("verify", "--format", "json")
    assert (status, json.loads(out)) == (0, [])

    status, out, _ = shell("rollback", "--switch", "Leaf0-1")
    assert (status, out.splitlines()[-1]) == (0, "nothing was sent to any switch")
    assert "would leave the fabric" in out
    assert "or run rollback with --cut-off Leaf0-1 if it may" in out
    status, out, _ = shell(
        "rollback", "--switch", "Leaf0-1", "--plan", digest_in(out), "--cut-off", "Leaf0-1"
    )
    assert status == 0, out
    assert shell.rack.applied["Leaf0-1"] == factory["Leaf0-1"]
    assert "router" in shell.rack.applied["Leaf0-2"]
    assert shell("verify")[0] == 1


def digest_in(out: str) -> str:
    (found,) = re.findall(r"with --plan (p[0-9a-f]{16})", out)
    return found


def described(text: str) -> Callable[[dict[str, Any]], None]:
    """The fabric with a port of this description."""

    def change(content: dict[str, Any]) -> None:
        here(content)
        juju = {"leaf": 1, "port": "swp23", "networks": ["oam"], "description": text}
        content["racks"][0]["single-homed"] = {"juju": juju}

    return change


def test_a_rollback_of_all_is_not_one_of_every_name(shell: Shell) -> None:
    """The last change of the other switches was the one that brought them into the fabric."""
    for text in ("juju", "the controller"):
        (shell.directory / "intent.yaml").write_text(intent(described(text)))
        assert shell("apply")[0] == 0
    ran = shell.rack.applied
    status, out, _ = shell("rollback")
    assert (status, out.splitlines()[-1]) == (1, "nothing was sent to any switch")
    assert all(re.search(f"blocked +{name} +would leave", out) for name in ("Spine0", "Leaf0-2"))
    assert shell("rollback", "--plan", "p0123456789abcdef")[0] == 1
    assert shell.rack.applied == ran

    out = shell("rollback", "--switch", "Leaf0-1")[1]
    assert "set interface swp23 description juju" in out
    assert shell("rollback", "--switch", "Leaf0-1", "--plan", digest_in(out))[0] == 0
    assert shell.rack.applied["Leaf0-1"]["interface"]["swp23"]["description"] == "juju"
    assert {name: tree for name, tree in shell.rack.applied.items() if name != "Leaf0-1"} == {
        name: tree for name, tree in ran.items() if name != "Leaf0-1"
    }


def test_only_an_approved_plan_is_applied(shell: Shell) -> None:
    digest = json.loads(shell("plan", "--format", "json")[1])["findings"][-1]["what"]
    status, out, _ = shell("apply", "--plan", "p0123456789abcdef")
    assert (status, out.splitlines()[-1]) == (1, "nothing was sent to any switch")
    assert shell.rack.writes() == []
    assert shell("apply", "--plan", digest)[0] == 0
    assert shell("plan")[1].startswith("Nothing to do")


def test_an_apply_that_a_switch_refuses_ends_with_status_1_and_says_so(shell: Shell) -> None:
    factory = shell.rack.applied
    shell.rack.wires.refuse["Leaf0-1"] = Issue("invalid-config", "the ASIC does not take it")
    status, out, _ = shell("apply")
    assert (status, out.splitlines()[-1]) == (1, "fully rolled back: every switch runs what it ran before")
    assert "the ASIC does not take it" in out
    assert shell.rack.applied == factory


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--settle", "150"],
            "--confirm: 300 is not allowed; give at least 360, twice --settle and 60 s",
        ),
        (["--parallel", "0"], "--parallel: 0 is not allowed; give 1 or more"),
        (
            ["--canary", "Nope"],
            "--canary: Nope is not a switch of the intent; the intent has Spine0, Leaf0-1, Leaf0-2",
        ),
    ],
)
def test_limits_that_cannot_work_are_one_sentence(shell: Shell, arguments: list[str], said: str) -> None:
    assert shell("apply", *arguments)[::2] == (2, f"{said}\n")
    assert shell.rack.writes() == []


@pytest.mark.parametrize("verb", ["verify", "upgrade", "compare-backups"])
def test_no_verb_contacts_less_than_one_switch_at_once(shell: Shell, verb: str) -> None:
    needs = {"upgrade": ["--image", "http://192.0.2.1/x"], "compare-backups": ["--backup", "1"]}
    given = shell(verb, "--parallel", "0", *needs.get(verb, []))
    assert given[::2] == (2, "--parallel: 0 is not allowed; give 1 or more\n")


def test_switches_that_do_not_answer_are_named(shell: Shell) -> None:
    shell.rack.servers["Leaf0-2"].password = "another"
    status, out, _ = shell("plan")
    assert status == 1
    assert "Leaf0-2" in out


def test_verify_of_one_switch_names_no_other(shell: Shell) -> None:
    assert shell("apply")[0] == 0
    shell.rack.wires.cut.add(("Leaf0-2", "swp9"))
    (warning,) = json.loads(shell("verify", "--switch", "Leaf0-2", "--format", "json")[1])
    assert warning["subject"] == "Leaf0-2 swp9"
    status, out, _ = shell("verify", "--switch", "Leaf0-1", "--format", "json")
    assert (status, json.loads(out)) == (0, [])


@pytest.mark.parametrize("words", [("verify", "Leaf0-1"), ("verify", "sn2410"), ("plan", "sn2410")])
def test_what_looks_at_all_switches_names_the_one_without_an_address(
    shell: Shell, words: tuple[str, str]
) -> None:
    def alone(content: dict[str, Any]) -> None:
        here(content)
        del content["spines"]["management"], content["leaves"]["management"]
        content["switches"] = {"Leaf0-1": {"management": ADDRESSES["Leaf0-1"]}}
        content["standalone"] = {"sn2410": {"platform": "onyx", "ports": "1/1-2"}}

    (shell.directory / "intent.yaml").write_text(intent(alone))
    verb, name = words
    status, _, err = shell(verb, "--switch", name)
    assert (status, err.partition(";")[0]) == (2, "Spine0: has no management address")


def test_credentials_that_others_can_read_are_refused(shell: Shell) -> None:
    shell.credentials.chmod(0o644)
    status, _, err = shell("plan")
    assert status == 2
    assert "chmod 600" in err
    assert all(not server.calls for server in shell.rack.servers.values())


def test_credentials_may_come_from_standard_input(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{USER}:{PASSWORD}\n"))
    shell.credentials = Path("-")
    assert shell("plan")[0] == 0


@pytest.mark.parametrize("text", ["", "cumulus", "cumulus:", ":secret", "us\x00er:secret", "user:se\x1bcret"])
def test_credentials_that_cannot_be_used_are_one_sentence(shell: Shell, text: str) -> None:
    shell.credentials.write_text(text)
    status, _, err = shell("plan")
    assert (status, err.count("\n")) == (2, 1)
    assert "one line user:password" in err
    assert "secret" not in err


def test_the_charm_adopts_what_the_command_line_has_applied(
    shell: Shell, authority: Certificate, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert shell("apply")[0] == 0
    unit = Unit(shell.rack, authority, monkeypatch, tmp_path).configure(intent=intent(here))
    assert unit.action("plan")["plan"].startswith("Nothing to do")
    assert unit.emit().name == "active"
    assert unit.writes == []


def test_a_leaf_is_drained_and_returns(shell: Shell) -> None:
    shell("apply")
    status, out, err = shell("drain", "--switch", "Leaf0-2")
    said = "these hosts lose a leg, and keep another one: node1-2"
    first, *reasons, verdict = out.splitlines()
    assert (status, first, verdict) == (0, "Leaf0-2: applied", "fully applied: 1 switch changed")
    assert said in "\n".join(reasons)
    assert err.splitlines() == [f"Leaf0-2: {said}", *["applying on Leaf0-2"] * 2]
    (warning,) = json.loads(shell("verify", "--format", "json")[1])  # ports that are shut down say nothing
    assert (warning["subject"], warning["what"]) == ("Leaf0-2", "is drained")
    status, out, _ = shell("drain", "--switch", "Leaf0-1")
    assert (status, out.splitlines()[-1]) == (1, "nothing was sent to any switch")
    assert "node1 has no other leg" in out
    assert shell("undrain", "--switch", "Leaf0-2")[0] == 0
    assert shell("verify")[0] == 0
    assert shell("undrain") == (2, "", "--switch: undrain needs the name of one switch\n")


def test_a_record_lets_a_network_go_with_its_entry(shell: Shell) -> None:
    record = str(shell.directory / "record.json")
    assert shell("apply", "--record", record)[0] == 0
    content = json.loads((shell.directory / "intent.yaml").read_text())
    del content["networks"]["provider"]
    (shell.directory / "intent.yaml").write_text(json.dumps(content))
    assert "vlan101: not in the intent" in shell("plan")[1]
    assert "unset bridge domain br_default vlan 101" in shell("plan", "--remove", "vlan101")[1]
    assert "unset bridge domain br_default vlan 101" in shell("plan", "--record", record)[1]
    assert shell("apply", "--record", record)[0] == 0
    assert "101" not in get_tree(inputs.record(record).last["Leaf0-1"], *VLANS)
