# SPDX-License-Identifier: Apache-2.0
"""A unit's life: from a new node to a lossless one, idle hooks, reboots, mode changes, refresh, removal."""

import errno
from collections.abc import Callable

import pytest
import record
from boot import bootfile, files, main
from hostnic import exclusive
from hostnic.boot import bootcopy
from hostnic.netlink import dcb
from hostnic.netlink.dcb import App
from hostnic.ops import lldp
from lab.modelled import FakeBond, FakeHost, card, hca
from unit.roce_qos.node import P0, P1, PF0, PF1, Node, compute_node, nic

EVENTS = ("config_changed", "update_status", "start", "upgrade_charm")
DROP_IN = "/etc/systemd/network/10-netplan-{}.network.d/50-ovn-offload-lldp.conf"


def ports(host: FakeHost) -> list[tuple[object, ...]]:
    found = [host.port(name).dcb for name in (P0, P1)]
    return [(port.ets, port.pfc, sorted(port.apps), host.port(P0).pause) for port in found]


def test_the_first_hook_sets_everything_in_order(node: Node) -> None:
    assert node.emit("config_changed").name == "active"
    installs = [line for line in node.writes if line.startswith("install") and "handover" not in line]
    assert installs[:2] == [f"install {files.COPY.path}", f"install {files.COPY.stamp_path}"]
    assert nic(node.writes) == [
        f"set_dcb {P0} ets",
        f"set_dcb {P0} apps 64",
        f"set_pause {P0} off off",
        f"set_dcb {P1} ets",
        f"set_dcb {P1} apps 64",
        f"set_pause {P1} off off",
        f"set_dcb {P0} pfc 3",
        f"set_dcb {P1} pfc 3",
        "run ovs-vsctl set Open_vSwitch . external_ids:ovn-encap-tos=inherit",
        "mkdir /sys/kernel/config/rdma_cm/mlx5_bond_0",
        "write /sys/kernel/config/rdma_cm/mlx5_bond_0/ports/1/default_roce_tos 106",
    ]
    assert node.host.blackouts == 0
    (first, second) = (node.host.port(name).dcb for name in (P0, P1))
    assert first.pfc == second.pfc == (3,)
    assert first.ets.bandwidth == (50, 100, 100, 50, 100, 100, 100, 100)  # as mlx5 tells strict classes
    assert {app.priority for app in first.apps if 24 <= app.protocol < 32} == {3}
    assert App(dcb.DSCP, 48, 6) in first.apps


@pytest.mark.parametrize("event", EVENTS)
def test_an_idle_hook_writes_nothing_and_starts_no_process(converged: Node, event: str) -> None:
    before = ports(converged.host)
    assert converged.emit(event).name == "active"
    assert converged.writes == []
    assert converged.host.spawned == []
    assert ports(converged.host) == before


def test_settings_that_a_reboot_lost_are_restored_before_any_hook(converged: Node) -> None:
    before = ports(converged.host)
    assert converged.boot().name == "active"
    assert f"set_dcb {P1} pfc 3" in converged.boot_writes
    assert nic(converged.writes) == []
    assert ports(converged.host) == before
    assert converged.host.blackouts == 0


def test_the_boot_units_install_nothing(converged: Node) -> None:
    """They run from the archive that they would compare."""
    converged.host.files.remove("/usr/lib/ovn-offload/roce-qos/stamp")
    converged.boot()
    assert "install /usr/lib/ovn-offload/roce-qos/stamp" not in converged.boot_writes


def test_an_eswitch_mode_change_is_followed(converged: Node) -> None:
    before = ports(converged.host)
    for name in (P0, P1):
        converged.host.port(name).dcb.driver_restarts()
    assert converged.action("verify")["verified"] == "false"
    assert f"to do: set traffic classes and shares of {P0}; they are the vendor's own" in converged.findings()
    assert converged.emit("update_status").name == "active"
    assert nic(converged.writes) == [f"set_dcb {P0} ets", f"set_dcb {P1} ets"]
    assert ports(converged.host) == before


def test_an_rdma_device_that_was_added_again_gets_its_tos_again(converged: Node) -> None:
    converged.host.rdma.re_add("mlx5_bond_0")
    main.converge(converged.host, main.AGAIN_DEADLINE)
    assert [line for line in converged.host.trace if "roce" in line and "write" in line] == [
        "write /sys/kernel/config/rdma_cm/mlx5_bond_0/ports/1/default_roce_tos 106"
    ]


def test_a_refresh_with_other_code_touches_no_port(converged: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootcopy, "stamp", lambda copy: "0" * 64)
    assert converged.emit("upgrade_charm").name == "active"
    assert nic(converged.writes) == []
    assert f"install {files.COPY.stamp_path}" in converged.writes


