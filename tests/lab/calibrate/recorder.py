# SPDX-License-Identifier: Apache-2.0
"""Runs sequences on a card and notes what it answers."""

import errno
import os
import secrets
import time
from collections.abc import Callable, Iterable

from lab.calibrate import state
from lab.calibrate.anonymous import Anonymiser
from lab.calibrate.recording import Recording, Result
from lab.calibrate.sequence import PATIENCE, RESET, Operation, Sequence
from lab.calibrate.shell import Card, CardError

ABOUT = """
echo "kind $([ -d /sys/kernel/debug/vcx ] && echo virtual || echo real)"
echo "pci $(cat $(pci $PF0)/vendor):$(cat $(pci $PF0)/device)"
devlink dev info pci/$PF0 | awk '
    /versions:|running:|stored:/ {part = $1}
    $1 == "fw.psid" {print "psid", $2}
    $1 == "fw.version" && part == "running:" {print "firmware", $2}'
echo "kernel $(uname -r)"
echo "iproute2 $(ip -V | sed 's/.*iproute2-//')"
echo "ethtool $(ethtool --version | sed 's/.*version //')"
echo "mstflint $(mstconfig --version | sed -n 's/.*mstflint \\([^ ,]*\\).*/\\1/p')"
"""
AWAIT = "udevadm settle; for _ in $(seq {tries}); do if {until}; then break; fi; sleep 0.2; done 2>/dev/null"
ERRORS = {os.strerror(number): symbol for number, symbol in errno.errorcode.items()}
ERRORS[os.strerror(errno.EOPNOTSUPP)] = "EOPNOTSUPP"  # the kernel's name; Python may have its twin's, ENOTSUP


def error_in(message: str) -> str:
    """The symbol of the error that a tool's message tells in the C library's words; empty without one.

    >>> error_in("Error: mlx5_core: E-Switch is busy.\\nkernel answers: Device or resource busy")
    'EBUSY'
    """
    found = [text for text in ERRORS if text in message]
    return ERRORS[max(found, key=len)] if found else ""


class Recorder:
    """Records what one card answers.

    Args:
        card: in legacy mode or not; :data:`RESET` is run before each sequence.
        told: called with each sequence's and operation's name, before it is run.

    """

    def __init__(self, card: Card, told: Callable[[str], None] = lambda text: None) -> None:
        self._card = card
        self._told = told
        self._names = card.names()
        self._hosts = {name for name in card.run("hostname; hostname -f 2>/dev/null").stdout.split() if name}

    def record(self, sequences: Iterable[Sequence]) -> Recording:
        """Run sequences and put the card back after each.

        Raises:
            CardError: after a sequence the card could not be put back to where it was before the first.

        """
        about = dict(line.partition(" ")[::2] for line in self._lines(self._card.run(ABOUT).stdout))
        self._card.run(RESET)
        initial = self._state()
        found = {}
        for sequence in sequences:
            found[sequence.name] = [self._operate(sequence, each) for each in sequence.operations]
            self._card.run(RESET)
            if (left := self._state()) != initial:
                raise CardError(
                    f"{sequence.name} left the card in another state than it found, and no other sequence "
                    f"was run: {left} instead of {initial}"
                )
        return Recording(about, initial, found)

    def _operate(self, sequence: Sequence, operation: Operation) -> Result:
        self._told(f"{sequence.name}: {operation.name}")
        marker = f"calibrate {secrets.token_hex(8)}"
        self._card.run(f'echo "{marker}" >/dev/kmsg')
        began = time.monotonic()
        done = self._card.run(operation.command)
        seconds = round(time.monotonic() - began, 2)
        until = AWAIT.format(tries=PATIENCE * 5, until=operation.until or "true")
        self._card.run(until)
        log = self._card.run(f"dmesg -t | sed '1,/{marker}/d'").stdout
        after = self._state()
        message = self._lines(done.stderr)
        said = {line for line in self._lines(log) if "mlx5_core" in line}
        return Result(
            operation.name,
            operation.command,
            done.returncode,
            error_in("\n".join(message) or done.stdout) if done.returncode else "",
            message,
            self._lines(done.stdout),
            sorted(said),
            after,
            seconds,
        )

    def _state(self) -> state.State:
        self._names |= self._card.names()
        return state.parse("\n".join(self._lines(self._card.run(state.READ).stdout)))

    def _lines(self, text: str) -> list[str]:
        return Anonymiser(self._names, self._hosts).lines(text)
