# SPDX-License-Identifier: Apache-2.0
"""Runs sequences on a card and notes what it answers."""

import errno
import os
import re
import secrets
from collections.abc import Callable, Iterable

from lab.calibrate import state
from lab.calibrate.anonymous import Anonymiser
from lab.calibrate.recording import Recording, Result
from lab.calibrate.sequence import PATIENCE, RESET, Operation, Sequence
from lab.calibrate.shell import NAMES, Card, CardError

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
AWAIT = """
udevadm settle
for _ in {{1..{tries}}}; do if {until}; then break; fi; sleep 0.2; done >/dev/null 2>&1
dmesg -t | sed '1,/{marker}/d'
"""
THEN = "== then =="
TOOK = "== took =="
TIMED = f"""
began=$EPOCHREALTIME
trap 'printf "\\n{TOOK}\\n%s %s" $began $EPOCHREALTIME' EXIT
"""
"""Prints last when a command began and ended, by the host's own clock: the connection's time is left out."""
ERRORS = {os.strerror(number): symbol for number, symbol in errno.errorcode.items()}
ERRORS[os.strerror(errno.EOPNOTSUPP)] = "EOPNOTSUPP"  # the kernel's name; Python may have its twin's, ENOTSUP

PLACE = re.compile(r"^[\w/]+: line \d+: ")
"""Where in a script bash met an error, which says nothing of the card."""


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
        self._names: dict[str, str] = {}
        self._hosts = {name for name in card.run("hostname; hostname -f 2>/dev/null").stdout.split() if name}

    def record(self, sequences: Iterable[Sequence]) -> Recording:
        """Run sequences and put the card back after each.

        Raises:
            CardError: after a sequence the card could not be put back to where it was before the first.

        """
        initial, _ = self._state(RESET)
        about = dict(line.partition(" ")[::2] for line in self._lines(self._card.run(ABOUT).stdout))
        found = {}
        for sequence in sequences:
            found[sequence.name] = [self._operate(sequence, each) for each in sequence.operations]
            left, _ = self._state(RESET)
            if left != initial:
                raise CardError(
                    f"{sequence.name} left the card in another state than it found, and no other sequence "
                    f"was run: {left} instead of {initial}"
                )
        return Recording(about, initial, found)

    def _operate(self, sequence: Sequence, operation: Operation) -> Result:
        self._told(f"{sequence.name}: {operation.name}")
        marker = f"calibrate {secrets.token_hex(8)}"
        done = self._card.run(f'echo "{marker}" >/dev/kmsg{TIMED}{operation.command}')
        printed, _, took = done.stdout.rpartition(f"\n{TOOK}\n")
        began, ended = (float(word.replace(",", ".")) for word in took.split())
        until = AWAIT.format(tries=PATIENCE * 5, until=operation.until or "true", marker=marker)
        after, log = self._state(until)
        message = [PLACE.sub("", line) for line in self._lines(done.stderr)]
        said = {line for line in self._lines(log) if "mlx5_core" in line}
        return Result(
            operation.name,
            operation.command,
            done.returncode,
            error_in("\n".join(message) or printed) if done.returncode else "",
            message,
            self._lines(printed),
            sorted(said),
            after,
            round(ended - began, 2),
        )

    def _state(self, first: str = "") -> tuple[state.State, str]:
        """The ports' state after a script, and what that printed; in one call, since a call takes time."""
        then = f"\necho {THEN}\n"
        done = self._card.run(f"{first}{then}{NAMES}{then}{state.READ}")
        printed, names, shown = done.stdout.split(f"{THEN}\n")
        self._names |= self._card.called(names)
        return state.parse(self._anonymiser().text(shown)), printed

    def _lines(self, text: str) -> list[str]:
        return self._anonymiser().lines(text)

    def _anonymiser(self) -> Anonymiser:
        return Anonymiser(self._names, self._hosts)
