# SPDX-License-Identifier: Apache-2.0
"""No test fails because the machine is busy: what waits, waits for an event or counts with lab.patience."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[2]
FOLDERS = ("bundle", "cos", "docs", "functional", "lab", "lib", "maas", "operate", "pack", "sites", "unit")
"""Those that run on a busy machine; integration and acceptance wait for real Juju, MAAS and instances."""

CLOCKS = {
    "a deadline on the wall clock": r"(?<!clock\.)\b(?:monotonic|time)\(\) *\+|date \+%s\)* *\+",
    "a command that is ended by the clock": r"(?<![\w.=-])timeout \d",
    "a test of how long something took": r"assert [^\n]*(?<!clock\.)\b(?:monotonic|time|perf_counter)\(\) *-",
    "a wait for so many turns": r"for \w+ in \$\(seq [^)]*\);? do[^\n]*break",
}

ALLOWED = {
    "lab/cloud/compute/servers.py": "in Nova's own process, which has no other code of the lab",
    "lab/twin/events.py": "returns after so many seconds; nothing fails then",
    "lab/rack/adopt.py": "turns of a ping that waits by itself",
    "lab/rack/removed.py": "turns of a ping that waits by itself",
    "lab/rack/perftest.py": "ends a client that hangs, and it is tried again",
    "lab/rack/scenarios.py": "shows how many ports the bond has by then",
    "lib/lab/test_patience.py": "shows what the wall clock would have counted",
}
"""Files that use the clock, and why that fails no test."""


def found(text: str) -> list[str]:
    """List the uses of the wall clock's time in a file."""
    return [what for what, pattern in CLOCKS.items() if re.search(pattern, text)]


def test_no_file_counts_the_wall_clocks_time() -> None:
    files = [path for folder in FOLDERS for path in sorted((TESTS / folder).rglob("*"))]
    wrong = {
        str(path.relative_to(TESTS)): found(path.read_text())
        for path in files
        if path.suffix in (".py", ".sh") and path != Path(__file__)
    }
    assert {path: what for path, what in wrong.items() if what and path not in ALLOWED} == {}
    assert [path for path in ALLOWED if not wrong.get(path)] == []


def test_each_kind_is_found() -> None:
    assert found("end = time.monotonic() + 5") == ["a deadline on the wall clock"]
    assert found("end=$(($(date +%s) + 60))") == ["a deadline on the wall clock"]
    assert found("ip netns exec tor timeout 12 tcpdump") == ["a command that is ended by the clock"]
    assert found("assert time.monotonic() - began < 5") == ["a test of how long something took"]
    assert found("assert site.clock.monotonic() - began < 5") == []
    assert found("until = site.clock.monotonic() + 5") == []
    assert found("for i in $(seq 60); do ready && break; sleep 1; done") == ["a wait for so many turns"]
    assert found("guest.run('true', timeout=60)") == []
