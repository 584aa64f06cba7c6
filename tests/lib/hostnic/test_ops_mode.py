# SPDX-License-Identifier: Apache-2.0
"""Changing the eswitch's mode: what stands in its way is named, with what to do first."""

import errno

import pytest
from hostnic.ops.bonding import JoinBond
from hostnic.ops.eswitch import (
    SetEswitchMode,
)
from hostnic.ops.vf import BindVf
from hostnic.system import Link
from lab.modelled import FakeHost
from lab.modelled.states import free, switchdev, with_vfs
from lib.operations import P0, UPLINK0, UPLINK1, VF0, probing, refused


def test_the_mode_changes_in_a_bond_and_the_link_goes_down_for_it() -> None:
    host = with_vfs(FakeHost())
    SetEswitchMode(P0, "switchdev").run(host)
    assert host.port(P0).eswitch_mode == "switchdev"
    assert host.network.bonds["bond0"].members == [UPLINK0, UPLINK1]
    begin, end = host.network.flaps[UPLINK0]
    assert begin <= host.clock < end
    assert host.reachable, "the other port carries the traffic"


def test_offloaded_rules_that_keep_the_mode_are_named_by_netdev() -> None:
    host = with_vfs(free(FakeHost()))
    host.port(P0).rules = 3
    error = refused(SetEswitchMode(P0, "switchdev"), host)
    assert f"offloaded rules keep {P0} from changing to mode switchdev (3 of {UPLINK0})" in error.reason
    assert "E-Switch is busy" in error.reason
    assert "tc filter del dev NETDEV ingress" in error.remedy
    assert host.port(P0).eswitch_mode == "legacy"


def test_rules_of_the_other_port_do_not_keep_the_mode() -> None:
    host = with_vfs(free(FakeHost()))
    host.port("0000:3b:00.1").rules = 3
    SetEswitchMode(P0, "switchdev").run(host)
    assert host.port(P0).eswitch_mode == "switchdev"


def test_a_busy_eswitch_without_offloaded_rules_may_have_an_operation_in_progress() -> None:
    host = with_vfs(free(FakeHost()))
    host.fail("set_eswitch_mode", P0, OSError(errno.EBUSY, "Can't change mode, E-Switch is busy"), None)
    error = refused(SetEswitchMode(P0, "switchdev"), host)
    assert f"the eswitch of {P0} is in use" in error.reason
    assert "tc shows no offloaded rule" in error.remedy


def test_the_rules_of_the_bond_the_representors_and_tunnels_are_looked_for() -> None:
    host = switchdev(FakeHost())
    JoinBond(UPLINK0, "bond0").run(host)
    tunnel = Link(
        "genev_sys_6081", 0, None, None, 65000, True, True, "geneve", "ovs-system", None, None, None
    )
    host.network.others[tunnel.name] = tunnel
    filters = (
        "filter protocol ip pref 2 flower chain 0 handle 0x1\n  eth_type ipv4\n  in_hw in_hw_count 1\n"
        "filter protocol ip pref 2 flower chain 0 handle 0x2\n  skip_hw\n  not_in_hw\n"
    )
    asked = (UPLINK0, "enp59s0f0_0", "enp59s0f0_1", "bond0", "genev_sys_6081")
    for name in asked:
        host.answers[("tc", "filter", "show", "dev", name, "ingress")] = filters
    host.fail("set_eswitch_mode", P0, OSError(errno.EBUSY, "Can't change mode, E-Switch is busy"), None)
    reason = refused(SetEswitchMode(P0, "legacy"), host).reason
    assert ", ".join(f"1 of {name}" for name in asked) in reason


def test_an_eswitch_that_another_operation_holds_is_neither_the_firmware_nor_rules() -> None:
    host = with_vfs(free(FakeHost()))
    host.port(P0).locked_until = float("inf")
    error = refused(SetEswitchMode(P0, "switchdev"), host)
    assert f"another operation holds the eswitch of {P0}" in error.reason
    assert "firmware" not in error.reason
    assert "nothing has to be freed" in error.remedy


