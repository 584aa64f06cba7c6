# SPDX-License-Identifier: Apache-2.0
"""Run the tests of lib/, charms, operators' tools and alerts, each in a process of its own.

The charms' modules are flat and share their names (`charm`, `plan`, …), so that two charms cannot be
imported into one process. As many processes run side by side as there are processors; each one's output
is printed in one piece when it ends. Arguments go to every pytest run, except paths: with a path such as
``tests/lib/test_house.py``, only the suite that has it runs, and only that path.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
WRONG_USE = 4  # pytest's exit status for a wrong command line
NO_TESTS = 5  # pytest's exit status when nothing was selected, as with -k
MEMORY = Path("/dev/shm")
ROOM = 4 << 30
"""Bytes that are free in memory if the tests' files go there; they are less than 1 GiB."""


class Suite(NamedTuple):
    """One pytest run: its title, its folder, and the directories that it imports from."""

    title: str
    tests: Path
    path: list[str]


def suites() -> list[Suite]:
    """All of them, the longest first: what begins last ends soon after the others."""
    tools = ["lib", "tests", "tools"]
    return [
        _charm("cumulus-fabric"),
        Suite("cos", ROOT / "tests/cos", ["lib", "tests", "charms/sriov-switchdev/src"]),
        Suite("acceptance", ROOT / "tests/unit/acceptance", tools),
        _charm("sriov-switchdev"),
        Suite("lib", ROOT / "tests/lib", tools),
        Suite("maas", ROOT / "tests/maas", tools),
        _charm("nic-firmware"),
        _charm("roce-qos"),
        Suite("operate", ROOT / "tests/operate", tools),
        Suite("bundle", ROOT / "tests/bundle", [*tools, "docs/extension"]),
    ]


def _charm(name: str) -> Suite:
    return Suite(name, ROOT / "tests/unit" / name.replace("-", "_"), ["lib", "tests", f"charms/{name}/src"])


def is_path(argument: str) -> bool:
    """Whether an argument is a path in tests/, or a test of a file there (``FILE::TEST``).

    The value of an option is none, even if a folder of the project has its name: ``-k lib``. A value that is
    itself such a path is written with an equals sign: ``--ignore=tests/lib/lab``.
    """
    path = _located(argument)
    return ROOT / "tests" in path.parents and path.exists()


def _located(argument: str) -> Path:
    return (ROOT / argument.partition("::")[0]).resolve()


def selected(paths: list[str]) -> list[tuple[Suite, list[str]]]:
    """The suites that have one of the paths, or all if there is no path; each with what pytest is given.

    Raises:
        LookupError: no suite has one of the paths.

    """
    every = suites()
    if not paths:
        return [(suite, [str(suite.tests)]) for suite in every]
    for path in paths:
        if not any(_part(suite, path) for suite in every):
            folders = ", ".join(str(suite.tests.relative_to(ROOT)) for suite in every)
            raise LookupError(f"{path} is in none of the folders whose tests run here: {folders}")
    chosen = [(suite, [part for path in paths if (part := _part(suite, path))]) for suite in every]
    return [(suite, parts) for suite, parts in chosen if parts]


def _part(suite: Suite, path: str) -> str | None:
    """Return a suite's part of a path: the path, or all of the suite if the path is a folder above it."""
    located = _located(path)
    if located in suite.tests.parents:
        return str(suite.tests)
    return path if suite.tests in (located, *located.parents) else None


def in_memory() -> Path | None:
    """The directory for the tests' files, if they can be kept in memory and run there; else None.

    A file that is written anew takes a hundred times as long on ext4, which writes it to the disk when it is
    closed (``auto_da_alloc``, Documentation/admin-guide/ext4.rst).
    """
    if not os.access(MEMORY, os.W_OK) or os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
        return None
    return MEMORY if shutil.disk_usage(MEMORY).free >= ROOM else None


def run(suite: Suite, options: list[str], paths: list[str], files: str) -> tuple[int, str]:
    """The exit status of one run, and what it printed, with the processor time of all its processes.

    Its temporary files are below the directory ``files``.
    """
    command = [
        sys.executable,
        "-m",
        "pytest",
        f"--override-ini=pythonpath={' '.join(suite.path)}",
        f"--override-ini=cache_dir=.pytest_cache/{suite.title}",
        *options,
        *paths,
    ]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "TMPDIR": files},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout
        printed = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = used.ru_utime + used.ru_stime
    return process.returncode, f"{printed}{suite.title}: {seconds:.0f} s of processor time\n"


def verdict(statuses: list[int], options: list[str]) -> int:
    """The first exit status that is a failure, else 0.

    That of a run which a signal has ended is negative. With options, as -k, a run may have selected nothing,
    but not every one.
    """
    ran = [status for status in statuses if status != NO_TESTS] if options else statuses
    return next(filter(None, ran), 0) if ran else NO_TESTS


def main(arguments: list[str]) -> int:
    """Run everything that is asked for, also after a failure; the exit status."""
    usage = "%(prog)s [-h] [PATH ...] [ARGUMENT OF PYTEST ...]"
    argparse.ArgumentParser(
        prog="tox -e unit --", usage=usage, description=__doc__, allow_abbrev=False
    ).parse_known_args(arguments)  # only for -h and --help, which every pytest run would print
    paths = [argument for argument in arguments if is_path(argument)]
    options = [argument for argument in arguments if argument not in paths]
    try:
        asked = selected(paths)
    except LookupError as error:
        print(error, file=sys.stderr)
        return WRONG_USE
    statuses: list[int] = []
    with (
        tempfile.TemporaryDirectory(prefix="ovn-offload-", dir=in_memory()) as files,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        running = {pool.submit(run, suite, options, parts, files): suite for suite, parts in asked}
        for ended in as_completed(running):
            status, printed = ended.result()
            print(f"--- {running[ended].title}\n{printed}", end="", flush=True)
            statuses.append(status)
    return verdict(statuses, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
