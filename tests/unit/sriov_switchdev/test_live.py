# SPDX-License-Identifier: Apache-2.0
"""Live changes: a fault at any write leaves the node reachable, and the next reconcile finishes the work."""

import errno
import json
from collections.abc import Callable
from dataclasses import replace

import desired
import live
import pytest
import record
from boot import files, main
from converge.execute import execute
from hostnic.system import CommandError
from hostnic.testing import FakeHost, card
from hostnic.testing.states import free
from unit.sriov_switchdev.node import Node, compute_node, declare_bond, nic

PF0, PF1 = "0000:3b:00.0", "0000:3b:00.1"
PORT0, PORT1 = "enp59s0f0np0", "enp59s0f1np1"
REFUSED = OSError(errno.EIO, "Input/output error")
FAILED = CommandError(["a-command"], "a-command failed (1): Input/output error", 1)
SILENCE = CommandError(["ping"], "ping failed (1): 100% packet loss", 1)


def small_node(monkeypatch: pytest.MonkeyPatch) -> Node:
    host = compute_node(cards=[card(total_vfs=2)])
    declare_bond(host)
    return Node(host, monkeypatch).configure(num_vfs=2, allow_live=True)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Node:
    return small_node(monkeypatch)


def writes_of_a_live_change() -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        node = small_node(patch)
        node.set_up()
        return node.writes


STANDS = {
    "nothing": lambda host: None,
    "an address": lambda host: host.network.addresses.update({PORT0: ["10.0.0.7"]}),
    "a VLAN": lambda host: host.network.uppers.update({"storage": PORT0}),
    "a route": lambda host: host.disk.install(
        "/proc/net/ipv6_route", f"{'0' * 32} 00 {'0' * 32} 00 {'0' * 32} 1 1 0 3 {PORT0}\n".encode(), 0o444
    ),
}


