# SPDX-License-Identifier: Apache-2.0
"""The only door to openstacksdk: a connection, the objects in it, and its errors in one sentence each."""

import logging
import re
import time
import warnings
from collections.abc import Callable, Container, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol, cast

import openstack
import requests
from converge import StepError
from converge.bounded import LateError, LongError
from converge.opener import plain
from keystoneauth1 import exceptions as auth
from openstack import exceptions as sdk
from operate import private

from acceptance import transport
from acceptance.kinds import KINDS, Object, interfaces, named, ours, unmarked
from acceptance.wanted import MARK, Facts, Ref

NOVA_FILLS_PROFILE = (2, 96)
"""Nova's newest microversion in 2024.1. Before that release Neutron takes binding:profile, and needs it."""
NO_UPTIME = (2, 87)
"""From the next microversion on, Nova calls each compute service for its uptime when it lists hypervisors: a
list of many takes long, and one service that hangs fails it with HTTP 500 (compute/hypervisors.py)."""
WORDS = 300
"""Characters of a service's answer that a sentence quotes."""
# It logs what it raises as well, and Python prints a warning that nobody handles.
logging.getLogger("keystoneauth").addHandler(logging.NullHandler())


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
            raise StepError(reason, _OPENRC) from None
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


_POOL = re.compile(r""": \w+\(host=.*: ([^:]+?)["')]+$""")
"""What requests adds to an address that cannot be reached: its own objects, and last the kernel's reason."""


def service_says(error: Exception) -> str:
    """The service's own words, without HTML and without a secret that it repeats, in one line."""
    said = getattr(error, "details", None) or getattr(error, "message", None) or error
    return plain(private.without(_POOL.sub(r": \1", str(said))))[:WORDS].rstrip(".")


_BY_PASSWORD = (None, "password", "v3password")
_GIVE_IT = "write password under its auth, there or in ~/.config/openstack/secure.yaml, with mode 0600"
_PROJECT = "set project_name and project_domain_name in clouds.yaml, and neither domain_name nor system_scope"
_PLACE = (
    "correct region_name and interface in clouds.yaml: openstack catalog list has the regions of the services"
)
_ADDRESS = "see: openstack catalog list, and what is at the address"
_OPENRC = "run: pipx run tox -e acceptance -- openrc --cloud NAME"
_REMEDIES: tuple[tuple[type[Exception], str, str], ...] = (
    (sdk.ConfigException, "cannot be used", _OPENRC),
    (auth.MissingRequiredOptions, "is incomplete in clouds.yaml", _OPENRC),
    (auth.Unauthorized, "refuses the credentials, or the token has expired", _OPENRC),
    (auth.ConnectionError, "cannot be reached", "check auth_url in clouds.yaml and the network to it"),
    (auth.EndpointNotFound, "lacks a service in its catalog", "see: openstack catalog list"),
    (auth.DiscoveryFailure, "does not answer as Keystone does", "check auth_url: it ends in :5000/v3"),
)
_GONE = "validate token"
"""In what Keystone answers, with status 404, to a login by a token that has expired or was revoked."""
_DOWN = (502, 503, 504)
_QUOTA = "have an administrator raise the quota of the project: openstack quota set"
_OVN = "this tool needs Neutron with OVN, whose tenants' networks are Geneve"
_VLAN_IN_USE = "name the network that has it as public.name in the site file, or set another public.vlan"
_POOL_IS_USED = (
    "enlarge the pool of public, or set public.name to an external network that has free addresses"
)
_SAID = (
    (("uota exceeded",), _QUOTA),
    (("uota has been",), _QUOTA),
    (("Maximum number of",), _QUOTA),
    (
        ("over limit of",),
        "have an administrator raise the limit of the project in Keystone: openstack limit list, limit set",
    ),
    (
        ("exceeds the quota",),
        "have an administrator raise user_storage_quota in glance-api.conf, or set image in the site file "
        "to an image that the project has",
    ),
    (
        ("Flavor with name", "already exists"),
        "set flavor.name in the site file to a name that no flavor has: openstack flavor list --all",
    ),
    (("Flavor's disk is",), "set flavor.disk in the site file to at least what the image needs"),
    (("Flavor's memory is",), "set flavor.ram in the site file to at least what the image needs"),
    (
        ("alias", "is not defined"),
        "set pci-alias of nova-compute and nova-cloud-controller, or gpu-alias in the site file",
    ),
    (
        ("availability zone is not available",),
        "no compute host of this zone is up: openstack availability zone list; name other nodes",
    ),
    (("The VLAN", "is in use"), _VLAN_IN_USE),
    (("flat network", "is in use"), _VLAN_IN_USE),
    (
        ("physical_network", "unknown"),
        "name a physical network of Neutron as public.physical-network and vlan-physical-network",
    ),
    (("'geneve' not supported",), _OVN),
    (("l3 agents",), _OVN),
    (
        ("No tenant network is available",),
        "give vlan-physical-network more VLANs: juju config neutron-api vlan-ranges",
    ),
    (("No more IP addresses available",), _POOL_IS_USED),
    (("Unable to find any IP address",), _POOL_IS_USED),
)
"""Words that an answer has, all of them, and what helps then."""
_BY_STATUS = {
    401: _OPENRC,
    403: "the user must be an administrator of the cloud",
    429: "the service limits how often it is asked: wait a minute, then run this again",
    406: "this tool needs OpenStack Yoga or later",
    413: "a proxy before the service limits an upload: raise its limit (nginx: client_max_body_size), "
    "or have an administrator upload the image under this name",
    **dict.fromkeys(_DOWN, "the service is down: see juju status, then run this again"),
}


