# SPDX-License-Identifier: Apache-2.0
"""Configuration spaces: capabilities found, and none in what is no configuration space."""

from hostnic.firmware.configspace import ConfigSpace
from hostnic.firmware.gpudirect import EXPRESS, EXTENDED_ACS
from hypothesis import given
from hypothesis import strategies as st
from lab.modelled.nic.pcispace import ACS_AT, EXPRESS_AT, FakeBridge, nic_config


def space(text: str) -> ConfigSpace:
    return ConfigSpace(text.encode("utf-8", "surrogateescape"))


def test_a_bridge_with_and_without_acs() -> None:
    assert space(FakeBridge().config()).bridge
    assert space(FakeBridge().config()).extended(EXTENDED_ACS) == ACS_AT
    assert space(FakeBridge(acs_offers=None).config()).extended(EXTENDED_ACS) is None


def test_a_nics_read_request_size() -> None:
    nic = space(nic_config(2))
    assert not nic.bridge
    assert nic.capability(EXPRESS) == EXPRESS_AT
    assert nic.number(EXPRESS_AT + 8, 2) >> 12 == 2
    assert nic.extended(EXTENDED_ACS) is None


@given(st.binary(max_size=5000))
def test_any_bytes_have_a_capability_or_none(content: bytes) -> None:
    found = ConfigSpace(content)
    for offset in (found.capability(EXPRESS), found.extended(EXTENDED_ACS)):
        assert offset is None or 0x40 <= offset < 0x1000
