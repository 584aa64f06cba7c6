# SPDX-License-Identifier: Apache-2.0
"""What the firmware of each port shall be set to, and how a parameter stands to that. Pure."""

import enum
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from hostnic.devices.port import Nic
from hostnic.firmware import mstconfig
from hostnic.firmware.mstconfig import Parameter
from observed import Answer, Observed


class State(enum.Enum):
    """How a parameter stands (see README.md): what has to happen until it is as wanted."""

    RIGHT = "as wanted"
    ACTIVATE = "set for the next boot"
    SET = "to be set"
    ABSENT = "not offered"


class Setting(NamedTuple):
    """One wanted value.

    Attributes:
        name: as mstconfig spells it, with ``_P<n>`` where there is one value for each port.
        value: a number; text only where neither the database nor the word itself tells the number.
        source: the option or the charm that wants it, in words.
        at_least: a larger number is right, too.
        gate: the parameter that must be 1 at the next boot before the firmware takes this one.
        required: the operator named it; a NIC without it is an error.

    """

    name: str
    value: int | str
    source: str
    at_least: bool = False
    gate: str = ""
    required: bool = False

    def matches(self, shown: str | None) -> bool:
        """Whether a value as mstconfig shows it, ``True(1)``, is the wanted one."""
        number = mstconfig.number(shown)
        if isinstance(self.value, str):
            return (shown or "").partition("(")[0].lower() == self.value.lower()
        if number is None:
            return False
        return number >= self.value if self.at_least else number == self.value

    def state(self, parameter: Parameter | None) -> State:
        """Where the parameter stands; None is one that the firmware does not offer."""
        if parameter is None:
            return State.ABSENT
        if not self.matches(parameter.next_boot):
            return State.SET
        if parameter.current is not None and parameter.current != parameter.next_boot:
            return State.ACTIVATE
        return State.RIGHT

    def __str__(self) -> str:
        return f"{self.name}={self.value}"


class Desired(NamedTuple):
    """By BDF, the settings of each selected port. What a NIC's ports share is wanted of the first one.

    Attributes:
        ports: BDF to parameter name to setting.
        gpudirect: the host's PCI bridges are to be fit for GPUDirect, too.
        ethernet_may_go: from ports that the host uses, too (``allow-ethernet-loss``).

    """

    ports: Mapping[str, Mapping[str, Setting]] = {}
    gpudirect: bool = False
    ethernet_may_go: bool = False


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


def _opens(setting: Setting, settings: Mapping[str, Setting], answer: Answer) -> bool:
    """Whether a hidden parameter shows once the one before it is set."""
    gate = settings.get(setting.gate)
    if gate is None or not gate.matches("1"):
        return False
    return gate.state(answer.parameters.get(setting.gate)) is State.SET
