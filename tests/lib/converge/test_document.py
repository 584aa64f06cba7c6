# SPDX-License-Identifier: Apache-2.0
"""JSON with a version: what is no such document is one printable sentence."""

import json
from typing import Any, NamedTuple

import pytest
from converge.document import LONGEST, read_json
from converge.shape import Integer, InvalidValue, JsonRecord
from hypothesis import given
from hypothesis import strategies as st


class Ports(NamedTuple):
    count: int = 0


PORTS = JsonRecord(Ports, {"count": Integer(0, 9)})


def test_a_document_is_read_and_fields_of_a_later_revision_are_ignored():
    assert read_json('{"version": 1, "count": 3, "mood": "good"}', 1, PORTS) == Ports(3)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "ports: an empty value is not allowed; expected JSON (Expecting value in line 1)"),
        ("null", "ports: an empty value is not allowed; expected a JSON object"),
        ("[]", "ports: [] is not allowed; expected a JSON object"),
        ("{}", "ports.version: an empty value is not allowed; expected 1"),
        ('{"version": 2}', "ports.version: 2 is not allowed; expected 1"),
        ('{"version": true}', "ports.version: true is not allowed; expected 1"),
        ('{"version": 1.0}', "ports.version: 1.0 is not allowed; expected 1"),
        ('{"version": 1, "count": NaN}', "ports.count: nan is not allowed; expected a whole number from 0"),
        ('{"version": 1, "count": 1e999}', "ports.count: inf is not allowed; expected a whole number"),
        (
            '{"version": 1, "count": 10}',
            "ports.count: 10 is not allowed; expected a whole number from 0 to 9",
        ),
        ("[" * LONGEST, f"ports: '{'[' * 37}…' is not allowed; expected JSON that is nested less deeply"),
        ("x" * (LONGEST + 1), f"ports: '{'x' * 37}…' is not allowed; expected at most 65536 characters"),
    ],
)
def test_another_text_is_one_sentence(text: str, sentence: str):
    with pytest.raises(InvalidValue) as refused:
        read_json(text, 1, PORTS, "ports")
    assert str(refused.value).startswith(sentence)
    assert str(refused.value).isprintable()


def test_a_number_of_thousands_of_digits_is_one_sentence():
    with pytest.raises(InvalidValue, match=r"^ports[.a-z]*: .* is not allowed; expected "):
        read_json('{"version": 1, "count": ' + "9" * 20_000 + "}", 1, PORTS, "ports")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
)


@given(
    st.text() | values.map(json.dumps) | values.map(lambda count: json.dumps({"version": 1, "count": count}))
)
def test_any_text_is_read_or_one_short_printable_sentence(text: Any):
    try:
        assert 0 <= read_json(text, 1, PORTS).count <= 9
    except InvalidValue as error:
        assert str(error).isprintable()
        assert len(str(error)) < 200
