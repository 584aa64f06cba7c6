# SPDX-License-Identifier: Apache-2.0
"""Changes that take a link down roll over a bond; whatever fails, the node answers and the rest stops."""

import errno
import json

import pytest
from boot import bootfile, files, main
from exporter import facts
from hostnic.netlink.dcb import App
from hostnic.testing import FakeHost, card
from unit.roce_qos.node import P0, P1, PF0, PF1, Node, compute_node, nic

REFUSED = OSError(errno.EIO, "PFC: Input/output error")


def pfc(host: FakeHost) -> list[tuple[int, ...]]:
    return [host.port(name).dcb.pfc for name in (P0, P1)]


def test_each_member_carries_traffic_again_before_the_next_one_is_changed(node: Node) -> None:
    seen: list[tuple[str, bool]] = []
    change = node.host.dcb.set

    def watched(link: str, wanted: object) -> None:
        if getattr(wanted, "pfc", None) is not None:
            others = [name for name in (P0, P1) if name != link]
            now = node.host.now()
            seen.append((link, node.host.network.has_carrier(others[0], now)))
        change(link, wanted)

    node.host.dcb.set = watched
    assert node.emit().name == "active"
    assert seen == [(P0, True), (P1, True)]
    assert node.host.blackouts == 0


def test_a_member_that_does_not_come_back_stops_the_roll(node: Node) -> None:
    """LACP does not take the port back: the second port keeps its link, and carries on."""
    flap = node.host.network.flap

    def for_good(name: str, now: float, time: float = 0.5) -> None:
        flap(name, now, time)
        node.host.network.unplugged.add(name)

    node.host.network.flap = for_good
    status = node.emit()
    assert status.name == "blocked"
    assert f"{P0} does not carry traffic in bond0 within 45 s" in node.log
    assert pfc(node.host) == [(3,), ()]
    assert node.host.blackouts == 0
    # The next hook leaves the last port alone, and says what it waits for.
    node.host.network.flap = flap
    assert node.emit("update_status").name == "blocked"
    assert pfc(node.host) == [(3,), ()]
    assert f"bring up {P0}" in node.findings()
    node.host.network.unplugged.clear()
    node.host.sleep(5)
    assert node.emit("update_status").name == "active"
    assert pfc(node.host) == [(3,), (3,)]


@pytest.mark.parametrize(
    ("verb", "target"),
    [
        ("set_dcb", f"{P0} ets"),
        ("set_dcb", f"{P0} apps"),
        ("set_pause", P0),
        ("set_dcb", f"{P1} ets"),
        ("set_dcb", f"{P0} pfc"),
        ("set_dcb", f"{P1} pfc"),
        ("mkdir", "rdma_cm"),
        ("write", "default_roce_tos"),
        ("run", "ovs-vsctl set"),
        ("install", "/etc/ovn-offload/roce-qos.json"),
    ],
)
def test_a_fault_at_any_write_is_reported_and_the_next_hook_finishes(
    node: Node, verb: str, target: str
) -> None:
    node.host.fail(verb, target, REFUSED)
    status = node.emit()
    assert status.name == "blocked"
    assert "Input/output error" in node.log
    assert node.host.reachable
    assert "Traceback" not in node.log
    node.host.sleep(60)
    assert node.emit("update_status").name == "active"
    assert node.host.blackouts == 0
    node.emit("update_status")
    assert node.writes == []


def test_with_one_port_down_pfc_is_held_and_the_rest_runs(node: Node) -> None:
    node.host.network.unplugged.add(P1)
    status = node.emit()
    assert status.name == "blocked"
    assert pfc(node.host) == [(), (3,)]
    assert f"held: {PF0}/pfc" in node.log
    assert "no other port of bond0 carries traffic" in node.log
    assert node.host.port(P0).dcb.ets.bandwidth[3] == 50
    plan = node.action("plan")["plan"]
    assert f"bring up {P1}" in plan
    node.host.network.unplugged.clear()
    node.host.sleep(5)
    assert node.emit("update_status").name == "active"


def test_a_port_outside_any_bond_is_set_when_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node(bonded=False), monkeypatch)
    assert node.configure(devices=P0).emit().name == "active"
    assert pfc(node.host) == [(3,), ()]


