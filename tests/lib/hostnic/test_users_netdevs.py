# SPDX-License-Identifier: Apache-2.0
"""What of the host's own network stands on a netdev."""

import json

import pytest
from hostnic.devices import discover, users
from hostnic.network import routes
from hostnic.testing import FakeHost
from hostnic.testing.states import with_vfs

V0, V1 = "enp59s0f0v0", "enp59s0f0v1"
HEADER = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
NONE = "0" * 32


def route4(netdev: str, destination: str, mask: str) -> str:
    return f"{netdev}\t{destination}\t00000000\t0001\t0\t0\t0\t{mask}\t0\t0\t0\n"


def route6(netdev: str, destination: str, length: str) -> str:
    return f"{destination:0<32} {length} {NONE} 00 {NONE} 00000100 00000001 00000000 00000001 {netdev:>8}\n"


def test_devices_addresses_and_routes_of_the_host_count() -> None:
    host = with_vfs(FakeHost(), bound=True)
    host.network.uppers = {"vlan7": V0, "macvtap0": V0}
    host.network.addresses = {V0: ["10.10.10.2", "fe80::1"], V1: ["fe80::2"]}
    assert users.of_netdevs(host, [V0, V1]) == {V0: ("macvtap0", "vlan7", "10.10.10.2")}
    assert host.trace == []


def test_an_ipv4_link_local_address_counts_since_nothing_gives_it_by_itself() -> None:
    host = with_vfs(FakeHost(), bound=True)
    host.network.addresses = {V0: ["169.254.3.1"]}
    assert users.of_netdevs(host, [V0]) == {V0: ("169.254.3.1",)}


@pytest.mark.parametrize(
    ("path", "text", "leads"),
    [
        (routes.ROUTES, HEADER + route4(V0, "000A0A0A", "00FFFFFF"), "10.10.10.0/24"),
        (routes.ROUTES, HEADER + route4(V0, "00000000", "00000000"), "0.0.0.0/0"),
        (routes.ROUTES, HEADER, None),
        (routes.ROUTES6, route6(V0, "20010db8", "40"), "2001:db8::/64"),
        (routes.ROUTES6, route6(V0, "fe80", "40"), None),
        (routes.ROUTES6, route6(V0, "ff00", "08"), None),
        (routes.ROUTES6, route6(V0, "fe80", "40") + route6(V0, "", "00"), "::/0"),
    ],
)
def test_a_route_counts_unless_each_netdev_has_it(path: str, text: str, leads: str | None) -> None:
    host = with_vfs(FakeHost(), bound=True)
    host.disk.install(path, text.encode(), 0o444)
    assert users.of_netdevs(host, [V0, V1]) == ({V0: (f"the route to {leads}",)} if leads else {})


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("addresses", "perhaps an address (Input/output error)"),
        ("listdir", "perhaps a device on top (Input/output error)"),
    ],
)
def test_what_cannot_be_read_counts_as_use(what: str, said: str) -> None:
    host = with_vfs(FakeHost(), bound=True)
    host.fail(what, V0, OSError(5, "Input/output error"))
    assert users.of_netdevs(host, [V0, V1]) == {V0: (said,)}


def with_rdma(answer: str) -> FakeHost:
    """A host whose VFs have RDMA devices, mlx5_2 and the following, and what ``rdma`` says of their users."""
    host = FakeHost()
    host.cards[0].rdma = True
    host.answers[("rdma", "-j", "resource", "show", "pd")] = answer
    return with_vfs(host, bound=True)


def used(host: FakeHost) -> dict[str, users.Users]:
    """The users of each VF of the NIC's ports, of those that have any."""
    seen = discover.observe(host)
    seen = users.with_own(host, seen, [pf.bdf for pf in seen.pfs])
    return {vf.bdf: vf.users for pf in seen.pfs for vf in pf.vfs if vf.users}


def domain(device: str, name: str, **more: object) -> dict[str, object]:
    """A protection domain as iproute2 has it: without ``pid`` it is the kernel's own."""
    return {"ifindex": 1, "ifname": device, "pdn": 1, "users": 2, **more, "comm": name}


def test_a_process_that_uses_the_rdma_device_of_a_vf_uses_the_vf() -> None:
    """DPDK's driver for mlx5: the VF stays with mlx5_core, and its netdev without address."""
    both = [domain("mlx5_3", "dpdk-testpmd", pid=4711)] * 2
    host = with_rdma(json.dumps(both))
    assert used(host) == {"0000:3b:00.3": ("dpdk-testpmd (4711)",)}
    assert host.trace == []


@pytest.mark.parametrize(
    "row",
    [
        domain("mlx5_3", "[ib_core]"),
        domain("mlx5_3", "ibacm", pid=81),
        domain("mlx5_0", "ib_send_bw", pid=4711),
    ],
    ids=["the kernel's own", "a service that is on every device", "on a PF"],
)
def test_what_does_not_use_a_vf_does_not_count(row: dict[str, object]) -> None:
    assert used(with_rdma(json.dumps([row]))) == {}


@pytest.mark.parametrize("answer", ["", "null", "[1, {}]", '[{"ifname": [], "pid": 1}]', "[" * 100_000])
def test_an_answer_about_rdma_that_cannot_be_read_names_nobody(answer: str) -> None:
    assert used(with_rdma(answer)) == {}


def test_a_host_without_that_command_is_read_all_the_same() -> None:
    host = with_rdma("")
    del host.answers[("rdma", "-j", "resource", "show", "pd")]
    assert used(host) == {}
