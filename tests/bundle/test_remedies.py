# SPDX-License-Identifier: Apache-2.0
"""A remedy that begins with a command can be typed as it is printed, up to the first "; "."""

import re
from functools import cache
from itertools import chain

import pytest
from bundle.documents import ROOT, Command
from messages import messages
from texts import OPEN

BEGINS = ("run: ", "juju ")
ENDS = "; "
FOLDERS = sorted([*ROOT.glob("charms/*/src"), *(path for path in ROOT.glob("lib/*") if path.is_dir())])
SOME = "0000:3b:00.0"
"""Stands for what differs from host to host."""
SENTENCE = {"and", "or", "to", "then", "with", "if", "on", "the", "it", "which", "shows"}
"""Words of a sentence, and of no command."""
PAIRS = {"config": 3, "run": 4}
"""Verbs of Juju, and from which word on all are pairs such as option=value."""


@cache
def commands(folder):
    """The commands with which remedies in the modules below a folder begin."""
    return {typed(message.remedy) for message in messages(folder)} - {""}


def typed(remedy):
    """The command of a remedy; nothing if it does not begin with one."""
    if not remedy.startswith(BEGINS):
        return ""
    return remedy.removeprefix("run: ").partition(ENDS)[0].replace(OPEN, SOME)


def wrong(command):
    """Why nobody can type this command; nothing if it is one."""
    try:
        every = Command("remedy", 0, command).simple
    except ValueError as error:
        return str(error)
    words = list(chain.from_iterable(every))
    if found := [word for word in words if word in SENTENCE or re.search(r"[,;:.]$", word)]:
        return f"{found[0]!r} is no word of a command"
    pairs = (word for simple in every if simple[0] == "juju" for word in simple[PAIRS.get(simple[1], 99) :])
    if found := [word for word in pairs if "=" not in word]:
        return f"{found[0]!r} is no option=value"
    return ""


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(ROOT).as_posix())
def test_a_remedy_that_begins_with_a_command_is_one(folder):
    assert {command: why for command in commands(folder) if (why := wrong(command))} == {}


def test_there_are_remedies_that_begin_with_a_command():
    found = set[str]().union(*map(commands, FOLDERS))
    assert len(found) > 5
    assert any(command.startswith("juju config ") for command in found)


@pytest.mark.parametrize(
    "remedy",
    [
        "run: juju config sriov-switchdev devices=PORTS, or bind the NIC",
        "run: juju config roce-qos ovn-encap-tos=105, or to have inherit: ovs-vsctl remove x",
        "run: juju config cumulus-fabric credentials=ID, a secret with user and password",
        "juju run nic-firmware/0 burn and reboot",
        "run: juju run nic-firmware/leader approve-reboot now",
        "run: juju config nic-firmware firmware-url='https://x",
    ],
)
def test_a_sentence_that_goes_on_behind_a_command_is_noticed(remedy):
    assert wrong(typed(remedy))


@pytest.mark.parametrize(
    "remedy",
    [
        "run: juju config sriov-switchdev devices=PORTS; or bind the NIC to mlx5_core, and so on",
        "juju run nic-firmware/0 burn devices=0000:3b:00.0",
        "run: juju ssh roce-qos/0 sudo systemctl reboot",
        "run: nv unset bridge && nv config apply",
        "correct the intent, or the cable",
    ],
)
def test_a_command_is_taken(remedy):
    assert wrong(typed(remedy)) == ""
