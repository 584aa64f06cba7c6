# SPDX-License-Identifier: Apache-2.0
"""A look at two ports with 127 VFs each goes through no list more often than one at ports with 8."""

from typing import Any

import pytest
from hostnic.devices import discover
from lab.modelled import FakeHost, card
from vfs import FEW, MANY, in_switchdev


class Counted(list[Any]):
    """A list that knows how often it is gone through."""

    times = 0

    def __iter__(self) -> Any:
        self.times += 1
        return super().__iter__()

    def __reversed__(self) -> Any:
        self.times += 1
        return super().__reversed__()


def test_links_are_read_once_and_gone_through_as_often_for_many_vfs(monkeypatch: pytest.MonkeyPatch) -> None:
    def times(vfs: int) -> int:
        host, read = FakeHost([card("3b", total_vfs=MANY)]), list[Counted]()
        in_switchdev(host, vfs)
        ask = host.links.all
        with monkeypatch.context() as patch:
            patch.setattr(host.links, "all", lambda: read.append(Counted(ask())) or read[-1])
            found = discover.observe(host)
        assert [len(pf.vfs) for pf in found.pfs] == [vfs, vfs]
        (links,) = read
        return links.times

    assert times(MANY) == times(FEW)
