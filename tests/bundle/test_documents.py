# SPDX-License-Identifier: Apache-2.0
"""Every command of every document: its arguments are right; a test runs it, or covered.yaml says why not."""

import configparser
import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from bundle.documents import DOCUMENTS, MENTIONED, ROOT, blocks, inline, joined, parts, steps
from check import checker, facts
from check.options import classes
from maas import __main__ as maas
from operate import __main__ as operate
from operate import private
from replay import __main__ as replay
from vault import __main__ as vault

ROWS = yaml.safe_load((Path(__file__).parent / "covered.yaml").read_text())
COMMANDS = [command for path in DOCUMENTS for command in (*blocks(path), *inline(path))]
SIMPLE = [(command, words) for command in COMMANDS for words in command.simple]
MOST = 35
"""Lines to type from the cables to the first login, with which step 9 ends. Some join several commands."""
WIDEST = 100
"""Columns that a line to type may have."""
MADE = "~/.config/ovn-offload/"
"""The home of secrets, and of what goes with them."""
PRIVATE = ("--credentials", "--keys", "--pins", "--ca")
SNAP = f"~/{private.SNAP}/"
"""Of files for Juju's client: its snap reads nothing in a hidden folder."""
PATH = ROOT / "docs/how-to/deploy.md"
INTENT = "site-fabric.yaml"
EXAMPLE = "charms/cumulus-fabric/examples/rdg.yaml"
PARSERS = {
    "maas": maas.parser,
    "vault": vault.parser,
    "juju": operate.parser,
    "replay": replay.parser,
    "bundle": checker.parser,
}
PROGRAMS = {"lab": "lab", "node": "lab.node", "calibrate": "lab.calibrate", "mutants": "mutants"}
TYPES = {"string": str, "boolean": bool, "integer": int, "number": (int, float)}
CHARMS = {name: yaml.safe_load((ROOT / f"charms/{name}/charmcraft.yaml").read_text()) for name in facts.own()}
OTHERS = {charm for charm, _ in facts.upstream()}
FABRIC = """
import json, sys
from cli.__main__ import _parser
for words in json.load(sys.stdin):
    _parser().parse_args(words)
"""


def shown(command):
    return f"{command.document}:{command.line}: {command.text}"


def of(first, second=None):
    """Simple commands that begin so."""
    return [
        pytest.param(command, words, id=f"{command.document}:{command.line}")
        for command, words in SIMPLE
        if words[0] == first and (second is None or words[1:2] == [second])
    ]


def matches(row, words):
    return re.fullmatch(row["command"], " ".join(words)) is not None


def tox(words):
    """The environments of a call of tox, and its arguments to them."""
    end = words.index("--") if "--" in words else len(words)
    named = re.search(r"-e (\S+)", " ".join(words[:end]))
    return (named[1].split(",") if named else []), words[end + 1 :]


# What each command is.


def test_there_are_commands_in_the_documents():
    assert {command.document for command in COMMANDS} >= {
        *("README.md", "tools/README.md", "overlays/README.md"),
        *(f"charms/{name}/README.md" for name in CHARMS),
        *("docs/how-to/adopt.md", "docs/how-to/reboot-the-nodes.md", "docs/how-to/refresh.md"),
    }


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_line_to_type_fits_a_terminal(path):
    typed = [line for _, lines in parts(path) for line in lines]
    assert [line for line in typed if len(line) > WIDEST] == []


def test_a_command_goes_on_after_a_backslash_and_within_quotes(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n    juju deploy a \\\n        --overlay b\n\n"
        "1. Then:\n\n       juju config a list='[\n           1,\n           2]'\n\n"
        "```\n$ pipx run tox \\\n      -e b\noutput\n$ juju status\n```\n"
    )
    commands = [command for first, lines in parts(page) for command in joined(first, lines)]
    assert commands == [
        (3, 4, "juju deploy a --overlay b"),
        (8, 10, "juju config a list='[ 1, 2]'"),
        (13, 14, "pipx run tox -e b"),
        (16, 16, "juju status"),
    ]


@pytest.mark.parametrize("command", COMMANDS, ids=shown)
def test_every_command_is_run_by_a_test_or_it_is_said_why_not(command):
    assert [words for words in command.simple if not any(matches(row, words) for row in ROWS)] == []


def test_no_row_is_about_a_command_that_no_document_has():
    unused = [row["command"] for row in ROWS if not any(matches(row, words) for _, words in SIMPLE)]
    assert unused == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["command"])
def test_a_row_names_a_test_that_there_is_or_a_reason(row):
    assert len(row) == 2
    path, _, name = row.get("test", "").partition("::")
    assert path or row["reason"]
    assert (ROOT / path).exists()
    if name:
        assert re.search(rf"^(async )?def {name}\(", (ROOT / path).read_text(), re.MULTILINE)


