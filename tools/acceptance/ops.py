# SPDX-License-Identifier: Apache-2.0
"""Every write to a cloud: each writes, reads back, and raises StepError with the service's own words."""

from dataclasses import dataclass
from typing import Any

from converge import StepError

from acceptance.cloud import Cloud
from acceptance.kinds import KINDS, lets_out
from acceptance.waiting import why
from acceptance.wanted import Ref

STARTS = 600
"""Seconds within which a server must be ACTIVE; the first one on a node waits for its image."""
GOES = 300
"""Seconds within which a server must be gone after its deletion."""


@dataclass(frozen=True)
class Create:
    """Create an object with the tool's mark."""

    kind: str
    name: str
    values: dict[str, Any]

    def run(self, system: Cloud) -> None:
        values = dict(self.values)
        if self.kind == "image":
            values |= {"disk_format": "qcow2", "container_format": "bare", "wait": True}
            # Cloud.ru's method: with a single queue, virtio would be slower than it has to be.
            values["hw_vif_multiqueue_enabled"] = "true"
        made = system.create(self.kind, self.name, values)
        how = KINDS[self.kind]
        if how.service == "network" and how.tagged:
            system.tag(self.kind, f"{self.kind.replace('_', ' ')} {self.name}")
        if system.get(self.kind, made["id"]) is None:
            raise StepError("the service took the request, but the object does not exist")
        if self.kind == "security_group" and not lets_out(made):
            let_out(self.name).run(system)


def let_out(group: str) -> Create:
    """Let servers of a security group send: by itself Neutron does, unless its default rules are changed."""
    values = {
        "security_group_id": Ref(f"security group {group}"),
        "direction": "egress",
        "ether_type": "IPv4",
    }
    return Create("security_group_rule", f"{group} egress", values)


@dataclass(frozen=True)
class Tag:
    """Give an object the tag that its creation was to give."""

    kind: str
    key: str

    def run(self, system: Cloud) -> None:
        system.tag(self.kind, self.key)


@dataclass(frozen=True)
class SetSpecs:
    """Set the properties of a flavor."""

    key: str
    specs: dict[str, str]

    def run(self, system: Cloud) -> None:
        system.set_specs(self.key, self.specs)


@dataclass(frozen=True)
class Connect:
    """Put a router on a subnet."""

    key: str
    values: dict[str, Any]

    def run(self, system: Cloud) -> None:
        system.connect_router(self.values)


@dataclass(frozen=True)
class Disconnect:
    """Take a router off a port."""

    router: str
    port: str

    def run(self, system: Cloud) -> None:
        system.disconnect_router(self.router, self.port)


@dataclass(frozen=True)
class Wait:
    """Wait until a server is ACTIVE; say why it is not."""

    key: str

    def run(self, system: Cloud) -> None:
        number = system.objects[self.key]["id"]

        def settled() -> bool:
            system.objects[self.key] = system.get("server", number) or {"status": "deleted"}
            return system.objects[self.key]["status"] != "BUILD"

        in_time = system.wait(settled, STARTS)
        status = system.objects[self.key]["status"]
        if status != "ACTIVE":
            reason, remedy = why(system.objects[self.key], system.ports_of(number))
            late = "" if in_time else f" after {STARTS} s"
            raise StepError(f"it is {status}{late}. {reason}", remedy)


@dataclass(frozen=True)
class Delete:
    """Delete an object and wait until it is gone."""

    kind: str
    number: str

    def run(self, system: Cloud) -> None:
        system.delete(self.kind, self.number)
        if not system.wait(lambda: system.get(self.kind, self.number) is None, GOES):
            raise StepError(f"it still exists after {GOES} s", "run destroy again")
