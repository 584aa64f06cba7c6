# SPDX-License-Identifier: Apache-2.0
"""At boot another card at the PCI address of a declared port is left alone; the next hook looks at it."""

import json

import pytest
from boot import bootfile
from lab.modelled import card
from unit.roce_qos.node import PF0, PF1, Node, compute_node, nic

NEW = ("b8:3f:d2:00:00:00", "b8:3f:d2:00:00:01")


@pytest.fixture
def converged(monkeypatch: pytest.MonkeyPatch) -> Node:
    """A node whose next boot has its ports lossless."""
    node = Node(compute_node(), monkeypatch)
    node.deploy()
    return node


def macs(node: Node) -> tuple[str, ...]:
    return tuple(port.mac for port in node.host.network.ports())


def test_the_boot_file_has_the_ports_permanent_macs(converged: Node) -> None:
    kept = bootfile.from_json(converged.host.files.read(bootfile.PATH))
    assert kept.macs == tuple(zip((PF0, PF1), macs(converged), strict=True))


def test_boot_leaves_another_card_alone_and_the_next_hook_configures_what_the_options_select(
    converged: Node,
) -> None:
    converged.boot()
    assert nic(converged.boot_writes), "a boot has settings to restore"
    for port, mac in zip(converged.host.network.ports(), NEW, strict=True):
        port.mac = mac
    converged.boot()
    assert nic(converged.boot_writes) == []
    assert nic(converged.writes), "the hook has not configured the bond's new ports"
    kept = bootfile.from_json(converged.host.files.read(bootfile.PATH))
    assert kept.macs == tuple(zip((PF0, PF1), NEW, strict=True))
    converged.boot()
    assert nic(converged.boot_writes)
    converged.emit("update_status")
    assert converged.writes == []


def test_boot_says_which_card_it_left_alone(converged: Node) -> None:
    converged.boot()
    old = converged.host.port(PF0).mac
    converged.host.port(PF0).mac = NEW[0]
    converged.host.trace.clear()
    converged.host.reboot()
    record = json.loads(converged.host.files.read("/run/ovn-offload/roce-qos/boot.json"))
    assert record["problems"] == [
        f"{PF0}: another card is at this address (MAC {NEW[0]}, not {old}), and is left alone; "
        "the next hook of the charm configures it if option devices selects it"
    ]
    written = nic(converged.host.trace)
    assert any("enp59s0f1np1" in line for line in written), "the other port was not served"
    assert not any("enp59s0f0np0" in line for line in written)


def test_another_card_outside_the_bond_is_not_managed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = compute_node()
    host.cards.append(card("af"))
    node = Node(host, monkeypatch)
    node.deploy()
    first, second = host.cards
    for one, two in zip(first.ports, second.ports, strict=True):
        one.mac, two.mac = two.mac, one.mac
        one.netdev, two.netdev = two.netdev, one.netdev
    node.emit("update_status")
    kept = bootfile.from_json(node.host.files.read(bootfile.PATH))
    assert kept.ports == tuple(port.bdf for port in second.ports)
    assert "has left its bond" not in node.findings()


def test_boot_serves_every_port_whose_mac_is_not_known(converged: Node) -> None:
    content = json.loads(converged.host.files.read(bootfile.PATH))
    content["macs"] = []
    converged.host.disk.install(bootfile.PATH, json.dumps(content).encode(), 0o600)
    for port, mac in zip(converged.host.network.ports(), NEW, strict=True):
        port.mac = mac
    converged.boot()
    assert nic(converged.boot_writes)
