# SPDX-License-Identifier: Apache-2.0
"""The smallest charm that rolls: it needs a reboot while /run/needs-reboot exists."""

from collections.abc import Sequence
from typing import Any

import ops
from charmkit.dispatch.dispatcher import Dispatcher
from charmkit.output import Output
from charmkit.reboot.policy import RebootOptions
from charmkit.reboot.rolling import RollingReboot
from charmkit.reboot.state import Need
from charmkit.reboot.unit import with_others
from charmkit.reconcile import Reconciler, Removed, Verbs
from converge import Finding, Plan
from hostnic import handover
from hostnic.machine import Machine

LISTENS_TO = ["nic-firmware", "roce-qos"]
NEEDED = "/run/needs-reboot"


class RollerCharm(ops.CharmBase, Verbs[Output]):
    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self.system = Machine()
        self.dispatcher = Dispatcher(self.system, self.unit.name, "roller", listens_to=LISTENS_TO)
        self.rolling = RollingReboot(self, self.system, self.dispatcher)
        self.reconciler = Reconciler(self, self)

    def converge(self) -> Sequence[Finding]:
        self.dispatcher.install()
        others, malformed = handover.read_others(self.system, "roller")
        own = Need(("a test wants it",) if self.system.files.exists(NEEDED) else ())
        need = with_others(own, others, owner="roller")
        asked = self.rolling.roll(need, RebootOptions("manual", reboot_settle=2))
        return (*malformed, *self.dispatcher.failed(), *asked)

    def preview(self, given: Output) -> Plan[Any]:
        return Plan()

    def verify(self) -> Sequence[Finding]:
        return self.dispatcher.failed()

    def stop(self) -> Removed:
        self.dispatcher.remove()
        return Removed("removed")


if __name__ == "__main__":
    ops.main(RollerCharm)
