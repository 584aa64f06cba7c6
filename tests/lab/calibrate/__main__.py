# SPDX-License-Identifier: Apache-2.0
"""Run the sequences and compare with the virtual card's recording; or compare a recording.

Exit status 0 only if nothing differed but what purposes.json gives a reason for.
"""

import argparse
import sys
from pathlib import Path

from lab.calibrate import compare, purposes, server
from lab.calibrate.recorder import Recorder
from lab.calibrate.recording import Recording, RecordingError, read
from lab.calibrate.sequences import SEQUENCES
from lab.calibrate.shell import CardError, GuestShell, find
from lab.calibrate.ssh import SshShell
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


def arguments_of(arguments: list[str] | None) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="tox -e calibrate --",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--record", type=Path, metavar="FILE", help="keep what the card answers there")
    choice.add_argument(
        "--compare", type=Path, metavar="FILE", help="compare this recording with the committed one: no guest"
    )
    parser.add_argument("--host", metavar="root@SERVER", help="the host of a real card, as ssh takes it")
    parser.add_argument(
        "--nic", metavar="BDF", help="with --host: the PCI address of one of the card's ports"
    )
    options = parser.parse_args(arguments)
    if bool(options.host) != bool(options.nic):
        parser.error("--host and --nic belong together")
    if options.host and options.compare:
        parser.error("with --host the sequences are run there; only --record goes with it")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    options = arguments_of(arguments)
    try:
        expected = purposes.read()
        if options.compare:
            return told(compare.compare(read(options.compare), read(VIRTUAL), expected))
        found = run_on_host(options.host, options.nic) if options.host else run()
        if options.record:
            found.write(options.record)
            print(f"Recording: {options.record}")
            return 0
        if options.host:
            return told(compare.compare(found, read(VIRTUAL), expected))
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


def run_on_host(host: str, nic: str) -> Recording:
    """What a real card answers; see :func:`lab.calibrate.server.record`."""
    return server.record(find(SshShell(host), nic), SEQUENCES, typed, print)


def typed(question: str) -> str:
    """What the user answers; nothing if there is no terminal and no input."""
    try:
        return input(question)
    except EOFError:
        return ""


def told(comparison: compare.Comparison) -> int:
    """Print a comparison; 1 if it has a difference without a reason."""
    print(comparison.text())
    return 1 if comparison.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
