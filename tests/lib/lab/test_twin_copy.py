# SPDX-License-Identifier: Apache-2.0
"""The twin's code in a guest: a copy of a part of tests/, which must be all that it imports."""

import re
from pathlib import Path

from import_graph import modules, reachable
from lab.twin.start import COPY, kept
from lab.twin.wiring import reference

TESTS = Path(__file__).parents[2]


def test_the_copy_holds_every_module_that_the_twin_imports() -> None:
    (copied,) = re.findall(rf"^cp -r (.+) {COPY}/lab$", kept(reference()), re.MULTILINE)
    known = modules(TESTS)
    needed = reachable({"lab.twin.__main__": known["lab.twin.__main__"]}, known)
    assert len(needed) > 10
    missing = [
        module.name
        for module in needed
        if module.name != "lab"
        and not any(module.path.is_relative_to(TESTS / part) for part in copied.split())
    ]
    assert missing == []