@contextmanager
def asking(what: str = "", upload: int = 0) -> Generator[None, None, None]:
    """Turn errors of openstacksdk into StepErrors with the service's words and a remedy.

    Without `what`, the sentence is about a step, which the plan's failure names already. All that is asked
    within has one limit of time and of bytes; `upload` is the size of a file that is sent.
    """
    about = f"{what}: " if what else ""
    transport.begin(upload)
    try:
        with warnings.catch_warnings():
            # openstacksdk 4 warns of what its own code still does and releases 5 and 6 will not.
            for category in (DeprecationWarning, PendingDeprecationWarning):
                warnings.simplefilter("ignore", category)
            yield
    except requests.JSONDecodeError:
        reason = f"{about}what answers is no service of OpenStack: it sends no JSON"
        raise StepError(reason, _ADDRESS) from None
    except (sdk.SDKException, auth.ClientException, LateError, LongError) as error:
        if limit := transport.limit_behind(error):
            raise StepError(f"{about}{limit}", "check the network to it, and what listens there") from None
        if isinstance(error, auth.NotFound) and _GONE in service_says(error):
            error = auth.Unauthorized(error.message)
        whole = what if what.startswith("cloud ") else f"{about}the cloud"
        if isinstance(error, auth.SSLError) or "SSLError" in str(error):
            words, reason, remedy = transport.untrusted(str(error))
            raise StepError(f"{whole} {words}: {reason or service_says(error)}", remedy) from None
        for kind, words, remedy in _REMEDIES:
            if isinstance(error, kind):
                remedy = _PLACE if "region not found" in str(error) else remedy
                raise StepError(f"{whole} {words}: {service_says(error)}", remedy) from None
        nowhere = isinstance(error, sdk.NotFoundException) and what.startswith("the list of ")
        remedy = _remedy(error) or (_ADDRESS if nowhere else "")
        raise StepError(f"{about}{service_says(error)}", remedy) from None


def _remedy(error: Exception) -> str:
    status = getattr(error, "status_code", None) or getattr(error, "http_status", None)
    said = service_says(error)
    known = (remedy for words, remedy in _SAID if all(word in said for word in words))
    return next(known, _BY_STATUS.get(status or 0, ""))


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
        """Those of these hosts that run virtual machines. Ironic's compute services deploy whole nodes."""
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