def test_the_path_takes_at_most_35_lines_from_cables_to_first_login():
    counted = {number: len(lines) for number, lines in steps(PATH).items()}
    assert [*counted] == [f"{number}." for number in range(10)]
    assert steps(PATH)["9."][-1].text.startswith("ssh ")
    assert sum(counted.values()) <= MOST, counted
    lines = [line for step in steps(PATH).values() for line in step]
    told = [(str(len(lines)), str(sum(len(line.simple) for line in lines)))]
    for document in (PATH, ROOT / "README.md"):
        assert re.findall(r"(\d+) lines with (\d+) commands", document.read_text()) == told
        assert len(re.findall(r"\d+ commands", document.read_text())) == 1


def test_a_newcomer_types_nothing_that_the_path_does_not_count():
    """The clone, the node that does NAT, each first password, each fingerprint, keys and images."""
    counted = [command for commands in steps(PATH).values() for command in commands]
    assert blocks(PATH) == counted
    typed = "\n".join(command.text for command in counted)
    for needed in (
        "git clone",
        "MASQUERADE",
        "-- first-password",
        "-- pins",
        "maas-api-key",
        "ssh-keygen",
        "wget",
    ):
        assert needed in typed, needed


def test_the_path_makes_each_file_before_a_command_reads_it():
    """By an editor, a redirection, an option for output, a copy or a download."""
    made: set[str] = set()
    for command in (command for commands in steps(PATH).values() for command in commands):
        for words in command.simple:
            made |= {f"{MADE}{word}" for word in words[1:] if words[0] == "editor" and "/" not in word}
            made |= {words[-1]} if words[0] in ("cp", "editor") else set()
            made |= {word.rpartition("/")[2] for word in words[1:] if words[0] == "wget"}
            for option, name in pairwise(words):
                new = option == "--output" or (option == "--keys" and "init" in words)
                if new:
                    made.add(name)
                elif option in (*PRIVATE, "--intent", "--site", "--overlay") or name == "site.yaml":
                    assert name in made, shown(command)
        made |= set(re.findall(r"> (~?[\w./-]+)", command.text))
    assert {"site-overlay.yaml", "jammy-server-cloudimg-amd64.img", f"{MADE}pins.txt"} <= made


@pytest.mark.parametrize(
    "path", [path for path in DOCUMENTS if "tests" not in path.parts], ids=lambda path: path.name
)
def test_secrets_have_one_home_outside_the_clone(path):
    for command in (*blocks(path), *inline(path)):
        for words in command.simple:
            for option, name in pairwise(words):
                if option in PRIVATE:
                    assert name.startswith(MADE) or name in ("-", "FILE"), shown(command)
                if option == "--file" and words[1] == "add-secret":
                    assert name.startswith(SNAP), shown(command)
            assert "#file=" not in " ".join(words), "Juju keeps the line's end, which no password has"
        for certificate in re.findall(r"[^\s<>(]+\.pem\b", command.text):
            assert certificate.startswith(MADE), shown(command)


def test_documents_name_one_bundle_apart_from_the_table_of_both():
    for command in COMMANDS:
        assert "yoga" not in command.text, shown(command)


def test_step_0_names_what_turns_network_boot_on_and_for_which_machines():
    """A card that does not boot from the network never appears in MAAS, in a controller as in a node."""
    profile = CHARMS["nic-firmware"]["config"]["options"]["profile"]["description"]
    parameters = set(re.findall(r"EXP_ROM_\w+|LEGACY_BOOT_PROTOCOL", profile))
    section = (ROOT / "docs/how-to/prepare-a-node.md").read_text().partition("## Turn network boot on")[2]
    assert len(parameters) == 4
    assert {name for name in parameters if name not in section} == set()
    (step,) = re.findall(r"^- \*\*PXE .*?(?=^- )", PATH.read_text(), re.MULTILINE | re.DOTALL)
    for word in ("EXP_ROM_UEFI_x86_ENABLE", "EXP_ROM_PXE_ENABLE", "controllers"):
        assert word in step, word
    assert "profile=network-boot" in section.partition("controller")[2]


def test_the_times_of_the_lab_name_their_machine_and_agree():
    """README.md's and the tutorial's: of the first run, and of the rack alone, as its output ends."""
    told = {}
    for name in ("README.md", "docs/tutorial/virtual-rack.md"):
        text = (ROOT / name).read_text()
        (said,) = re.findall(r"^On two .*?\n\n", text, re.MULTILINE | re.DOTALL)
        assert "AMD EPYC" in said
        (ended,) = re.findall(r"^All holds; (.*) in all\.$", text, re.MULTILINE)
        (took, alone) = re.search(r"(\d+ min \d+ s) after.*?(\d+ min \d+ s) of it", said, re.DOTALL).groups()
        assert alone == ended
        told[name] = took
    assert len(set(told.values())) == 1


