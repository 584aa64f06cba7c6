# SPDX-License-Identifier: Apache-2.0
"""The faults of a node in scenario openstack, and the rung at which the acceptance tool must find each."""

from dataclasses import replace
from typing import Any, NamedTuple

from acceptance.measure.results import of_data
from acceptance.report import offload

from lab.checks import Check
from lab.rack.operator import AREA, Operator

_RESTART = "systemctl restart ovs-vswitchd.service && systemctl restart ovn-controller.service"
"""On a chassis with BFD, Open vSwitch waits for ovn-controller, which reaches its database through it."""


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


SLOW_PATH = "for each in /sys/kernel/debug/vcx/*/fault_slow_path; do echo {} > $each; done"
SLOW = Spoiled(
    "rules in hardware, packets by software",
    SLOW_PATH.format(1),
    SLOW_PATH.format(0),
    "vf",
    "VF on Geneve: offload (",
)
"""A fault of the card, which Open vSwitch does not know."""
MOST = 0.2
"""Of packets past the kernel by that fault: the first thousand count for a NIC, and few thousand are sent."""
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
    return [*(_loss(person, each)[0] for each in SETTINGS), *slow_path(person)]


def slow_path(person: Operator) -> list[Check]:
    """The card keeps its rules and forwards nothing: `measure` fails, whatever Open vSwitch says.

    The other node has no such fault: there both witnesses must show what the tool asks for.
    """
    failed, told = _loss(person, SLOW)
    seen = of_data(told["results"]).rungs[SLOW.rung].witnesses.get("tcp-1", {}) if told else {}
    found = {node: shown for node, each in seen.items() if (shown := offload.shown(each))}
    said = "; ".join(f"{node}: {shown.words}" for node, shown in found.items())
    *sound, slow = person.nodes
    least = offload.LEAST
    agree = all(node in found and found[node].least >= least for node in sound)
    differ = slow in found and min(found[slow].shares.values()) <= MOST and (found[slow].told or 0) >= least
    wanted = f"at least {least:.0%} each, but past the kernel on {slow} at most {MOST:.0%}"
    what = f"{SLOW.what} on {slow}: both witnesses"
    return [failed, Check(AREA, what, wanted, said or "nothing is shown", agree and differ)]


def _loss(person: Operator, setting: Spoiled) -> tuple[Check, dict[str, Any]]:
    node, around = person.nodes[-1], person.around
    rungs = tuple(rung._replace(measures=("tcp-1",)) for rung in around.rungs if rung.key == setting.rung)
    person.rack.on(node, setting.wrong, timeout=120)
    try:
        person.around = replace(around, rungs=rungs)
        status, _ = person.run("measure")
        report = person.report() or {}
    finally:
        person.around = around
        person.rack.on(node, setting.right, timeout=120)
    told = report.get("explanation") or [{"subject": "nothing", "what": ""}]
    said = f"{told[0]['subject']}: {told[0]['what']}"
    found = f"{status}, {said}"[:300]
    holds = status == 1 and said.startswith(setting.told)
    return Check(AREA, f"{setting.what} on {node}", f"1, {setting.told}…)", found, holds), report