def test_a_changed_option_writes_only_its_own_settings(converged: Node) -> None:
    assert converged.configure(ets="0:40 3:60 6:strict").emit().name == "active"
    assert nic(converged.writes) == [f"set_dcb {P0} ets", f"set_dcb {P1} ets"]
    flaps = dict(converged.host.network.flaps)
    assert converged.configure(cable_length=30).emit().name == "active"
    assert nic(converged.writes) == [f"set_dcb {P0} pfc 3", f"set_dcb {P1} pfc 3"]
    assert converged.host.network.flaps == flaps  # a cable length flaps no link


def test_demarteks_scheme(converged: Node) -> None:
    converged.configure(
        trust_state="pcp", roce_priority=5, pfc_priorities="5", ets="0:10 5:90", vlan_egress_map="2:5"
    )
    assert converged.emit().name == "active"
    port = converged.host.port(P0).dcb
    assert (port.pfc, port.apps) == ((5,), set())
    assert (port.ets.bandwidth[0], port.ets.bandwidth[5]) == (10, 90)
    assert "VLAN 2 has no kernel device on these ports" in converged.findings()
    assert converged.emit().name == "active"
    assert converged.writes == []


def test_a_kernel_vlan_gets_its_egress_map(converged: Node) -> None:
    from lab.modelled.tools import add_vlan

    add_vlan(converged.host.disk, "storage", 2, "bond0")
    add_vlan(converged.host.disk, "other", 2, "eno1")
    converged.configure(vlan_egress_map="2:5").emit()
    assert [line for line in converged.writes if line.startswith("run ip")] == [
        "run ip link set dev storage type vlan egress-qos-map " + " ".join(f"{n}:5" for n in range(8))
    ]
    assert converged.emit("update_status").name == "active"
    assert converged.writes == []


def test_networkd_stops_using_lldp_when_the_option_is_off(converged: Node) -> None:
    assert converged.host.disk.exists(DROP_IN.format(P0))
    assert converged.configure(lldp=False).emit().name == "active"
    assert not converged.host.disk.exists(DROP_IN.format(P0))
    assert nic(converged.writes) == []


@pytest.mark.parametrize(("others", "speaks"), [([], True), (["enp94s0f0np0"], False)])
def test_a_file_of_networkd_that_applies_to_other_ports_gets_no_lldp(
    monkeypatch: pytest.MonkeyPatch, others: list[str], speaks: bool
) -> None:
    """One that only applies to the ports of the bond does."""
    host = compute_node(cards=[card("3b"), card("5e")])
    for link in host.links.all():
        name = "20-roce" if link.name in (P0, P1, *others) else f"10-{link.name}"
        told = f"NETWORK_FILE=/etc/systemd/network/{name}.network\n".encode()
        host.disk.install(f"{lldp.LINKS}/{link.ifindex}", told, 0o644)
    assert Node(host, monkeypatch).deploy().name == "active"
    assert host.disk.exists("/etc/systemd/network/20-roce.network.d/50-ovn-offload-lldp.conf") is speaks


def test_removal_leaves_the_ports_and_takes_away_the_rest(converged: Node) -> None:
    before = ports(converged.host)
    status = converged.emit("stop")
    assert "lossless RoCE ends with the next boot" in status.message
    assert nic(converged.writes) == []
    assert ports(converged.host) == before
    left = [path for path in converged.host.disk.content if "roce-qos" in path or "ovn-offload-lldp" in path]
    assert left == []
    converged.host.reboot()
    assert converged.host.port(P0).dcb.pfc == ()


def test_removal_takes_away_the_drop_in_of_a_port_that_is_gone(converged: Node) -> None:
    converged.host.port(P1).gone = True
    converged.emit("stop")
    assert not [path for path in converged.host.disk.content if "ovn-offload-lldp" in path]


def test_a_removal_is_complete_where_juju_has_closed_the_session(
    converged: Node, close_session: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    close_session()
    converged.host.fail("remove", "/etc/udev/rules.d", OSError(errno.EROFS, "Read-only file system"))
    with pytest.raises(SystemExit) as ended:
        converged.emit("stop")
    assert ended.value.code == 0
    assert not [path for path in converged.host.disk.content if "dispatch" in path]
    said = capsys.readouterr().err
    assert "Read-only file system" in said
    assert "lossless RoCE ends with the next boot" in said


def test_a_wake_up_service_that_gave_up_shows_in_status_and_verify(converged: Node) -> None:
    converged.host.disk.install("/run/ovn-offload/roce-qos.dispatch-failed", b"ERROR no socket\n", 0o600)
    said = "the service that wakes this unit: gave up after 20 attempts: ERROR no socket"
    converged.emit("update_status")
    assert said in converged.log
    assert "gave up after 20 attempts: ERROR no socket" in converged.findings()


# Boot.


def test_boot_without_a_desired_state_does_nothing(host: FakeHost) -> None:
    assert main.converge(host, 1.0) == ()
    assert host.trace == []


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"version": 9}', '{"version": 1}', '{"version": 1, "ports": 3}']
)
def test_boot_reports_a_damaged_desired_state(host: FakeHost, text: str) -> None:
    host.disk.install(bootfile.PATH, text.encode(), 0o600)
    (problem,) = main.converge(host, 1.0)
    assert problem.startswith(bootfile.PATH)
    assert nic(host.trace) == []


