# SPDX-License-Identifier: Apache-2.0
"""A look at two ports with 127 VFs each goes through no list more often than one at ports with 8."""

from typing import Any

import pytest
from hostnic.devices import discover
from hostnic.testing import FakeHost, card


class Counted(list[Any]):
    """A list that knows how often it is gone through."""

    times = 0

    def __iter__(self) -> Any:
        self.times += 1
        return super().__iter__()

    def __reversed__(self) -> Any:
        self.times += 1
        return super().__reversed__()


def host_with(vfs: int) -> FakeHost:
    nic = card("3b", total_vfs=127)
    host = FakeHost([nic])
    for port in nic.ports:
        directory = f"/sys/bus/pci/devices/{port.bdf}"
        host.files.write(f"{directory}/sriov_drivers_autoprobe", "0")
        host.files.write(f"{directory}/sriov_numvfs", str(vfs))
        host.devlink.set_eswitch_mode(port.bdf, "switchdev")
    host.sleep(30)
    return host


def test_links_are_read_once_and_gone_through_as_often_for_many_vfs(monkeypatch: pytest.MonkeyPatch) -> None:
    def times(vfs: int) -> int:
        host, read = host_with(vfs), list[Counted]()
        ask = host.links.all
        with monkeypatch.context() as patch:
            patch.setattr(host.links, "all", lambda: read.append(Counted(ask())) or read[-1])
            found = discover.observe(host)
        assert [len(pf.vfs) for pf in found.pfs] == [vfs, vfs]
        (links,) = read
        return links.times

    assert times(127) == times(8)
