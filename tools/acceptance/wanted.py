# SPDX-License-Identifier: Apache-2.0
"""The reference design's objects in OpenStack, in the order in which each can be created.

Values have the names of openstacksdk's attributes. A Ref stands for the id of another object.
"""

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from converge import Finding, Severity, StepError
from converge.finding import few

from acceptance.guests import user_data
from acceptance.sitefile import Public, SiteFile

MARK = "ovn-offload-acceptance"
"""Tag and description of all that the tool creates; what has neither carries it in its id."""
GENEVE = 58
"""Bytes that Geneve with OVN's option adds to a packet over IPv4: 14 + 20 + 8 + 8 + 8."""
NAMED = 10
"""Compute hosts that a sentence lists."""
HOSTS = (
    "name others as nodes in the site file; openstack compute service list tells which ones are down, "
    "and openstack hypervisor list has ironic as the type of those that deploy whole machines"
)
"""The remedy where a compute host takes no test servers."""
SUBNETS = {
    "gen_mgmt": "22.22.22.0/24",
    "gen_data": "33.33.33.0/24",
    "vlan_data": "44.44.44.0/24",
    "gen_nat": "55.55.55.0/24",
}
"""Tenants' networks: the first two are the RDG's, the others are for VFs on a VLAN and behind NAT."""
SUBNETS6 = {"gen_data": "fd33:33:33::/64", "vlan_data": "fd44:44:44::/64"}
"""Beside them, for a site that asks for IPv6. No router announces these addresses: measure sets them."""
DPDK_PORT, DPDK_NETWORK, DPDK_SUBNET = "virtio_dpdk", "gen_dpdk", "66.66.66.0/24"
"""Each server's virtio port for DPDK, which takes it from the guest's kernel; with an image that has DPDK."""
VF_PORTS = {"direct_overlay": "gen_data", "direct_vlan": "vlan_data", "direct_nat": "gen_nat"}
"""Each server's VFs: the port's name before its number, and the port's network."""
PAIRS = (5001, 5200)
"""Ports of the iperf3 pairs, as the RDG's rule has them."""
GROUPS: dict[str, tuple[bool, list[tuple[str, tuple[int, int] | None]]]] = {
    "mgmt_policy": (True, [("icmp", None), ("tcp", (22, 22)), ("tcp", PAIRS), ("udp", PAIRS)]),
    "data_policy": (True, [("icmp", None), ("tcp", PAIRS), ("udp", PAIRS)]),
    "data_sl_policy": (False, [("icmp", None), ("udp", (4000, 6000))]),
}
"""Security groups: whether stateful, and what may come in. RoCE needs a stateless one."""
IMAGE = "https://cloud-images.ubuntu.com/jammy/current/jammy-server-cloudimg-amd64.img"

EXTERNAL = "set public.name in the site file to one of: openstack network list --external"
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The form of Neutron's ids: no new network has such a name."""


class Ref(str):
    """Another object, by its key; its id may only be known after an earlier step."""


@dataclass(frozen=True)
class Wanted:
    """One object. `once` is for its creation and not compared later; `expected` is what OpenStack decides.

    Attributes:
        shared: one that others created will do, as long as it has what is `needed`.
        needed: what one that others created must have; None for all of `values`.
        choice: what the operator can do about one that others created and that lacks it.
        lacks: why it cannot be created, and the remedy; empty if it can be.
        versions: of IP, in which a port must have an address.

    """

    kind: str
    name: str
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    once: dict[str, Any] = field(default_factory=dict[str, Any])
    expected: dict[str, Any] = field(default_factory=dict[str, Any])
    shared: bool = False
    needed: dict[str, Any] | None = None
    choice: str = ""
    lacks: tuple[str, ...] = ()
    versions: tuple[int, ...] = ()

    @property
    def key(self) -> str:
        """The object's name in plans: `network gen_data`."""
        return f"{self.kind.replace('_', ' ')} {self.name}"


@dataclass(frozen=True)
class Facts:
    """The facts that decide about objects besides the site file: compute hosts, zones, the release."""

    zones: dict[str, str]
    profile: bool
    """Whether a direct port needs capabilities in binding:profile: up to 2023.2. Later, Nova adds it."""
    refused: str = ""
    """Nova's words to a user who is not an administrator; "" for one who is."""


def servers(site: SiteFile, facts: Facts) -> dict[str, str]:
    """Names of servers, and the compute host of each; "" for a user who may not choose it.

    Raises:
        StepError: too few compute hosts are up, or one that the site file names is not.

    """
    if facts.refused:
        return {"vm1": "", "vm2": ""}
    nodes = site.nodes or tuple(facts.zones)[:2]
    hosts = [*nodes, *([site.other_rack] if site.other_rack else [])]
    up = few([*facts.zones], NAMED) or "none"
    for host in hosts:
        if host not in facts.zones:
            raise StepError(f"no compute service for virtual machines is up on {host}; up are: {up}", HOSTS)
    if len(nodes) < 2:
        raise StepError(f"two compute hosts are needed; up are: {up}", HOSTS)
    return {f"vm{number}": host for number, host in enumerate(hosts, 1)}


