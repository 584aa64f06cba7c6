# SPDX-License-Identifier: Apache-2.0
"""The command line's output for 16 spines and 32 leaves: the worst first, and no more than fits."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import online
import pytest
from bench import fabric as bench
from cli import arguments
from intent import expand
from intent.model import Fabric
from lab.nvue import Fault
from rest.connection import Access
from rest.fleet import Fleet
from unit.cumulus_fabric.online.shell import Shell
from unit.cumulus_fabric.online.site import InTurn, rack
from unit.cumulus_fabric.online.test_cli import digest_in

SPINES, LEAVES, HOSTS = 16, 32, 32


def of_size(*vlans: int) -> dict[str, Any]:
    """An intent with these VLANs, each of which every host has."""
    content = json.loads(bench.intent(SPINES, LEAVES, HOSTS))
    content["spines"]["management"], content["leaves"]["management"] = "192.0.2.1", "192.0.2.101"
    content["networks"] |= {f"net{vlan}": {"vlan": vlan} for vlan in vlans}
    return content


@pytest.fixture
def many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Shell]:
    """48 switches, with two networks that the intent has no longer, and without two that are new there."""
    with rack(expand.read(json.dumps(of_size(70, 80))), applied=True, fleet=InTurn) as made:

        def fleet(fabric: Fabric, access: Access, limit: int) -> Fleet:
            return replace(made.site.fleet, limit=limit)

        monkeypatch.setattr(online, "fleet", fleet)  # in the place of sockets
        shell = Shell(tmp_path, tmp_path / "ca.pem", made, capsys)
        (tmp_path / "ca.pem").write_text("")
        (tmp_path / "intent.yaml").write_text(json.dumps(of_size(50, 60)))
        yield shell


def columns(table: str, number: int) -> list[str]:
    """The words at this place of each line of the first table, without its header."""
    return [line.split()[number] for line in table.split("\n\n")[0].splitlines()[1:]]


def test_what_verify_finds_is_cut_after_the_worst_60_and_counted(many: Shell) -> None:
    for leaf in range(LEAVES // 2):
        many.rack.wires.cut |= {
            (f"Leaf{leaf}-{member}", f"swp{port}") for member in (1, 2) for port in (1, 2)
        }
    status, out, _ = many("verify")
    assert (status, columns(out, 0)) == (1, ["held"] * 32 + ["warning"] * 28 + ["68"])
    assert out.splitlines()[-1] == "68 more findings: --all shows them"
    whole = many("verify", "--all")[1]
    assert columns(whole, 0) == ["held"] * 32 + ["warning"] * 64 + ["info"] * 32
    assert len(json.loads(many("verify", "--format", "json")[1])) == 32 + 64 + 32


def test_a_plan_ends_with_its_digest_although_steps_and_findings_are_cut(
    many: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, out, _ = many("plan")
    assert status == 0
    assert "\n4 more steps: --all shows them\n" in out
    assert out.count("not in the intent and not made by this charm") == 32
    whole = many("plan", "--all")[1]
    assert "more" not in whole
    assert digest_in(out) == digest_in(whole)
    monkeypatch.setattr(arguments, "MOST", 20)
    short = many("plan")[1]
    assert "\n44 more steps: --all shows them\n" in short
    assert re.findall(r"^(\d+) more findings: --all shows them$", short, re.MULTILINE) == ["16"]
    assert short.splitlines()[-1] == out.splitlines()[-1]
    assert digest_in(short) in short.splitlines()[-1]


def test_the_switches_of_an_apply_come_worst_first_and_the_rest_is_asked_with_what_changes_nothing(
    many: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    many.rack.servers["Leaf9-1"].inject(Fault("hang", times=0, call="confirm"))
    monkeypatch.setattr(arguments, "MOST", 20)
    status, out, _ = many("apply")
    lines = out.splitlines()
    assert status == 1
    assert lines[:2] == ["Leaf9-1: unknown", "Leaf0-1: rolled back"]
    assert lines[20] == "12 more switches: audit --all and verify --all show what still differs"
    assert "the state of Leaf9-1 is unknown" in lines[-1]


def test_a_refused_apply_and_audit_are_cut_and_tell_what_shows_the_rest(many: Shell) -> None:
    content = of_size(*range(100, 170))
    content["unmanaged"] = {"vlans": "100-169"}
    (many.directory / "intent.yaml").write_text(json.dumps(content))
    intent = ("--intent", str(many.directory / "intent.yaml"))
    status, out, _ = many.alone("audit", *intent)
    assert (status, columns(out, 0)) == (1, ["blocked"] * 60 + ["12"])
    assert out.splitlines()[-1] == "12 more findings: --all shows them"
    assert columns(many.alone("audit", *intent, "--all")[1], 0) == ["blocked"] * 70 + ["info"] * 2
    status, out, _ = many("apply")
    assert status == 1
    assert out.count("is unmanaged, on") == 60
    assert out.splitlines()[-2:] == [
        "10 more findings: audit --all and verify --all show what still differs",
        "nothing was sent to any switch",
    ]
    assert many.rack.writes() == []
