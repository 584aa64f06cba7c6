# SPDX-License-Identifier: Apache-2.0
"""The command line: what needs no switch; what it refuses; its exit status."""

import io
import json
import re
import subprocess
import sys

import pytest
import yaml
from cli import __main__ as cli
from intent import expand
from intent.model import Dialect
from output import formats
from tree import render
from unit.cumulus_fabric.fabrics import CHARM, SIX, data, fabric, text

RDG = str(CHARM / "examples/rdg.yaml")
OLD, NEW = Dialect.UNTIL_5_14, Dialect.FROM_5_15


@pytest.fixture
def run(capsys):
    """Run the command line; its exit status, and what it printed."""

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            status = cli.main(arguments)
        except SystemExit as left:  # argparse
            status = left.code
        return status, *capsys.readouterr()

    return run


def test_render_says_when_it_had_to_choose_the_dialect(run):
    _, _, err = run("render", "--intent", RDG, "--switch", "Spine0")
    assert err == "Spine0: the intent does not set its dialect; written for releases up to 5.14\n"
    _, out, err = run("render", "--intent", RDG, "--switch", "Spine0", "--dialect", "5.15")
    assert err == ""
    assert "nv set interface lo ipv4 address 10.10.10.101/32" in out


def test_render_of_all_as_json_is_one_document(run):
    status, out, _ = run("render", "--intent", RDG, "--format", "json", "--dialect", "5.15")
    rdg = fabric()
    assert status == 0
    assert json.loads(out) == {switch.name: render.tree(rdg, switch, NEW) for switch in rdg.switches}


@pytest.mark.parametrize(
    ("dialect", "said"),
    [("5.14", "Leaf0-2: its DHCP relay is written for releases up to 5.13\n"), ("5.15", "")],
)
def test_render_says_for_which_releases_a_dhcp_relay_is_not(run, tmp_path, dialect, said):
    page = (CHARM.parents[1] / "docs/how-to/set-gateways-and-vrfs.md").read_text()
    mine = tmp_path / "intent.yaml"
    mine.write_text(page.partition("```yaml\n")[2].partition("```")[0])
    assert run("render", "--intent", str(mine), "--switch", "Leaf0-2", "--dialect", dialect)[2] == said


def test_render_of_all_as_yaml_is_one_document_for_each(run):
    _, out, _ = run("render", "--intent", RDG, "--format", "yaml", "--dialect", "5.14")
    documents = list(yaml.safe_load_all(out))
    assert len(documents) == 6
    assert documents[0] == [{"set": render.tree(fabric(), fabric().switch("Spine0"), OLD)}]


def test_the_comments_of_the_example_show_where_addresses_and_host_names_go(run, tmp_path):
    mine = tmp_path / "intent.yaml"
    mine.write_text(re.sub(r"# ((?:management|host-names): )", r"\1", text("rdg")))
    assert run("audit", "--intent", str(mine))[0] == 0
    filled = expand.read(mine.read_text())
    assert all(switch.named for switch in filled.switches)
    assert {switch.name: switch.management for switch in filled.switches} == {
        **{f"Spine{number}": f"192.168.0.{21 + number}" for number in (0, 1)},
        **{name: f"192.168.0.{31 + number}" for number, name in enumerate(SIX[:4])},
    }


def test_the_intents_own_dialect_wins(run, tmp_path):
    mine = tmp_path / "intent.yaml"
    mine.write_text(text("rdg") + "dialect: 5.15\n")
    _, out, _ = run("render", "--intent", str(mine), "--switch", "Spine0", "--dialect", "5.14")
    assert "ipv4 address" in out


def test_audit_passes_the_guide_and_fails_a_ninth_host(run, tmp_path):
    status, out, _ = run("audit", "--intent", RDG)
    assert status == 0
    assert re.search(r"^warning +leaves\.df-preference ", out, flags=re.MULTILINE)
    nine = data()
    nine["racks"][0]["hosts"] = "swp1-9"
    (tmp_path / "nine.json").write_text(json.dumps(nine))
    status, out, _ = run("audit", "--intent", str(tmp_path / "nine.json"), "--format", "json")
    assert status == 1
    assert json.loads(out)[0]["subject"] == "racks[0].bonds.bond_ext"


def test_the_intent_may_come_from_standard_input(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(text("demartek")))
    status, out, _ = run("audit", "--intent", "-")
    assert (status, out) == (0, "No finding: the intent can be applied.\n")


def test_show_draws_and_writes(run):
    assert run("show", "--intent", RDG)[1].startswith("Fabric rdg: 2 spines, 4 leaves, 2 racks")
    assert run("show", "--intent", RDG, "--format", "svg")[1].startswith("<svg ")


def test_demartek_renders_with_its_correction(run):
    demartek = str(CHARM / "examples/demartek.yaml")
    _, out, _ = run("render", "--intent", demartek, "--switch", "hpe5900")
    assert out.startswith("! Demartek's guide turns ECN on for queue 5")
    status, _, err = run("render", "--intent", demartek, "--format", "yaml")
    assert (status, err) == (2, "sn2410 runs onyx, which takes commands only: use format nv\n")
    assert issubclass(formats.FormatError, ValueError)


