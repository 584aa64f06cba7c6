# SPDX-License-Identifier: Apache-2.0
"""Numbers and addresses belong to one switch each."""

import pytest
from unit.cumulus_fabric.audits import BLOCKED, found, the_one


def test_a_leaf_with_the_spines_as_number():
    path, what = the_one(BLOCKED, lambda data: data["leaves"].update(asn={"first": 65198}))
    assert (path, what) == (
        "leaves.asn",
        "Leaf0-2 and Spine0 have the same AS 65199: BGP would drop routes between them as loops",
    )


def test_all_leaves_with_one_as_number():
    paths = [path for path, _ in found(BLOCKED, lambda data: data["leaves"].update(asn={"all": 65101}))]
    assert paths == ["leaves.asn"] * 3


def test_a_reserved_as_number():
    path, what = the_one(BLOCKED, lambda data: data.update(switches={"Leaf0-1": {"asn": 23456}}))
    assert (path, what) == ("switches.Leaf0-1.asn", "Leaf0-1 gets AS 23456, which is reserved")


@pytest.mark.parametrize(
    ("own", "path"),
    [
        ({"asn": 65101}, "switches.Leaf0-2.asn"),
        ({"loopback": "10.10.10.1"}, "switches.Leaf0-2.loopback"),
        ({"management": "192.168.0.11"}, "switches.Leaf0-2.management"),
    ],
)
def test_a_switchs_own_entry_is_the_place_to_correct(own, path):
    def twice(data):
        data["leaves"]["management"] = "192.168.0.11"
        data["switches"] = {"Leaf0-2": own}

    assert [where for where, _ in found(BLOCKED, twice)] == [path]


def test_a_spines_own_entry_is_the_place_to_correct():
    path, what = the_one(BLOCKED, lambda data: data.update(switches={"Spine1": {"loopback": "10.10.10.101"}}))
    assert (path, what) == (
        "switches.Spine1.loopback",
        "10.10.10.101 is both Spine0's loopback and Spine1's loopback",
    )


def test_the_own_entry_is_named_even_if_the_other_switch_comes_later():
    """Leaf0-1 has the address of Leaf0-2, which follows the scheme."""
    change = {"Leaf0-1": {"loopback": "10.10.10.2"}}
    path, _ = the_one(BLOCKED, lambda data: data.update(switches=change))
    assert path == "switches.Leaf0-1.loopback"


def test_loopbacks_that_run_into_each_other():
    """A hundred and one leaves from 10.10.10.1 on would reach the first spine's 10.10.10.101."""
    path, what = the_one(BLOCKED, lambda data: data["spines"].update(loopback="10.10.10.4"))
    assert (path, what) == ("leaves.loopback", "10.10.10.4 is both Spine0's loopback and Leaf1-2's loopback")


def test_a_management_address_twice():
    def same(data):
        data["spines"]["management"] = "192.168.0.1"
        data["leaves"]["management"] = "192.168.0.2"

    path, what = the_one(BLOCKED, same)
    assert (path, what) == (
        "leaves.management",
        "192.168.0.2 is both Spine1's management and Leaf0-1's management",
    )


def test_a_loopback_inside_a_hosts_subnet():
    def inside(data):
        data["networks"]["internal"]["subnets"] = ["10.10.10.0/30"]

    paths = [path for path, _ in found(BLOCKED, inside)]
    assert paths == ["leaves.loopback"] * 3


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("0.0.0.0", "names no host (0.0.0.0/8)"),
        ("127.0.0.1", "never leaves a switch (127.0.0.0/8)"),
        ("224.0.0.5", "is multicast (224.0.0.0/4)"),
        ("255.255.255.255", "is reserved (240.0.0.0/4)"),
    ],
)
def test_a_loopback_that_no_router_announces(address, why):
    path, what = the_one(BLOCKED, lambda data: data.update(switches={"Leaf1-1": {"loopback": address}}))
    assert (path.rpartition(".")[2], what) == ("loopback", f"Leaf1-1's loopback {address} {why}")


def test_loopbacks_that_count_up_into_multicast():
    blocked = found(BLOCKED, lambda data: data["leaves"].update(loopback="223.255.255.254"))
    assert blocked == [
        ("leaves.loopback", f"Leaf1-{n}'s loopback 224.0.0.{n - 1} is multicast (224.0.0.0/4)")
        for n in (1, 2)
    ]
