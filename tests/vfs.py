# SPDX-License-Identifier: Apache-2.0
"""Modelled hosts with many VFs, and what an act asks of one with 127 on each of two ports, against 8."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import pytest
from lab.modelled import FakeHost

FEW, MANY = 8, 127
MORE = 2 * (MANY - FEW)
"""VFs of the host with many, on both ports."""


def in_switchdev(host: FakeHost, vfs: int, *, bound: bool = False) -> None:
    """Give each port VFs and its eswitch switchdev mode."""
    for port in host.network.ports():
        directory = f"/sys/bus/pci/devices/{port.bdf}"
        host.files.write(f"{directory}/sriov_drivers_autoprobe", "0")
        host.files.write(f"{directory}/sriov_numvfs", str(vfs))
        host.devlink.set_eswitch_mode(port.bdf, "switchdev")
        host.files.write(f"{directory}/sriov_drivers_autoprobe", str(int(bound)))
        for vf in port.vfs if bound else ():
            host.files.write("/sys/bus/pci/drivers/mlx5_core/bind", vf.bdf)
    host.sleep(30)


class Asked(NamedTuple):
    """The calls made on a host, each with its words, and every command."""

    calls: Counter[tuple[str, str]]
    processes: list[tuple[str, ...]]


def asked(host: FakeHost, act: Callable[[], object]) -> Asked:
    """Return the calls and commands of an act."""
    host.asked.clear()
    host.spawned.clear()
    act()
    # The words of an install have the content, and networkd knows a netdev by its number.
    kept = [(verb, "" if verb == "install" else words) for verb, words in host.asked]
    calls = Counter((verb, re.sub(r"/netif/links/\d+", "/netif/links/N", words)) for verb, words in kept)
    return Asked(calls, list(host.spawned))


def asked_by_each(
    idle: Callable[[int, pytest.MonkeyPatch], Any], acts: Mapping[str, Callable[[Any], object]]
) -> dict[int, dict[str, Asked]]:
    """By the number of VFs of each port, what each act asks of a node that ``idle`` has set up with them."""
    found: dict[int, dict[str, Asked]] = {}
    for vfs in (FEW, MANY):
        with pytest.MonkeyPatch.context() as patch:
            node = idle(vfs, patch)
            assert node.emit("update_status").name == "active"
            found[vfs] = {what: asked(node.host, partial(act, node)) for what, act in acts.items()}
    return found


def assert_vfs_are_read_once(few: Asked, many: Asked, of_each: int) -> None:
    """Of each VF so many things are read, once; all else is asked as often, with the same processes."""
    assert many.processes == few.processes
    new = {call: times for call, times in many.calls.items() if call not in few.calls}
    assert set(new.values()) <= {1}, max(new.items(), key=lambda item: item[1])
    assert len(new) == of_each * MORE, list(new)[:10]
    assert {call: many.calls[call] for call in few.calls} == few.calls
