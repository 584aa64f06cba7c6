# SPDX-License-Identifier: Apache-2.0
"""A card is who it is, not its PCI address: a BIOS update, a GPU beside it, another slot."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import desired
import pytest
import record
from boot import bootfile, files
from desired import Desired, WantedPort
from hostnic.devices import discover
from hypothesis import given
from hypothesis import strategies as st
from lab.modelled import FakeHost, card
from lab.modelled.network import FakeBond
from lab.modelled.nic.model import FakeCard, at_two_slots
from nic.places import located
from unit.sriov_switchdev.booting import modes
from unit.sriov_switchdev.node import PF0, PF1, PORT0, PORT1, Node, compute_node, declare_bond, nic

NAMED = f"{PORT0} {PORT1}"
ADDRESSES = f"{PF0} {PF1}"
MADE, BARE = ("switchdev", 8), ("legacy", 0)


def move(host: FakeHost, old: FakeCard, bus: str, *, named: bool = False, new: bool = False) -> FakeCard:
    """Put a card at another bus number, before the host boots there.

    Args:
        host: the host.
        old: the card.
        bus: hexadecimal.
        named: it keeps its netdevs' names, as netplan's set-name has it.
        new: it is another card of the same model.

    """
    moved = card(bus)
    for port, was in zip(moved.ports, old.ports, strict=True):
        port.mac = f"b8:3f:d2:00:00:{port.number:02x}" if new else was.mac
        port.netdev = was.netdev if named else port.netdev
    for bond in host.network.bonds.values():
        names = {was.netdev: port.netdev for port, was in zip(moved.ports, old.ports, strict=True)}
        bond.members = sorted(names.get(name, name) for name in bond.members)
        bond.declared = tuple(bond.members)
    host.cards[host.cards.index(old)] = moved
    return moved


def said(node: Node) -> str:
    """Return the findings of ``verify``, each in one line."""
    found = json.loads(node.action("verify", format="json")["findings"])
    return "\n".join("{severity}: {subject}: {what}; {remedy}".format(**each) for each in found)


def kept(node: Node) -> Desired:
    """Return the desired state that the next boot finds."""
    return bootfile.from_json(node.host.files.read(desired.PATH))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Node]:
    """A node whose VFs are made and bound."""

    def converged(host: FakeHost | None = None, **options: object) -> Node:
        node = Node(host or compute_node(), monkeypatch)
        assert node.converge(**{"num_vfs": 8, "reboot_settle": 0, **options}).name == "active", said(node)
        return node

    return converged


@pytest.mark.parametrize("devices", ["auto", "bond0", NAMED, ADDRESSES])
@pytest.mark.parametrize("named", [True, False])
def test_the_first_boot_at_another_address_makes_the_vfs(
    made: Callable[..., Node], devices: str, named: bool
) -> None:
    node = made(devices=devices)
    move(node.host, node.host.cards[0], "3c", named=named)
    before = node.host.clock
    status = node.boot()
    assert node.host.clock - before < 120, "no boot waits for a port that is elsewhere"
    assert modes(node.host) == [MADE, MADE]
    assert status.name == "active", said(node)
    assert node.reboots_asked == 1, "the one of the deployment"
    assert [port.bdf for port in kept(node).ports] == ["0000:3c:00.0", "0000:3c:00.1"]
    rules = node.host.files.read(files.RULE)
    assert "0000:3c:00.1" in rules
    assert PF1 not in rules
    # The hooks and boots after it know the card by what the option calls it.
    node.emit("update_status")
    assert nic(node.writes) == []
    assert node.boot().name == "active", said(node)


def test_another_card_at_the_address_that_the_option_names_is_left_alone(made: Callable[..., Node]) -> None:
    node = made(compute_node(cards=[card("3b"), card("3a")]), devices=ADDRESSES)
    ours, others = node.host.cards
    others = move(node.host, others, "3b", named=True)
    move(node.host, ours, "3c", named=True)
    assert node.boot().name == "active", said(node)
    assert modes(node.host) == [MADE, MADE, BARE, BARE]
    node.emit("update_status")
    assert f"{PF0} is {PORT0} at 0000:3c:00.0 now" in said(node)
    assert node.boot().name == "active", said(node)
    assert modes(node.host)[2:] == [BARE, BARE]
    # Who means the other card says so.
    assert node.action("accept-nic")["names"] == f"{PF0} is {PF0} again, {PF1} is {PF1} again"
    node.emit("update_status")
    assert [port.mac for port in kept(node).ports] == [port.mac for port in others.ports]


def two_bonds() -> FakeHost:
    host = compute_node(cards=[card("3b"), card("5e")])
    host.network.bonds["bond1"] = FakeBond("bond1", members=sorted(p.netdev for p in host.cards[1].ports))
    return host


@pytest.mark.parametrize(
    "places",
    [{"3b": "3c", "5e": "5f"}, {"3b": "5e", "5e": "3b"}, {"3b": "5e", "5e": "3d"}],
    ids=["both are shifted", "they change slots", "one takes the place of the other"],
)
@pytest.mark.parametrize("devices", ["auto", "bond0:8 bond1:4", f"{PF0}:8 {PF1}:8 5e:00.0:4 5e:00.1:4"])
def test_each_of_two_cards_keeps_its_own_vfs(
    made: Callable[..., Node], places: Mapping[str, str], devices: str
) -> None:
    node = made(two_bonds(), devices=devices)
    before = {port.mac: mode for port, mode in zip(node.host.network.ports(), modes(node.host), strict=True)}
    for old in list(node.host.cards):
        move(node.host, old, places[old.slot[5:7]], named=True)
    assert node.boot().name == "active", said(node)
    after = {port.mac: mode for port, mode in zip(node.host.network.ports(), modes(node.host), strict=True)}
    assert after == before


def test_another_card_in_another_slot_needs_one_more_boot_and_no_command(made: Callable[..., Node]) -> None:
    """The bond of the old one is made of the new one's ports, as netplan declares it."""
    node = made()
    move(node.host, node.host.cards[0], "af", new=True)
    node.boot()
    assert "did not appear" not in said(node)
    assert node.reboots_asked == 2
    before = node.host.clock
    assert node.boot().name == "active", said(node)
    assert node.host.clock - before < 120
    assert modes(node.host) == [MADE, MADE]
    assert [port.mac for port in kept(node).everything] == [port.mac for port in node.host.network.ports()]


