# SPDX-License-Identifier: Apache-2.0
"""`auto` means NICs that RoCE is for, whatever bond came first; what it took before, it gives back."""

import json

import pytest
from boot import bootfile
from hostnic.netlink.dcb import App, Ets
from lab.modelled import FakeBond, FakeHost, card, hca
from lab.modelled.nic.dcb import BLANK_ETS
from unit.roce_qos.node import P0, P1, PF0, PF1, Node, compute_node, nic

OTHER = ("enp94s0f0np0", "enp94s0f1np1")
"""The ports of the second NIC."""
RECORD = "/run/ovn-offload/roce-qos/before.json"


def beside_a_connectx(driver: str) -> FakeHost:
    """A management bond of another maker's ports, and a ConnectX that nobody has bonded yet."""
    return compute_node(cards=[card("3b", driver=driver), card("5e")])


def bond(host: FakeHost, name: str = "bond1", members: tuple[str, ...] = OTHER) -> None:
    host.network.bonds[name] = FakeBond(name, members=list(members))
    host.members_changed()
    host.sleep(10.0)


def served(node: Node) -> tuple[str, ...]:
    return bootfile.from_json(node.host.files.read(bootfile.PATH)).ports


def taken_by_an_earlier_revision(node: Node) -> None:
    """The state that 1.0.0 left where only the management bond was there: it served that bond."""
    node.installed().configure(devices="bond0", dcbx_takeover=True)
    assert node.emit().name == "active", node.log
    content = json.loads(node.host.files.read(bootfile.PATH))
    node.host.disk.install(bootfile.PATH, json.dumps({**content, "devices": "auto"}).encode(), 0o644)
    if node.host.files.exists(RECORD):
        node.host.disk.remove(RECORD)
    node.configure(devices="auto")


def dcb(node: Node, name: str = P0) -> tuple[Ets, tuple[int, ...], set[App]]:
    found = node.host.port(name).dcb
    return found.ets, found.pfc, set(found.apps)


@pytest.mark.parametrize("driver", ["bnxt_en", "i40e", "ice", "ixgbe"])
def test_a_management_bond_is_left_alone_while_the_connectx_is_in_no_bond(
    monkeypatch: pytest.MonkeyPatch, driver: str
) -> None:
    node = Node(beside_a_connectx(driver), monkeypatch).installed()
    status = node.emit()
    assert (status.name, nic(node.writes)) == ("blocked", [])
    assert f"the ConnectX ({', '.join(OTHER)}) is in no kernel bond" in node.findings()
    bond(node.host)
    assert node.emit().name == "active", node.log
    assert [node.host.port(name).dcb.pfc for name in (P0, *OTHER)] == [(), (3,), (3,)]


@pytest.mark.parametrize("driver", ["i40e", "ixgbe"])
def test_without_a_connectx_a_bond_without_roce_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, driver: str
) -> None:
    host = compute_node(driver)
    host.cards[0].rdma = True  # i40e's RDMA device does iWARP
    node = Node(host, monkeypatch).installed()
    assert node.emit().name == "blocked"
    assert f"no RDMA device does RoCE on the bonded ports {P0}, {P1}" in node.findings()
    assert nic(node.writes) == []


@pytest.mark.parametrize("driver", ["bnxt_en", "hns3", "ice", "qede"])
def test_without_a_connectx_the_bond_whose_ports_have_rdma_is_taken(
    monkeypatch: pytest.MonkeyPatch, driver: str
) -> None:
    host = compute_node(cards=[card("3b", driver="ixgbe"), card("5e", driver=driver)])
    bond(host)
    node = Node(host, monkeypatch).installed().configure(dcbx_takeover=True)
    assert node.emit().name == "active", node.log
    assert [host.port(name).dcb.pfc for name in (P0, *OTHER)] == [(), (3,), (3,)]
    assert f"auto leaves ports alone that have no RDMA device for RoCE: {P0}, {P1}" in node.findings()


def test_an_infiniband_card_is_no_connectx_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node(cards=[card("3b", driver="bnxt_en"), hca()]), monkeypatch).installed()
    assert node.emit().name == "active", node.log
    assert node.host.port(P0).dcb.pfc == (3,)


