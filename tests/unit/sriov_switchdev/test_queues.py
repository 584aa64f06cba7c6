# SPDX-License-Identifier: Apache-2.0
"""The uplinks' queues: mlx5 leaves one per port after the switch to switchdev (mlx5e_build_rep_params)."""

import errno
import json

import pytest
from boot import main
from converge import StepError
from hostnic import cpus
from hostnic.netlink.dcb import Rings
from hostnic.ops.eswitch import SetEswitchMode, SetQueues
from hostnic.system import CommandError
from lab.modelled import FakeHost, card
from lab.modelled.nic.model import NIC_COALESCING
from lab.modelled.states import free, with_vfs
from unit.sriov_switchdev.node import PF0, PF1, PORT0, PORT1, REFUSED, Node, compute_node, nic


def channels(host: FakeHost) -> list[int]:
    return [port.channels for port in host.network.ports()]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Node:
    return Node(compute_node(cards=[card(total_vfs=2)]), monkeypatch).configure(num_vfs=2)


@pytest.fixture
def one_queue(small: Node) -> Node:
    """A converged node whose ports somebody has left one queue each."""
    small.converge(reboot_settle=0)
    for port in small.host.network.ports():
        port.channels = 1
    return small


# At boot.


def test_at_boot_each_uplink_gets_a_queue_per_cpu_before_it_is_in_the_bond(small: Node) -> None:
    small.converge(reboot_settle=0)
    assert channels(small.host) == [8, 8]
    assert small.host.blackouts == 0
    assert small.action("verify")["verified"] == "true"


@pytest.mark.parametrize(("option", "most", "count"), [(0, 63, 8), (0, 4, 4), (3, 63, 3), (16, 63, 16)])
def test_the_number_is_that_of_the_option_or_of_the_cpus_and_at_most_the_ports(
    small: Node, option: int, most: int, count: int
) -> None:
    for port in small.host.network.ports():
        port.most_channels = most
    small.converge(uplink_queues=option, reboot_settle=0)
    assert channels(small.host) == [count, count]
    assert small.emit("update_status").name == "active"
    assert nic(small.writes) == []
    assert json.loads(small.action("plan", format="json")["plan"])["steps"] == []


@pytest.mark.parametrize("refusing", [PORT0, PORT1])
def test_a_port_that_takes_no_queues_at_boot_forwards_all_the_same_and_is_named(
    small: Node, refusing: str
) -> None:
    small.deploy(reboot_policy="always", reboot_settle=0)
    small.host.fail("set_channels", refusing, REFUSED)
    assert small.boot().name == "active"
    assert [len(port.vfs) for port in small.host.network.ports()] == [2, 2]
    assert small.host.cards[0].lag == "switchdev"
    assert sorted(channels(small.host)) == [1, 8]
    findings = small.action("verify")["findings"]
    assert f"the number of queues of {refusing} is 1, not 8" in findings
    assert f"the boot step failed to give {refusing} 8 queues" in findings
    small.emit("update_status")
    assert small.reboots_asked == 1, "a reboot for queues alone would stop instances"


def test_a_boot_sets_the_queues_of_ports_that_are_in_switchdev_mode_already(small: Node) -> None:
    small.deploy(reboot_policy="always", reboot_settle=0)

    def another_writer(host: FakeHost) -> None:
        for bdf in (PF0, PF1):
            host.files.write(f"/sys/bus/pci/devices/{bdf}/sriov_drivers_autoprobe", "0")
            host.files.write(f"/sys/bus/pci/devices/{bdf}/sriov_numvfs", "2")
            host.devlink.set_eswitch_mode(bdf, "switchdev")
        main.early(host)

    small.host.services["ovn-offload-sriov-early.service"] = another_writer
    assert small.boot().name == "active"
    assert channels(small.host) == [8, 8]


def test_what_can_be_read_before_the_switch_is_put_back_after_it(small: Node) -> None:
    small.deploy(reboot_policy="always", reboot_settle=0)
    tuned = Rings(4096, 2048)

    def tune(host: FakeHost) -> None:
        for port in host.network.ports():
            port.rings = tuned
        main.early(host)

    small.host.services["ovn-offload-sriov-early.service"] = tune
    small.boot()
    assert [port.rings for port in small.host.network.ports()] == [tuned, tuned]
    assert [port.coalescing for port in small.host.network.ports()] == [NIC_COALESCING] * 2
    writes = nic(small.boot_writes)
    place = writes.index(f"set_eswitch_mode {PF0} switchdev")
    assert writes[place + 1 : place + 3] == [
        f"set_rings {PORT0} 4096 2048",
        f"set_coalescing {PORT0} 8 128 8 128 1 1",
    ]


# On a running node.


@pytest.mark.parametrize("policy", ["manual", "always"])
def test_a_refreshed_node_is_not_touched_and_verify_names_its_ports(one_queue: Node, policy: str) -> None:
    before = one_queue.reboots_asked
    one_queue.configure(reboot_policy=policy)
    for event in ("upgrade_charm", "update_status"):
        assert one_queue.emit(event).name == "active"
        assert nic(one_queue.writes) == []
    assert channels(one_queue.host) == [1, 1]
    assert one_queue.host.blackouts == 0
    assert one_queue.reboots_asked == before, "instances run here"
    findings = one_queue.action("verify")["findings"]
    for port in (PORT0, PORT1):
        assert f"the number of queues of {port} is 1, not 8" in findings
    assert "would take the port's link down for a moment; reboot this host, or set allow" in findings
    assert f"give {PORT0} 8 queues" in one_queue.action("plan")["plan"]
    # The next boot, whatever its reason, sets them.
    assert one_queue.boot().name == "active"
    assert channels(one_queue.host) == [8, 8]
    assert one_queue.action("verify")["verified"] == "true"


