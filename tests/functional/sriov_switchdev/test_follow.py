# SPDX-License-Identifier: Apache-2.0
"""Both cables of the bond are cut: VFs lose their carrier, and get it back with the first cable.

The virtual card brings a representor's state to its VF as mlx5 does (netdev.c), and cuts wires.
"""

import pytest
from functional.once import once
from functional.sriov_switchdev.node import CONFIG, Node, is_converged, nic
from lab.guest import Guest

UNIT = "ovn-offload-sriov-follow.service"
NOTES = "/run/ovn-offload/sriov-switchdev/follower.json"
"""The representors that it has set down; it writes the file anew as it begins."""
CARDS = ("0000:3b:00.0", "0000:3b:00.1")
USED, FREE = "pf0vf0", "pf1vf1"
"""The ports of a VF that an instance has, whose representor os-vif has set up, and of one that none has."""
WITHIN_S = 2.0
"""Seconds of the guest's own clock in which a VF's carrier has to follow."""
ONE_LOOK_NS = 100_000_000
"""More nanoseconds of processor time than one look at all netdevs takes on an emulated processor."""

pytestmark = pytest.mark.thorough


@pytest.fixture
def following(machine: Guest, request: pytest.FixtureRequest) -> Node:
    """A converged node with the option; the VF behind USED is up, as in an instance."""

    def make() -> Node:
        node = request.getfixturevalue("converged")
        node.configure(**CONFIG, **{"follow-uplink": True})
        result = node.hook()
        assert result.status[0] == "active", (result, node.findings())
        assert nic(result.writes) == []
        return node

    node = once(machine, "sriov-following", make)
    instance = f"ip link set $(ls /sys/bus/pci/devices/{CARDS[0]}/virtfn0/net) up"
    machine.run(f"ip link set {representor(machine, USED)} up; {instance}")
    assert carrier(machine) == "1"
    return node


def representor(machine: Guest, port: str) -> str:
    """The netdev of this port name; grep fails for netdevs whose file cannot be read."""
    found = machine.run(f"grep -slx {port} /sys/class/net/*/phys_port_name", check=False).stdout
    return found.split("/")[4]


def wires(cut: bool, *ports: str) -> str:
    """A command that cuts the wires of ports, or mends them."""
    return "; ".join(
        f"echo {'NY'[cut]} > /sys/kernel/debug/vcx/{port}/fault_link_down" for port in ports or CARDS
    )


def carrier(machine: Guest) -> str:
    """The VF's, as the instance sees it."""
    return machine.run(f"cat /sys/bus/pci/devices/{CARDS[0]}/virtfn0/net/*/carrier").stdout.strip()


def seconds_until(machine: Guest, wanted: int, begin: str) -> float:
    """Seconds of the guest from the end of a command until the VF's carrier is as wanted."""
    script = f"""
    cd /sys/bus/pci/devices/{CARDS[0]}/virtfn0/net/*/
    now() {{ cut -d' ' -f1 /proc/uptime; }}
    {begin}
    begin=$(now)
    until [ "$(cat carrier)" = {wanted} ]; do sleep 0.05; done
    echo $begin $(now)
    """
    first, last = map(float, machine.run(script).stdout.split())
    return last - first


def test_the_carrier_goes_with_both_cables_and_returns_with_one(machine: Guest, following: Node) -> None:
    gone = seconds_until(machine, 0, wires(True))
    # The bond has its carrier back once its member has; the card trains its link before.
    bond = 'until [ "$(cat /sys/class/net/bond0/carrier)" = 1 ]; do sleep 0.02; done'
    back = seconds_until(machine, 1, f"{wires(False, CARDS[1])}; {bond}")
    print(f"gone after {gone:.2f} s, back after {back:.2f} s")
    assert gone <= WITHIN_S
    assert back <= WITHIN_S
    assert "UP" not in machine.run(f"ip -o link show {representor(machine, FREE)}").stdout.partition(">")[0]


def test_one_cable_changes_nothing(machine: Guest, following: Node) -> None:
    machine.run("ip monitor link > /run/seen 2>&1 & echo $! > /run/monitor")
    machine.run(wires(True, CARDS[0]))
    machine.run(f"sleep {2 * WITHIN_S}; kill $(cat /run/monitor)")
    assert carrier(machine) == "1"
    assert f" {representor(machine, USED)}:" not in machine.read("/run/seen")
    assert following.reachable()


def test_a_restart_of_open_vswitch_leaves_no_representor_down(machine: Guest, following: Node) -> None:
    machine.run("systemctl restart openvswitch-switch", timeout=300)
    machine.run(f"sleep {2 * WITHIN_S}")
    assert carrier(machine) == "1"
    seconds_until(machine, 0, wires(True))
    machine.run("systemctl restart openvswitch-switch", timeout=300)
    seconds_until(machine, 1, wires(False))


def test_a_killed_service_goes_on_and_a_stopped_one_gives_the_carrier_back(
    machine: Guest, following: Node
) -> None:
    seconds_until(machine, 0, wires(True))
    noted = f"stat -c %i {NOTES}"
    before = machine.run(noted).stdout
    machine.run(f"systemctl kill --signal=KILL {UNIT}")
    assert machine.until(lambda: machine.run(noted).stdout != before, 60), "it does not begin again"
    assert carrier(machine) == "0"
    assert seconds_until(machine, 1, f"systemctl stop {UNIT}") <= WITHIN_S
    following.hook()  # it did not run: the hook starts it, and the cables are still cut
    machine.run(f"systemctl is-active {UNIT}")
    seconds_until(machine, 0, "true")


def test_without_news_it_uses_no_processor_time(machine: Guest, following: Node) -> None:
    used = f"systemctl show -P CPUUsageNSec {UNIT}"
    before = int(machine.run(used).stdout)
    machine.run("sleep 30", timeout=120)
    assert int(machine.run(used).stdout) - before < ONE_LOOK_NS
    assert "ovn-offload-sriov-follow" not in following.findings()
    assert is_converged(following.state()), following.state()
