# SPDX-License-Identifier: Apache-2.0
"""The sequences on a real card: looked at first, agreed to by its serial number, and put back afterwards."""

from collections.abc import Callable

from lab.calibrate import guards
from lab.calibrate.recorder import Recorder
from lab.calibrate.recording import Recording
from lab.calibrate.restore import LIMIT, Held
from lab.calibrate.sequence import Sequence
from lab.calibrate.shell import Card, CardError

PLAN = """\
The sequences on {card}:
- They change the eswitch's mode, VFs, channels, rings and DCB of both ports many times, and take both links
  down.
- Nothing is written to the firmware or to a disk, and nothing of the host but this card is touched.
- Afterwards the card is put back as it is now. If the connection is lost, the host does that by itself,
  {minutes} minutes after the last command.
- A power loss or a reboot meanwhile leaves the card as any reboot does: as its firmware and the host's own
  boot files set it. Settings of now that no boot file has are lost."""
QUESTION = "Type the serial number of this card (lspci -vv shows it as [SN]) to go on: "


def record(
    card: Card,
    sequences: tuple[Sequence, ...],
    ask: Callable[[str], str],
    told: Callable[[str], None],
) -> Recording:
    """Run sequences on the card of a host that others may use, too.

    Args:
        card: on that host.
        sequences: to run.
        ask: shows a question, and returns the answer.
        told: called with what happens.

    Raises:
        CardError: the card is in use, the serial number is another, or the card was lost meanwhile.

    """
    serial = guards.check(card, sequences)
    told(PLAN.format(card=", ".join(card.addresses), minutes=LIMIT // 60))
    if ask(QUESTION).strip() != serial:
        raise CardError("That is not this card's serial number: nothing was changed.")
    with Held(card) as held:
        return Recorder(held, told).record(sequences)
