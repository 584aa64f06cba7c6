# SPDX-License-Identifier: Apache-2.0
"""Pytest's plugin of ``tox -e mutants``: notes which lines each test runs, or runs a list of tests.

``MUTANTS_NOTE=FILE``: after the run FILE has each test's seconds of processor time, and the lines that it ran
of the files that ``MUTANTS_FILES`` names, as ``path:line``; under the name "" those that ran before any test.
``MUTANTS_TESTS=FILE``: the tests that FILE names run in that order, and no others.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

NOTE, TESTS = os.environ.get("MUTANTS_NOTE"), os.environ.get("MUTANTS_TESTS")
FILES = {str(Path.cwd() / path): path for path in os.environ.get("MUTANTS_FILES", "").split(os.pathsep)}
_noted: dict[str, tuple[float, list[str]]] = {}
_ran: set[tuple[str, int]] = set()


def _seconds() -> float:
    """Processor time of this process and of those that it waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _call(frame: FrameType, _event: str, _: object) -> Any:
    """Python is told to go through the lines of listed files, and of no others: that is slow."""
    return _line if frame.f_code.co_filename in FILES else None


def _line(frame: FrameType, event: str, _: object) -> Any:
    if event == "line":
        _ran.add((frame.f_code.co_filename, frame.f_lineno))
    return _line


def _trace(call: Any) -> None:
    threading.settrace(call)
    sys.settrace(call)


def _note(name: str, seconds: float) -> None:
    _noted[name] = (round(seconds, 3), sorted(f"{FILES[path]}:{line}" for path, line in _ran))
    _ran.clear()


def pytest_sessionstart() -> None:
    if NOTE:
        _trace(_call)


def pytest_collection_finish() -> None:
    if NOTE:
        _note("", 0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if not NOTE:
        return (yield)
    began = _seconds()
    _trace(_call)
    try:
        return (yield)
    finally:
        _trace(None)
        _note(item.nodeid, _seconds() - began)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not TESTS:
        return
    order = {name: place for place, name in enumerate(json.loads(Path(TESTS).read_text()))}
    chosen = [item for item in items if item.nodeid in order]
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in order])
    items[:] = sorted(chosen, key=lambda item: order[item.nodeid])


def pytest_sessionfinish() -> None:
    if NOTE:
        Path(NOTE).write_text(json.dumps(_noted))