def test_with_approval_one_port_follows_the_other_and_the_bond_never_loses_both(one_queue: Node) -> None:
    one_queue.configure(allow_live=True)
    status = one_queue.emit()
    assert status.name == "active"
    assert nic(one_queue.writes) == [f"set_channels {PORT0} 8", f"set_channels {PORT1} 8"]
    first, second = (one_queue.host.network.flaps[name] for name in (PORT0, PORT1))
    assert second[0] > first[1], "the second goes only after the first is back"
    assert one_queue.host.blackouts == 0
    one_queue.emit("update_status")
    assert nic(one_queue.writes) == []


def test_a_port_outside_any_bond_gets_its_queues_without_a_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(free(compute_node(cards=[card(total_vfs=2)])), monkeypatch)
    assert node.configure(devices=f"{PORT0}:2", vf_lag="disabled").set_up().name == "active"
    node.host.port(PF0).channels = 1
    node.host.links.set_up(PORT0, True)
    steps = json.loads(node.configure(allow_live=True).action("plan", format="json")["plan"])["steps"]
    assert [step["key"] for step in steps] == [f"{PF0}/queues"]
    assert node.emit().name == "active"
    assert node.host.port(PF0).channels == 8


@pytest.mark.parametrize(("dark", "lit"), [(PORT0, PORT1), (PORT1, PORT0)])
def test_the_only_port_that_carries_traffic_keeps_its_queue(one_queue: Node, dark: str, lit: str) -> None:
    one_queue.host.network.unplugged.add(dark)
    one_queue.configure(allow_live=True).emit()
    assert nic(one_queue.writes) == []
    assert f"{lit} is the only port of bond0 that carries traffic" in one_queue.action("plan")["plan"]


def test_more_queues_than_cpus_are_left_alone_unless_the_option_says_how_many(one_queue: Node) -> None:
    for port in one_queue.host.network.ports():
        port.channels = 12
    one_queue.configure(allow_live=True).emit()
    assert nic(one_queue.writes) == []
    one_queue.configure(uplink_queues=4).emit()
    assert channels(one_queue.host) == [4, 4]


def test_a_live_change_that_is_undone_puts_the_queues_back(one_queue: Node) -> None:
    one_queue.host.port(PF0).channels = 5
    one_queue.host.port(PF1).channels = 6
    silence = CommandError(["ping"], "ping failed (1): 100% packet loss", 1)
    one_queue.configure(num_vfs=1, allow_live=True)
    one_queue.host.fail("run", "ping", silence, times=None, skip=1)
    one_queue.emit()
    assert "the previous state was restored" in one_queue.log
    assert channels(one_queue.host) == [5, 6]


def test_queues_that_cannot_be_read_are_a_warning(one_queue: Node) -> None:
    one_queue.host.fail("channels", PORT0, REFUSED)
    status = one_queue.emit("update_status")
    assert status.name == "active"
    assert (
        f"the queues of {PORT0} cannot be read: Input/output error; retried at the next hook" in one_queue.log
    )


@pytest.mark.parametrize("value", [-1, 1025])
def test_a_number_that_is_out_of_range_is_refused_in_a_sentence(small: Node, value: int) -> None:
    status = small.configure(uplink_queues=value).emit()
    assert status.name == "blocked"
    assert f"option uplink-queues: {value} is not allowed" in status.message
    assert "from 0 to 1024" in status.message


# The operations.


@pytest.mark.parametrize(
    ("text", "count"), [("0-7", 8), ("0", 1), ("0-15,32-47", 32), ("0,2,4-5", 4), ("", 1), ("many", 1)]
)
def test_online_cpus(text: str, count: int) -> None:
    host = FakeHost()
    host.disk.install(cpus.ONLINE, f"{text}\n".encode(), 0o444)
    assert cpus.online(host) == count


def test_online_cpus_where_the_kernel_does_not_tell() -> None:
    host = FakeHost()
    host.disk.remove(cpus.ONLINE)
    assert cpus.online(host) == 1


def test_set_queues_writes_once_and_reads_back() -> None:
    host = FakeHost()
    host.port(PF0).channels = 1
    SetQueues(PORT0, 200).run(host)
    SetQueues(PORT0, 200).run(host)
    assert host.trace == [f"set_channels {PORT0} 63"]


def test_a_netdev_without_combined_queues_has_nothing_to_set() -> None:
    host = FakeHost()
    SetQueues("br-nvda", 8).run(host)
    assert host.trace == []


def test_a_refusal_of_queues_has_the_kernels_words() -> None:
    host = FakeHost()
    host.port(PF0).channels = 1
    host.fail("set_channels", PORT0, REFUSED)
    with pytest.raises(StepError, match="enp59s0f0np0 does not take 8 queues: Input/output error"):
        SetQueues(PORT0, 8).run(host)


@pytest.mark.parametrize("verb", ["set_rings", "set_coalescing", "rings", "coalescing"])
def test_a_driver_that_lacks_a_setting_changes_mode_without_it(verb: str) -> None:
    host = with_vfs(free(FakeHost()))
    host.port(PF0).rings = Rings(4096, 2048)
    host.fail(verb, PORT0, OSError(errno.EOPNOTSUPP, "Operation not supported"), times=None)
    SetEswitchMode(PF0, "switchdev").run(host)
    assert host.port(PF0).eswitch_mode == "switchdev"


def test_a_setting_that_is_not_put_back_is_named() -> None:
    host = with_vfs(free(FakeHost()))
    host.fail("set_coalescing", PORT0, REFUSED)
    with pytest.raises(StepError, match="interrupt moderation of enp59s0f0np0 cannot be put back: Input"):
        SetEswitchMode(PF0, "switchdev").run(host)
