# SPDX-License-Identifier: Apache-2.0
"""What each shape reads, and the sentence with which it refuses the rest."""

from typing import NamedTuple

import pytest
from converge.shape import Either, Flag, InvalidValue, Listing, Named, Record, Text, Whole, Word, at


class Bond(NamedTuple):
    local_id: int
    ports: tuple[str, ...] = ()
    active: bool = False


PORT = Text(r"swp[1-9][0-9]?", "a port such as swp9")
BOND = Record(
    Bond,
    {"local-id": Whole(1, 99, "a local-id"), "ports": Listing(PORT, "ports", least=1), "active": Flag()},
    required=["local-id"],
)
BONDS = Named(Text(r"[a-z]+", "a name of small letters"), BOND, "bonds", least=1)
MODE = Word(("lossless", "lossy", "off"))
SHORT = Either[object]({str: PORT, list: Listing(PORT, "ports")})

READ = [
    (Whole(0, 7), 7, 7),
    (PORT, "swp12", "swp12"),
    (MODE, "off", "off"),
    (Flag(), False, False),
    (Listing(PORT, "ports"), [], ()),
    (BOND, {"local-id": 3, "ports": ["swp1", "swp2"], "active": True}, Bond(3, ("swp1", "swp2"), True)),
    (BOND, {"local-id": 3}, Bond(3)),
    (BONDS, {"ext": {"local-id": 1}}, {"ext": Bond(1)}),
    (SHORT, "swp1", "swp1"),
    (SHORT, ["swp1"], ("swp1",)),
]


@pytest.mark.parametrize(("shape", "value", "expected"), READ)
def test_a_value_that_fits_is_returned_typed(shape, value, expected):
    assert shape.read("x", value) == expected


REFUSED = [
    (Whole(0, 7), 8, "x: 8 is not allowed; give a whole number from 0 to 7"),
    (Whole(0, 7), True, "x: true is not allowed; give a whole number from 0 to 7"),
    (Whole(0, 7), 7.0, "x: 7.0 is not allowed; give a whole number from 0 to 7"),
    (Whole(1, 1, "the version"), 2, "x: 2 is not allowed; give the version 1"),
    (PORT, "swp12\n", "x: 'swp12\\n' is not allowed; give a port such as swp9"),
    (PORT, None, "x: an empty value is not allowed; give a port such as swp9"),
    (MODE, ["off"], "x: ['off'] is not allowed; give lossless, lossy or off"),
    (Flag(), 1, "x: 1 is not allowed; give true or false"),
    (Listing(PORT, "ports"), "swp1", "x: 'swp1' is not allowed; give a list of ports"),
    (Listing(PORT, "ports", least=1), [], "x: [] is not allowed; give a list of ports"),
    (Listing(PORT, "ports"), ["swp1", ""], "x[1]: an empty value is not allowed; give a port such as swp9"),
    (BOND, [], "x: [] is not allowed; give a mapping with the keys local-id, ports, active"),
    (BOND, {}, "x.local-id: an empty value is not allowed; give a local-id from 1 to 99"),
    (
        BOND,
        {"local-id": 1, "mtu": 9},
        "x.mtu: 9 is not allowed; give only the keys local-id, ports, active here",
    ),
    (BONDS, {}, "x: {} is not allowed; give a mapping of bonds"),
    (BONDS, {"Ext": {}}, "x.Ext: 'Ext' is not allowed; give a name of small letters"),
    (BONDS, {"ext": {"local-id": 0}}, "x.ext.local-id: 0 is not allowed; give a local-id from 1 to 99"),
    (SHORT, 1, "x: 1 is not allowed; give a port such as swp9, or a list of ports"),
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