def test_ports_outside_any_bond_never_lose_their_links_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that routes over both of its ports, or bonds them in Open vSwitch, keeps one of them."""
    node = Node(compute_node(bonded=False), monkeypatch)
    assert node.configure(devices=f"{P0} {P1}").emit().name == "active"
    assert pfc(node.host) == [(3,), (3,)]
    (_, back), (down, _) = (node.host.network.flaps[name] for name in (P0, P1))
    assert back < down


def test_a_port_outside_any_bond_whose_link_does_not_come_back_stops_the_roll(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = Node(compute_node(bonded=False), monkeypatch)
    flap = node.host.network.flap

    def for_good(name: str, now: float, time: float = 0.5) -> None:
        flap(name, now, time)
        node.host.network.unplugged.add(name)

    node.host.network.flap = for_good
    assert node.configure(devices=f"{P0} {P1}").emit().name == "blocked"
    assert f"{P0} does not have its link back within 45 s" in node.log
    assert pfc(node.host) == [(3,), ()]


def test_a_port_outside_any_bond_that_has_no_link_is_set_without_a_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = Node(compute_node(bonded=False), monkeypatch)
    node.host.network.unplugged.add(P0)
    assert node.configure(devices=f"{P0} {P1}").emit().name == "active"
    assert pfc(node.host) == [(3,), (3,)]


def test_steps_of_a_bond_need_each_other(node: Node) -> None:
    import json

    plan = json.loads(node.action("plan", format="json")["plan"])
    keys = [step["key"] for step in plan["steps"]]
    order = [f"{PF0}/pfc", f"{PF0}/member", f"{PF1}/pfc", f"{PF1}/member"]
    assert [key for key in keys if key in order] == order
    flaps = {step["key"] for step in plan["steps"] if step["disruption"] == "link-flap"}
    assert flaps == {f"{PF0}/pfc", f"{PF1}/pfc"}


# Who else has data centre bridging in hand.


def test_lldpad_is_named_and_stopped_only_where_allowed(node: Node) -> None:
    node.host.disk.install("/run/lldpad.pid", b"812\n", 0o644)
    status = node.emit()
    assert status.name == "blocked"
    assert "lldpad" in status.message
    assert nic(node.writes) == []
    node.host.answers["systemctl", "disable", "--now"] = ""
    node.configure(dcbx_takeover=True).emit()
    assert "run systemctl disable --now lldpad.service lldpad.socket" in node.writes
    node.host.disk.remove("/run/lldpad.pid")
    assert node.emit().name == "active"


def test_dcbx_under_the_firmwares_control_is_named_and_taken_over_only_where_allowed(node: Node) -> None:
    for name in (P0, P1):
        node.host.port(name).dcb.dcbx = 0x0C
    status = node.emit()
    assert status.name == "blocked"
    assert "DCBX mode cee ieee" in status.message
    assert nic(node.writes) == []
    node.configure(dcbx_takeover=True)
    assert "its mode is cee ieee" in node.action("plan", format="json")["plan"]
    assert node.emit().name == "active"
    assert node.host.port(P0).dcb.dcbx == 0x0D
    assert nic(node.writes)[0] == f"set_dcbx {P0} host cee ieee"


def test_a_firmware_that_keeps_dcbx_is_reported(node: Node) -> None:
    node.host.port(P0).dcb.dcbx = 0x0C
    node.host.port(P0).dcb.firmware_agent = True
    status = node.configure(dcbx_takeover=True).emit()
    assert status.name == "blocked"
    assert "the firmware keeps DCBX" in node.log
    assert "switch off LLDP and DCBX in the NIC's firmware" in node.log


@pytest.mark.parametrize(("driver", "flag"), [("i40e", "disable-fw-lldp on"), ("ice", "fw-lldp-agent off")])
def test_an_agent_that_hands_nothing_over_is_named_with_its_own_switch(
    monkeypatch: pytest.MonkeyPatch, driver: str, flag: str
) -> None:
    node = Node(compute_node(driver), monkeypatch)
    for name in (P0, P1):
        node.host.port(name).dcb.firmware_agent = True
        node.host.port(name).dcb.driver_restarts()
    node.emit()
    assert f"ethtool --set-priv-flags {P0} {flag}" in node.findings()
    assert "dcbx-takeover" not in node.findings()
    node.configure(dcbx_takeover=True).emit()
    assert f"ethtool --set-priv-flags {P0} {flag}" in node.log
    assert "nic-firmware" not in node.log


def test_a_driver_in_another_version_of_dcbx_is_named_before_any_write(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """ixgbe starts in CEE's version, in which it refuses these settings; no firmware is involved."""
    node = Node(compute_node("ixgbe"), monkeypatch)
    assert "its driver takes no settings in DCBX mode host cee" in node.emit().message
    assert nic(node.writes) == []
    assert node.configure(dcbx_takeover=True).emit().name == "active"


