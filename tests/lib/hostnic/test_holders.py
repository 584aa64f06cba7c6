# SPDX-License-Identifier: Apache-2.0
"""Who holds a VF."""

import pytest
from hostnic import holders
from hostnic.system import Link
from hostnic.testing import FakeHost
from hostnic.testing.states import with_vfs
from hypothesis import given
from hypothesis import strategies as st

VF0 = "0000:3b:00.2"

INTERFACE = """<domstatus state='running' reason='booted' pid='3'>
  <domain type='kvm' id='3'>
    <name>instance-0000000b</name>
    <devices>
      <disk type='file'><source file='/var/lib/nova/disk'/></disk>
      <interface type='hostdev' managed='yes'>
        <mac address='fa:16:3e:00:00:01'/>
        <source>
          <address type='pci' domain='0x0000' bus='0x3b' slot='0x00' function='0x2'/>
        </source>
        <address type='pci' domain='0x0000' bus='0x05' slot='0x00' function='0x0'/>
      </interface>
    </devices>
  </domain>
</domstatus>
"""


def link(master: str | None) -> Link:
    return Link("v0", 9, None, None, 1500, True, True, None, master, None, None, VF0)


@pytest.mark.parametrize(
    ("driver", "netdev", "users"),
    [
        (None, None, ()),
        ("mlx5_core", link(None), ()),
        ("mlx5_core", link("br-ex"), ("br-ex",)),
        ("mlx5_core", None, ("network namespace",)),
        ("vfio-pci", None, ("vfio-pci",)),
    ],
)
def test_drivers_and_netdevs(driver: str | None, netdev: Link | None, users: tuple[str, ...]) -> None:
    assert holders.of_vf(FakeHost(), VF0, driver, netdev) == users


def test_a_running_instance_is_named() -> None:
    host = with_vfs(FakeHost())
    host.start_instance(VF0, "instance-00000001")
    assert holders.of_vf(host, VF0, "vfio-pci", None) == ("instance-00000001",)
    host.stop_instance(VF0, "instance-00000001")
    assert holders.domains(host, VF0) == []


def test_only_the_hosts_side_of_a_passed_through_function_counts() -> None:
    assert holders.addresses(INTERFACE) == {VF0}
    host = FakeHost()
    host.files.install("/run/libvirt/qemu/instance-0000000b.xml", INTERFACE.encode(), 0o600)
    assert holders.domains(host, VF0) == ["instance-0000000b"]
    assert holders.domains(host, "0000:05:00.0") == []


def test_an_unreadable_status_hides_no_other() -> None:
    host = with_vfs(FakeHost())
    host.files.install("/run/libvirt/qemu/a.xml", b"", 0o600)
    host.start_instance(VF0)
    host.fail("read", "/a.xml", OSError(5, "Input/output error"), times=None)
    assert holders.domains(host, VF0) == ["instance-0000002a"]


# The host's own use of a VF on mlx5_core.

V0, V1 = "enp59s0f0v0", "enp59s0f0v1"
HEADER = "Iface\tDestination\tGateway\n"


def test_devices_addresses_and_routes_of_the_host_count() -> None:
    host = with_vfs(FakeHost(), bound=True)
    host.network.uppers = {"vlan7": V0, "macvtap0": V0}
    host.network.addresses = {V0: ["10.10.10.2", "fe80::1"], V1: ["fe80::2"]}
    assert holders.of_netdevs(host, [V0, V1]) == {V0: ("macvtap0", "vlan7", "10.10.10.2")}
    assert host.trace == []


@pytest.mark.parametrize(
    ("path", "text", "free"),
    [
        (holders.ROUTES, f"{HEADER}{V0}\t000A0A0A\t00000000\n", False),
        (holders.ROUTES, HEADER, True),
        (holders.ROUTES6, f"20010db8{0:024x} 40 {0:032x} 00 {0:032x} 00000100 1 0 00000001 {V0}\n", False),
        (holders.ROUTES6, f"fe80{0:028x} 40 {0:032x} 00 {0:032x} 00000100 1 0 00000001 {V0}\n", True),
        (holders.ROUTES6, f"ff00{0:028x} 08 {0:032x} 00 {0:032x} 00000100 1 0 00000001 {V0}\n", True),
    ],
)
def test_a_route_counts_unless_each_netdev_has_it(path: str, text: str, free: bool) -> None:
    host = with_vfs(FakeHost(), bound=True)
    host.files.install(path, text.encode(), 0o444)
    assert holders.of_netdevs(host, [V0, V1]) == ({} if free else {V0: ("a route",)})


def test_where_addresses_cannot_be_asked_for_doubt_counts_as_use() -> None:
    host = with_vfs(FakeHost(), bound=True)
    host.fail("addresses", V0, OSError(5, "Input/output error"))
    assert holders.of_netdevs(host, [V0, V1]) == {V0: ("perhaps an address (Input/output error)",)}


@given(st.text() | st.lists(st.sampled_from(INTERFACE.splitlines())).map("\n".join))
def test_any_status_gives_addresses(xml: str) -> None:
    for address in holders.addresses(xml):
        assert address.count(":") == 2
