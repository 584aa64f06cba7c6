# SPDX-License-Identifier: Apache-2.0
"""VF-LAG is formed again on a running node, and VFs in use stay where the firmware allows it."""

import json

import pytest
from unit.sriov_switchdev.changedlive import small
from unit.sriov_switchdev.node import PF0, PF1, PORT0, PORT1, Node, nic

__all__ = ["small"]


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