@pytest.mark.parametrize("what", STANDS)
def test_a_port_outside_a_bond_waits_for_the_reboot_only_with_the_hosts_network_on_it(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    host: FakeHost = free(compute_node(cards=[card(total_vfs=2)]))
    STANDS[what](host)
    node = Node(host, monkeypatch).configure(devices=f"{PORT0}:2", vf_lag="disabled")
    status = node.set_up()
    if what == "nothing":
        assert status.name == "active"
    else:
        assert "would cut this host's network now; run approve-reboot, or set allow-live=true" in node.log
        assert nic(node.writes) == []


@pytest.mark.parametrize("bonded", [True, False])
def test_a_port_that_a_process_of_dpdk_has_open_waits_for_the_reboot(
    monkeypatch: pytest.MonkeyPatch, *, bonded: bool
) -> None:
    host: FakeHost = compute_node(cards=[card(total_vfs=2)])
    host = host if bonded else free(host)
    host.cards[0].rdma = True
    host.open_rdma(PF0, 4711, "ovs-vswitchd")
    node = Node(host, monkeypatch).configure(devices=f"{PORT0}:2", vf_lag="disabled", allow_live=True)
    node.set_up()
    assert f"{PORT0} is open in ovs-vswitchd (4711); stop that, or run approve-reboot" in node.log
    assert nic(node.writes) == []
    host.disk.remove("/proc/4711/fd/7")
    assert node.emit("update_status").name == "active"


@pytest.mark.parametrize("line", dict.fromkeys(writes_of_a_live_change()))
def test_a_fault_at_any_write_leaves_the_node_reachable_and_the_next_hook_finishes(
    small: Node, line: str
) -> None:
    verb, _, target = line.partition(" ")
    small.host.fail(verb, target, FAILED if verb == "run" else REFUSED)
    status = small.set_up()
    assert small.host.reachable
    for port in small.host.network.ports():
        assert small.host.network.bond_of(port.netdev), "a port stayed out of its bond"
    if status.name != "active":
        assert "Input/output error" in small.log
    assert small.emit("update_status").name == "active"
    assert small.host.cards[0].lag == "switchdev"
    small.emit("update_status")
    assert nic(small.writes) == []


def test_a_node_that_no_longer_answers_gets_its_previous_state_back(small: Node) -> None:
    small.host.fail("run", "ping", SILENCE, times=None, skip=1)
    status = small.set_up()
    assert status.name == "blocked"
    assert "check that gateway and controller answer" in status.message
    assert "the previous state was restored" in small.log
    assert [port.eswitch_mode for port in small.host.network.ports()] == ["legacy", "legacy"]
    assert [len(port.vfs) for port in small.host.network.ports()] == [0, 0]
    assert small.host.network.bonds["bond0"].members == ["enp59s0f0np0", "enp59s0f1np1"]
    assert not small.host.disk.exists(record.PREVIOUS)


def test_a_live_change_that_was_undone_is_not_tried_again_in_this_boot(small: Node) -> None:
    small.host.fail("run", "ping", SILENCE, times=None, skip=1)
    small.set_up()
    small.host.trace.clear()
    small.emit("update_status")
    assert nic(small.writes) == []
    assert "the live change was undone: 192.168.25.1" in small.action("plan")["plan"]
    # Another aim is another matter.
    small.configure(num_vfs=1)
    assert "arm a timer" in small.action("plan")["plan"]


def test_a_live_change_that_keeps_failing_is_left_to_a_reboot(small: Node) -> None:
    small.host.fail("set_eswitch_mode", "switchdev", REFUSED, times=None)
    for _ in range(3):
        small.emit("update_status")
        assert nic(small.writes)
    small.emit("update_status")
    assert nic(small.writes) == []
    assert "the live change failed 3 times" in small.action("plan")["plan"]


def test_nothing_is_cut_if_no_answer_could_confirm_it(small: Node) -> None:
    small.host.answers[("ping",)] = SILENCE
    status = small.set_up()
    assert status.name == "blocked"
    assert "neither gateway nor controller (192.168.25.1) answers a ping" in small.log
    assert "set_" not in " ".join(small.writes)


@pytest.mark.parametrize(
    ("dark", "lit"), [("enp59s0f0np0", "enp59s0f1np1"), ("enp59s0f1np1", "enp59s0f0np0")]
)
def test_the_only_port_that_carries_traffic_is_left_alone_and_the_preview_says_so(
    small: Node, dark: str, lit: str
) -> None:
    small.host.network.unplugged.add(dark)
    assert small.set_up().name == "blocked"
    assert nic(small.writes) == []
    preview = small.action("plan")["plan"]
    assert f"{lit} is the only port of bond0 that carries traffic" in preview
    assert f"fix {dark}, or run approve-reboot" in preview
    # The cable is back.
    small.host.network.unplugged.clear()
    assert small.emit("update_status").name == "active"


def test_a_port_that_goes_dark_after_the_plan_was_made_keeps_its_neighbour_in_the_bond(small: Node) -> None:
    planned = small.planned()
    small.host.network.unplugged.add("enp59s0f1np1")
    outcome = execute(planned, small.host)
    assert outcome.failed is not None
    assert outcome.failed.key == "0000:3b:00.0/leave"
    assert small.host.reachable
    assert "set_master" not in " ".join(small.host.trace)


@pytest.mark.parametrize(("dark", "bounced"), [(0, 0), (1, 1), (None, 1)])
def test_vf_lag_is_formed_again_by_the_port_without_carrier(
    small: Node, dark: int | None, bounced: int
) -> None:
    small.converge(reboot_settle=0)
    names = [port.netdev for port in small.host.network.ports()]
    if dark is not None:
        small.host.network.unplugged.add(names[dark])
    small.host.cards[0].lag, small.host.cards[0].lag_in_firmware = None, False
    small.emit("update_status")
    moves = [line for line in small.writes if line.startswith("set_master")]
    assert moves == [f"set_master {names[bounced]} none", f"set_master {names[bounced]} bond0"]
    assert small.host.cards[0].lag == "switchdev"
    assert all(vf.driver == "mlx5_core" for port in small.host.network.ports() for vf in port.vfs)


@pytest.mark.parametrize("dark", [False, True])
def test_a_port_that_rejoins_to_form_vf_lag_is_waited_for_if_it_carried_traffic(
    small: Node, dark: bool
) -> None:
    small.converge(reboot_settle=0)
    if dark:
        small.host.network.unplugged.add(PORT1)
    small.host.cards[0].lag, small.host.cards[0].lag_in_firmware = None, False
    steps = json.loads(small.action("plan", format="json")["plan"])["steps"]
    keys = [step["key"] for step in steps]
    assert f"{PF1}/join" in keys
    assert (f"{PF1}/member" in keys) == (not dark)


@pytest.mark.parametrize("value", [0, 1, 2, None])
def test_vf_lag_is_formed_again_with_vfs_in_use_where_the_firmware_has_kept_its_resources(
    small: Node, value: int | None
) -> None:
    small.converge(reboot_settle=0)
    nic_card = small.host.cards[0]
    if value is None:
        del nic_card.settings["LAG_RESOURCE_ALLOCATION"]
        nic_card.lacks.add("LAG_RESOURCE_ALLOCATION")
    else:
        nic_card.settings["LAG_RESOURCE_ALLOCATION"].current = value
    used = small.host.port(PF0).vfs[0].bdf
    small.host.start_instance(used)
    nic_card.lag, nic_card.lag_in_firmware = None, False
    small.emit("update_status")
    assert small.host.vf(used).driver == "vfio-pci"
    if value == 1:
        assert nic(small.writes)[1:] == [f"set_master {PORT1} none", f"set_master {PORT1} bond0"]
        assert nic_card.lag == "switchdev"
        assert small.action("verify")["verified"] == "true"
    else:
        assert nic(small.writes) == []
        assert f"VFs are in use: VF {used} by instance-0000002a" in small.action("plan")["plan"]


def test_also_where_an_idle_vf_of_the_other_port_has_no_driver(small: Node) -> None:
    small.converge(reboot_settle=0)
    small.host.cards[0].settings["LAG_RESOURCE_ALLOCATION"].current = 1
    used, idle = (vf.bdf for vf in small.host.port(PF1).vfs)
    small.host.start_instance(used)
    small.host.vf(idle).driver = None
    small.configure(devices=f"{PORT0}:1 {PORT1}:2")
    small.emit("config_changed")
    assert small.host.vf(used).driver == "vfio-pci"
    assert [len(port.vfs) for port in small.host.network.ports()] == [1, 2]
    assert small.action("verify")["verified"] == "true"


def test_without_resources_kept_for_a_lag_the_vfs_of_both_ports_are_bound_once(small: Node) -> None:
    small.converge(reboot_settle=0)
    small.host.cards[0].settings["LAG_RESOURCE_ALLOCATION"].current = 0
    small.host.vf(small.host.port(PF1).vfs[0].bdf).driver = None
    small.configure(devices=f"{PORT0}:1 {PORT1}:2")
    keys = [step.key for step in small.planned().steps]
    assert [key for key in keys if key.endswith("/bind")] == [f"{PF0}/bind", f"{PF1}/bind"]


@pytest.mark.parametrize("value", [0, 1])
def test_another_number_of_vfs_of_one_port_leaves_vfs_in_use_of_the_other_where_the_firmware_allows_it(
    small: Node, value: int
) -> None:
    small.converge(reboot_settle=0)
    nic_card = small.host.cards[0]
    nic_card.settings["LAG_RESOURCE_ALLOCATION"].current = value
    used, idle = (vf.bdf for vf in small.host.port(PF1).vfs)
    small.host.start_instance(used)
    small.configure(devices=f"{PORT0}:1 {PORT1}:2")
    small.emit("config_changed")
    assert small.host.vf(used).driver == "vfio-pci"
    if value == 1:
        assert [len(port.vfs) for port in small.host.network.ports()] == [1, 2]
        assert not [line for line in small.writes if used in line or idle in line]
        assert nic_card.lag == "switchdev"
        assert small.action("verify")["verified"] == "true"
    else:
        assert nic(small.writes) == []
        assert f"VFs are in use: VF {used} by instance-0000002a" in small.action("plan")["plan"]


def test_vfs_in_use_of_the_changed_port_itself_still_block_the_change(small: Node) -> None:
    small.converge(reboot_settle=0)
    small.host.cards[0].settings["LAG_RESOURCE_ALLOCATION"].current = 1
    used = small.host.port(PF0).vfs[0].bdf
    small.host.start_instance(used)
    small.configure(devices=f"{PORT0}:1 {PORT1}:2")
    small.emit("config_changed")
    assert nic(small.writes) == []
    assert f"would destroy VFs in use: VF {used} by instance-0000002a" in small.findings()


def hook_that_dies_before(node: Node, key: str) -> None:
    """Run the plan's steps up to ``key``, and nothing after: neither failure handling nor confirmation."""
    planned = node.planned()
    keys = [step.key for step in planned.steps]
    execute(replace(planned, steps=planned.steps[: keys.index(key)]), node.host)


def test_the_timer_restores_what_a_dead_hook_left(small: Node) -> None:
    """The hook dies between two writes: nothing confirms, nothing cleans up, then the timer runs."""
    hook_that_dies_before(small, "0000:3b:00.1/switchdev")
    assert json.loads(small.host.files.read(record.PREVIOUS))["answering"] == ["192.168.25.1"]
    assert small.host.network.bonds["bond0"].members == ["enp59s0f0np0"]
    assert small.host.reachable
    assert main.revert(small.host) == ()
    assert small.host.network.bonds["bond0"].members == ["enp59s0f0np0", "enp59s0f1np1"]
    assert [port.eswitch_mode for port in small.host.network.ports()] == ["legacy", "legacy"]
    assert record.read_live(small.host).undone == f"it was not confirmed within {live.TIMEOUT_S} s"


def test_the_hook_after_one_that_died_finishes_and_stops_the_timer(small: Node) -> None:
    hook_that_dies_before(small, "0000:3b:00.1/switchdev")
    assert small.emit("update_status").name == "active"
    assert not small.host.disk.exists(record.PREVIOUS)


def test_a_second_hook_that_dies_leaves_the_state_before_the_first_to_restore(small: Node) -> None:
    hook_that_dies_before(small, f"{PF1}/leave")
    kept = json.loads(small.host.files.read(record.PREVIOUS))
    assert [port["num_vfs"] for port in kept["ports"]] == [0, 0]
    hook_that_dies_before(small, "0000:3b:00/confirm")
    assert [port.eswitch_mode for port in small.host.network.ports()] == ["switchdev", "switchdev"]
    assert json.loads(small.host.files.read(record.PREVIOUS))["ports"] == kept["ports"]
    assert main.revert(small.host) == ()
    assert [(port.eswitch_mode, len(port.vfs)) for port in small.host.network.ports()] == [("legacy", 0)] * 2


def test_without_allow_live_a_detached_port_returns_to_its_bond(small: Node) -> None:
    small.configure(allow_live=False, reboot_policy="manual")
    small.set_up()
    small.host.links.set_master("enp59s0f1np1", None)
    small.emit("update_status")
    assert nic(small.writes) == ["set_master enp59s0f1np1 bond0"]


def test_a_port_that_the_network_configuration_took_out_of_the_bond_stays_out(small: Node) -> None:
    small.configure(allow_live=False)
    small.set_up()
    small.host.links.set_master("enp59s0f1np1", None)
    small.host.disk.remove("/etc/systemd/network/10-netplan-enp59s0f1np1.network")
    small.emit("update_status")
    assert nic(small.writes) == []


# Removal of the charm.


def test_a_charm_that_is_removed_undoes_an_unconfirmed_change_first(small: Node) -> None:
    hook_that_dies_before(small, "0000:3b:00.1/switchdev")
    small.emit("stop")
    assert nic(small.writes) == [
        f"set_master {PORT0} none",
        f"set_eswitch_mode {PF0} legacy",
        f"write /sys/bus/pci/devices/{PF0}/sriov_numvfs 0",
        f"set_master {PORT0} bond0",
        f"write /sys/bus/pci/devices/{PF0}/sriov_drivers_autoprobe 1",
        f"write /sys/bus/pci/devices/{PF1}/sriov_numvfs 0",
        f"set_master {PORT1} bond0",
        f"write /sys/bus/pci/devices/{PF1}/sriov_drivers_autoprobe 1",
    ]
    stopped = small.writes.index("run systemctl stop ovn-offload-sriov-revert.timer")
    assert stopped < small.writes.index("remove /usr/lib/ovn-offload/sriov-switchdev/boot.pyz")
    assert small.host.network.bonds["bond0"].members == [PORT0, PORT1]
    assert not small.host.disk.exists(record.DIRECTORY)


def test_what_could_not_be_undone_at_removal_is_left_to_the_timer(small: Node) -> None:
    hook_that_dies_before(small, "0000:3b:00.1/switchdev")
    small.host.fail("set_master", f"{PORT1} bond0", REFUSED)
    small.emit("stop")
    assert "is not undone, its timer tries again: bond0 does not take enp59s0f1np1" in small.log
    assert small.host.disk.exists(files.COPY.path)
    assert not small.host.disk.exists(desired.PATH)
    assert main.revert(small.host) == ()
    assert small.host.network.bonds["bond0"].members == [PORT0, PORT1]


def test_a_removal_is_complete_where_juju_has_closed_the_session(
    small: Node, close_session: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    hook_that_dies_before(small, "0000:3b:00.1/switchdev")
    small.host.fail("set_master", f"{PORT1} bond0", REFUSED)
    close_session()
    with pytest.raises(SystemExit) as ended:
        small.emit("stop")
    assert ended.value.code == 0
    assert not small.host.disk.exists(desired.PATH)
    assert not small.host.disk.exists("/etc/systemd/system/ovn-offload-sriov-early.service")
    said = capsys.readouterr().err
    assert "is not undone, its timer tries again: bond0 does not take enp59s0f1np1" in said
    assert "the NIC's VFs vanish at the next boot" in said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "Expecting value"),
        ('{"ports": 7, "answering": [], "target": ""}', "ports: 7 is not allowed; expected a list of ports"),
        ("[" * 100_000, "recursion"),
        ('{"ports": [{"bdf": "../x"}], "answering": [], "target": ""}', "ports[0]"),
    ],
)
def test_a_state_before_the_change_that_cannot_be_read_is_one_sentence(
    small: Node, text: str, why: str
) -> None:
    small.configure(allow_live=True)
    small.emit()
    small.host.disk.install(record.PREVIOUS, text.encode(), 0o600)
    (problem,) = main.revert(small.host)
    what = f"{record.PREVIOUS}, the state before a live change, cannot be read: "
    assert what in problem.what
    assert why in problem.what
    status = small.emit("update_status")
    assert status.name == "blocked"
    assert what in small.log
    assert f"then remove {record.PREVIOUS}, or reboot" in small.log
