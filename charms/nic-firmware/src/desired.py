# SPDX-License-Identifier: Apache-2.0
"""What the firmware of each port must be set to, and the state of each parameter relative to that. Pure."""

import enum
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hostnic.devices.port import Nic
from hostnic.firmware import mstconfig
from hostnic.firmware.mstconfig import Parameter
from observed import Answer, Observed


class State(enum.Enum):
    """What has to happen until a parameter is as wanted (see docs/explanation/firmware.md)."""

    RIGHT = "as wanted"
    ACTIVATE = "set for the next boot"
    SET = "to be set"
    ABSENT = "not offered"


class Setting(NamedTuple):
    """One wanted value."""

    name: str  # as mstconfig spells it, with `_P<n>` where there is one value for each port
    value: int | str  # a number; text only if its number is unknown
    source: str  # the option or the charm that requests it, in words
    at_least: bool = False  # a larger number is also right
    gate: str = ""  # the parameter that must be 1 at the next boot before the firmware takes this one
    required: bool = False  # the operator named it; a NIC without it is an error
    optional: bool = False  # a NIC whose firmware lacks it is right without it
    near: tuple[str, ...] = ()  # names that resemble one which mstflint's database does not have

    def matches(self, shown: str | None) -> bool:
        """Whether a value as mstconfig shows it, ``True(1)``, is the wanted one."""
        number = mstconfig.number(shown)
        if isinstance(self.value, str):
            return (shown or "").partition("(")[0].lower() == self.value.lower()
        if number is None:
            return False
        return number >= self.value if self.at_least else number == self.value

    def state(self, parameter: Parameter | None) -> State:
        """The state of the parameter; None is one that the firmware does not offer."""
        if parameter is None or parameter.next_boot is None:
            return State.ABSENT
        if not self.matches(parameter.next_boot):
            return State.ABSENT if parameter.fixed else State.SET
        if parameter.current is not None and parameter.current != parameter.next_boot:
            return State.ACTIVATE
        return State.RIGHT

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


class Desired(NamedTuple):
    """The settings of each selected port. The first port of a NIC has those that its ports share."""

    ports: Mapping[str, Mapping[str, Setting]] = {}  # BDF to parameter name to setting
    ethernet_may_go: bool = False  # even from ports that the host uses (`allow-ethernet-loss`)
    # InfiniBand ports that the operator named: they become Ethernet even while they are in use
    named: frozenset[str] = frozenset()
    # By BDF, what makes an unused InfiniBand port Ethernet once the operator says so
    undecided: Mapping[str, Setting] = {}


def chosen_nics(wanted: Desired, observed: Observed) -> Iterator[Nic]:
    """The chosen NICs, also those without a wanted parameter: an image may have been burned."""
    return (nic for nic in observed.nics if any(port.bdf in wanted.ports for port in nic.ports))


def states(bdf: str, wanted: Desired, observed: Observed) -> Iterator[tuple[Setting, State]]:
    """Each setting of a port that answered, and its state; hidden ones whose gate will be set are SET."""
    answer = observed.answers.get(bdf, Answer())
    if answer.reason:
        return
    settings = wanted.ports.get(bdf, {})
    for setting in settings.values():
        parameter, known = answer.parameters.get(setting.name), observed.record.get(bdf, setting.name)
        state = setting.state(parameter)
        if state is State.ABSENT and _opens(setting, settings, answer):
            state = State.SET
        untold = state is State.RIGHT and parameter and parameter.current is None
        yield setting, State.ACTIVATE if untold and known and known.boot_id == observed.boot_id else state


def _opens(setting: Setting, settings: Mapping[str, Setting], answer: Answer) -> bool:
    """Whether the firmware offers a hidden parameter once its gate is set."""
    gate = settings.get(setting.gate)
    if gate is None or not gate.matches("1"):
        return False
    return gate.state(answer.parameters.get(setting.gate)) is State.SET
