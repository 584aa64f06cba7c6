# SPDX-License-Identifier: Apache-2.0
"""Run the sequences and compare with the virtual card's recording; compare a recording; run ovs-tests.

Exit status 0 only if nothing differed but what purposes.json (or ovstests.json) gives a reason for.
"""

import argparse
import sys
from pathlib import Path

from hostnic.devices.lag import release

from lab.calibrate import compare, ovstests, purposes, server
from lab.calibrate.recorder import Recorder
from lab.calibrate.recording import Recording, RecordingError, read
from lab.calibrate.sequences import SEQUENCES
from lab.calibrate.shell import PREPARE, CardError, GuestShell, find
from lab.calibrate.ssh import SshShell
from lab.guest import Guest, GuestError
from lab.host import HostError
from lab.image import named
from lab.progress import Step
from lab.releases import RELEASES

RECORDINGS = Path(__file__).parents[1] / "card" / "recordings"
CARD = "virtual-connectx-6-dx-"
COMMITTED = {path.stem.removeprefix(CARD): path for path in sorted(RECORDINGS.glob(f"{CARD}*.json"))}
"""The virtual card's own recordings, by the guest's release."""


def committed(found: Recording) -> Path:
    """Its counterpart: the recording of its own kernel, otherwise of the nearest older one, or the oldest.

    Of several with that kernel, the one with the same iproute2, whose words are compared too.
    """
    kernel = release(found.card.get("kernel", ""))
    kernels = {name: RELEASES[name].linux for name in COMMITTED}
    nearest = max((each for each in kernels.values() if each <= kernel), default=min(kernels.values()))
    first, *others = (COMMITTED[name] for name in kernels if kernels[name] == nearest)
    tools = found.card.get("iproute2")
    return next((each for each in others if read(each).card.get("iproute2") == tools), first)


def arguments_of(arguments: list[str] | None) -> argparse.Namespace:
    """Parse the command line."""
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
    choice.add_argument(
        "--ovs-tests",
        type=Path,
        metavar="FOLDER",
        help="run the listed cases of this clone of NVIDIA's ovs-tests",
    )
    parser.add_argument("--host", metavar="root@SERVER", help="the host of a real card, as ssh takes it")
    parser.add_argument(
        "--nic", metavar="BDF", help="with --host: the PCI address of one of the card's ports"
    )
    options = parser.parse_args(arguments)
    if bool(options.host) != bool(options.nic):
        parser.error("--host and --nic belong together")
    if options.host and (options.compare or options.ovs_tests):
        parser.error("with --host the sequences are run there; only --record goes with it")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    options = arguments_of(arguments)
    try:
        if options.ovs_tests:
            return run_ovs_tests(options.ovs_tests)
        expected = purposes.read()
        if options.compare:
            found = read(options.compare)
            return told(compare.compare(found, read(committed(found)), expected))
        name = named()
        if name not in COMMITTED and not (options.host or options.record):
            there = " or ".join(COMMITTED)
            raise RecordingError(
                f"LAB_RELEASES={name}: only {there} has a recording; --record FILE makes one"
            )
        found = run_on_host(options.host, options.nic) if options.host else run(name)
        if options.record:
            found.write(options.record)
            print(f"Recording: {options.record}")
            return 0
        of_virtual = read(committed(found))
        pair = (found, of_virtual) if options.host else (of_virtual, found)
        return told(compare.compare(*pair, expected))
    except KeyboardInterrupt:
        print("\nStopped; nothing is left running.", file=sys.stderr)
        return 130
    except (HostError, GuestError, CardError, RecordingError, ovstests.OvsTestsError) as problem:
        print(f"\n{problem}", file=sys.stderr)
        return 1


def run(release: str) -> Recording:
    """Record the virtual card's answers in a guest of this release."""
    with Guest(release) as guest:
        guest.run(PREPARE)
        with Step("The sequences on the virtual card") as step:
            recorder = Recorder(find(GuestShell(guest)), step.note)
            return recorder.record(SEQUENCES)


def run_on_host(host: str, nic: str) -> Recording:
    """Record a real card's answers; see :func:`lab.calibrate.server.record`."""
    return server.record(find(SshShell(host), nic), SEQUENCES, typed, print)


def typed(question: str) -> str:
    """Return the user's answer; nothing if there is no terminal and no input."""
    try:
        return input(question)
    except EOFError:
        return ""


def run_ovs_tests(folder: Path) -> int:
    """Run the cases and write the table; 1 if one came out otherwise than its list says."""
    revision = ovstests.revision(folder)
    with Guest("trixie") as guest:
        ovstests.install(guest, folder)
        with Step("ovs-tests on the virtual card") as step:
            outcomes = ovstests.run_all(guest, ovstests.cases(), step.note)
        about = f"the virtual ConnectX-6 Dx, Linux {guest.run('uname -r').stdout.strip()}"
    text = ovstests.table(outcomes, revision, about)
    ovstests.TABLE.write_text(text)
    print(text)
    unexpected = [each for each in outcomes if not each.expected]
    for each in unexpected:
        print(f"{each.case.case} {each.word}; the end of what it printed:\n{each.output[-2000:]}\n")
    return 1 if unexpected else 0


def told(comparison: compare.Comparison) -> int:
    """Print a comparison; 1 if it has a difference without a reason."""
    print(comparison.text())
    return 1 if comparison.unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
