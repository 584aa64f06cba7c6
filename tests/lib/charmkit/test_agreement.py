# SPDX-License-Identifier: Apache-2.0
"""Each disagreement between a host and its fabric is one sentence with both sides' values."""

from dataclasses import replace
from typing import Any

import pytest
from charmkit.agreement import Difference, differences
from charmkit.fabric import STRICT, Host, Marking, Mtu, Policy, PortReport, Qos

QOS = Qos("dscp", (3,), Marking(26, 3), Marking(48, 6), {0: 50, 3: 50, 6: STRICT})
POLICY = Policy(QOS, Mtu(9000, 9216), {"rack0": "44:38:39:be:ef:01", "rack1": "44:38:39:be:ef:02"})
PORT = PortReport("eth0", "0000:3b:00.0", "10:70:fd:3b:00:00", 9000, "bond0", "44:38:39:be:ef:01", qos=QOS)
TWIN = replace(PORT, netdev="eth1", bdf="0000:3b:00.1")


def host(**changes: Any) -> Host:
    return Host("node1", (replace(PORT, **changes), TWIN))


def test_a_host_that_follows_the_policy_has_no_difference() -> None:
    assert differences(POLICY, host()) == ()


@pytest.mark.parametrize(
    ("qos", "says"),
    [
        ({"trust": "pcp"}, "trusts pcp, the fabric dscp"),
        ({"pfc": ()}, "PFC on no priority, the fabric on priority 3"),
        ({"pfc": (3, 4)}, "PFC on priority 3 4, the fabric on priority 3"),
        ({"roce": Marking(26, 0)}, "RoCE is DSCP 26 in priority 0, in the fabric DSCP 26 in priority 3"),
        ({"cnp": Marking(48, 0)}, "CNP is DSCP 48 in priority 0, in the fabric DSCP 48 in priority 6"),
        ({"ets": {0: 100}}, "ETS is 0:100%, in the fabric 0:50% 3:50% 6:strict"),
    ],
)
def test_each_part_of_the_qos_is_compared(qos: dict[str, Any], says: str) -> None:
    assert differences(POLICY, host(qos=replace(QOS, **qos))) == (Difference("eth0", says),)


@pytest.mark.parametrize(
    ("mtu", "says"),
    [
        (1500, "MTU 1500, the fabric expects 9000"),
        (9300, "MTU 9300, more than the 9216 bytes that the fabric carries"),
    ],
)
def test_the_mtu_is_compared(mtu: int, says: str) -> None:
    assert differences(POLICY, host(mtu=mtu)) == (Difference("eth0", says),)


def test_a_partner_that_is_no_segment_is_named() -> None:
    stranger = Host("node1", (replace(PORT, partner_mac="00:00:5e:00:01:01"),))
    assert differences(POLICY, stranger) == (
        Difference(
            "bond0",
            "LACP partner 00:00:5e:00:01:01 is not a segment of the fabric: "
            "44:38:39:be:ef:01 (rack0) 44:38:39:be:ef:02 (rack1)",
        ),
    )


def test_a_bond_whose_ports_hang_on_two_racks_is_named() -> None:
    (found,) = differences(POLICY, host(partner_mac="44:38:39:be:ef:02"))
    assert found.what == "its ports have different LACP partners: 44:38:39:be:ef:01 44:38:39:be:ef:02"


def test_what_one_side_does_not_tell_is_no_difference() -> None:
    assert differences(replace(POLICY, qos=None, segment_macs={}), host(qos=None)) == ()
    assert differences(POLICY, host(qos=None, partner_mac=None)) == ()
