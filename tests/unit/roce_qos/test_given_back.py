# SPDX-License-Identifier: Apache-2.0
"""The other settings of a released port that it gets back: DCBX mode, RDMA's defaults, VLANs' egress maps."""

import json
from collections.abc import Callable

import pytest
from boot import bootfile, main
from hostnic.devices import rdma, vlan
from hostnic.devices.rdma import MODES, Defaults
from hostnic.netlink import dcb
from hostnic.netlink.dcb import App
from hostnic.ops.marking import SetEgressMap, SetRoceDefaults
from lab.modelled import FakeHost, card
from lab.modelled.nic.dcb import BLANK_ETS
from lab.modelled.tools import add_vlan
from unit.roce_qos.node import P0, P1, Node, compute_node, nic
from unit.roce_qos.test_auto import OTHER, RECORD, bond

THEIRS = Defaults(MODES["v1"], 24)
MAP = (0, 1, 2, 3, 4, 5, 6, 7)


def with_own_marks(host: FakeHost) -> None:
    """Make the operator's settings from before the charm came."""
    for port in rdma.ports(host):
        SetRoceDefaults(port, THEIRS).run(host)
    SetEgressMap("storage", MAP).run(host)


def taken(
    monkeypatch: pytest.MonkeyPatch, driver: str, prepare: Callable[[FakeHost], None] = lambda _: None
) -> Node:
    """A unit whose `auto` has taken a management bond while the ConnectX was in none."""
    host = compute_node(cards=[card("3b", driver=driver), card("5e")])
    connectx = host.cards.pop()
    add_vlan(host.disk, "storage", 2, "bond0")
    add_vlan(host.disk, "other", 2, "eno1")
    prepare(host)
    node = Node(host, monkeypatch).installed()
    node.configure(devices="bond0", dcbx_takeover=True, vlan_egress_map="2:5")
    assert node.emit().name == "active", node.log
    content = json.loads(host.files.read(bootfile.PATH))
    host.disk.install(bootfile.PATH, json.dumps({**content, "devices": "auto"}).encode(), 0o644)
    node.configure(devices="auto")
    host.cards.append(connectx)
    return node


def released(node: Node) -> Node:
    """The same once the ConnectX is bonded."""
    bond(node.host)
    assert node.emit().name == "active", node.log
    node.emit("update_status")
    assert nic(node.writes) == []
    assert not json.loads(node.host.files.read(RECORD))
    return node


def defaults(node: Node) -> set[Defaults | None]:
    """Those of the released ports' devices."""
    ports = rdma.ports(node.host)
    return {rdma.defaults(node.host, port) for port in ports if (port.pci or "").startswith("0000:3b")}


def test_what_an_operator_had_set_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    node = taken(monkeypatch, "bnxt_en", with_own_marks)
    assert defaults(node) == {Defaults(MODES["v2"], 106)}
    assert vlan.egress(node.host, "storage") == (5,) * 8
    released(node)
    assert defaults(node) == {THEIRS}
    assert vlan.egress(node.host, "storage") == MAP


def test_what_nobody_had_set_goes_back_to_the_kernels_own(monkeypatch: pytest.MonkeyPatch) -> None:
    node = released(taken(monkeypatch, "bnxt_en"))
    assert defaults(node) == {Defaults(MODES["v2"], 0)}
    assert vlan.egress(node.host, "storage") == (0,) * 8
    assert vlan.egress(node.host, "other") == (0,) * 8


def test_what_others_have_set_since_then_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    node = taken(monkeypatch, "bnxt_en", with_own_marks)
    for port in rdma.ports(node.host):
        SetRoceDefaults(port, Defaults(MODES["v2"], 48)).run(node.host)
    SetEgressMap("storage", 3).run(node.host)
    released(node)
    assert defaults(node) == {Defaults(MODES["v2"], 48)}
    assert vlan.egress(node.host, "storage") == (3,) * 8


def test_the_ports_that_are_kept_keep_their_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    node = taken(monkeypatch, "bnxt_en")
    add_vlan(node.host.disk, "rail", 2, "bond1")
    released(node)
    assert vlan.egress(node.host, "rail") == (5,) * 8
    assert [node.host.port(name).dcb.pfc for name in OTHER] == [(3,), (3,)]


def test_a_mode_of_dcbx_that_was_the_hosts_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    node = taken(monkeypatch, "ixgbe")
    assert node.host.port(P0).dcb.dcbx == dcb.HOST | dcb.IEEE
    released(node)
    assert [node.host.port(name).dcb.dcbx for name in (P0, P1)] == [dcb.HOST | dcb.CEE] * 2
    assert node.host.blackouts == 0


@pytest.mark.parametrize("added", [P0, P1])
def test_a_record_that_begins_after_the_charm_has_set_the_ports_has_none_of_its_values(
    monkeypatch: pytest.MonkeyPatch, added: str
) -> None:
    """A refresh of 1.0.0, which kept no record, and then a device that is added anew: the unit begins it."""
    node = taken(monkeypatch, "bnxt_en", with_own_marks)
    node.host.disk.remove(RECORD)
    found = node.host.port(added).dcb
    found.ets, found.pfc, found.apps = BLANK_ETS, (), set[App]()
    assert main.converge(node.host, main.AGAIN_DEADLINE) == ()
    released(node)
    for name in (P0, P1):
        found = node.host.port(name).dcb
        assert (found.ets, found.pfc, set(found.apps)) == (BLANK_ETS, (), set())
    assert defaults(node) == {Defaults(MODES["v2"], 0)}
    assert vlan.egress(node.host, "storage") == (0,) * 8


def test_a_record_that_begins_at_boot_has_what_is_there_although_it_is_as_declared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = taken(monkeypatch, "bnxt_en")
    node.boot()
    node.host.disk.remove(RECORD)
    node.host.disk.remove("/run/ovn-offload/roce-qos/served")
    node.host.port(P0).dcb.pfc = ()  # the NIC's own tool has set all the rest before the network
    assert main.converge(node.host, main.DEADLINE) == ()
    kept = json.loads(node.host.files.read(RECORD))
    assert [each["pfc"] for each in kept.values()] == [[], [3]]