def test_another_card_in_the_same_slot_waits_for_the_operator(made: Callable[..., Node]) -> None:
    node = made()
    move(node.host, node.host.cards[0], "3b", new=True)
    assert node.boot().name == "blocked"
    assert modes(node.host) == [BARE, BARE]
    assert "run action accept-nic" in said(node)
    node.action("accept-nic")
    node.emit("update_status")
    assert node.boot().name == "active", said(node)


@pytest.mark.parametrize("devices", ["auto", "bond0 bond1"])
def test_a_card_that_was_taken_out_is_named_until_the_operator_accepts_it(
    made: Callable[..., Node], devices: str
) -> None:
    node = made(two_bonds(), devices=devices)
    del node.host.cards[1]
    node.host.network.bonds["bond1"].members = []
    node.host.network.bonds["bond1"].declared = ()
    status = node.boot()
    assert status.name == "blocked"
    assert "did not appear within 60 s" in said(node)
    before = node.host.clock
    assert node.boot().name == "blocked"
    assert node.host.clock - before < 120, "it was missing at a whole boot"
    assert "0000:5e:00.0: the port (enp94s0f0np0) is gone; if it was taken out, run action accept-nic" in (
        said(node)
    )
    assert modes(node.host) == [MADE, MADE]
    dropped = "enp94s0f0np0 (0000:5e:00.0), enp94s0f1np1 (0000:5e:00.1)"
    assert node.action("accept-nic") == {"dropped": dropped}
    assert node.emit("update_status").name == "active", said(node)
    assert len(kept(node).everything) == 2


def test_a_card_that_was_missing_at_a_boot_has_its_vfs_when_it_is_back(made: Callable[..., Node]) -> None:
    node = made(two_bonds())
    away = node.host.cards.pop()
    members, node.host.network.bonds["bond1"].members = node.host.network.bonds["bond1"].members, []
    node.boot()
    assert [port.bdf for port in kept(node).absent] == ["0000:5e:00.0", "0000:5e:00.1"]
    node.host.cards.append(away)
    node.host.network.bonds["bond1"].members = members
    assert node.boot().name == "active", said(node)
    assert modes(node.host) == [MADE] * 4
    assert kept(node).absent == ()


def test_a_card_whose_address_another_one_took_is_not_forgotten(made: Callable[..., Node]) -> None:
    """The first card died, and the BIOS numbers the second like it."""
    node = made(two_bonds())
    second = node.host.cards[1]
    del node.host.cards[0]
    node.host.network.bonds["bond0"].members = []
    node.host.network.bonds["bond0"].declared = ()
    move(node.host, second, "3b", named=True)
    assert node.boot().name == "blocked"
    assert modes(node.host) == [MADE, MADE]
    mac = "10:70:fd:3b:00:00"
    assert f"{PORT0}: the port with MAC {mac}, which was at {PF0}, is gone" in said(node)
    assert "another card" not in said(node)
    node.emit("update_status")
    assert f"{PORT0}: the port with MAC {mac}" in said(node), "the file keeps it"
    node.action("accept-nic")
    assert node.emit("update_status").name == "active", said(node)


def test_a_port_that_fails_is_looked_for_beside_the_other_one(made: Callable[..., Node]) -> None:
    node = made()
    moved = move(node.host, node.host.cards[0], "3c", named=True)
    moved.ports[1].gone = True
    lost = moved.ports.pop()
    node.host.network.bonds["bond0"].members = [PORT0]
    node.host.network.bonds["bond0"].declared = (PORT0,)
    assert node.boot().name == "blocked"
    assert f"0000:3c:00.1: the port ({PORT1}) is gone" in said(node)
    assert modes(node.host) == [MADE]
    lost.gone = False
    moved.ports.append(lost)
    node.host.network.bonds["bond0"].members = [PORT0, PORT1]
    assert node.boot().name == "active", said(node)
    assert modes(node.host) == [MADE, MADE]


