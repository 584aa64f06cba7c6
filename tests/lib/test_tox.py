# SPDX-License-Identifier: Apache-2.0
"""Each environment of tox.ini: its name, its description, and the arguments that it passes on."""

import configparser
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFIG = configparser.ConfigParser(interpolation=None)
CONFIG.read(ROOT / "tox.ini")
ENVIRONMENTS = {
    section.removeprefix("testenv:"): CONFIG[section] for section in CONFIG if section.startswith("testenv:")
}
CONDITION = re.compile(r"\s*[^\s:]+:(\s|$)")
"""A word and a colon begin a line: tox takes the word for a condition, and lists it as an environment."""

PROGRAM = re.compile(r"^python (-m (?!pytest)\S+|\S+)\b.* {posargs}$", re.MULTILINE)
PROGRAMS = {
    name: found[1].split()
    for name, section in ENVIRONMENTS.items()
    if (found := PROGRAM.search(section["commands"]))
}
"""The environments whose arguments go to a program of this project, and how Python starts it."""

of_each = pytest.mark.parametrize("name", ENVIRONMENTS)


def test_a_word_and_a_colon_are_a_condition_and_several_words_are_none() -> None:
    assert CONDITION.match("Ratios: an idle hook")
    assert not CONDITION.match("The bundle's Vault: -- init")
    assert not CONDITION.match("PYTHONPATH = {tox_root}/lib:{tox_root}/tests")


@of_each
def test_the_name_is_one_lower_case_word(name: str) -> None:
    assert re.fullmatch("[a-z]+", name)


@of_each
def test_the_description_is_one_line(name: str) -> None:
    (line,) = ENVIRONMENTS[name]["description"].splitlines()
    assert re.match("[A-Z]", line)


@of_each
def test_no_line_is_read_as_a_condition(name: str) -> None:
    lines = [line for value in ENVIRONMENTS[name].values() for line in value.splitlines()]
    assert [line for line in lines if CONDITION.match(line)] == []


@of_each
def test_arguments_reach_the_command(name: str) -> None:
    assert "{posargs}" in ENVIRONMENTS[name]["commands"]


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize(
    "name", [name for name in PROGRAMS if name != "pack"]
)  # its packages are in no other environment
def test_help_is_the_programs_own_and_nothing_runs(name: str, flag: str) -> None:
    set_env = ENVIRONMENTS[name].get("set_env", "")
    while same := re.fullmatch(r"{\[testenv:(\w+)\]set_env}", set_env):
        set_env = ENVIRONMENTS[same[1]]["set_env"]
    path = re.search(r"PYTHONPATH = (\S+)", set_env)
    env = {**os.environ, "PYTHONPATH": path[1].replace("{tox_root}", str(ROOT)) if path else ""}
    command = [sys.executable, *PROGRAMS[name], flag]
    ended = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    called = "unit" if name == "fuzz" else name  # the same program
    assert ended.stdout.startswith(f"usage: tox -e {called} -- ")


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_command_follows_a_program_that_may_have_shown_its_help(name: str) -> None:
    assert ENVIRONMENTS[name]["commands"].endswith("{posargs}")


def tox(work: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The real tox, with its environments in a folder of the test."""
    command = [sys.executable, "-m", "tox", *arguments, "--workdir", str(work)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_tox_lists_these_environments_and_makes_none(tmp_path: Path) -> None:
    listed = tox(tmp_path / "made", "list", "--no-desc", "--quiet")
    assert {line for line in listed.stdout.split() if line} == set(ENVIRONMENTS)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("arguments", [("-e", "node"), ("run", "-e", "bundle,node")])
def test_a_folder_that_cannot_be_written_is_named_in_a_sentence(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "node").touch()  # cannot be made into a folder, not even by root
    ended = tox(tmp_path, *arguments)
    assert ended.returncode
    assert f"{tmp_path / 'node'} cannot be written: File exists." in ended.stdout
    assert "sudo chown -R" in ended.stdout
    assert "Traceback" not in ended.stdout + ended.stderr


def test_an_environment_that_is_not_asked_for_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "lab").touch()
    ended = tox(tmp_path, "run", "-e", "node", "--notest")  # it installs nothing
    assert ended.returncode == 0, ended.stdout
