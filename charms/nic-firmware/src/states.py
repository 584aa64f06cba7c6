# SPDX-License-Identifier: Apache-2.0
"""How each wanted setting stands on the ports that are there. Pure."""

from collections.abc import Iterator, Mapping

from desired import Desired, Setting, State
from hostnic.devices.nics import Nic
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


def _opens(setting: Setting, settings: Mapping[str, Setting], answer: Answer) -> bool:
    """Whether a hidden parameter shows once the one before it is set."""
    gate = settings.get(setting.gate)
    if gate is None or not gate.matches("1"):
        return False
    return gate.state(answer.parameters.get(setting.gate)) is State.SET