def chosen(site: SiteFile, facts: Facts) -> Iterator[Finding]:
    """Which compute hosts were taken, if nobody has chosen them of many."""
    if not site.nodes and len(facts.zones) > 2:
        first, second = [*facts.zones][:2]
        what = f"the servers are for {first} and {second}, the first two of {len(facts.zones)} that are up"
        yield Finding(Severity.INFO, "nodes", what, "name others, of one rack, as nodes in the site file")


def objects(site: SiteFile, facts: Facts) -> Iterator[Wanted]:
    """Every object that the site file asks for."""
    placed = servers(site, facts)
    remedy = "set image in the site file to one that the cloud has (openstack image list), or image-file; "
    remedy += f"a stock one: wget {IMAGE}"
    lacks = () if site.image_file else ("there is no image of this name", remedy)
    yield Wanted("image", site.image, once={"filename": site.image_file}, shared=True, lacks=lacks)
    yield Wanted("keypair", MARK, {"public_key": _public_key(site)})
    yield _flavor(site)
    yield from _groups()
    yield from _networks(site)
    yield from _external(site.public)
    yield from _router(site)
    for vm, host in placed.items():
        yield from _server(site, facts, vm, host)


def _public_key(site: SiteFile) -> str:
    path = Path(site.public_key).expanduser()
    remedy = "run: ssh-keygen -t ed25519, or set public-key in the site file"
    try:
        words = path.read_text().split()[:2]
    except OSError as error:
        raise StepError(f"public-key: {path} cannot be read: {error.strerror}", remedy) from None
    except UnicodeDecodeError:
        words = []
    # The names of sshd(8), AUTHORIZED_KEYS FILE FORMAT; a private key must not be sent to Nova.
    if len(words) < 2 or not re.match(r"(ssh|ecdsa|sk-ssh|sk-ecdsa)-", words[0]):
        raise StepError(f"public-key: {path} contains no public key", remedy)
    return " ".join(words)


def _flavor(site: SiteFile) -> Wanted:
    pages = site.flavor.large_pages
    specs = {"hw:mem_page_size": pages if isinstance(pages, str) else "large"} if pages else {}
    specs |= {"hw:cpu_policy": "dedicated"} if site.flavor.dedicated_cpus else {}
    if "cuda" in site.software:
        specs["pci_passthrough:alias"] = f"{site.gpu_alias}:1"
    sizes = {"ram": site.flavor.ram, "disk": site.flavor.disk, "vcpus": site.flavor.vcpus}
    values, once = {**sizes, "extra_specs": specs}, {"id": f"{MARK}-{site.flavor.name}"}
    choice = "set flavor.name in the site file to a name that no flavor has, or flavor to what this one is"
    return Wanted("flavor", site.flavor.name, values, once, shared=True, choice=choice)


def _groups() -> Iterator[Wanted]:
    for name, (stateful, rules) in GROUPS.items():
        yield Wanted("security_group", name, {"stateful": stateful})
        for protocol, ports in rules:
            first, last = ports or (None, None)
            values = {"protocol": protocol, "port_range_min": first, "port_range_max": last}
            shown = f"{name} {protocol}" + (f" {first}-{last}" if ports else "")
            once = {
                "security_group_id": Ref(f"security group {name}"),
                "direction": "ingress",
                "ether_type": "IPv4",
            }
            yield Wanted("security_group_rule", shown, {}, {**once, **values}, shared=True)


def _networks(site: SiteFile) -> Iterator[Wanted]:
    for name, cidr in (SUBNETS | ({DPDK_NETWORK: DPDK_SUBNET} if "dpdk" in site.software else {})).items():
        vlan = name.startswith("vlan")
        physical = {"provider_physical_network": site.vlan_physical_network} if vlan else {}
        values = {"provider_network_type": "vlan" if vlan else "geneve", **physical}
        yield Wanted("network", name, values, expected={"mtu": site.mtu - (0 if vlan else GENEVE)})
        # Only the management network has a default route: a guest must not choose among several.
        gateway = None if name != "gen_mgmt" else str(ip_network(cidr)[1])
        once: dict[str, Any] = {"network_id": Ref(f"network {name}"), "ip_version": 4}
        if name == "gen_nat":
            # The router's address: without a gateway Neutron gives the first one to OVN's metadata port.
            first, *_, last = map(str, list(ip_network(cidr).hosts())[1:])
            once["allocation_pools"] = [{"start": first, "end": last}]
        yield Wanted(
            "subnet", f"{name}_subnet", {"cidr": cidr, "gateway_ip": gateway, "is_dhcp_enabled": True}, once
        )
        if site.ipv6 and name in SUBNETS6:
            values = {"cidr": SUBNETS6[name], "gateway_ip": None, "is_dhcp_enabled": False}
            once = {"network_id": Ref(f"network {name}"), "ip_version": 6}
            yield Wanted("subnet", f"{name}_subnet6", values, once)


