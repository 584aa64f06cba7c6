# SPDX-License-Identifier: Apache-2.0
"""Decisions of the rolling reboot: what is known, then what is published and done."""

from charmkit.reboot.policy import RebootOptions
from charmkit.reboot.state import Cluster, Need, Slot, UnitNow, UnitState
from charmkit.reboot.unit import Decision, decide

ME, PEER = "sriov/0", "sriov/1"
WHY = ("8 VFs at the next boot",)
ALWAYS, IDLE, MANUAL = RebootOptions("always"), RebootOptions("when-idle"), RebootOptions("manual")
HOST = UnitNow(unit=ME, boot_id="boot 1", uptime=5000, now=1_000_000, leader=True, has_containers=False)
NEEDS = HOST._replace(need=Need(WHY))
SETTLED = UnitState(boot_id="boot 1", answered="boot 1", has_containers=False)
WANTS = SETTLED._replace(reasons=WHY, since=999_000, ready=True, consent="always")


def turn(
    host: UnitNow,
    policy: RebootOptions = ALWAYS,
    own: UnitState = SETTLED,
    peers: dict[str, UnitState] | None = None,
    cluster: Cluster | None = None,
) -> Decision:
    return decide(host, policy, own, peers or {}, cluster or Cluster())


HELD = Cluster(grant=1, held={ME: Slot(1, 999_000)})
