# SPDX-License-Identifier: Apache-2.0
"""The values that each shape reads, and the sentence with which it refuses the rest."""

from typing import Any, NamedTuple

import jsonschema
import pytest
from converge.shape import (
    LINE,
    AnyText,
    Boolean,
    Integer,
    InvalidValue,
    JsonRecord,
    ListOf,
    MappingOf,
    OneOf,
    OrNull,
    Record,
    Shape,
    Text,
    Union,
    at,
)
from hypothesis import given
from hypothesis import strategies as st


class Bond(NamedTuple):
    local_id: int
    ports: tuple[str, ...] = ()
    active: bool = False


PORT = Text(r"swp[1-9][0-9]?", "a port such as swp9")
BOND = Record(
    Bond,
    {"local-id": Integer(1, 99, "a local-id"), "ports": ListOf(PORT, "ports", least=1), "active": Boolean()},
)
BONDS = MappingOf(Text(r"[a-z]+", "a name of small letters"), BOND, "bonds", least=1)
MODE = OneOf(("lossless", "lossy", "off"))
SHORT = Union[object]({str: PORT, list: ListOf(PORT, "ports")})
LATER = JsonRecord(Bond, {"local-id": Integer(1, None)})

READ = [
    (Integer(0, 7), 7, 7),
    (PORT, "swp12", "swp12"),
    (MODE, "off", "off"),
    (Boolean(), False, False),
    (ListOf(PORT, "ports"), [], ()),
    (BOND, {"local-id": 3, "ports": ["swp1", "swp2"], "active": True}, Bond(3, ("swp1", "swp2"), True)),
    (BOND, {"local-id": 3}, Bond(3)),
    (BONDS, {"ext": {"local-id": 1}}, {"ext": Bond(1)}),
    (SHORT, "swp1", "swp1"),
    (SHORT, ["swp1"], ("swp1",)),
    (LATER, {"local-id": 10**40, "mood": "good"}, Bond(10**40)),
    (OrNull(PORT), None, None),
    (OrNull(PORT), "swp1", "swp1"),
    (AnyText(), "a\nb", "a\nb"),
    (LINE, "", ""),
]


@pytest.mark.parametrize(("shape", "value", "expected"), READ)
def test_a_value_that_fits_is_returned_typed(shape, value, expected):
    assert shape.read("x", value) == expected


REFUSED = [
    (Integer(0, 7), 8, "x: 8 is not allowed; expected a whole number from 0 to 7"),
    (Integer(0, 7), True, "x: true is not allowed; expected a whole number from 0 to 7"),
    (Integer(0, 7), 7.0, "x: 7.0 is not allowed; expected a whole number from 0 to 7"),
    (Integer(1, 1, "the version"), 2, "x: 2 is not allowed; expected the version 1"),
    (PORT, "swp12\n", "x: 'swp12\\n' is not allowed; expected a port such as swp9"),
    (PORT, None, "x: an empty value is not allowed; expected a port such as swp9"),
    (MODE, ["off"], "x: ['off'] is not allowed; expected lossless, lossy or off"),
    (Boolean(), 1, "x: 1 is not allowed; expected true or false"),
    (ListOf(PORT, "ports"), "swp1", "x: 'swp1' is not allowed; expected a list of ports"),
    (ListOf(PORT, "ports", least=1), [], "x: [] is not allowed; expected a list of ports"),
    (ListOf(PORT, "ports"), ["swp1", "-"], "x[1]: '-' is not allowed; expected a port such as swp9"),
    (BOND, [], "x: [] is not allowed; expected a mapping with the keys local-id, ports, active"),
    (BOND, {}, "x.local-id: an empty value is not allowed; expected a local-id from 1 to 99"),
    (
        BOND,
        {"local-id": 1, "mtu": 9},
        "x.mtu: 'mtu' is not allowed; expected only the keys local-id, ports, active here",
    ),
    (BONDS, {}, "x: {} is not allowed; expected a mapping of bonds"),
    (BONDS, {"Ext": {}}, "x.Ext: 'Ext' is not allowed; expected a name of small letters"),
    (BONDS, {"ext": {"local-id": 0}}, "x.ext.local-id: 0 is not allowed; expected a local-id from 1 to 99"),
    (
        LATER,
        {"local-id": -(10**40)},
        f"x.local-id: -1{'0' * 36}…0 is not allowed; expected a whole number of at least 1",
    ),
    (OrNull(PORT), "", "x: an empty value is not allowed; expected a port such as swp9"),
    (AnyText(), 1, "x: 1 is not allowed; expected text"),
    (LINE, "a\nb", "x: 'a\\nb' is not allowed; expected one line of text"),
    (LINE, "\ud800", "x: '\\ud800' is not allowed; expected one line of text"),
    (OneOf(("", "idle")), "x" * 99, f"x: '{'x' * 37}…' is not allowed; expected nothing or idle"),
    (SHORT, 1, "x: 1 is not allowed; expected a port such as swp9, or a list of ports"),
]