@pytest.mark.parametrize("driver", ["bnxt_en", "ice", "ixgbe"])
def test_what_an_earlier_revision_took_is_released_once_there_is_a_connectx(
    monkeypatch: pytest.MonkeyPatch, driver: str
) -> None:
    node = Node(beside_a_connectx(driver), monkeypatch)
    taken_by_an_earlier_revision(node)
    node.emit("update_status")
    assert served(node) == (PF0, PF1)  # nothing better is there yet
    assert nic(node.writes) == []
    bond(node.host)
    shown = node.findings()
    assert f"auto has found a NIC for RoCE, and releases {P0}, {P1}" in shown
    assert f"give {P0} its own lossless priorities back" in node.action("plan")["plan"]
    assert node.emit().name == "active", node.log
    assert served(node) == ("0000:5e:00.0", "0000:5e:00.1")
    assert [dcb(node, name) for name in (P0, P1)] == [(BLANK_ETS, (), set())] * 2
    assert [node.host.port(name).dcb.pfc for name in OTHER] == [(3,), (3,)]
    assert node.host.blackouts == 0
    node.emit("update_status")
    assert nic(node.writes) == []
    node.boot()
    assert dcb(node) == (BLANK_ETS, (), set())


def test_a_released_port_gets_back_what_it_had_and_keeps_what_others_have_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = beside_a_connectx("bnxt_en")
    connectx = host.cards.pop()
    theirs = Ets((0, 1, 0, 0, 0, 0, 0, 0), ("ets", "ets", *("strict",) * 6), (30, 70, 0, 0, 0, 0, 0, 0))
    for name in (P0, P1):
        found = host.port(name).dcb
        found.ets, found.pfc, found.apps = theirs, (1,), {App(1, 0x8906, 4), App(5, 46, 1)}
    node = Node(host, monkeypatch).installed()
    assert node.emit().name == "active", node.log
    assert dcb(node)[1] == (3,)
    host.cards.append(connectx)
    bond(host)
    host.port(P1).dcb.pfc = (5,)  # another program, meanwhile
    assert node.emit().name == "active", node.log
    assert dcb(node) == (theirs, (1,), {App(1, 0x8906, 4), App(5, 46, 1)})
    assert dcb(node, P1) == (theirs, (5,), {App(1, 0x8906, 4), App(5, 46, 1)})
    assert host.port(P0).pause
    assert not json.loads(host.files.read(RECORD))
    node.host.port(P0).dcb.pfc = (3,)  # what anybody sets later is not undone
    node.emit("update_status")
    assert nic(node.writes) == []


def test_a_release_that_is_held_goes_on_once_the_other_port_carries_traffic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = Node(beside_a_connectx("bnxt_en"), monkeypatch)
    taken_by_an_earlier_revision(node)
    bond(node.host)
    node.host.network.unplugged.add(P1)
    assert node.emit().name == "blocked"
    assert "no other port of bond0 carries traffic" in node.findings()
    assert dcb(node)[1] == (3,)
    assert dcb(node, P1)[1] == ()
    node.host.network.unplugged.clear()
    node.host.sleep(5.0)
    assert node.emit("update_status").name == "active", node.log
    assert dcb(node) == (BLANK_ETS, (), set())
    assert node.host.blackouts == 0


def test_a_named_port_is_never_released(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(beside_a_connectx("bnxt_en"), monkeypatch).installed()
    bond(node.host)
    node.configure(devices="bond0 bond1").emit()
    node.emit("update_status")
    assert nic(node.writes) == []
    assert served(node) == (PF0, PF1, "0000:5e:00.0", "0000:5e:00.1")


def test_an_rdma_driver_that_is_loaded_late_releases_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    host = compute_node(cards=[card("3b", driver="bnxt_en"), card("5e", driver="ice")])
    bond(host)
    node = Node(host, monkeypatch).installed()
    assert node.emit().name == "active"
    host.cards[0].rdma = False
    node.emit("update_status")
    assert served(node) == (PF0, PF1, "0000:5e:00.0", "0000:5e:00.1")
    assert not [line for line in nic(node.writes) if line.startswith("set_")]
