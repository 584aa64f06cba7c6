# SPDX-License-Identifier: Apache-2.0
"""A calibration of a card behind SSH, as tests run it."""

import pytest
from lab.calibrate import server
from lab.calibrate.sequence import Operation, Sequence
from lab.calibrate.shell import Card
from lab.calibrate.ssh import SshShell
from lib.lab.calibrate.modelled import PORTS, SERIAL, Server

P0, P1 = PORTS
NET0, NET1 = PORTS.values()
OWN = Sequence(
    "own",
    "What comes of it?",
    (
        Operation("to switchdev", "devlink dev eswitch set pci/$PF0 mode switchdev"),
        Operation("refused", "echo 'kernel answers: Device or resource busy' >&2; exit 1"),
    ),
)


@pytest.fixture
def host(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path / 'host/outside'}:/usr/bin:/bin")
    return Server(tmp_path / "host")


class Operator:
    """Answers the question for the serial number, and reads what is told."""

    def __init__(self, answer=SERIAL):
        self.answer = answer
        self.asked = []
        self.told = []

    def __call__(self, question):
        self.asked.append(question)
        return self.answer


def record(operator=None, *sequences):
    operator = operator or Operator()
    card = Card(SshShell("root@server"), (P0, P1), (NET0, NET1))
    return server.record(card, sequences or (OWN,), operator, operator.told.append)