@pytest.mark.parametrize(("shape", "value", "sentence"), REFUSED)
def test_another_value_is_refused_with_its_place_and_what_is_allowed(shape, value, sentence):
    with pytest.raises(InvalidValue) as refused:
        shape.read("x", value)
    assert str(refused.value) == sentence
    assert refused.value.where == sentence.partition(":")[0]


def test_the_whole_document_is_named_as_such():
    with pytest.raises(InvalidValue, match=r"^the document: 5 is not allowed"):
        BOND.read("", 5)


def test_a_place_below_the_top_has_no_leading_dot():
    assert at(at(at("", "racks"), 0), "bonds") == "racks[0].bonds"


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31m", "\ud800", "x" * 9999])
@pytest.mark.parametrize("shape", [BONDS, BOND], ids=["Named", "Record"])
def test_a_wrong_key_is_one_short_printable_line(shape: Shape[Any], name: str):
    with pytest.raises(InvalidValue) as refused:
        shape.read("x", {name: 1})
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 200


def test_a_value_that_cannot_be_shown_is_described():
    nested: Any = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(InvalidValue, match=r"^x: this list is not allowed; expected true or false$"):
        Boolean().read("x", nested)


def test_what_was_read_passes_again():
    bonds = BONDS.read("x", {"ext": {"local-id": 3, "ports": ["swp1"]}})
    assert BONDS.read("x", bonds) == bonds


def test_a_class_checks_itself_with_the_shape_that_reads_it():
    BOND.check(Bond(3, ("swp1",)))
    with pytest.raises(InvalidValue, match=r"^ports\[1\]: 'eth0' is not allowed"):
        BOND.check(Bond(3, ("swp1", "eth0")))


class Range(NamedTuple):
    low: int
    high: int


def ascending(low: int, high: int) -> Range:
    if low > high:
        raise InvalidValue("high", high, f"{low} or more")
    return Range(low, high)


def test_a_check_across_fields_is_named_from_the_top():
    ranges = ListOf(Record(ascending, {"low": Integer(0, 9), "high": Integer(0, 9)}), "ranges")
    assert ranges.read("x", [{"low": 1, "high": 1}]) == (Range(1, 1),)
    with pytest.raises(InvalidValue, match=r"^x\[0\]\.high: 1 is not allowed; expected 2 or more$"):
        ranges.read("x", [{"low": 2, "high": 1}])


@pytest.mark.parametrize(
    ("where", "seen"), [("[0].port", "racks[0].port"), ("port", "racks.port"), ("", "racks")]
)
def test_an_error_seen_from_what_holds_the_value_has_the_whole_path(where: str, seen: str):
    assert InvalidValue(where, 7, "less").under("racks").where == seen


def test_a_list_where_a_mapping_belongs_is_refused_with_what_the_mapping_is_of():
    with pytest.raises(InvalidValue, match=r"^x: \[\] is not allowed; expected a mapping of VLANs$"):
        MappingOf(Integer(1, 4094), LINE, "VLANs").read("x", [])


@pytest.mark.parametrize(
    ("document", "valid"),
    [({"a": 1}, True), ({}, False), ({"a": 7}, False), ({"A": 1}, False), ([], False)],
)
def test_the_schema_of_a_mapping_asks_for_names_values_and_how_many(document: object, valid: bool):
    schema = MappingOf(Text(r"[a-z]", "a letter"), Integer(0, 3), "counts", least=1).schema()
    assert jsonschema.Draft202012Validator(schema).is_valid(document) is valid


def test_a_schema_says_in_words_what_a_pattern_allows():
    assert Text(r"[a-z]+", "small letters").schema()["description"] == "small letters"


words = st.sampled_from(["swp1", "swp0", "off", "ext", "local-id", "ports", "active", "mood", "", "a\nb"])
documents = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 100) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
SHAPES = list({id(shape): shape for shape, *_ in (*READ, *REFUSED) if shape is not LINE}.values())


@given(st.sampled_from(SHAPES), documents)
def test_a_shape_and_its_schema_accept_the_same_documents(shape: Shape[Any], value: object):
    valid = jsonschema.Draft202012Validator(shape.schema()).is_valid(value)
    try:
        shape.read("x", value)
    except InvalidValue as error:
        assert str(error).isprintable()
        assert not valid
    else:
        assert valid