def _external(public: Public) -> Iterator[Wanted]:
    vlan, subnet = public.new_vlan, public.new_subnet
    segment = {"provider_segmentation_id": vlan} if vlan else {}
    kind = "vlan" if vlan else "flat"
    place = {"provider_network_type": kind, "provider_physical_network": public.physical_network, **segment}
    external = {"is_router_external": True}
    yield Wanted(
        "network",
        public.name,
        {**place, **external},
        {"is_shared": True},
        shared=True,
        needed={**(place if public.vlan is not None else {}), **external},
        choice="set public.name in the site file to an external network, or to a new name; "
        "leave public.vlan out to use the network as it is",
        lacks=("no network has this id", EXTERNAL) if _ID.fullmatch(public.name) else (),
    )
    missing = ", ".join(key for key, value in subnet.items() if not value)
    what = f"there is none, and these keys of public are missing: {missing}"
    remedy = "set them in the site file, or set public.name to a network that exists"
    pool = [{"start": subnet["first"], "end": subnet["last"]}]
    gateway = {"gateway_ip": subnet["gateway"]} if subnet["gateway"] else {}
    yield Wanted(
        "subnet",
        f"{public.name}_subnet",
        {"cidr": subnet["cidr"], **gateway, "is_dhcp_enabled": False},
        {"network_id": Ref(f"network {public.name}"), "ip_version": 4, "allocation_pools": pool},
        shared=True,
        needed={"cidr": public.cidr} if public.cidr else {},
        choice="set public.cidr in the site file to a subnet of the network, or leave it out to use any",
        lacks=(what, remedy) if missing else (),
    )


def _router(site: SiteFile) -> Iterator[Wanted]:
    gateway = {"external_gateway_info": {"network_id": Ref(f"network {site.public.name}")}}
    yield Wanted("router", "public_router", {}, gateway)
    router = {"router": Ref("router public_router")}
    on = {**router, "subnet_id": Ref("subnet gen_mgmt_subnet")}
    yield Wanted("router_interface", "public_router gen_mgmt_subnet", {}, on, shared=True)
    # Neutron refuses a subnet without a gateway here, but takes a port on it.
    fixed = {"subnet_id": Ref("subnet gen_nat_subnet"), "ip_address": str(ip_network(SUBNETS["gen_nat"])[1])}
    yield Wanted("port", "nat_gateway", {}, {"network_id": Ref("network gen_nat"), "fixed_ips": [fixed]})
    on = {**router, "port_id": Ref("port nat_gateway")}
    yield Wanted("router_interface", "public_router gen_nat_subnet", {}, on, shared=True)


def _server(site: SiteFile, facts: Facts, vm: str, host: str) -> Iterator[Wanted]:
    number = vm.removeprefix("vm")
    normal = {
        "network_id": Ref("network gen_mgmt"),
        "security_group_ids": [Ref("security group mgmt_policy")],
    }
    ports = [Wanted("port", f"normal{number}", {"binding_vnic_type": "normal"}, normal)]
    profile = {"binding_profile": {"capabilities": ["switchdev"]}} if facts.profile else {}
    for prefix, network in VF_PORTS.items():
        # measure changes the security of these ports from rung to rung, as the RDG does.
        once = {
            "network_id": Ref(f"network {network}"),
            "security_group_ids": [Ref("security group data_policy")],
        }
        ports.append(
            Wanted(
                "port",
                f"{prefix}{number}",
                {"binding_vnic_type": "direct"},
                {**once, **profile},
                versions=(4, 6) if site.ipv6 and network in SUBNETS6 else (),
            )
        )
    if "dpdk" in site.software:
        once = {**normal, "network_id": Ref(f"network {DPDK_NETWORK}")}
        ports.append(Wanted("port", f"{DPDK_PORT}{number}", {"binding_vnic_type": "normal"}, once))
    yield from ports
    for name in (f"normal{number}", f"direct_nat{number}"):
        on = {"port_id": Ref(f"port {name}"), "floating_network_id": Ref(f"network {site.public.name}")}
        yield Wanted("floating_ip", name, {}, on)
    yield Wanted(
        "server",
        vm,
        {},
        {
            "image_id": Ref(f"image {site.image}"),
            "flavor_id": Ref(f"flavor {site.flavor.name}"),
            "key_name": MARK,
            "networks": [{"port": Ref(port.key)} for port in ports],
            "availability_zone": f"{facts.zones[host]}:{host}" if host else "",
            "config_drive": True,
            "user_data": base64.b64encode(user_data(site).encode()).decode(),
        },
    )
