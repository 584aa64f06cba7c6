# SPDX-License-Identifier: Apache-2.0
"""What is set wrong on a node in scenario openstack, and at which rung the acceptance tool must find it."""

from dataclasses import replace
from typing import NamedTuple

from lab.checks import Check
from lab.rack.operator import AREA, Operator

_RESTART = "systemctl restart ovs-vswitchd.service"


class Spoiled(NamedTuple):
    """A setting of one node.

    Attributes:
        what: in words.
        wrong, right: commands that spoil it and mend it.
        rung: key of the one that is measured.
        told: how the tool's sentence begins.

    """

    what: str
    wrong: str
    right: str
    rung: str
    told: str


SETTINGS = (
    Spoiled(
        "a tunnel MTU of 1500",
        "ip link set br-nvda.40 mtu 1500",
        "ip link set br-nvda.40 mtu 9000",
        "host",
        "Host to host: MTU (",
    ),
    Spoiled(
        "offload off",
        f"ovs-vsctl set Open_vSwitch . other_config:hw-offload=false; {_RESTART}",
        f"ovs-vsctl set Open_vSwitch . other_config:hw-offload=true; {_RESTART}",
        "vf",
        "VF on Geneve: offload (",
    ),
)


def spoiled(person: Operator) -> list[Check]:
    """Each setting, wrong on the last node: `measure` fails there and says why."""
    return [_loss(person, each) for each in SETTINGS]


def _loss(person: Operator, setting: Spoiled) -> Check:
    node, around = person.nodes[-1], person.around
    rungs = tuple(rung._replace(measures=("tcp-1",)) for rung in around.rungs if rung.key == setting.rung)
    person.rack.on(node, setting.wrong, timeout=120)
    try:
        person.around = replace(around, rungs=rungs)
        status, _ = person.run("measure")
        told = (person.report() or {}).get("explanation") or [{"subject": "nothing", "what": ""}]
    finally:
        person.around = around
        person.rack.on(node, setting.right, timeout=120)
    said = f"{told[0]['subject']}: {told[0]['what']}"
    found = f"{status}, {said}"[:300]
    holds = status == 1 and said.startswith(setting.told)
    return Check(AREA, f"{setting.what} on {node}", f"1, {setting.told}…)", found, holds)
