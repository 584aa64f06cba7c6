# SPDX-License-Identifier: Apache-2.0
"""A port is its permanent MAC address: another name or another PCI address makes it no other port."""

import pytest
from boot import bootfile
from config import Options
from desired import Desired
from unit.roce_qos.node import P0, P1, PF0, PF1, Node, nic, pfc


def rename(node: Node, bonded: bool = True) -> None:
    """A kernel upgrade gives both ports other names; they are in the same bond as before."""
    network = node.host.network
    for port in network.ports():
        port.netdev = f"ens7f{port.number}np{port.number}"
    if bonded:
        members = sorted(port.netdev for port in network.ports())
        network.bonds["bond0"].members, network.bonds["bond0"].declared = members, tuple(members)


def move(node: Node, slot: str = "0000:86:00") -> None:
    """The card is found at another PCI address: another slot, a GPU that was added, an update of the BIOS."""
    for port in node.host.network.ports():
        port.bdf = f"{slot}.{port.number}"


def served(node: Node) -> tuple[str, ...]:
    return bootfile.from_json(node.host.files.read(bootfile.PATH)).ports


@pytest.mark.parametrize("devices", ["auto", "bond0", f"{P0} {P1}", P0, f"{PF0} {PF1}"])
def test_a_port_with_another_name_has_not_left_its_bond(node: Node, devices: str) -> None:
    node.deploy(devices=devices)
    rename(node)
    status = node.boot()
    assert status.name == "active"
    assert "left its bond" not in node.findings()
    assert pfc_of(node) == ([(3,), ()] if devices == P0 else [(3,), (3,)])
    named = devices in (P0, f"{P0} {P1}")
    told = "ens7f0np0: is still managed, though no name in option devices is its own any more"
    assert (told in node.log) == ("name it ens7f0np0 there" in status.message) == named
    node.emit("update_status")
    assert nic(node.writes) == []


def pfc_of(node: Node) -> list[tuple[int, ...]]:
    return [port.dcb.pfc for port in node.host.network.ports()]


def test_the_new_name_in_the_option_ends_the_warning(node: Node) -> None:
    node.deploy(devices=f"{P0} {P1}")
    rename(node)
    node.boot()
    assert node.configure(devices="ens7f0np0 ens7f1np1").emit().message == ""
    assert served(node) == (PF0, PF1)


def test_a_port_outside_a_bond_with_another_name_has_not_left_one(node: Node) -> None:
    node.host.network.bonds.clear()
    node.deploy(devices=f"{P0} {P1}")
    rename(node, bonded=False)
    node.boot()
    assert "left its bond" not in node.findings()
    assert pfc_of(node) == [(3,), (3,)]


@pytest.mark.parametrize("devices", ["auto", "bond0", f"{P0} {P1}"])
def test_a_card_in_another_slot_is_set_at_boot_and_the_old_address_is_forgotten(
    converged: Node, devices: str
) -> None:
    converged.configure(devices=devices).emit()
    move(converged)
    status = converged.boot()
    assert nic(converged.boot_writes)
    assert pfc(converged.host) == [(3,), (3,)]
    assert (status.name, status.message) == ("active", "")
    assert served(converged) == ("0000:86:00.0", "0000:86:00.1")
    converged.emit("update_status")
    assert converged.writes == []


def test_a_card_in_another_slot_and_another_one_in_its_old_slot(converged: Node) -> None:
    from lab.modelled import card

    move(converged)
    converged.host.cards.append(card("3b"))
    for number, port in enumerate(converged.host.cards[1].ports):
        port.mac, port.netdev = f"b8:3f:d2:00:00:0{number}", f"enp59s0f{number}"
    converged.boot()
    assert served(converged) == ("0000:86:00.0", "0000:86:00.1")
    assert [port.dcb.pfc for port in converged.host.cards[1].ports] == [(), ()]


def test_ports_that_have_exchanged_their_addresses_are_both_served(converged: Node) -> None:
    first, second = converged.host.network.ports()
    first.bdf, second.bdf = second.bdf, first.bdf
    assert converged.boot().message == ""
    assert pfc(converged.host) == [(3,), (3,)]
    assert served(converged) == (PF0, PF1)


A, B = "b8:3f:d2:00:00:0a", "b8:3f:d2:00:00:0b"
NEW0, NEW1 = "0000:86:00.0", "0000:86:00.1"


@pytest.mark.parametrize(
    ("there", "found"),
    [
        ({PF0: A, PF1: B}, {PF0: A, PF1: B}),
        ({PF0: B, PF1: A}, {PF0: B, PF1: A}),
        ({NEW0: A, NEW1: B}, {NEW0: A, NEW1: B}),
        ({PF1: A}, {PF1: A}),  # the other one is gone: who is at its address is no other card
        ({PF0: B}, {PF0: B}),
        ({NEW0: A, NEW1: A, PF1: B}, {PF0: A, PF1: B}),
        ({}, {PF0: A, PF1: B}),
    ],
)
def test_each_port_is_where_its_mac_address_is(there: dict[str, str | None], found: dict[str, str]) -> None:
    wanted = Desired((PF0, PF1), Options().qos, macs=((PF0, A), (PF1, B))).where_they_are(there)
    assert (wanted.ports, dict(wanted.macs)) == (tuple(sorted(found)), found)
    assert not any(wanted.is_other(bdf, mac) for bdf, mac in there.items() if bdf in found)
