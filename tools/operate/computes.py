# SPDX-License-Identifier: Apache-2.0
"""The compute nodes of a model, in what `juju status --format json` prints."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from operate.client import mapping


class Place(NamedTuple):
    """A machine with a unit of nova-compute."""

    machine: str  # its number in Juju
    host: str  # its host name, without a domain; the unit of nova-compute where Juju knows none yet
    names: frozenset[str]  # all that Juju calls it
    units: Mapping[str, str]  # the unit there of each charm: nova-compute, and its subordinates

    def has_name(self, host: str) -> bool:
        """Whether the machine is this host of Nova's; Juju knows machines without their domain."""
        return not self.names.isdisjoint({host, host.partition(".")[0]})


def places(status: Mapping[str, Any]) -> Iterator[Place]:
    """Each compute node. Raises StepError if it is not such a status."""
    applications = {name: mapping(body) for name, body in mapping(status.get("applications")).items()}
    machines = mapping(status.get("machines"))
    charms = {name: str(body.get("charm-name", name)) for name, body in applications.items()}
    for application in (body for name, body in applications.items() if charms[name] == "nova-compute"):
        for unit, told in mapping(application.get("units")).items():
            number = str(mapping(told).get("machine"))
            machine = mapping(machines.get(number))
            known = (machine.get(key) for key in ("hostname", "dns-name", "instance-id"))
            beside = {charms[other.partition("/")[0]]: other for other in mapping(told.get("subordinates"))}
            host = str(machine.get("hostname") or unit)
            yield Place(
                number, host, frozenset(map(str, filter(None, known))), {**beside, "nova-compute": unit}
            )
