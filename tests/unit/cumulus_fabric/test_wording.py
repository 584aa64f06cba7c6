# SPDX-License-Identifier: Apache-2.0
"""The command line speaks of what is typed there, not of the charm's options and parameters."""

import argparse
import re

import pytest
from cli import arguments, wording
from cli.__main__ import ONLINE
from converge import Finding, Plan, Severity

SAID = [
    ("to apply exactly this, run apply with plan=0f3a", "to apply exactly this, run apply with --plan 0f3a"),
    (
        "change the intent; or run plan and apply with remove=bond7,vlan9",
        "change the intent; or run plan and apply with --remove bond7,vlan9",
    ),
    (
        "fix it; or run drain with cut-off=node1 if it may lose its network",
        "fix it; or run drain with --cut-off node1 if it may lose its network",
    ),
    (
        "run rollback switch='Leaf0-1 Leaf1-1'; a larger settle-timeout lets one run change more",
        "run rollback --switch Leaf0-1 --switch Leaf1-1; a larger --settle lets one run change more",
    ),
    (
        "run rollback without plan, and with the digest that it then shows",
        "run rollback without --plan, and with the digest that it then shows",
    ),
    ("run the action apply", "run apply"),
    (
        "set ca-certificate to the authority that signed it; or pin it with pinned-certificates",
        "give the authority that signed it with --ca; or pin it with --pin",
    ),
    (
        "option juju-https-proxy: is not the URL of an HTTP proxy",
        "variable https_proxy: is not the URL of an HTTP proxy",
    ),
]


@pytest.mark.parametrize(("charm", "command"), SAID)
def test_a_remedy_says_what_is_typed_here(charm: str, command: str) -> None:
    finding = Finding(Severity.BLOCKED, "Leaf0-1", charm, charm)
    spoken = Finding(Severity.BLOCKED, "Leaf0-1", command, command)
    assert wording.of_findings([finding]) == [spoken]
    assert wording.of_plan(Plan[None](findings=(finding,))).findings == (spoken,)


def test_what_is_not_about_options_stays() -> None:
    text = "run nv set system global anycast-mac x and nv config apply on the switch if that is right"
    assert wording.translated(text) == text


def test_the_arguments_that_it_names_exist() -> None:
    named = {word for _, command in SAID for word in re.findall(r"--[a-z-]+", command)}
    assert named <= _arguments() | {"--switch"}


def _arguments() -> set[str]:
    found = set[str]()
    for verb in ONLINE:
        parser = argparse.ArgumentParser()
        arguments.arguments(parser, verb)
        found |= {option for action in parser._actions for option in action.option_strings}
    return found
