# SPDX-License-Identifier: Apache-2.0
"""Options that check themselves: what passes, and the one sentence for what does not."""

import math
from dataclasses import dataclass, fields

import pytest
from charmkit.options import check, option
from converge.shape import InvalidValue
from hypothesis import given
from hypothesis import strategies as st


@dataclass(frozen=True)
class Config:
    num_vfs: int = option(8, minimum=1, maximum=127)
    vf_lag: str = option("auto", choices=("auto", "required", "disabled"))
    allow_live: bool = option(False)
    load: float = option(0.5, maximum=1)
    settle: int = option(300, minimum=0)
    devices: str = option("auto")
    token: object = None

    def __post_init__(self) -> None:
        check(self)


def test_defaults_pass():
    assert Config() == Config(
        num_vfs=8, vf_lag="auto", allow_live=False, load=0.5, settle=300, devices="auto"
    )


def test_numbers_take_the_type_of_their_option():
    config = Config(num_vfs=16.0, load=1)

    assert (config.num_vfs, type(config.num_vfs)) == (16, int)
    assert (config.load, type(config.load)) == (1.0, float)


def test_other_types_are_left_to_their_owner():
    token = object()

    assert Config(token=token).token is token


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("num_vfs", 0, "num-vfs: 0 is not allowed; expected a whole number from 1 to 127"),
        ("num_vfs", 128, "num-vfs: 128 is not allowed; expected a whole number from 1 to 127"),
        ("num_vfs", 2.5, "num-vfs: 2.5 is not allowed; expected a whole number from 1 to 127"),
        ("num_vfs", True, "num-vfs: true is not allowed; expected a whole number from 1 to 127"),
        ("num_vfs", "8", "num-vfs: '8' is not allowed; expected a whole number from 1 to 127"),
        ("num_vfs", None, "num-vfs: an empty value is not allowed; expected a whole number from 1 to 127"),
        ("num_vfs", math.nan, "num-vfs: nan is not allowed; expected a whole number from 1 to 127"),
        ("num_vfs", math.inf, "num-vfs: inf is not allowed; expected a whole number from 1 to 127"),
        ("num_vfs", 10**400, f"num-vfs: 1{'0' * 37}…0 is not allowed; expected a whole number from 1 to 127"),
        ("load", -(10**400), f"load: -1{'0' * 36}…0 is not allowed; expected a number of at most 1"),
        ("load", math.nan, "load: nan is not allowed; expected a number of at most 1"),
        ("vf_lag", "yes", "vf-lag: 'yes' is not allowed; expected auto, required or disabled"),
        ("vf_lag", "", "vf-lag: an empty value is not allowed; expected auto, required or disabled"),
        ("vf_lag", 1, "vf-lag: 1 is not allowed; expected auto, required or disabled"),
        ("vf_lag", "AUTO", "vf-lag: 'AUTO' is not allowed; expected auto, required or disabled"),
        ("allow_live", "yes", "allow-live: 'yes' is not allowed; expected true or false"),
        ("allow_live", 1, "allow-live: 1 is not allowed; expected true or false"),
        ("load", 1.5, "load: 1.5 is not allowed; expected a number of at most 1"),
        ("settle", -1, "settle: -1 is not allowed; expected a whole number of at least 0"),
        ("devices", 8, "devices: 8 is not allowed; expected text"),
        ("vf_lag", "a\nb", r"vf-lag: 'a\nb' is not allowed; expected auto, required or disabled"),
        ("vf_lag", "x" * 99, f"vf-lag: '{'x' * 37}…' is not allowed; expected auto, required or disabled"),
    ],
)
def test_a_wrong_value_is_one_sentence(name: str, value: object, sentence: str):
    with pytest.raises(InvalidValue) as error:
        Config(**{name: value})

    assert str(error.value) == sentence


def test_the_first_of_several_wrong_values_is_named():
    with pytest.raises(InvalidValue, match=r"^vf-lag: "):
        Config(devices=1, vf_lag="no")


anything = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.lists(st.text())
)


@given(st.sampled_from([field.name for field in fields(Config)]), anything)
def test_any_value_either_has_its_type_or_is_one_printable_line(name: str, value: object):
    kinds = {"num_vfs": int, "settle": int, "vf_lag": str, "devices": str, "allow_live": bool, "load": float}
    try:
        config = Config(**{name: value})
    except InvalidValue as error:
        assert str(error).isprintable()
        assert str(error).startswith(name.replace("_", "-"))
        assert len(str(error)) < 120
    else:
        assert type(getattr(config, name)) is kinds.get(name, type(value))