def test_boot_waits_for_the_bond(converged: Node) -> None:
    host = converged.host
    host.power_on()
    host.network.flap(P0, host.now(), 20)
    host.network.flap(P1, host.now(), 30)
    assert main.converge(host, main.DEADLINE) == ()
    assert host.port(P0).dcb.pfc == host.port(P1).dcb.pfc == (3,)


def test_boot_with_one_port_down_sets_all_that_does_not_cut_the_network(converged: Node) -> None:
    host = converged.host
    host.power_on()
    host.network.unplugged.add(P1)
    (problem,) = main.converge(host, main.DEADLINE)
    assert problem.startswith(f"held: set lossless priorities of {P0} to 3: no other port of bond0 carries")
    assert host.port(P1).dcb.pfc == (3,)
    assert host.port(P0).dcb.pfc == ()
    assert converged.emit("start").name == "blocked"
    host.network.unplugged.clear()
    host.sleep(5)
    assert converged.emit("update_status").name == "active"
    assert host.blackouts == 0


class Busy(FakeHost):
    """The lock's program -1 ends as soon as time passes, and a port has just lost its settings then."""

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if self.locks.get(exclusive.PATH) == -1:
            self.port(P0).dcb.power_on()
            del self.locks[exclusive.PATH]


def test_a_boot_unit_that_had_to_wait_looks_at_the_host_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    host = compute_node(kind=Busy)
    Node(host, monkeypatch).deploy()
    host.sleep(60)
    host.locks[exclusive.PATH] = -1
    assert main.converge(host, main.DEADLINE) == ()
    assert host.port(P0).dcb.pfc == (3,)


def test_trouble_at_boot_is_reported_until_it_is_fixed(converged: Node) -> None:
    converged.host.fail("set_dcb", f"{P1} ets", OSError(errno.EIO, "ETS: Input/output error"))
    converged.host.reboot()
    assert "ETS: Input/output error" in converged.findings()
    assert converged.emit("start").name == "active"
    assert "Input/output" not in converged.findings()


def test_while_a_boot_unit_is_at_work_a_hook_waits(converged: Node) -> None:
    converged.host.port(P0).dcb.driver_restarts()
    record.write(converged.host, running=True)
    status = converged.emit("update_status")
    assert (status.name, "a boot unit is at work" in status.message) == ("waiting", True)
    assert nic(converged.writes) == []
    assert converged.wakes_in_a_minute
    converged.host.sleep(record.BOOT_TIMEOUT_S)
    assert converged.emit("update_status").name == "active"


@pytest.mark.parametrize("arguments", [[], ["later"], ["boot", "again"]])
def test_other_arguments_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(arguments) == 5
    assert "usage: boot.pyz boot|again" in capsys.readouterr().err


def test_units_come_after_those_of_sriov_switchdev_and_the_rule_starts_the_second() -> None:
    assert "After=network.target ovn-offload-sriov-early.service ovn-offload-sriov-bind" in files.BOOT_UNIT
    assert f"After={files.BOOT}" in files.AGAIN_UNIT


def test_the_rule_names_every_port(converged: Node) -> None:
    rule = converged.host.disk.read(files.RULE)
    for bdf in (PF0, PF1):
        own = f'ACTION=="add|move", KERNELS=="{bdf}", TEST=="{record.SERVED}"'
        assert f'SUBSYSTEM=="infiniband", {own}, TAG+="systemd"' in rule
        assert f'SUBSYSTEM=="net", {own}' in rule
    assert rule.count(files.AGAIN) == 4


def test_what_is_added_before_the_boot_unit_begins_is_left_to_it(converged: Node) -> None:
    assert converged.host.files.exists(record.SERVED)
    converged.host.files.remove(record.SERVED)  # as a reboot does
    main.converge(converged.host, main.DEADLINE)
    assert converged.host.files.exists(record.SERVED)
    assert converged.emit("start").name == "active"
    assert converged.writes == []


def test_a_named_infiniband_port_is_called_so(node: Node) -> None:
    node.host.cards.append(hca(lids=[26, 27]))
    node.deploy(devices="bond0 ibp92s0f0")
    assert "ibp92s0f0  the port is InfiniBand, which has no data centre bridging" in node.findings()
    assert "driver mlx5_core has no data" not in node.findings()


def test_auto_passes_over_infiniband_ports_and_the_ethernet_bond_converges(node: Node) -> None:
    node.host.cards.append(hca(lids=[26, 27]))
    members = ["ibp92s0f0", "ibp92s0f1"]
    node.host.network.bonds["bond9"] = FakeBond("bond9", "active-backup", members=members)
    assert node.emit("config_changed").name == "active"
    assert not [line for line in node.writes if "ibp92s0" in line or "0000:5c" in line]
    assert node.findings().count("auto leaves InfiniBand ports alone: ibp92s0f0, ibp92s0f1") == 1
