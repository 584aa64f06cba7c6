# SPDX-License-Identifier: Apache-2.0
"""The udev rule that keeps the name of an uplink."""

import fnmatch
import re

import desired
import pytest
from boot import files
from unit.sriov_switchdev.node import PF0, PF1


def test_the_name_rule_keeps_the_uplinks_name_and_leaves_representors_alone() -> None:
    wanted = desired.Desired((desired.Port(PF0, "enp59s0f0", 8), desired.Port(PF1, 'x" y', 8)))
    assert [line for line in files.rules(wanted).splitlines() if "NAME=" in line] == [
        'SUBSYSTEM=="net", ACTION=="add", KERNELS=="0000:3b:00.0", ATTR{phys_port_name}=="p[0-9]*", '
        'NAME="enp59s0f0"'
    ]


@pytest.mark.parametrize(
    ("attributes", "name"),
    [
        ({}, "kept"),
        ({"address": "b8:3f:d2:00:00:01"}, None),
        # What a bond gives a member is no permanent address.
        ({"address": "b8:3f:d2:00:00:01", "addr_assign_type": "3"}, "kept"),
        ({"address": "b8:3f:d2:00:00:01", "addr_assign_type": "1", "phys_port_name": "pf0vf0"}, None),
    ],
)
def test_the_name_rule_gives_another_card_no_name(attributes: dict[str, str], name: str | None) -> None:
    mac = "b8:3f:d2:00:00:00"
    wanted = desired.Desired((desired.Port(PF0, "kept", 8, mac=mac), desired.Port(PF1, "other", 8, mac=mac)))
    own = {"address": mac, "addr_assign_type": "0", "phys_port_name": "p0", **attributes}
    event = {"SUBSYSTEM": "net", "ACTION": "add", "KERNELS": PF0}
    event |= {f"ATTR{{{key}}}": value for key, value in own.items()}
    assert named_by_udev(files.rules(wanted), event) == name


def named_by_udev(rules: str, event: dict[str, str]) -> str | None:
    """What udev(7) makes of rules: the name that the last line whose conditions all hold assigns."""
    name = None
    for line in rules.splitlines():
        keys = re.findall(r'([A-Z]+(?:\{\w+\})?)(==|!=|\+=|=)"([^"]*)"', line)
        holds = [
            any(fnmatch.fnmatchcase(event.get(key, ""), one) for one in value.split("|"))
            == (operator == "==")
            for key, operator, value in keys
            if operator in ("==", "!=")
        ]
        assigned = [value for key, operator, value in keys if (key, operator) == ("NAME", "=")]
        name = assigned[0] if assigned and all(holds) else name
    return name