# Other drivers.


@pytest.mark.parametrize("driver", ["bnxt_en", "qede", "ice"])
def test_every_driver_converges_and_its_limit_is_reported(
    driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(compute_node(driver), monkeypatch)
    assert node.emit().name == "active", node.log
    assert pfc(node.host) == [(3,), (3,)]
    apps = node.host.port(P0).dcb.apps
    if driver == "qede":
        assert apps == {App(1, 0x8915, 3), App(3, 4791, 3)}
        assert "qede maps no DSCP" in node.findings()
    else:
        assert App(5, 26, 3) in apps
    if driver == "bnxt_en":
        assert App(3, 4791, 3) in apps
        assert "bnxt_en takes settings only while" in node.findings()
    assert node.emit("update_status").name == "active"
    assert node.writes == []
    assert node.host.blackouts == 0


def test_a_cable_length_that_one_card_cannot_have_stops_no_other_card(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Broadcom's ports come first, and had failed before those of the ConnectX were set."""
    host = compute_node(cards=[card("3b", driver="bnxt_en"), card("5e")])
    node = Node(host, monkeypatch)
    status = node.configure(cable_length=5, devices=f"{P0} {P1} enp94s0f0np0").emit()
    assert status.name == "active", node.log
    assert host.port("enp94s0f0np0").dcb.cable == 5
    assert f"5 m is not set on {P0}, {P1}" in node.findings()


def test_the_firmware_agent_of_bnxt_blocks_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node("bnxt_en"), monkeypatch)
    for name in (P0, P1):
        port = node.host.port(name).dcb
        port.firmware_agent = True
        port.driver_restarts()
    status = node.emit()
    assert status.name == "blocked"
    assert "DCBX mode firmware ieee" in status.message
    assert nic(node.writes) == []


def test_a_port_whose_driver_keeps_no_setting_is_reported(node: Node) -> None:
    node.host.port(P1).dcb.deaf.add("ets")
    assert node.emit().name == "blocked"
    assert f"ETS of {P1} reads back differently" in node.log
    assert pfc(node.host) == [(), ()]


def test_a_refusal_of_a_driver_is_reported_with_the_name_of_the_setting(node: Node) -> None:
    node.host.port(P0).dcb.refuses = True
    assert node.emit().name == "blocked"
    assert f"the driver of {P0} refused: ETS: Invalid argument" in node.log


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
    command = f"run: juju config {application} devices=PORTS, or bond the ports in MAAS; "
    assert status.message.startswith(command)
    assert "no port with data centre bridging is in a kernel bond" in status.message


# Ports that were served, and are not as they were.


@pytest.mark.parametrize("devices", ["auto", f"{PF0} {PF1}", f"{P0} {P1}", "bond0"])
def test_a_managed_port_that_is_gone_blocks_and_the_other_is_still_managed(
    converged: Node, devices: str
) -> None:
    converged.configure(devices=devices).emit()
    converged.host.port(P1).gone = True
    converged.host.port(P0).dcb.driver_restarts()
    status = converged.emit("update_status")
    assert (status.name, f"{PF1}: the port is gone" in status.message) == ("blocked", True)
    assert nic(converged.writes) == [f"set_dcb {P0} ets"]
    assert "name the remaining ports in option devices" in converged.findings()
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
    assert f"{P1}: has left its bond, but is still managed" in status.message
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
    assert f"{P1}: driver mlx5_core has no data centre bridging any more" in status.message
    assert served(converged.host) == [PF0, PF1]