PLAN, GOOD = ("plan", "--intent", RDG, "--credentials"), ("--intent", "{managed}", "--credentials", "{good}")
MISUSED = [
    (("render", "--intent", "/none"), "--intent: /none cannot be read: No such file or directory"),
    (
        ("render", "--intent", RDG, "--switch", "Leaf9"),
        "--switch: Leaf9 is not a switch of the intent; the intent has Sp",
    ),
    (("render", "--intent", RDG, "--format", "xml"), "invalid choice: 'xml'"),
    (("render",), "--intent: site-fabric.yaml cannot be read: No such file or directory"),
    (("frobnicate",), "invalid choice: 'frobnicate'"),
    ((*PLAN, "{open}"), "/open can be read by others; run chmod 600 "),
    ((*PLAN, "{empty}"), "/empty has no value; give one line user:password"),
    ((*PLAN, "{several}"), "/several has a line 2 that is not NAME user:password; give one line user:"),
    ((*PLAN, "/tmp"), "--credentials: /tmp cannot be read: Is a directory"),
    ((*PLAN, "/none"), "--credentials: /none cannot be read: No such file or directory"),
    ((*PLAN, "{good}"), "Spine0: has no management address; set spines"),
    (("plan", *GOOD, "--pin", "x"), "--pin: 'x' is not allowed"),
    (("plan", *GOOD, "--ca", "{good}"), "holds no certificate in PEM"),
    (("plan", *GOOD, "--ca", "/none"), "--ca: /none cannot be read"),
]


@pytest.mark.parametrize(("arguments", "sentence"), MISUSED, ids=range(len(MISUSED)))
def test_a_misused_command_gets_one_sentence(run, tmp_path, arguments, sentence):
    names = {name: str(tmp_path / name) for name in ("open", "empty", "several", "good", "managed")}
    for name, content, mode in (
        ("open", "cumulus:x", 0o644),
        ("empty", "", 0o600),
        ("several", "cumulus:Correct-Horse-9\nadmin:Correct-Horse-8\n", 0o600),
        ("good", "cumulus:Correct-Horse-9\n", 0o600),
        ("managed", json.dumps(_managed()), 0o644),
    ):
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(mode)
    status, out, err = run(*(argument.format(**names) for argument in arguments))
    assert (status, out) == (2, "")
    assert sentence in err
    assert "Traceback" not in err
    assert "Correct-Horse" not in err


def _managed() -> dict:
    content = data()
    content["spines"]["management"] = "192.0.2.1"
    content["leaves"]["management"] = "192.0.2.11"
    return content


def test_a_wrong_intent_gets_one_sentence(run, tmp_path):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("networks:\n  oam: {vlan: 5000}")
    status, _, err = run("audit", "--intent", str(wrong))
    assert status == 2
    assert err == f"{wrong}:2: networks.oam.vlan: 5000 is not allowed; expected a VLAN from 1 to 4094.\n"


def test_fix_numbers_prints_the_intent_with_the_numbers(run, tmp_path):
    status, out, err = run("fix-numbers", "--intent", RDG)
    assert (status, err) == (0, "")
    fixed = tmp_path / "fixed.yaml"
    fixed.write_text(out)
    assert run("render", "--intent", str(fixed)) == run("render", "--intent", RDG)
    status, out, _ = run("fix-numbers", "--intent", RDG, "--keep", "Leaf1-2:swp9=7,swp10=5")
    assert status == 0
    assert "        bond7: {port: swp9, local-id: 7, host: none}\n        bond5: {port: swp10" in out
    assert "  - hosts: swp9-10\n    bonds:" in out
    status, out, _ = run("fix-numbers", "--intent", RDG, "--racks", "1,0")
    assert status == 0
    assert "  - number: 1\n    hosts: swp9-10\n    bonds:" in out


@pytest.mark.parametrize(
    ("racks", "said"),
    [
        ("1;0", "--racks: 1;0 is not a list of numbers, such as 1,0"),
        ("1", "--racks: give 2 numbers, one for each entry of racks"),
    ],
)
def test_fix_numbers_refuses_what_are_no_numbers_of_racks(run, racks, said):
    assert run("fix-numbers", "--intent", RDG, "--racks", racks)[::2] == (2, f"{said}\n")


NO_NUMBERS = "is not a leaf with numbers, such as Leaf0-1:swp9=1,swp10=2"


@pytest.mark.parametrize(
    ("keep", "said"),
    [
        ("swp9=1", f"--keep: swp9=1 {NO_NUMBERS}"),
        ("Leaf0-1:swp9", f"--keep: Leaf0-1:swp9 {NO_NUMBERS}"),
        ("Leaf0-1:swp9=0", f"--keep: Leaf0-1:swp9=0 {NO_NUMBERS}"),
        ("Leaf9-9:swp9=1", "the intent has no leaf Leaf9-9"),
    ],
)
def test_fix_numbers_refuses_what_it_cannot_keep(run, keep, said):
    assert run("fix-numbers", "--intent", RDG, "--keep", keep) == (2, "", f"{said}\n")


@pytest.mark.parametrize("verb", ["audit", "render", "show", "fix-numbers", "list-backups"])
def test_a_verb_without_switches_loads_nothing_that_speaks_to_one(verb, tmp_path):
    """HTTP, TLS and what uses them took two thirds of the time of an audit."""
    script = f"""
import sys
from cli.__main__ import main
assert main([{verb!r}, "--intent", {RDG!r}]) == 0
speaks = {{"http.client", "ssl", "urllib.request", "concurrent.futures", "rest.client", "online"}}
print(*sorted(speaks & {{*sys.modules}}), file=sys.stderr)
"""
    env = {"PYTHONPATH": f"{CHARM / 'src'}:{CHARM.parents[1] / 'lib'}", "HOME": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (0, "")
