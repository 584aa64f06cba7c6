# SPDX-License-Identifier: Apache-2.0
"""Run the tests of lib/, those of each charm and the acceptance tool's, each in a process of its own.

The charms' modules are flat and share their names (`charm`, `plan`, …), so that two charms cannot be
imported into one process. As many processes run side by side as there are processors; each one's output
is printed in one piece when it ends. Arguments go to every pytest run.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
NO_TESTS = 5  # pytest's exit status when nothing was selected, as with -k


class Suite(NamedTuple):
    """One pytest run: its title, its folder, and the directories that it imports from."""

    title: str
    tests: Path
    path: list[str]


def suites() -> list[Suite]:
    """All of them, the longest first."""
    charms = [charm.parent.name for charm in sorted(ROOT.glob("charms/*/charmcraft.yaml"))]
    return [
        Suite("lib", ROOT / "tests/lib", ["lib", "tests", "bundles"]),
        *(
            Suite(name, ROOT / "tests/unit" / name.replace("-", "_"), ["lib", "tests", f"charms/{name}/src"])
            for name in charms
        ),
        Suite("acceptance", ROOT / "tests/unit/acceptance", ["lib", "tests", "bundles"]),
    ]


def run(suite: Suite, options: list[str]) -> tuple[int, str]:
    """The exit status of one run, and what it printed."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        f"--override-ini=pythonpath={' '.join(suite.path)}",
        f"--override-ini=cache_dir=.pytest_cache/{suite.title}",
        *options,
        str(suite.tests),
    ]
    ended = subprocess.run(
        command, cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return ended.returncode, ended.stdout


def verdict(statuses: list[int], options: list[str]) -> int:
    """The first exit status that is a failure, else 0.

    That of a run which a signal has ended is negative. With options, as -k, a run may have selected nothing,
    but not every one.
    """
    ran = [status for status in statuses if status != NO_TESTS] if options else statuses
    return next(filter(None, ran), 0) if ran else NO_TESTS


def main(options: list[str]) -> int:
    """Run everything, also after a failure; the exit status."""
    statuses: list[int] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(run, suite, options): suite for suite in suites()}
        for ended in as_completed(running):
            status, printed = ended.result()
            print(f"--- {running[ended].title}\n{printed}", end="", flush=True)
            statuses.append(status)
    return verdict(statuses, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
