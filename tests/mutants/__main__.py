# SPDX-License-Identifier: Apache-2.0
"""Put small faults into the code, one at a time, and see that a test fails for each.

tox -e mutants                           the committed sample: --seed 21 --count 150
tox -e mutants -- --seed 7 --count 150   another sample
tox -e mutants -- --only TEXT            all mutants with TEXT in their name, as printed for a survivor

First the tests run once, which notes the lines that each of them runs. Then each mutant gets the tests that
run its lines, those of its own package or charm first, in a copy of the project. A survivor that
survivors.yaml does not name fails the run, and so does a named one that is killed.
"""

import argparse
import json
import os
import queue
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import yaml
from mutants.sites import Mutant, mutants
from unit.__main__ import ROOT, Suite, suites

FILES = (
    "lib/converge/**/*.py",
    "lib/charmkit/**/*.py",
    "lib/hostnic/machine.py",
    "charms/*/src/plan.py",
    "charms/*/src/preflight.py",
    "charms/*/src/nic/back.py",
    "charms/*/src/nic/chain.py",
    "charms/*/src/nic/judge.py",
    "charms/*/src/nic/steps.py",
    "charms/nic-firmware/src/nic/burning.py",
    "charms/nic-firmware/src/nic/changes.py",
)
TOOLS = ("acceptance", "bundle", "cos", "maas", "operate")
"""Suites that run none of the code that is changed here."""

LEFT_OUT = (".git", ".tox", ".venv", ".hypothesis", ".*_cache", "__pycache__", "build")
SURVIVORS = Path(__file__).with_name("survivors.yaml")
SHARE = 60.0
"""Seconds of processor time that the tests of one mutant take at most when they pass; others are left out."""

Noted = dict[str, tuple[float, list[str]]]
"""Test to its seconds and the lines that it runs; "" to what runs before any test."""

T = TypeVar("T")


