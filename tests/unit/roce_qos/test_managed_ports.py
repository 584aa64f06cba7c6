# SPDX-License-Identifier: Apache-2.0
"""Which ports are managed, and ports that were and are not as they were."""

import errno
import json

import pytest
from boot import bootfile, files, main
from exporter import facts
from lab.modelled import FakeHost
from unit.roce_qos.node import P0, P1, PF0, PF1, Node, compute_node, nic, pfc

# Selection.


def test_ports_without_data_centre_bridging_are_ignored_or_named(node: Node) -> None:
    node.host.port(P1).dcb.no_ops = True
    assert node.emit().name == "active"
    assert node.host.port(P0).dcb.pfc == (3,)
    status = node.configure(devices="bond0").emit()
    assert status.name == "blocked"
    assert f"{P1}: driver mlx5_core has no data centre bridging" in status.message


def test_ports_in_a_bond_without_data_centre_bridging_are_not_told_to_be_bonded(node: Node) -> None:
    """mlx5 of a kernel that was built without MLX5_CORE_EN_DCB."""
    for name in (P0, P1):
        node.host.port(name).dcb.no_ops = True
    assert node.emit().name == "blocked"
    assert f"the driver of {P0} and {P1} in a kernel bond has no data centre bridging" in node.log
    assert "in MAAS" not in node.log
    assert nic(node.writes) == []


@pytest.mark.parametrize("devices", ["eno1", "0000:af:00.0", "bond7"])
def test_names_that_match_no_device_block(node: Node, devices: str) -> None:
    status = node.configure(devices=devices).emit()
    assert status.name == "blocked"
    assert "matches no device on this host" in status.message
    assert nic(node.writes) == []


def test_some_absent_names_are_ignored(node: Node) -> None:
    assert node.configure(devices=f"{PF0} enp175s0f0np0").emit().name == "active"
    assert pfc(node.host) == [(3,), ()]
    assert "not on this host: enp175s0f0np0" in node.findings()


@pytest.mark.parametrize("application", ["roce-qos", "qos-rack2"])
def test_auto_without_a_bond_blocks(monkeypatch: pytest.MonkeyPatch, application: str) -> None:
    node = Node(compute_node(bonded=False), monkeypatch).deployed_as(application)
    status = node.emit()
    assert status.name == "blocked"
    command = f"run: juju config {application} devices=PORTS; "
    assert status.message.startswith(command)
    assert "no port with DCB is bonded" in status.message


# Ports that were served, and are not as they were.


@pytest.mark.parametrize("devices", ["auto", f"{PF0} {PF1}", f"{P0} {P1}", "bond0"])
@pytest.mark.parametrize(("attribute", "value"), [("gone", True), ("driver", "vfio-pci")])
def test_a_managed_port_that_is_gone_blocks_and_the_other_is_still_managed(
    converged: Node, devices: str, attribute: str, value: bool | str
) -> None:
    converged.configure(devices=devices).emit()
    setattr(converged.host.port(P1), attribute, value)
    converged.host.port(P0).dcb.driver_restarts()
    status = converged.emit("update_status")
    assert (status.name, f"{PF1}: the port has no netdev" in status.message) == ("blocked", True)
    assert nic(converged.writes) == [f"set_dcb {P0} ets"]
    assert "lspci -k for the driver that has it; if the NIC was removed, name the rem" in converged.findings()
    assert served(converged.host) == [PF0, PF1]
    converged.emit("update_status")
    assert converged.writes == []


def test_the_exporter_goes_on_with_a_port_that_is_gone_as_one_that_was_in_use(converged: Node) -> None:
    """Otherwise the next hook would end OffloadPortGone before it fires."""
    before = told(converged)
    converged.host.port(P1).gone = True
    converged.emit("update_status")
    converged.emit("update_status")
    assert told(converged) == before == {PF0: (P0, "bond0", True), PF1: (P1, "bond0", True)}


def told(node: Node) -> dict[str, tuple[str, str, bool]]:
    """Netdev, bond and use of each port, as the exporter is told of them."""
    found = facts.read(node.host, "roce-qos")
    return {port.bdf: (port.netdev, port.bond, port.used) for port in found.ports} if found else {}


def served(host: FakeHost) -> list[str]:
    """The ports in the state on disk, all of which udev's rule has, too."""
    ports = json.loads(host.disk.read(bootfile.PATH))["ports"]
    assert all(host.disk.read(files.RULE).count(f'KERNELS=="{bdf}"') == 2 for bdf in ports)
    return ports


def test_a_port_that_comes_back_is_set_before_any_hook(converged: Node) -> None:
    port = converged.host.port(P1)
    port.gone = True
    converged.emit("update_status")
    port.gone = False
    port.boot()
    assert main.converge(converged.host, main.AGAIN_DEADLINE) == ()  # as udev's rule has it
    assert pfc(converged.host) == [(3,), (3,)]
    assert converged.emit("update_status").name == "active"


@pytest.mark.parametrize("devices", ["bond0", PF0, f"{P0} enp175s0f0np0"])
def test_a_port_is_forgotten_when_devices_names_the_others(converged: Node, devices: str) -> None:
    converged.host.port(P1).gone = True
    assert converged.emit("update_status").name == "blocked"
    assert converged.configure(devices=devices).emit().name == "active"
    assert served(converged.host) == [PF0]


def test_a_port_that_is_taken_out_of_devices_is_left_as_it_is(converged: Node) -> None:
    converged.configure(devices=f"{PF0} {PF1}").emit()
    assert converged.configure(devices=PF0).emit().name == "active"
    assert served(converged.host) == [PF0]
    assert nic(converged.writes) == []


def test_a_port_that_cannot_be_read_once_stays_managed(converged: Node) -> None:
    converged.host.fail("dcb", P1, OSError(errno.ENODEV, "No such device"))
    status = converged.emit("update_status")
    assert status.name == "active"
    assert f"{PF1}: cannot be read: No such device" in status.message
    assert nic(converged.writes) == []
    assert served(converged.host) == [PF0, PF1]
    assert converged.emit("update_status").message == ""


@pytest.mark.parametrize("devices", ["auto", "bond0"])
def test_a_port_that_left_its_bond_is_still_managed(converged: Node, devices: str) -> None:
    converged.configure(devices=devices).emit()
    converged.host.network.set_master(P1, None, converged.host.now())
    converged.host.port(P1).dcb.power_on()
    status = converged.emit("update_status")
    assert status.name == "active"
    assert f"{P1}: has left its bond, but is still managed" in converged.log
    assert pfc(converged.host) == [(3,), (3,)]
    assert served(converged.host) == [PF0, PF1]


def test_a_bond_that_is_gone_as_a_whole_is_reported_port_by_port(converged: Node) -> None:
    for name in (P0, P1):
        converged.host.network.set_master(name, None, converged.host.now())
    status = converged.emit("update_status")
    assert status.name == "active"
    assert converged.findings().count("has left its bond") == 2


def test_a_port_whose_driver_lost_data_centre_bridging_is_named(converged: Node) -> None:
    converged.host.port(P1).dcb.no_ops = True
    status = converged.emit("update_status")
    assert status.name == "active"
    assert f"{P1}: driver mlx5_core has no data centre bridging any more" in converged.log
    assert served(converged.host) == [PF0, PF1]
