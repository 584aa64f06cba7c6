# SPDX-License-Identifier: Apache-2.0
"""The names that a key of NVUE's stands for."""

import pytest
from intent import ports

KEYS = {
    "swp1": ["swp1"],
    "swp9-11": ["swp9", "swp10", "swp11"],
    "swp1-2,bond1-2": ["swp1", "swp2", "bond1", "bond2"],
    "node1-2": ["node1", "node2"],
    "bond_ext,swp1-2": ["bond_ext", "swp1", "swp2"],
    "bond-a1-2,peerlink.4094": ["bond-a1", "bond-a2", "peerlink.4094"],
    "10,20-22": ["10", "20", "21", "22"],
    "swp1-2,6,10-11": ["swp1", "swp2", "swp6", "swp10", "swp11"],
    "swp1s0-3": ["swp1s0", "swp1s1", "swp1s2", "swp1s3"],
    "swp1-2s0-1,3": ["swp1s0", "swp1s1", "swp2s0", "swp2s1", "swp1s3", "swp2s3"],
    "bond_ext,5": ["bond_ext", "5"],
    "rack08-10": ["rack08", "rack09", "rack10"],
    "uplink-1": ["uplink-1"],
    "swp4-2": ["swp4-2"],
    "10.0.0.1": ["10.0.0.1"],
    "10.0.0.1,10.0.0.3-4": ["10.0.0.1", "10.0.0.3", "10.0.0.4"],
    "10.9.9.9/32,10.9.9.8/32": ["10.9.9.9/32", "10.9.9.8/32"],
    "2001:db8::1,2001:db8::a": ["2001:db8::1", "2001:db8::a"],
    "bond1:vlan9-10,12": ["bond1:vlan9", "bond1:vlan10", "bond1:vlan12"],
}


@pytest.mark.parametrize(("key", "names"), KEYS.items())
def test_ranges_of_every_name_are_expanded(key: str, names: list[str]) -> None:
    assert list(ports.names(key)) == names


@pytest.mark.parametrize("key", ["swp1-99999999", "swp1-" + "9" * 5000, "9" * 5000, "swp1-999s1-999"])
def test_a_range_that_no_switch_can_have_stands_for_itself(key: str) -> None:
    assert ports.names(key) == (key,)


LONG = {
    "many ranges in one name": "a" + "1-1a" * 2000,
    "many digits": "9" * 100_000 + "a1",
    "a number of many digits after a name": "swp" + "9" * 5000 + ",7",
    "no ASCII digits": "²,٣-٤,swp٣",
}


@pytest.mark.parametrize("key", LONG.values(), ids=LONG)
def test_no_name_of_a_switch_costs_much_or_cannot_be_sorted(key: str) -> None:
    found = ports.names(key)
    assert len(found) <= key.count(",") + 2
    assert set(ports.names(ports.compact(found))) == set(found)


def test_names_come_one_by_one() -> None:
    """A list of ranges may have more than fit into memory; who reads it can stop."""
    found = ports.each(",".join(["swp1-4096"] * 1_000_000))
    assert [next(found), next(found)] == ["swp1", "swp2"]


FOLDED = {
    "swp1-2,swp10": ["swp10", "swp2", "swp1"],
    "bond1-2,bond_ext,lo": ["lo", "bond_ext", "bond2", "bond1"],
    "rack08-10": ["rack10", "rack08", "rack09"],
    "rack8,rack09": ["rack8", "rack09"],
    "rack007": ["rack007"],
    "9-10,20": ["20", "9", "10"],
}


@pytest.mark.parametrize(("key", "names"), FOLDED.items())
def test_compact_writes_a_range_that_names_the_same_ports(key: str, names: list[str]) -> None:
    assert ports.compact(names) == key
    assert set(ports.names(key)) == set(names)


def test_compact_takes_another_separator() -> None:
    names = ["swp9", "swp10", "bond_ext", "swp22", "bond1", "bond2", "lo"]
    assert ports.compact(names, ", ") == "bond1-2, swp9-10, swp22, bond_ext, lo"
