# SPDX-License-Identifier: Apache-2.0
"""The end of ``python -m lab.node`` once the node has converged: it keeps running, or gives its shell."""

import os
import pty
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from lab import node as lab_node
from lab import shell
from lab.guest import Guest
from lab.patience import Patience


class Terminal:
    """Both ends of a pseudo terminal; the near one is this process's standard input and output."""

    def __init__(self) -> None:
        self.far, self.near = pty.openpty()
        self.shown = b""

    def type(self, text: bytes) -> None:
        os.write(self.far, text)

    def shows(self, text: bytes, patience: Patience) -> bool:
        os.set_blocking(self.far, False)
        while text not in self.shown and not patience.over():
            try:
                self.shown += os.read(self.far, 4096)
            except BlockingIOError:
                time.sleep(0.05)
        return text in self.shown


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """No fixture: between a test's phases pytest puts its own standard output back."""
    terminal = Terminal()
    with (
        os.fdopen(terminal.far, "r+b", buffering=0),
        os.fdopen(terminal.near, "r+b", buffering=0) as near,
        os.fdopen(os.dup(terminal.near), "w") as out,
    ):
        monkeypatch.setattr(sys, "stdin", near)
        monkeypatch.setattr(sys, "stdout", out)
        yield terminal
        monkeypatch.undo()


def test_the_shell_is_roots_on_the_node_and_gives_the_terminal_back(
    machine: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with terminal(monkeypatch) as screen:
        before = termios.tcgetattr(screen.near)
        session = threading.Thread(target=shell.interact, args=(machine,))
        session.start()
        try:
            assert screen.shows(b"Ctrl-] leaves", machine.patience(60))
            assert screen.shows(b"# ", machine.patience(60))
            screen.type(b"echo $(id -un) at $(uname -n) $((6 * 7))\r")
            assert screen.shows(b"root at node-1 42", machine.patience(60)), screen.shown
        finally:
            screen.type(shell.ESCAPE)
            assert machine.until(lambda: not session.is_alive(), 30, pause=0.1)
        assert termios.tcgetattr(screen.near) == before
    assert machine.run(["id", "-un"]).stdout == "root\n"


def test_without_a_terminal_there_is_no_shell(machine: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        shell.interact(machine)


@pytest.fixture
def converged(machine: Guest, monkeypatch: pytest.MonkeyPatch) -> Guest:
    """``python -m lab.node`` at the point where its node has converged."""
    monkeypatch.setattr(lab_node, "Guest", lambda release: nullcontext(machine))
    monkeypatch.setattr(lab_node, "converge", lambda guest, charm: True)
    return machine


def test_keep_leaves_the_node_running_until_enter(converged: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr("builtins.input", lambda prompt: seen.append(converged.run("echo runs").stdout))
    monkeypatch.setattr(sys, "argv", ["node", "--release", converged.release.name, "--keep"])
    assert lab_node.main() == 0
    assert seen == ["runs\n"]


def test_the_shell_comes_after_the_verdict(
    converged: Guest, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given: list[Guest] = []
    monkeypatch.setattr(lab_node, "interact", given.append)
    monkeypatch.setattr(sys, "argv", ["node", "--release", converged.release.name, "--shell"])
    assert lab_node.main() == 0
    assert given == [converged]
    assert "All holds; " in capsys.readouterr().out