def test_firmware_that_wants_switchdev_before_vfs_gets_that_order() -> None:
    host = with_vfs(free(FakeHost()))
    host.port(P0).switchdev_first = True
    SetEswitchMode(P0, "switchdev").run(host)
    numvfs = f"write /sys/bus/pci/devices/{P0}/sriov_numvfs"
    change = f"set_eswitch_mode {P0} switchdev"
    assert host.trace[:4] == [change, f"{numvfs} 0", change, f"{numvfs} 2"]
    assert [vf.driver for vf in host.port(P0).vfs] == [None, None]


def test_that_order_never_destroys_a_bound_vf() -> None:
    host = with_vfs(free(FakeHost()), 2, bound=True)
    host.port(P0).switchdev_first = True
    assert "since VFs are bound" in refused(SetEswitchMode(P0, "switchdev"), host).reason
    assert len(host.port(P0).vfs) == 2


def test_bound_vfs_that_the_firmware_refuses_are_named_with_their_drivers() -> None:
    host = with_vfs(free(FakeHost()), 6, bound=True)
    host.start_instance(VF0)
    error = refused(SetEswitchMode(P0, "switchdev"), host)
    assert f"the firmware of {P0} refused eswitch mode switchdev, since VFs are bound" in error.reason
    assert f"{VF0} (vfio-pci), " in error.reason
    assert "0000:3b:00.3 (mlx5_core)" in error.reason
    assert "and 2 more" in error.reason
    assert "Failed setting eswitch to offloads" in error.reason
    assert "unbind the VFs" in error.remedy
    assert any("syndrome (0x98afbb)" in line for line in host.log)
    assert host.port(P0).eswitch_mode == "legacy"


def test_bound_vfs_do_not_keep_a_port_from_legacy_mode() -> None:
    host = switchdev(FakeHost())
    probing(host)
    for vf in host.port(P0).vfs:
        BindVf(vf.bdf).run(host)
    SetEswitchMode(P0, "legacy").run(host)
    assert host.port(P0).eswitch_mode == "legacy"


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EPERM])
def test_other_extack_texts_of_mlx5_are_its_own_explanation(number: int) -> None:
    host = with_vfs(free(FakeHost()))
    host.fail("set_eswitch_mode", P0, OSError(number, "Can't change mode during firmware reset"), None)
    error = refused(SetEswitchMode(P0, "switchdev"), host)
    assert "Can't change mode during firmware reset" in error.reason
    assert "lockdown" not in error.remedy
    assert "rules" not in error.remedy


NAMESPACE = (
    "Can't change E-Switch mode to switchdev when netdev net namespace has diverged from the devlink's."
)


@pytest.mark.parametrize(
    ("number", "said", "first"),
    [
        (errno.EOPNOTSUPP, "Can't change eswitch mode when IPsec SA and/or policies are configured", "xfrm"),
        (errno.EINVAL, NAMESPACE, "back into the host's network namespace"),
        (errno.EPERM, NAMESPACE, "back into the host's network namespace"),
        (errno.EOPNOTSUPP, "Can't change mode while devlink traps are active", "devlink trap show"),
    ],
)
def test_what_stands_in_the_way_of_a_mode_is_named_with_what_to_do_first(
    number: int, said: str, first: str
) -> None:
    host = with_vfs(free(FakeHost()))
    host.fail("set_eswitch_mode", P0, OSError(number, said), None)
    error = refused(SetEswitchMode(P0, "switchdev"), host)
    assert error.reason == f"mlx5 does not change {P0} to mode switchdev: {said.removesuffix('.')}"
    assert first in error.remedy


def test_a_firmware_refusal_points_to_the_syndrome() -> None:
    host = with_vfs(free(FakeHost()))
    host.port(P0).mode_fails = True
    error = refused(SetEswitchMode(P0, "switchdev"), host)
    assert "refused eswitch mode switchdev" in error.reason
    assert "syndrome" in error.remedy


def test_a_port_without_an_eswitch_is_no_device_for_this() -> None:
    host = with_vfs(free(FakeHost()))
    host.fail("set_eswitch_mode", P0, OSError(errno.EOPNOTSUPP, "Operation not supported"))
    assert refused(SetEswitchMode(P0, "switchdev"), host).remedy == "remove it from devices"
