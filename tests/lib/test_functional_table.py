# SPDX-License-Identifier: Apache-2.0
"""The table at the end of a functional run: each file on each release, with results and seconds."""

import pytest
from functional import table


def report(test: str, release: str, when: str, outcome: str, seconds: float) -> pytest.TestReport:
    return pytest.TestReport(
        f"tests/functional/{test}::test_it[{release}]",
        ("", None, ""),
        {},
        outcome,  # pyright: ignore[reportArgumentType]
        None,
        when,  # pyright: ignore[reportArgumentType]
        user_properties=[("release", release)],
        duration=seconds,
    )


def test_each_file_has_a_line_and_each_release_a_column() -> None:
    reports = [
        report("card/test_lag.py", "noble", "setup", "passed", 40.0),
        report("card/test_lag.py", "noble", "call", "passed", 2.4),
        report("card/test_lag.py", "noble", "call", "failed", 3.0),
        report("card/test_lag.py", "jammy", "setup", "skipped", 0.2),
        report("roce_qos/test_rdma.py", "jammy", "setup", "failed", 7.0),
    ]
    assert table.by_release(reports).splitlines() == [
        "                       jammy           noble",
        "card/test_lag.py       1 skipped, 0 s  1 passed, 1 failed, 45 s",
        "roce_qos/test_rdma.py  1 errors, 7 s   -",
    ]