class Copy:
    """A copy of the project, in which one mutant at a time is tried."""

    def __init__(self, place: Path) -> None:
        self.root = place
        self.said = ""
        self._written = 0
        shutil.copytree(ROOT, place, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)

    def write(self, path: str, text: bytes) -> None:
        """Replace a file; its time differs each time, so that no compiled file of another mutant is taken."""
        self._written += 1
        file = self.root / path
        file.write_bytes(text)
        os.utime(file, (self._written, self._written))

    def passes(self, suite: Suite, tests: list[str], seconds: int, **variables: str) -> bool:
        """Whether pytest ends well over files or folders, within so many seconds of processor time."""
        shutil.rmtree(self.root / ".hypothesis", ignore_errors=True)  # what it kept of another mutant
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "mutants.covering"]
        command += ["-p", "no:cacheprovider", "--hypothesis-seed=0"]
        command += [f"--override-ini=pythonpath={' '.join(suite.path)}", *tests]
        environment = {**os.environ, **variables, "PYTHONPATH": str(self.root / "tests")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        with subprocess.Popen(
            command,
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5)),
        ) as process:
            try:
                self.said, _ = process.communicate(timeout=60 + 20 * seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
            return process.wait() == 0


def listed_files() -> list[Path]:
    """The files that get mutants."""
    return [file for pattern in FILES for file in sorted(ROOT.glob(pattern))]


def note(suite: Suite, copy: Copy) -> Noted:
    """Run a suite's tests once; of lib's those of its packages, and not those of the test machine.

    Raises:
        SystemExit: one fails without any mutant.

    """
    file, tests = copy.root / f"{suite.title}.json", suite.tests.relative_to(ROOT)
    packages = sorted(ROOT.glob("lib/*/__init__.py")) if suite.title == "lib" else []
    folders = [str(tests / package.parent.name) for package in packages] or [str(tests)]
    listed = os.pathsep.join(str(each.relative_to(ROOT)) for each in listed_files())
    if not copy.passes(suite, folders, 3600, MUTANTS_NOTE=str(file), MUTANTS_FILES=listed):
        raise SystemExit(f"{suite.title} fails without a mutant:\n{copy.said}")
    return json.loads(file.read_text())


def _file(name: str) -> str:
    """The file of a test or a line, as they are noted."""
    return name.partition(":")[0]


def order(mutant: Mutant, noted: Noted, share: float) -> list[str]:
    """The tests that run the mutant's lines; if an import does, also those beside one that runs its file's.

    Quick ones first, and of a parametrized one not all before others; together they take ``share`` seconds.
    """
    its = {f"{mutant.path}:{line}" for line in mutant.lines}
    calls = {test for test, (_, lines) in noted.items() if not its.isdisjoint(lines)}
    if mutant.imported or "" in calls:
        touching = [name for name, (_, lines) in noted.items() if mutant.path in map(_file, lines)]
        files = {_file(name) for name in touching}
        calls |= {test for test in noted if _file(test) in files}
    before: Counter[str] = Counter()
    ranked: list[tuple[float, str]] = []
    for test in sorted(calls - {""}, key=lambda name: (noted[name][0], name)):
        function = test.partition("[")[0]
        before[function] += 1
        ranked.append((before[function] * noted[test][0], test))
    chosen = list[str]()
    for _, test in sorted(ranked):
        if noted[test][0] <= share:
            share -= noted[test][0]
            chosen.append(test)
    return chosen


def runs(
    mutant: Mutant, noted: dict[str, Noted], every: list[Suite]
) -> Iterator[tuple[Suite, list[str], float]]:
    """The pytest runs that may kill a mutant, that of its own package or charm first, and their seconds."""
    left = SHARE
    for suite in sorted(every, key=lambda each: not mutant.path.startswith(f"{each.path[-1]}/")):
        if tests := order(mutant, noted[suite.title], left):
            seconds = sum(noted[suite.title][test][0] for test in tests)
            left -= seconds
            yield suite, tests, seconds


def survives(mutant: Mutant, copy: Copy, noted: dict[str, Noted], every: list[Suite]) -> bool:
    """Whether no test fails."""
    original = (copy.root / mutant.path).read_bytes()
    copy.write(mutant.path, mutant.text)
    names = copy.root / "mutants.json"
    try:
        for suite, tests, seconds in runs(mutant, noted, every):
            names.write_text(json.dumps(tests))
            files = sorted({_file(test) for test in tests})
            if not copy.passes(suite, files, 20 + int(3 * seconds), MUTANTS_TESTS=str(names)):
                return False
        return True
    finally:
        copy.write(mutant.path, original)


def report(tried: dict[Mutant, bool], named: set[str]) -> int:
    """Print the table and the survivors; 1 when a survivor has no name, or a named one was killed."""
    print(f"{'':45}{'mutants':>8}{'killed':>8}{'named':>8}{'unnamed':>8}")
    for area in (*sorted({mutant.path for mutant in tried}), ""):
        here = [mutant for mutant in tried if area in ("", mutant.path)]
        survivors = [mutant for mutant in here if tried[mutant]]
        known = sum(mutant.key in named for mutant in survivors)
        row = (len(here), len(here) - len(survivors), known, len(survivors) - known)
        print(f"{area or 'all':45}" + "".join(f"{number:>8}" for number in row))
    wrong = 0
    for mutant, survived in tried.items():
        if survived != (mutant.key in named):
            what = "survived" if survived else "was killed; remove it from survivors.yaml"
            print(f"{mutant.path}:{mutant.lines[0]} {what}: {mutant.key}")
            wrong = 1
    return wrong


def main(arguments: list[str]) -> int:
    """Take a sample, try its mutants, and report."""
    parser = argparse.ArgumentParser(
        prog="tox -e mutants --", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=21, help="which sample")
    parser.add_argument("--count", type=int, default=150, help="how many mutants")
    parser.add_argument("--only", default="", help="all mutants with this text in their name")
    parser.add_argument("--minutes", type=float, default=55, help="no mutant is begun after so many")
    options = parser.parse_args(arguments)
    until = time.monotonic() + 60 * options.minutes
    every = [
        each for file in listed_files() for each in mutants(str(file.relative_to(ROOT)), file.read_text())
    ]
    sample = sorted(every, key=lambda mutant: mutant.rank(options.seed))[: options.count]
    if options.only:
        sample = [mutant for mutant in every if options.only in mutant.key]
    named = {row["mutant"] for row in yaml.safe_load(SURVIVORS.read_text())}
    tests = [suite for suite in suites() if suite.title not in TOOLS]
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(os.cpu_count()) as pool:
        copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for number in range(os.cpu_count() or 1):
            copies.put(Copy(Path(place, str(number))))

        def in_a_copy(what: Callable[[Copy], T]) -> T:
            copy = copies.get()
            try:
                return what(copy)
            finally:
                copies.put(copy)

        noted = dict(pool.map(lambda suite: (suite.title, in_a_copy(lambda copy: note(suite, copy))), tests))

        def attempt(mutant: Mutant) -> bool | None:
            if time.monotonic() > until:
                return None
            return in_a_copy(lambda copy: survives(mutant, copy, noted, tests))

        tried = dict(zip(sample, pool.map(attempt, sample)))
    done = {mutant: survived for mutant, survived in tried.items() if survived is not None}
    if len(done) < len(sample):
        print(f"time was up after {len(done)} of {len(sample)} mutants")
    return report(done, named)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
