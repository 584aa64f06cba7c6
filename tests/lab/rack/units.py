# SPDX-License-Identifier: Apache-2.0
"""The knowledge of the rack's Juju about each unit."""

from dataclasses import dataclass, field
from typing import Any

from lab.rack.deployment import Application
from lab.rack.machine import Machine


def addresses(machine: Machine) -> dict[str, str]:
    """Return the keys that Juju writes into a unit's databag when it enters a relation, for the other end."""
    address = machine.address
    return {"egress-subnets": f"{address}/32", "ingress-address": address, "private-address": address}


@dataclass
class Unit:
    """A unit as the controller knows it."""

    app: Application
    number: int
    machine: Machine
    status: tuple[str, str] = ("waiting", "for its machine")
    hooked: float = 0.0
    looked: float = 0.0  # as soon as it is deployed
    failures: int = 0
    elected: bool = False  # it leads, and has had leader-elected: it knows what its application has written
    runner: Any = None  # a Runner as soon as it is deployed
    started: bool = False
    hooks: dict[str, dict[str, int]] = field(default_factory=dict)  # by event, as the guest counts them

    @property
    def name(self) -> str:
        return f"{self.app.name}/{self.number}"
