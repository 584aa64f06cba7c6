# SPDX-License-Identifier: Apache-2.0
"""The steps that ``plan`` holds for the next boot are the boot's writes, on any host."""

from collections.abc import Iterator

import pytest
from converge import Op
from hostnic.ops.bonding import AwaitLag
from hostnic.ops.eswitch import (
    SetEswitchMode,
    SetHwTcOffload,
    SetInlineMode,
    SetQueues,
    SetSteeringMode,
)
from hostnic.ops.vf import BindVfs, CreateVfs, SetAutoprobe
from hostnic.system import System
from hypothesis import given, settings
from hypothesis import strategies as st
from lab.modelled import FakeBond, FakeHost, card
from unit.sriov_switchdev.node import DEVICE, Node, compute_node

BIND = "/sys/bus/pci/drivers/mlx5_core/bind"
KERNELS = ["5.15.0-48-generic", "6.8.0-45-generic"]
SLOTS = ["3b", "af"]
STATES = {
    "new": [],
    "VFs in legacy mode": [("legacy", 3), ("legacy", 3)],
    "half converted": [("switchdev", 2), ("legacy", 0)],
    "other count": [("switchdev", 3), ("switchdev", 3)],
    "adopted": [("switchdev", 2), ("switchdev", 2)],
}


def writes(op: Op[System], host: FakeHost) -> Iterator[str]:
    """The writes of one operation, as a trace has them."""
    match op:
        case SetAutoprobe(bdf, on):
            yield f"write {DEVICE}/{bdf}/sriov_drivers_autoprobe {int(on)}"
        case CreateVfs(bdf, count):
            yield f"write {DEVICE}/{bdf}/sriov_numvfs {count}"
        case SetEswitchMode(bdf, mode):
            yield f"set_eswitch_mode {bdf} {mode}"
        case SetInlineMode(bdf, mode):
            yield f"set_inline_mode {bdf} {mode}"
        case SetSteeringMode(bdf, mode):
            yield f"set_devlink_param {bdf} flow_steering_mode {mode}"
        case SetHwTcOffload(netdev, _):
            yield f"set_hw_tc_offload {netdev} on"
        case SetQueues(netdev, count):
            yield f"set_channels {netdev} {count}"
        case BindVfs(bdf):
            yield from (f"write {BIND} {vf.bdf}" for vf in host.port(bdf).vfs)
        case AwaitLag():
            return
        case _:
            pytest.fail(f"no boot does this: {op}")


MAY_BE_SO_ALREADY = ("set_hw_tc_offload", "set_channels", "set_devlink_param")
"""Whether the driver comes with these settings is only known at boot: what is so already is not written."""
IN_A_MODE_CHANGE = ("set_coalescing", "set_rings")
"""The settings that a change of mode resets and its operation puts back."""


def bonded(host: FakeHost, number: int) -> None:
    host.network.bonds[f"bond{number}"] = FakeBond(
        f"bond{number}", members=[port.netdev for port in host.cards[number].ports]
    )


@st.composite
def hosts(draw: st.DrawFn) -> FakeHost:
    """One or two NICs, each in a bond or not, in any state, on either kernel."""
    count = draw(st.integers(1, 2))
    host = compute_node(
        cards=[card(slot, total_vfs=4) for slot in SLOTS[:count]],
        bonded=False,
        kernel=draw(st.sampled_from(KERNELS)),
    )
    for number in range(count):
        if draw(st.booleans()):
            bonded(host, number)
    host.members_changed()
    for each in host.cards:
        if draw(st.booleans()):
            each.settings["LAG_RESOURCE_ALLOCATION"].current = 1
        for port, (mode, vfs) in zip(each.ports, STATES[draw(st.sampled_from(sorted(STATES)))]):
            host.files.write(f"{DEVICE}/{port.bdf}/sriov_drivers_autoprobe", "0")
            host.files.write(f"{DEVICE}/{port.bdf}/sriov_numvfs", str(vfs))
            if mode != "legacy":
                host.devlink.set_eswitch_mode(port.bdf, mode)
    return host


@settings(max_examples=60, deadline=None)
@given(
    host=hosts(),
    num_vfs=st.integers(1, 3),
    steering_mode=st.sampled_from(["keep", "smfs", "dmfs"]),
    vf_lag=st.sampled_from(["auto", "required", "disabled"]),
)
def test_what_the_plan_holds_is_what_the_boot_writes_in_this_order(
    host: FakeHost, num_vfs: int, steering_mode: str, vf_lag: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        node = Node(host, patch)
        devices = " ".join(port.netdev for port in host.network.ports())
        node.deploy(devices=devices, num_vfs=num_vfs, steering_mode=steering_mode, vf_lag=vf_lag)
        # A NIC that only lacks queues gets them with all else that a boot does; the plan has what differs.
        held = {way.nic.slot: [item.step.op for item in way.held] for way in node.looked().ways if way.held}
        node.boot()
        for slot, own in held.items():
            expected = [line for op in own for line in writes(op, host)]
            ports = [port for port in host.network.ports() if port.bdf.startswith(slot)]
            vfs = [vf.bdf for port in ports for vf in port.vfs]
            names = [slot, *vfs, *(port.netdev for port in ports)]
            written = [
                line
                for line in node.boot_writes
                if any(name in line for name in names) and not line.startswith(IN_A_MODE_CHANGE)
            ]
            assert written == [
                line for line in expected if line in written or not line.startswith(MAY_BE_SO_ALREADY)
            ]