# What it says.


@pytest.mark.parametrize(("command", "words"), of("pipx"))
def test_a_call_of_tox_names_environments_and_arguments_that_there_are(command, words):
    environments, arguments = tox(words)
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "tox.ini")
    assert [name for name in environments if f"testenv:{name}" not in config] == []
    for name in environments:
        if name in PARSERS and arguments:
            PARSERS[name]().parse_args(arguments)


@pytest.mark.parametrize(("command", "words"), of("pipx"))
def test_a_file_gets_what_the_tool_prints_and_not_what_tox_prints(command, words):
    """tox prints its own lines to standard output, unless it is told twice to be quiet."""
    assert "-qq" in words or not command.redirected


def test_calls_of_the_fabrics_command_line_are_parsed_by_it():
    calls = [tox(words)[1] for _, words in SIMPLE if words[0] == "pipx" and tox(words)[0] == ["fabric"]]
    assert len(calls) > 5
    path = os.pathsep.join([str(ROOT / "lib"), str(ROOT / "charms/cumulus-fabric/src")])
    done = subprocess.run(
        [sys.executable, "-c", FABRIC],
        env={**os.environ, "PYTHONPATH": path},
        input=json.dumps(calls),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "command", [command for path in DOCUMENTS for command in inline(path, MENTIONED)], ids=shown
)
def test_a_command_that_a_sentence_mentions_exists(command):
    environments, arguments = tox(command.simple[0])
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "tox.ini")
    assert [name for name in environments if f"testenv:{name}" not in config] == []
    if environments[0] in ("maas", "vault", "juju") and arguments:
        assert arguments[0] in PARSERS[environments[0]]().format_help()


@pytest.mark.parametrize("name", PROGRAMS)
def test_options_of_the_lab_are_those_of_its_programs(name):
    """The commands run for minutes in guests: nobody else would notice an option that is gone."""
    calls = [tox(words) for _, words in SIMPLE if words[0] == "pipx"]
    given = {word for named, words in calls if named == [name] for word in words if word.startswith("--")}
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(ROOT / each) for each in ("lib", "tests", "tools")),
    }
    program = [sys.executable, "-m", PROGRAMS[name], "--help"]
    done = subprocess.run(program, env=environment, capture_output=True, text=True)
    assert given
    assert given <= set(re.findall(r"--[\w-]+", done.stdout))


@pytest.mark.parametrize(("command", "words"), of("juju", "run"))
def test_an_action_and_its_parameters_are_the_charms(command, words):
    unit, name, *given = words[2:]
    charm = unit.partition("/")[0]
    actions = CHARMS[charm]["actions"]
    assert name in actions, shown(command)
    parameters = actions[name].get("params", {})
    for key, _, text in (word.partition("=") for word in given):
        assert key in parameters, shown(command)
        value = yaml.safe_load(text)
        kinds = parameters[key]["type"]
        types = tuple(TYPES[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds))
        assert isinstance(value, types), shown(command)
        assert value in parameters[key].get("enum", [value]), shown(command)
    folders = (ROOT / "tests/unit" / charm.replace("-", "_"), ROOT / "tests/lib/charmkit")
    tests = "\n".join(path.read_text() for folder in folders for path in folder.rglob("test_*.py"))
    assert re.search(rf'"{name}"|_{name.replace("-", "_")}\b|\b{name}\(', tests), f"no test runs {name}"


@pytest.mark.parametrize(("command", "words"), [*of("juju", "config"), *of("juju", "deploy")])
def test_options_and_their_values_are_the_charms(command, words):
    given = [word for word in words[3:] if "=" in word and not word.startswith("--")]
    if len(words) == 2 or not given:
        return
    name = Path(words[2]).name.partition("_")[0]
    options = {key: value for key, _, value in (word.partition("=") for word in given) if "$(" not in value}
    if name in OTHERS:
        known = [found.options for (charm, _), found in facts.upstream().items() if charm == name]
        assert all(key in option for key in options for option in known), shown(command)
        return
    declared = CHARMS[name]["config"]["options"]
    assert [word.partition("=")[0] for word in given if word.partition("=")[0] not in declared] == []
    values = {
        key.replace("-", "_"): value if declared[key]["type"] == "string" else yaml.safe_load(value)
        for key, value in options.items()
        if declared[key]["type"] != "secret"
    }
    classes()[name](**values)


