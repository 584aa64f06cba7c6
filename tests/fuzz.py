# SPDX-License-Identifier: Apache-2.0
"""Gives hostile input to each reader of untrusted text, which has to return or to raise a documented error.

``tox -e fuzz`` gives each reader ``FUZZ_EXAMPLES`` texts: 1,500 for each take seven minutes of processor
time, in two processes. Without that variable each gets 100, which take a minute for all readers.
"""

import json
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hostnic.system import System
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lab.modelled import FakeHost

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "100"))
NIGHTLY = "FUZZ_EXAMPLES" in os.environ
"""``unit`` gives the same texts each time: a push fails for its own faults, the night looks for more."""

NUMBERS = [
    "1e999",
    "-1e999",
    "NaN",
    "9" * 5000,
    "-1",
    "0",
    "1.5",
    "18446744073709551616",
    "1e-9",
    "\u0663",
    "²",
]
TOKENS = [
    *(
        "",
        "null",
        "true",
        "[]",
        "{}",
        '""',
        "\0",
        "\n",
        "\r",
        "\x1b[0m",
        "\u2028",
        "\ud800",
        "\ufeff",
        "'",
        '"',
    ),
    *(
        "[" * 1200,
        "{" * 1200,
        '{"a":' * 1200,
        "- " * 400,
        "a: &a [*a]",
        "*a",
        "<<: *a",
        "!!python/none",
        "%",
        "\\",
    ),
    *(":", "=", "/", "..", "/etc/passwd", "0x", "1-9999999999", "swp1-4", "x" * 5000, "é" * 300),
]
VALUES: list[object] = [
    None,
    True,
    -1,
    10**400,
    1.5,
    "",
    "x" * 300,
    "\0",
    "1-99999999",
    [],
    [[]],
    {},
    {"": None},
]
_PART = re.compile(r"[A-Za-z0-9_.]+|[^A-Za-z0-9_.]")


class Reader(NamedTuple):
    """A reader under test.

    Attributes:
        name: in the test's name.
        read: takes the text.
        samples: texts that it accepts, or nearly; hostile ones are made from them.
        raises: what it may raise.

    """

    name: str
    read: Callable[[str], object]
    samples: Sequence[str]
    raises: tuple[type[Exception], ...] = ()


def raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def of_file(path: str, read: Callable[[System], object]) -> Callable[[str], object]:
    """A reader of a file of the host."""

    def run(text: str) -> object:
        host = FakeHost()
        host.disk.install(path, raw(text), 0o600)
        return read(host)

    return run


def of_path(read: Callable[[Path], object]) -> Callable[[str], object]:
    """A reader of a file of this machine."""

    def run(text: str) -> object:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "file"
            path.write_bytes(raw(text))
            return read(path)

    return run


def _any_json() -> st.SearchStrategy[str]:
    leaves = st.sampled_from(VALUES) | st.text(max_size=8) | st.integers() | st.floats()
    nested = st.recursive(
        leaves,
        lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(max_size=8), below, max_size=4),
    )
    return nested.map(json.dumps)


@st.composite
def _edited(draw: st.DrawFn, samples: Sequence[str]) -> str:
    """A sample of which some words are replaced, repeated or removed."""
    parts = _PART.findall(draw(st.sampled_from(samples)))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(parts)))
        until = place + draw(st.integers(0, 3))
        parts[place:until] = [
            draw(st.sampled_from([*NUMBERS, *TOKENS]) | st.text(max_size=5)),
            *parts[place:until][1:],
        ]
    return "".join(parts)


@st.composite
def _replaced(draw: st.DrawFn, samples: Sequence[str]) -> str:
    """A sample of JSON of which one value has another type or size."""
    content: Any = json.loads(draw(st.sampled_from(samples)))
    top: Any = [content]
    holder, key = top, 0
    for _ in range(draw(st.integers(0, 5))):
        below = holder[key]
        if not isinstance(below, dict | list) or not below:
            break
        holder = below
        key = (
            draw(st.sampled_from(sorted(below)))
            if isinstance(below, dict)
            else draw(st.integers(0, len(below) - 1))
        )
    holder[key] = draw(st.sampled_from(VALUES) | st.text(max_size=8) | st.integers())
    return json.dumps(top[0])


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except ValueError:
        return False


def hostile(samples: Sequence[str]) -> st.SearchStrategy[str]:
    """Texts that a reader may get from somebody who means harm, or from a tool of another release."""
    ways = [_edited(samples), _edited(samples), st.text(max_size=50), st.sampled_from([*NUMBERS, *TOKENS])]
    if objects := [text for text in samples if _is_json(text)]:
        ways += [_any_json(), _replaced(objects), _replaced(objects)]
    return st.one_of(ways)


def check(reader: Reader) -> None:
    """Give hostile texts to the reader.

    Raises:
        Exception: what the reader raised and does not document.

    """

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=not NIGHTLY,
        suppress_health_check=list(HealthCheck),
    )
    @given(hostile(reader.samples))
    def property_of(text: str) -> None:
        try:
            reader.read(text)
        except reader.raises as error:
            assert str(error), "an error says what is wrong"

    property_of()
