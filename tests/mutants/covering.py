# SPDX-License-Identifier: Apache-2.0
"""Pytest's plugin of ``tox -e mutants``: notes which functions each test calls, or runs a list of tests.

``MUTANTS_NOTE=FILE``: after the run FILE has each test's seconds of processor time, and the functions of lib/
and charms/ that it called, as ``path:first line``. ``MUTANTS_TESTS=FILE``: the tests that FILE names run in
that order, and no others.
"""

import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = f"{Path.cwd()}/"
NOTE, TESTS = os.environ.get("MUTANTS_NOTE"), os.environ.get("MUTANTS_TESTS")
_noted: dict[str, tuple[float, list[str]]] = {}


def _seconds() -> float:
    """Processor time of this process and of those that it waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if not NOTE:
        return (yield)
    called: set[Any] = set()

    def note(frame: Any, *_: object) -> None:  # a trace function that returns None is not told of lines
        called.add(frame.f_code)

    began = _seconds()
    threading.settrace(note)
    sys.settrace(note)
    try:
        return (yield)
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        places = {
            f"{code.co_filename.removeprefix(ROOT)}:{code.co_firstlineno}"
            for code in called
            if code.co_filename.startswith((f"{ROOT}lib/", f"{ROOT}charms/"))
        }
        _noted[item.nodeid] = (round(_seconds() - began, 3), sorted(places))


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
