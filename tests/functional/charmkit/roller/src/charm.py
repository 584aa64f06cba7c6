# SPDX-License-Identifier: Apache-2.0
"""The smallest charm that rolls: it needs a reboot while /run/needs-reboot exists."""

from collections.abc import Sequence

import ops
from charmkit.dispatch.dispatcher import Dispatcher
from charmkit.reboot.policy import RebootOptions
from charmkit.reboot.rolling import RollingReboot
from charmkit.reboot.state import Need
from charmkit.reboot.unit import with_others
from charmkit.reconcile import Reconciler, Removed
from converge import Finding, Plan
from hostnic import handover
from hostnic.machine import Machine

LISTENS_TO = ["nic-firmware", "roce-qos"]
NEEDED = "/run/needs-reboot"


class RollerCharm(ops.CharmBase):
    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self.system = Machine()
        self.dispatcher = Dispatcher(self.system, self.unit.name, "roller", listens_to=LISTENS_TO)
        self.rolling = RollingReboot(self, self.system, self.dispatcher)
        self.reconciler = Reconciler(
            self,
            converge=self.converge,
            preview=lambda _: Plan(),
            verify=self.dispatcher.failed,
            stop=self.leave,
        )

    def converge(self) -> Sequence[Finding]:
        self.dispatcher.install()
        others, malformed = handover.read_others(self.system, "roller")
        own = Need(("a test wants it",) if self.system.files.exists(NEEDED) else ())
        need = with_others(own, others, owner="roller")
        asked = self.rolling.roll(need, RebootOptions("manual", reboot_settle=2))
        return (*malformed, *self.dispatcher.failed(), *asked)

    def leave(self) -> Removed:
        self.dispatcher.remove()
        return Removed("removed")


if __name__ == "__main__":
    ops.main(RollerCharm)
