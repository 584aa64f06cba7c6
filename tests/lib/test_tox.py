# SPDX-License-Identifier: Apache-2.0
"""Each environment of tox.ini: its name, its description, and the arguments that it passes on."""

import configparser
import re
from pathlib import Path

import pytest

CONFIG = configparser.ConfigParser(interpolation=None)
CONFIG.read(Path(__file__).parents[2] / "tox.ini")
ENVIRONMENTS = {
    section.removeprefix("testenv:"): CONFIG[section] for section in CONFIG if section.startswith("testenv:")
}
CONDITION = re.compile(r"\s*[^\s:]+:(\s|$)")
"""A word and a colon begin a line: tox takes the word for a condition, and lists it as an environment."""

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
