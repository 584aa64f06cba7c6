# SPDX-License-Identifier: Apache-2.0
"""Run the sequences on the virtual card and compare with its recording, or compare a recording with that one.

Exit status 0 only if no difference was found but those that purposes.json gives a reason for.
"""

import argparse
import sys
from pathlib import Path

from lab.calibrate import compare, purposes
from lab.calibrate.recorder import Recorder
from lab.calibrate.recording import Recording, RecordingError, read
from lab.calibrate.sequences import SEQUENCES
from lab.calibrate.shell import CardError, GuestShell, find
from lab.guest import Guest, GuestError
from lab.host import HostError
from lab.progress import Step

VIRTUAL = Path(__file__).parents[1] / "card" / "recordings" / "virtual-connectx-6-dx-linux-6.12.json"
PREPARE = """
systemctl -q stop systemd-networkd.socket systemd-networkd-varlink.socket systemd-networkd 2>/dev/null
ovs-vsctl --if-exists del-br br-nvda
ip link delete bond0 2>/dev/null
modprobe -a cls_flower act_mirred act_gact
"""
"""Takes the guest's own network from the card, and loads what rules need."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m lab.calibrate", description=__doc__.partition("\n")[0])
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--record", type=Path, metavar="FILE", help="keep what the virtual card answers there"
    )
    choice.add_argument(
        "--compare", type=Path, metavar="FILE", help="compare this recording with the committed one: no guest"
    )
    options = parser.parse_args(arguments)
    try:
        expected = purposes.read()
        if options.compare:
            return told(compare.compare(read(options.compare), read(VIRTUAL), expected))
        found = run()
        if options.record:
            found.write(options.record)
            print(f"Recording: {options.record}")
            return 0
        return told(compare.compare(read(VIRTUAL), found, expected))
    except KeyboardInterrupt:
        print("\nStopped; nothing is left running.", file=sys.stderr)
        return 130
    except (HostError, GuestError, CardError, RecordingError) as problem:
        print(f"\n{problem}", file=sys.stderr)
        return 1


def run() -> Recording:
    """What the virtual card answers, in a guest of Debian 13."""
    with Guest("trixie") as guest:
        guest.run(PREPARE)
        with Step("The sequences on the virtual card") as step:
            recorder = Recorder(find(GuestShell(guest)), step.note)
            return recorder.record(SEQUENCES)


def told(comparison: compare.Comparison) -> int:
    """Print a comparison; 1 if it has a difference without a reason."""
    print(comparison.text())
    return 1 if comparison.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
