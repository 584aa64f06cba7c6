# SPDX-License-Identifier: Apache-2.0
"""The only door to openstacksdk: a connection, and the objects in it."""

import time
from collections.abc import Callable, Container
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol, cast

import openstack
from converge import StepError
from openstack import exceptions as sdk
from operate import private

from acceptance import transport
from acceptance.asking import OPENRC, asking, service_says
from acceptance.kinds import KINDS, Object, interfaces, named, ours, unmarked
from acceptance.wanted import MARK, Facts, Ref

NOVA_FILLS_PROFILE = (2, 96)
"""Nova's newest microversion in 2024.1. Before that release Neutron takes binding:profile, and needs it."""
NO_UPTIME = (2, 87)
"""From the next microversion on, Nova calls each compute service for its uptime when it lists hypervisors: a
list of many takes long, and one service that hangs fails it with HTTP 500 (compute/hypervisors.py)."""


class Clock(Protocol):
    """Time, which tests replace."""

    def time(self) -> float: ...
    def sleep(self, seconds: float, /) -> None: ...


def connect(name: str, cacert: str = "") -> Any:
    """A connection to a cloud of clouds.yaml.

    Args:
        name: of the cloud.
        cacert: file with the CA of its certificates; else clouds.yaml's, else those of this system.

    Raises:
        StepError: there is no such cloud, it does not let us in, or the file has no certificate.

    """
    authority: dict[str, Any] = {"cacert": cacert} if cacert else {}
    if cacert:
        transport.check(cacert)
    with asking(f"cloud {name}"):
        try:
            connection = openstack.connect(cloud=name, app_name=MARK, **authority)
        except (AttributeError, TypeError, ValueError) as error:  # openstacksdk does not check what it reads
            if "'password'" in str(error):  # v3password's own argument
                raise StepError(f"clouds.yaml has no password for cloud {name}", _GIVE_IT) from None
            reason = f"clouds.yaml has no mapping of keys and values for cloud {name}, or for its auth"
            raise StepError(reason, OPENRC) from None
        given = connection.config.get_auth_args()
        if connection.config.config.get("auth_type") in _BY_PASSWORD and not given.get("password"):
            # As Horizon offers the file for download; keystoneauth raises a bare Exception there.
            raise StepError(f"clouds.yaml has no password for cloud {name}", _GIVE_IT)
        for scheme in ("http://", "https://"):
            connection.session.session.mount(scheme, transport.Adapter())
        connection.session.verify = transport.trusted(connection.session.verify)
        for key, value in given.items():
            if key in ("password", "token", "application_credential_secret", "passcode"):
                private.keep(str(value or ""))
        private.keep(connection.session.get_token() or "")
        if connection.session.get_project_id() is None:
            raise StepError(f"cloud {name} lets us into no project", _PROJECT)
        return connection


_BY_PASSWORD = (None, "password", "v3password")
_GIVE_IT = "write password under its auth, there or in ~/.config/openstack/secure.yaml, with mode 0600"
_PROJECT = "set project_name and project_domain_name in clouds.yaml, and neither domain_name nor system_scope"