def test_a_file_of_a_host_whose_mac_addresses_are_not_known_goes_by_address(
    made: Callable[..., Node],
) -> None:
    node = made()
    content = json.loads(node.host.files.read(desired.PATH))
    content["ports"][1]["mac"] = None
    node.host.disk.install(desired.PATH, json.dumps(content).encode(), 0o600)
    move(node.host, node.host.cards[0], "3c", named=True)
    assert node.boot().name == "active", said(node)
    assert modes(node.host) == [MADE, MADE], "the second port goes with the first"


def test_a_vf_with_the_mac_address_of_a_port_is_not_that_port(made: Callable[..., Node]) -> None:
    node = made()
    node.host.vf("0000:3b:00.2").mac = node.host.port(PF1).mac
    node.host.port(PF1).gone = True
    node.emit("update_status")
    assert [port.bdf for port in kept(node).ports] == [PF0, PF1]
    assert f"{PF1}: the port ({PORT1}) is gone" in said(node)


def test_a_card_at_two_slots_is_found_at_two_others(made: Callable[..., Node]) -> None:
    node = made(compute_node(cards=[at_two_slots()]))
    assert modes(node.host) == [MADE, MADE]
    node.host.cards[0].slot = "0000:3c:00"
    node.host.port(PF0).bdf = "0000:3c:00.0"
    node.host.port("0002:3b:00.0").bdf = "0002:3c:00.0"
    assert node.boot().name == "active", said(node)
    assert modes(node.host) == [MADE, MADE]
    assert {port.card for port in kept(node).ports} == {"0000:3c:00"}


def test_a_file_of_1_0_0_is_enough(made: Callable[..., Node]) -> None:
    node = made()
    release = json.loads((Path(__file__).parent / "release_1.0.0.json").read_text())
    node.host.disk.install(desired.PATH, release["converged"]["files"][desired.PATH].encode(), 0o600)
    move(node.host, node.host.cards[0], "3c")
    assert node.boot().name == "active", said(node)
    assert modes(node.host) == [MADE, MADE]


def test_what_a_boot_leaves_for_the_ports_that_fall_back_is_of_their_new_address(
    made: Callable[..., Node],
) -> None:
    node = made()
    move(node.host, node.host.cards[0], "3c", named=True)
    node.boot()
    assert record.read_converged(node.host) == {"0000:3c:00"}


def test_without_another_address_the_file_is_as_before(made: Callable[..., Node]) -> None:
    node = made()
    text = node.host.files.read(desired.PATH)
    assert "former" not in text
    assert "absent" not in text


def test_netplan_that_matches_the_old_name_leaves_the_bond_empty_and_that_is_said(
    made: Callable[..., Node],
) -> None:
    host = compute_node()
    declare_bond(host)
    node = made(host)
    for name in (PORT0, PORT1):
        text = f"[Match]\nName={name}\n\n[Network]\nBond=bond0\n"
        host.disk.install(f"/etc/systemd/network/10-netplan-{name}.network", text.encode(), 0o644)
    move(host, host.cards[0], "3c")
    host.network.bonds["bond0"].members = []
    host.network.bonds["bond0"].declared = ()
    assert node.boot().name == "blocked"
    assert modes(host) == [MADE, MADE], "the VFs are there for when the bond is"
    assert f"bond0 is declared for {PORT0}, and that port is enp60s0f0np0 now" in said(node)


FUNCTIONS = st.builds("0000:{}:00.{}".format, st.sampled_from(["3b", "3c", "af"]), st.integers(0, 1))
KNOWN = st.none() | st.sampled_from([f"10:70:fd:3b:00:{number:02x}" for number in range(6)])
PORTS = st.lists(st.tuples(FUNCTIONS, KNOWN), unique_by=lambda port: port[0], max_size=4)


@given(PORTS, PORTS, PORTS)
def test_every_port_keeps_its_place_in_the_file_whatever_the_host_has(
    declared: list[tuple[str, str | None]],
    away: list[tuple[str, str | None]],
    there: list[tuple[str, str | None]],
) -> None:
    ports, absent = (
        tuple(WantedPort(bdf, "p", 8, mac=mac) for bdf, mac in sorted(each, key=str))
        for each in (declared, away)
    )
    some = discover.observe(compute_node())
    pf = some.pfs[0]
    pfs = [pf._replace(port=pf.port._replace(bdf=bdf), mac=mac) for bdf, mac in sorted(there, key=str)]
    host = some._replace(pfs=tuple(pfs))
    wanted = Desired(ports, absent=absent)
    found = located(wanted, host)
    assert Counter(port.mac for port in found.everything) == Counter(port.mac for port in wanted.everything)
    assert len({port.bdf for port in found.ports}) == len(found.ports)
    once = {mac for mac, number in Counter(mac for _, mac in there).items() if mac and number == 1}
    declared_once = Counter(port.mac for port in wanted.everything)
    for port in found.everything:
        if port.mac in once and declared_once[port.mac] == 1:
            assert (port.bdf, port.mac) in there, "a port that is there is found"
