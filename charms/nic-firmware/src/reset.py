# SPDX-License-Identifier: Apache-2.0
"""The reset of a NIC's firmware that replaces a reboot of the host while nothing uses the NIC."""

from collections.abc import Mapping
from dataclasses import dataclass

import record
from activation import waiting
from changes import Burn, Reboot, read_parameters
from converge import Disruption, Held, Plan, Step, StepError
from desired import Desired, Setting
from hostnic.devices import infiniband, users
from hostnic.devices.inventory import find_nics
from hostnic.devices.port import Nic
from hostnic.firmware import msterrors
from hostnic.process import CommandError
from hostnic.system import HostStep, System, read_boot_id
from observed import Observed

TIMEOUT_S = 300.0
"""Of mstfwreset, which waits for the firmware, then for the driver."""


def instead_of_reboots(planned: Plan[System], wanted: Desired, observed: Observed) -> Plan[System]:
    """The plan with a reset for each NIC that waits for a reboot and is not in use.

    ``observed`` knows what of the host's own network uses every port. The reset of a NIC follows its burn.
    """
    slots = {nic.slot: nic for nic in observed.nics}
    resets, held = dict[str, HostStep](), list[Held[System]]()
    for item in planned.held:
        reboot = item.step.op
        if not isinstance(reboot, Reboot):
            held.append(item)
            continue
        nic = slots[reboot.nic]
        if observed.record.resets.get(nic.slot) == observed.boot_id:
            used = "one has already failed in this boot"
        else:
            used = in_use(nic, observed.vf_users, observed.host_uses)
        if used:
            held.append(Held(item.step, f"no reset: {used}", item.release))
            continue
        what = f"reset {nic.short} to activate {reboot.activates}"
        waits = {port.bdf: waiting(port.bdf, wanted, observed) for port in nic.ports}
        op = ResetFirmware(nic.ports[0].bdf, {bdf: settings for bdf, settings in waits.items() if settings})
        resets[nic.slot] = Step(item.step.key, what, item.step.why, Disruption.LINK_FLAP, op)
    burns = {step.op.slot: step for step in planned.steps if isinstance(step.op, Burn)}
    first = [step for step in planned.steps if not isinstance(step.op, Burn)]
    last = [step for slot in slots for step in (burns.get(slot), resets.get(slot)) if step]
    return Plan((*first, *last), tuple(held), planned.findings)


@dataclass(frozen=True)
class ResetFirmware:
    """Restart the firmware of a NIC so that next-boot values become current: its links go down meanwhile.

    Attributes:
        bdf: one of its ports.
        settings: by BDF, what must be current afterwards.

    """

    bdf: str
    settings: Mapping[str, tuple[Setting, ...]]

    def run(self, system: System) -> None:
        """Level 3: PCI reset with the driver stopped and started again (mstfwreset)."""
        nics, _ = find_nics(system)
        nic = next((nic for nic in nics for port in nic.ports if port.bdf == self.bdf), None)
        if nic is None:
            raise StepError(f"{self.bdf} is gone", "see the kernel log for this NIC")
        uses = {**users.of_ports(system, nic.ports), **infiniband.uses(system, nic.ports)}
        used = in_use(nic, users.of_vfs(system, nic.ports), uses)
        if used:
            raise StepError(f"{used} meanwhile", "reboot instead: activation=reboot")
        argv = ["mstfwreset", "-d", self.bdf, "-y", "--level", "3", "reset"]
        try:
            system.run(argv, timeout=TIMEOUT_S)
            for bdf, settings in self.settings.items():
                _check(system, bdf, settings)
        except CommandError as error:
            _note_failure(system, nic.slot)
            said = msterrors.explain(system, error)
            raise StepError(said.reason, "a reboot does it; there is no second reset before it") from error
        except StepError:
            _note_failure(system, nic.slot)
            raise


def in_use(nic: Nic, vf_users: Mapping[str, str], host_uses: Mapping[str, str]) -> str:
    """What a reset of the NIC would interrupt; empty when there is nothing.

    ``vf_users`` and ``host_uses`` are by the port's BDF, as :mod:`hostnic.devices.users` tells them.
    """
    for port in nic.ports:
        if port.bdf in vf_users:
            return f"VFs of {port.bdf} are in use: {vf_users[port.bdf]}"
        if port.num_vfs:
            return f"{port.bdf} has {port.num_vfs} VFs"
        if port.bond or port.bridge:
            return f"{port.netdev} is in {port.bond or port.bridge}"
    return ", ".join(host_uses[port.bdf] for port in nic.ports if port.bdf in host_uses)


def _check(system: System, bdf: str, settings: tuple[Setting, ...]) -> None:
    found = read_parameters(system, bdf, settings)
    still = [s.name for s in settings if s.name not in found or not s.matches(found[s.name].current)]
    if still:
        raise StepError(f"the reset did not apply {', '.join(still)} on {bdf}", "reboot instead")


def _note_failure(system: System, slot: str) -> None:
    known, boot_id = record.read(system), read_boot_id(system)
    record.write(system, known._replace(resets={**known.resets, slot: boot_id}))