class Cloud:
    """One cloud as it was last read, and what writes to it.

    Attributes:
        objects: by key; where several have the same name, the tool's own one, else one of the project's.
            A network has its subnets as `subnets`.
        all: every object by kind.

    """

    def __init__(self, connection: Any, clock: Clock = time) -> None:
        self.connection, self.clock = connection, clock
        self.objects: dict[str, Object] = {}
        self.all: dict[str, list[Object]] = {}

    def observe(self, own: Container[str] = ()) -> dict[str, Object]:
        """Read every kind of object; of those with the keys `own`, not what another project shares."""
        project = self.connection.current_project_id
        for kind in KINDS:
            self.all[kind] = self._list(kind)
        for network in self.all["network"]:
            subnets = self.all["subnet"]
            network["subnets"] = [each for each in subnets if each["network_id"] == network["id"]]
        found = [pair for kind in KINDS for pair in named(kind, self.all[kind], self.all)]
        self.objects = {}
        for key, each in [*found, *interfaces(self.all)]:
            elsewhere = key in own and (each.get("project_id") or project) != project
            if key not in self.objects and not elsewhere:
                self.objects[key] = each
        return self.objects

    def facts(self) -> Facts:
        """Compute hosts that are up and run virtual machines, and what the release needs."""
        with asking("the list of compute services"):
            newest = tuple(self.connection.compute.get_endpoint_data().max_microversion or ())
            profile = newest < NOVA_FILLS_PROFILE
            try:
                services = list(self.connection.compute.services(binary="nova-compute"))
            except sdk.ForbiddenException as error:
                return Facts({}, profile, service_says(error))
        up = [each for each in services if each.state == "up" and each.status == "enabled"]
        asked = ".".join(map(str, min(newest, NO_UPTIME))) or None
        machines = self._virtual({each.host for each in up}, asked)
        up = sorted((each for each in up if each.host in machines), key=lambda each: each.host)
        return Facts({each.host: each.availability_zone for each in up}, profile)

    def _virtual(self, hosts: set[str], microversion: str | None) -> set[str]:
        """Return the hosts among these that run virtual machines. Ironic's compute services deploy nodes."""
        with asking("the list of hypervisors"):
            try:
                found = list(self.connection.compute.hypervisors(details=True, microversion=microversion))
            except sdk.ForbiddenException:  # a policy may hide them alone
                return hosts
        services: list[Object] = [
            each.service_details or {} for each in found if each.hypervisor_type != "ironic"
        ]
        return hosts & {each.get("host") for each in services}

    def _list(self, kind: str) -> list[Object]:
        """A kind's objects: the project's own ones, and networks of others that are shared or external."""
        how = KINDS[kind]
        with asking(f"the list of {kind.replace('_', ' ')}s"):
            project = self.connection.current_project_id
            arguments = {**how.arguments, **({"project_id": project} if how.project else {})}
            found = [each.to_dict() for each in getattr(self._proxy(kind), how.listing)(**arguments)]
        if kind == "network":
            found = [
                each
                for each in found
                if each["project_id"] == project or each["is_shared"] or each["is_router_external"]
            ]
        # An administrator sees what the tool made in other projects, whose administrators delete it.
        found = [
            each if (each.get("project_id") or each.get("owner_id") or project) == project else unmarked(each)
            for each in found
        ]

        def last(each: Object) -> tuple[bool, ...]:
            idle = kind == "image" and each["status"] != "active"  # no server starts from it
            return not ours(each), idle, each.get("project_id") != project

        return sorted(found, key=last)

    def get(self, kind: str, number: str) -> Object | None:
        """One object as it is now, None if it is gone."""
        with asking(f"{kind.replace('_', ' ')} {number}"):
            try:
                return getattr(self._proxy(kind), f"get_{KINDS[kind].noun}")(number).to_dict()
            except sdk.NotFoundException:
                return None

    def create(self, kind: str, name: str, values: dict[str, Any]) -> Object:
        """Make an object with the tool's mark; Neutron takes tags only later, and the mark as description."""
        how, key = KINDS[kind], f"{kind.replace('_', ' ')} {name}"
        values = self.resolved(values)
        if kind not in ("floating_ip", "security_group_rule"):
            values["name"] = name
        if how.described:
            values["description"] = MARK
        if how.tagged and how.service != "network":
            values["tags"] = [MARK]
        specs = values.pop("extra_specs", None)
        with ExitStack() as stack:
            size = 0
            if path := values.pop("filename", None):
                # openstacksdk does not close what it opens.
                values["data"] = stack.enter_context(Path(path).expanduser().open("rb"))
                size = Path(path).expanduser().stat().st_size
            stack.enter_context(asking(upload=size))
            made = getattr(self._proxy(kind), f"create_{how.noun}")(**values)
            if specs:
                self.connection.compute.create_flavor_extra_specs(made, specs)
        self.objects[key] = made.to_dict()
        return self.objects[key]

    def tag(self, kind: str, key: str) -> None:
        """Give one of Neutron's objects the tool's tag."""
        with asking():
            proxy = self.connection.network
            proxy.set_tags(getattr(proxy, f"get_{KINDS[kind].noun}")(self.objects[key]["id"]), [MARK])

    def set_specs(self, key: str, specs: dict[str, str]) -> None:
        """Set the properties of a flavor."""
        with asking():
            self.connection.compute.create_flavor_extra_specs(self.objects[key]["id"], specs)

    def ports_of(self, server: str) -> list[Object]:
        """A server's ports as they are now."""
        with asking("the list of ports"):
            return [port.to_dict() for port in self.connection.network.ports(device_id=server)]

    def addresses(self, network: Object) -> list[str]:
        """The addresses in use in a network: for a user who is no administrator, those of the project."""
        with asking(f"the list of ports of network {network['name']}"):
            ports = self.connection.network.ports(network_id=network["id"], fields="fixed_ips")
            return [fixed["ip_address"] for port in ports for fixed in port.fixed_ips or ()]

    def secure(self, key: str, group: str) -> None:
        """Give a port one security group, or none and no port security, if it has others."""
        groups = [self.objects[f"security group {group}"]["id"]] if group else []
        values = {"security_group_ids": groups, "is_port_security_enabled": bool(group)}
        with asking(key):
            now = self.connection.network.get_port(self.objects[key]["id"]).to_dict()
            if {field: now[field] for field in values} == values:
                return
            if group and not now["is_port_security_enabled"]:
                # Neutron refuses security groups until port security is on.
                self.connection.network.update_port(now["id"], is_port_security_enabled=True)
            changed = self.connection.network.update_port(now["id"], **values).to_dict()
        if {field: changed[field] for field in values} != values:
            raise StepError(f"{key} does not take security group {group or 'none'}")

    def delete(self, kind: str, number: str) -> None:
        """Delete an object, if it still exists."""
        with asking():
            getattr(self._proxy(kind), f"delete_{KINDS[kind].noun}")(number, ignore_missing=True)

    def connect_router(self, values: dict[str, Any]) -> None:
        """Put a router on a subnet, or on a port."""
        wanted = self.resolved(values)
        router = wanted.pop("router")
        with asking():
            self.connection.network.add_interface_to_router(router, **wanted)

    def disconnect_router(self, router: str, port: str) -> None:
        """Take a router off a port, which Neutron then deletes."""
        with asking():
            self.connection.network.remove_interface_from_router(router, port_id=port)

    def resolved(self, value: Any) -> Any:
        """A value with ids in place of Refs."""
        if isinstance(value, Ref):
            return self.objects[value]["id"]
        if isinstance(value, dict):
            return {key: self.resolved(item) for key, item in cast("Object", value).items()}
        return (
            [self.resolved(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value
        )

    def wait(self, look: Callable[[], bool], seconds: float, every: float = 2) -> bool:
        """Whether something became true within these seconds."""
        end = self.clock.time() + seconds
        while not look():
            if self.clock.time() >= end:
                return False
            self.clock.sleep(every)
        return True

    def _proxy(self, kind: str) -> Any:
        return getattr(self.connection, KINDS[kind].service)
