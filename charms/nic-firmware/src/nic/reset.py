# SPDX-License-Identifier: Apache-2.0
"""The reset of a NIC's firmware that replaces a reboot of the host while nothing uses the NIC."""

from collections.abc import Mapping
from dataclasses import dataclass

import record
from converge import Disruption, Held, Plan, Step, StepError
from desired import Setting
from hostnic.devices import infiniband, users
from hostnic.devices.inventory import elsewhere, find_nics
from hostnic.devices.port import Nic
from hostnic.firmware import mstconfig, msterrors, mstflint
from hostnic.system import HostStep, System, read_boot_id
from observed import Observed
from record import FIRMWARE, Waiting

from nic.activation import activation_key, waiting
from nic.changes import Burn, Reboot
from nic.judge import Judgement, lost_by_reset

TIMEOUT_S = 300.0
"""The seconds for mstfwreset, which waits for the firmware, then for the driver."""
INSTEAD = "no second reset is tried in this boot, and a reboot of the host does the same"


def instead_of_reboots(planned: Plan[System], judgement: Judgement, observed: Observed) -> Plan[System]:
    """The plan with a reset for each NIC that waits for a reboot and is not in use.

    ``observed`` knows what of the host's own network uses every port. The reset of a NIC follows its burn.
    """
    slots = {judged.nic.slot: judged for judged in judgement.nics}
    resets, held = dict[str, HostStep](), list[Held[System]]()
    burns = {step.op.slot: step for step in planned.steps if isinstance(step.op, Burn)}
    for item in planned.held:
        reboot = item.step.op
        if not isinstance(reboot, Reboot):
            held.append(item)
            continue
        judged = slots[reboot.nic]
        nic = judged.nic
        if any(observed.record.resets.get(port.bdf) == observed.boot_id for port in nic.ports):
            used = "one has already failed in this boot"
        else:
            used = in_use(nic, observed.vf_users, observed.host_uses)
        if used:
            held.append(Held(item.step, f"no reset: {used}", item.release))
            continue
        what = f"reset {nic.short} to activate {reboot.activates}"
        waits = {bdf: waiting(verdicts) for bdf, verdicts in judged.ports.items()}
        waits = {bdf: settings for bdf, settings in waits.items() if settings}
        op = ResetFirmware(nic.ports[0].bdf, waits, judged.firmware.next, item.release)
        resets[nic.slot] = Step(item.step.key, what, item.step.why, Disruption.LINK_FLAP, op)
    first = [step for step in planned.steps if not isinstance(step.op, Burn)]
    last = [step for slot in slots for step in (burns.get(slot), resets.get(slot)) if step]
    return Plan((*first, *last), tuple(held), planned.findings)


def revive(planned: Plan[System], observed: Observed, release: str) -> Plan[System]:
    """The plan with the reboot for each NIC that is unusable since its reset failed in this boot.

    A failure in an earlier boot has had its reboot. A blocked plan gets it too: this may be the only NIC.
    """
    held, keys = list(planned.held), {item.step.key for item in planned.held}
    for bdf, how in lost_by_reset(observed).items():
        slot = bdf.rpartition(".")[0]
        if observed.record.resets[bdf] != observed.boot_id or activation_key(slot) in keys:
            continue
        keys.add(activation_key(slot))
        op = Reboot(slot, "", "unusable since its reset failed")
        what, why = f"bring back {slot.removeprefix('0000:')}", f"{how} since a reset of its firmware failed"
        step: HostStep = Step(activation_key(slot), what, why, Disruption.REBOOT, op)
        held.append(Held(step, f"{bdf}: {why}; it restarts the host", release))
    return Plan(planned.steps, tuple(held), planned.findings)


def without_removed(observed: Observed) -> Observed:
    """``observed`` without resets, in earlier boots, of ports that are gone: the option names the others."""
    there = {port.bdf for nic in observed.nics for port in nic.ports}
    known = observed.record
    kept = {bdf: boot for bdf, boot in known.resets.items() if bdf in there or boot == observed.boot_id}
    return observed._replace(record=known._replace(resets=kept))


@dataclass(frozen=True)
class ResetFirmware:
    """Restart the firmware of a NIC so that next-boot values become current: its links go down meanwhile."""

    bdf: str  # one of its ports
    settings: Mapping[str, tuple[Setting, ...]]  # by BDF, what must be current afterwards
    version: str  # the firmware that must run afterwards; empty for the same
    release: str  # what the operator does to have the reboot if the reset fails, in words

    def run(self, system: System) -> None:
        """Level 3: PCI reset with the driver stopped and started again (mstfwreset).

        It is noted before it begins: it may leave the NIC without an answer, and the hook may be killed.
        """
        nics, _ = find_nics(system)
        nic = next((nic for nic in nics for port in nic.ports if port.bdf == self.bdf), None)
        if nic is None:
            raise StepError(f"{self.bdf} is gone", "see the kernel log for this NIC")
        uses = {**users.of_ports(system, nic.ports), **infiniband.uses(system, nic.ports)}
        uses |= elsewhere(system, nics)
        used = in_use(nic, users.of_vfs(system, nic.ports), uses)
        if used:
            raise StepError(f"{used} meanwhile", "reboot instead: activation=reboot")
        self._note(system, nic)
        argv = ["mstfwreset", "-d", self.bdf, "-y", "--level", "3", "reset"]
        try:
            msterrors.run(system, system.run, argv, TIMEOUT_S)
            self._check(system)
        except StepError as error:
            raise StepError(error.reason, f"{self.release}; {INSTEAD}") from error
        known, ports = record.read(system), {port.bdf for port in nic.ports}
        others = {bdf: boot for bdf, boot in known.resets.items() if bdf not in ports}
        record.write(system, known._replace(resets=others))

    def _note(self, system: System, nic: Nic) -> None:
        """Note the reset, and what waits: if the next reboot does not apply it, nothing else is tried."""
        known, boot_id = record.read(system), read_boot_id(system)
        for bdf, settings in self.settings.items():
            found = mstconfig.query(system, bdf, *(setting.name for setting in settings))
            waits = {name: Waiting(each.next_boot or "", boot_id) for name, each in found.items()}
            before = known.waiting.get(bdf, {})
            same = {
                name: each
                for name, each in before.items()
                if name in waits and each.value == waits[name].value
            }
            known = known.with_waiting(bdf, {**waits, **same})
        if self.version:
            known = known.with_waiting(self.bdf, {FIRMWARE: Waiting(self.version, boot_id)})
        begun = {port.bdf: boot_id for port in nic.ports}
        record.write(system, known._replace(resets={**known.resets, **begun}))

    def _check(self, system: System) -> None:
        for bdf, settings in self.settings.items():
            found = mstconfig.query(system, bdf, *(setting.name for setting in settings))
            still = [s.name for s in settings if s.name not in found or not s.matches(found[s.name].current)]
            if still:
                raise StepError(f"the reset did not apply {', '.join(still)} on {bdf}")
        runs = mstflint.read_flash(system, self.bdf).running if self.version else ""
        if runs != self.version:
            raise StepError(f"the reset did not start firmware {self.version}: {runs} runs")


def in_use(nic: Nic, vf_users: Mapping[str, str], host_uses: Mapping[str, str]) -> str:
    """Name the use that a reset of the NIC would interrupt; empty when there is none.

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
