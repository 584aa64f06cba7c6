# SPDX-License-Identifier: Apache-2.0
"""A security group as Neutron keeps it in OVN: two port groups, and rules that remember connections."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from lab.guest import Guest
from lab.rack.build import Rack
from lab.rack.layout import FABRIC

GROUP, DROP = "pg_data_policy", "neutron_pg_drop"
"""The group's own, and the one of all ports with port security, where what no rule allows ends."""

ALLOW, DENY = "1002 {} allow-related", "1001 {} drop"
ANYBODY = f"outport == @{GROUP} && ip4 && ip4.src == 0.0.0.0/0"
TCP = f"{ANYBODY} && tcp && tcp.dst >= 5001 && tcp.dst <= 5200"
"""``--protocol tcp --ingress --dst-port 5001:5200``"""


def acl(group: str, direction: str, match: str, verdict: str) -> str:
    """A command of ovn-nbctl's."""
    return f"--type=port-group acl-add {group} {direction} {verdict.format(shlex.quote(match))}"


def creation(ports: Sequence[str]) -> list[str]:
    """The RDG's data_policy: ICMP both ways, and out what a new group lets out; nothing else."""
    members = " ".join(ports)
    return [
        f"pg-add {DROP} {members}",
        f"pg-add {GROUP} {members}",
        acl(DROP, "from-lport", f"inport == @{DROP} && ip", DENY),
        acl(DROP, "to-lport", f"outport == @{DROP} && ip", DENY),
        acl(GROUP, "from-lport", f"inport == @{GROUP} && ip4", ALLOW),
        acl(GROUP, "to-lport", f"{ANYBODY} && icmp4", ALLOW),
    ]


@contextmanager
def applied(rack: Rack, ports: Sequence[str]) -> Iterator[None]:
    """These ports have the group for the length of the ``with``."""
    _tell(rack, creation(ports))
    try:
        yield
    finally:
        _tell(rack, [f"pg-del {GROUP}", f"pg-del {DROP}"])


def allow_iperf(rack: Rack) -> None:
    """One more rule."""
    _tell(rack, [acl(GROUP, "to-lport", TCP, ALLOW)])


def _tell(rack: Rack, commands: list[str]) -> None:
    """Have it done, and wait until every node's Open vSwitch does so."""

    def work(guest: Guest) -> None:
        guest.run(f"ovn-nbctl --timeout=120 --wait=hv -- {' -- '.join(commands)}", timeout=150)

    rack.floor.each("security group", {FABRIC: work})
