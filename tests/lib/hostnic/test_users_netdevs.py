# SPDX-License-Identifier: Apache-2.0
"""The uses of a netdev by the host's own network."""

import pytest
from hostnic.devices import discover, users
from hostnic.network import routes
from lab.modelled import FakeHost
from lab.modelled.states import with_vfs

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


V1_BDF = "0000:3b:00.3"


@pytest.fixture
def host() -> FakeHost:
    """A host whose ports and VFs have RDMA devices."""
    made = FakeHost()
    made.cards[0].rdma = True
    return with_vfs(made, bound=True)


def used(host: FakeHost) -> dict[str, users.Users]:
    """The users of each VF of the NIC's ports, of those that have any."""
    seen = discover.observe(host)
    seen = users.with_own(host, seen, [pf.bdf for pf in seen.pfs])
    return {vf.bdf: vf.users for pf in seen.pfs for vf in pf.vfs if vf.users}


def test_a_process_with_the_rdma_device_of_a_vf_open_uses_it(host: FakeHost) -> None:
    """DPDK's driver for mlx5: the VF stays with mlx5_core, and its netdev without address."""
    host.open_rdma(V1_BDF, 4711, "dpdk-testpmd")
    assert used(host) == {V1_BDF: ("dpdk-testpmd (4711)",)}
    assert host.trace == []


def test_a_service_that_has_every_device_open_does_not_count(host: FakeHost) -> None:
    host.open_rdma(V1_BDF, 81, "ibacm")
    assert used(host) == {}


def test_a_process_on_the_port_itself_uses_no_vf(host: FakeHost) -> None:
    host.open_rdma("0000:3b:00.0", 4711, "ib_send_bw")
    assert used(host) == {}


def test_a_process_whose_files_cannot_be_read_may_use_any_vf(host: FakeHost) -> None:
    """Root without CAP_SYS_PTRACE may list, and not read, those of a process with more capabilities."""
    host.open_rdma(V1_BDF, 4711, "dpdk-testpmd")
    host.fail("readlink", "/proc/4711/fd", PermissionError(13, "Permission denied"), times=None)
    assert used(host)[V1_BDF] == ("perhaps a process (Permission denied)",)
    host.faults[:] = []
    host.fail("listdir", "/proc/4711/fd", FileNotFoundError(2, "No such file or directory"), times=None)
    assert used(host) == {}