@pytest.mark.parametrize(("command", "words"), of("juju", "deploy"))
def test_what_is_deployed_is_a_charm_or_in_the_clone_or_packed_into_it(command, words):
    what = words[2].removeprefix("./")
    if what in CHARMS or what in OTHERS:
        return
    if what.startswith("build/"):
        charm, _, platform = what.removeprefix("build/").removesuffix(".charm").partition("_")
        platforms = [name.replace(":", "-") for name in CHARMS[charm]["platforms"]]
        assert platform in platforms, shown(command)
    else:
        exported = ["juju", "export-bundle", "--filename", what]
        written = [each for each, found in SIMPLE if found == exported and each.document == command.document]
        assert written or (ROOT / what).is_file(), shown(command)
    for path in (word for word in words if word.startswith("overlays/")):
        assert (ROOT / path).is_file(), shown(command)


@pytest.mark.parametrize(
    ("command", "words"),
    [*of("juju", "integrate"), *of("juju", "remove-relation"), *of("juju", "grant-secret")],
)
def test_applications_are_charms_that_there_are(command, words):
    known = {*CHARMS, *OTHERS, "switches"}
    ends = [word.partition(":") for word in words[2:]]
    assert {name for name, _, _ in ends} <= known, shown(command)
    every = {**{charm: found for (charm, _), found in facts.upstream().items()}, **facts.own()}
    for name, _, endpoint in ends:
        assert not endpoint or endpoint == "juju-info" or endpoint in every[name].endpoints, shown(command)


@pytest.mark.parametrize(("command", "words"), of("cp"))
def test_what_is_copied_is_there(command, words):
    assert (ROOT / words[1]).is_file(), shown(command)


def test_each_file_of_the_site_has_one_name():
    """The site file is site.yaml, the overlay site-overlay.yaml, the intent site-fabric.yaml, everywhere."""
    for command, words in SIMPLE:
        for option, name in pairwise(words):
            if option == "--overlay":
                assert name not in ("site.yaml", "site-fabric.yaml"), shown(command)
            elif option == "--intent":
                assert name in (INTENT, "FILE") or ("/" in name and (ROOT / name).is_file()), shown(command)
        environments, arguments = tox(words) if words[0] == "pipx" else ([], [])
        if environments == ["maas"]:
            assert arguments[1] in ("site.yaml", "SITE"), shown(command)
    for command in COMMANDS:
        for name in re.findall(r'intent="\$\(cat ([^)]+)\)"', command.text):
            assert name == INTENT, shown(command)


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if path.suffix == ".md"], ids=str)
def test_a_document_whose_commands_read_the_intent_has_the_step_that_makes_or_changes_it(path):
    typed = [command.text for command in blocks(path)]
    reading = [number for number, text in enumerate(typed) if re.search(rf"(--intent |cat ){INTENT}\b", text)]
    steps_that_do = (f"cp {EXAMPLE} {INTENT} && editor ", f"editor site.yaml {INTENT}", f"editor {INTENT}")
    made = [number for number, text in enumerate(typed) if text.startswith(steps_that_do)]
    assert not reading or (made and made[0] < reading[0])


@pytest.mark.parametrize(("command", "words"), [*of("systemctl"), *of("rm")])
def test_what_removal_names_is_what_the_charms_install(command, words):
    """Each unit, rule and file stands in the charm's code, or is made of names that do."""
    files = [path for folder in ("charms", "lib") for path in (ROOT / folder).rglob("*.py")]
    code = "\n".join(path.read_text() for path in files)
    for word in [word for word in words if word.startswith(("/", "ovn-offload-"))]:
        for name in expanded(word):
            known = Path(name).name.removesuffix(".json").removesuffix(".service")
            assert known in code, f"{shown(command)}: {name}"


def test_what_is_removed_by_hand_is_all_that_outlives_a_forced_removal():
    """But for the wake-up units, which remove themselves, and what the page of files says to stay."""
    commands = blocks(ROOT / "docs/how-to/remove-a-charm.md")
    removed = {
        name for each in commands for words in each.simple for word in words for name in expanded(word)
    }
    page = (ROOT / "docs/reference/files-on-a-host.md").read_text()
    kept = page.partition("## Kept across reboots")[2].partition("\n## ")[0]
    files = [line for line in kept.splitlines() if line.startswith("| `") and "Stays after" not in line]
    paths = {re.findall(r"`([^`]+)`", line)[0] for line in files if "-dispatch" not in line}
    hosts = [name for name in CHARMS if name != "cumulus-fabric"]
    left = {path.replace("CHARM", name) for path in paths for name in hosts}
    assert len(left) > 12
    assert {path for path in left if not {path, path.rpartition("/")[0]} & removed} == set()


def expanded(word):
    """`a{b,c}` as the shell expands it."""
    found = re.fullmatch(r"(.*)\{(.*)\}(.*)", word)
    return [f"{found[1]}{part}{found[3]}" for part in found[2].split(",")] if found else [word]
