# SPDX-License-Identifier: Apache-2.0
"""Run the tests of lib/ once, then those of each charm in a process of its own, then the acceptance tool's.

The charms' modules are flat and share their names (`charm`, `plan`, …), so that two charms cannot be
imported into one process. Arguments go to every pytest run.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NO_TESTS = 5  # pytest's exit status when nothing was selected, as with -k


def run(title: str, tests: Path, path: list[str], options: list[str]) -> int:
    """Run pytest on one directory, with these directories importable, and return its exit status."""
    print(f"--- {title}", flush=True)
    command = [
        sys.executable,
        "-m",
        "pytest",
        f"--override-ini=pythonpath={' '.join(path)}",
        *options,
        str(tests),
    ]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def verdict(statuses: list[int], options: list[str]) -> int:
    """The first exit status that is a failure, else 0.

    That of a run which a signal has ended is negative. With options, as -k, a run may have selected nothing,
    but not every one.
    """
    ran = [status for status in statuses if status != NO_TESTS] if options else statuses
    return next(filter(None, ran), 0) if ran else NO_TESTS


def main(options: list[str]) -> int:
    """Run everything, also after a failure; the exit status."""
    statuses = [run("lib", ROOT / "tests/lib", ["lib", "tests", "bundles"], options)]
    for charm in sorted(ROOT.glob("charms/*/charmcraft.yaml")):
        name = charm.parent.name
        tests = ROOT / "tests/unit" / name.replace("-", "_")
        statuses.append(run(name, tests, ["lib", "tests", f"charms/{name}/src"], options))
    statuses.append(run("acceptance", ROOT / "tests/unit/acceptance", ["lib", "tests"], options))
    return verdict(statuses, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
