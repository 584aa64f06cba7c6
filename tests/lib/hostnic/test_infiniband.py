# SPDX-License-Identifier: Apache-2.0
"""Which ports are InfiniBand; the tests of nic-firmware have what uses them."""

import pytest
from hostnic.devices import infiniband, inventory
from hostnic.devices.port import Port
from lab.modelled import FakeHost, card, hca

CONNECTX_3 = "0000:81:00.0"


def ports(host: FakeHost) -> list[Port]:
    return [port for nic in inventory.find_nics(host)[0] for port in nic.ports]


def test_the_pci_class_of_each_function_tells_with_and_without_driver() -> None:
    host = FakeHost(cards=[card(), hca()])
    assert [port.infiniband for port in ports(host)] == [False, False, True, True]
    for port in host.cards[1].ports:
        port.driver = None
    assert [port.infiniband for port in ports(host)] == [False, False, True, True]
    assert infiniband.uses(host, ports(host)) == {}


@pytest.mark.parametrize(("second", "found"), [("InfiniBand", True), ("Ethernet", False)])
def test_a_connectx_3_has_one_function_for_ports_of_both_kinds(second: str, found: bool) -> None:
    host = FakeHost(cards=[card("81", ports=1, device="15b3:1007")], bonded=False)
    host.port(CONNECTX_3).driver = "mlx4_core"
    above = f"/sys/bus/pci/devices/{CONNECTX_3}/infiniband/mlx4_0/ports"
    for number, layer in (("1", "Ethernet"), ("2", second)):
        host.disk.install(f"{above}/{number}/link_layer", f"{layer}\n".encode(), 0o444)
    (port,) = ports(host)
    assert port.infiniband is found


def test_ethernet_ports_are_not_asked_for_their_users() -> None:
    host = FakeHost()
    found = ports(host)
    host.asked.clear()
    assert infiniband.uses(host, found) == {}
    assert host.asked == []
