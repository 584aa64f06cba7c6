# SPDX-License-Identifier: Apache-2.0
"""How each wanted setting, and the version in flash, stands on the NICs that are there. Pure."""

from collections.abc import Iterator, Mapping

from burning import FIRMWARE
from desired import Desired, Setting, State
from hostnic.mstflint import Flash
from hostnic.nics import Nic
from observe import Answer, Observed


def chosen_nics(wanted: Desired, observed: Observed) -> Iterator[Nic]:
    """The chosen NICs, also those of which no parameter is wanted: an image may have been burned."""
    return (nic for nic in observed.nics if any(port.bdf in wanted.ports for port in nic.ports))


def states(bdf: str, wanted: Desired, observed: Observed) -> Iterator[tuple[Setting, State]]:
    """Each setting of a port that answered, and where it stands; a gated one that is hidden is to be set."""
    answer = observed.answers.get(bdf, Answer())
    if answer.reason:
        return
    settings = wanted.ports.get(bdf, {})
    for setting in settings.values():
        state = setting.state(answer.parameters.get(setting.name))
        if state is State.ABSENT and _opens(setting, settings, answer):
            state = State.SET
        yield setting, state


def waiting(bdf: str, wanted: Desired, observed: Observed) -> tuple[Setting, ...]:
    """Settings of a port that a restart of the firmware will apply, those to be set included.

    Not those for which a reboot was in vain, or of which the tool says that it will be.
    """
    return tuple(
        setting
        for setting, state in states(bdf, wanted, observed)
        if state is State.SET or (state is State.ACTIVATE and not ineffective(bdf, setting, observed))
    )


def ineffective(bdf: str, setting: Setting, observed: Observed) -> str:
    """Why a reboot does not apply a setting that waits; empty when one may."""
    parameter = observed.answers[bdf].parameters[setting.name]
    known = observed.record.get(bdf, setting.name)
    if known and known.value == parameter.next_boot and known.boot_id != observed.boot_id:
        return "a restart of the host did not apply it"
    said = observed.record.power_cycle(bdf.rpartition(".")[0], observed.boot_id)
    return "the firmware says that a warm reboot does not apply it" if said else ""


def _opens(setting: Setting, settings: Mapping[str, Setting], answer: Answer) -> bool:
    """Whether a hidden parameter shows once the one before it is set."""
    gate = settings.get(setting.gate)
    if gate is None or not gate.matches("1"):
        return False
    return gate.state(answer.parameters.get(setting.gate)) is State.SET


def pending_version(nic: Nic, observed: Observed, burns: bool = False) -> str:
    """The version in flash that a restart will run; empty when it runs, or a restart was in vain.

    While flash cannot be asked it is the one that this boot is known to wait with.
    """
    flash = observed.flashes.get(nic.slot)
    if not isinstance(flash, Flash):
        known = observed.record.get(nic.ports[0].bdf, FIRMWARE) if flash else None
        return known.value if known and known.boot_id == observed.boot_id else ""
    if burns:
        return next(image.version for image in observed.images if image.psid == flash.psid)
    return flash.version if flash.version != flash.running and not ineffective_version(nic, observed) else ""


def ineffective_version(nic: Nic, observed: Observed) -> str:
    """The version in flash that a restart of the host did not bring up; empty when there is none."""
    flash = observed.flashes.get(nic.slot)
    known = observed.record.get(nic.ports[0].bdf, FIRMWARE)
    if not isinstance(flash, Flash) or flash.version == flash.running or known is None:
        return ""
    return flash.version if known.value == flash.version and known.boot_id != observed.boot_id else ""
