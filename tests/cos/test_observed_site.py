# SPDX-License-Identifier: Apache-2.0
"""A fault that only a VF's counters tell, on a site of modelled hosts, under Prometheus and Alertmanager."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab.observed import faults, modelled, watch

from cos.site import P0, Host, Site

HOOKS = 10.0
"""Seconds between two update-status."""


class Modelled:
    """A site of modelled hosts as the lab; their time passes as the clock's does."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._began, self._hooked = time.monotonic(), 0.0
        self._came = max(host.machine.now() - host.began for host in site.hosts)

    def run(self, *_: object) -> None:
        raise AssertionError("no fault here is a command")

    def until(self, holds: Callable[[], bool], limit: float) -> bool:
        return modelled.until(holds, limit, self.hooks)

    def hooks(self) -> None:
        now = time.monotonic()
        for host in self.site.hosts:
            host.come_to(self._came + now - self._began)
        if now - self._hooked > HOOKS:
            self._hooked = now
            for host in self.site.hosts:
                self.site.emit(host, "update_status")


def target(host: Host) -> watch.Target:
    """A host, as the guest that is scraped."""
    guest: Any = modelled.Exported(lambda: host.machine)
    return watch.Target(host.name, f"sriov-switchdev/{host.number}", guest)


@pytest.mark.thorough
def test_each_fault_raises_its_alert_alone_which_clears(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    site = Site(monkeypatch, 2)
    site.run(1)
    lab, vf = Modelled(site), next(iter(site.hosts[0].machine.network.ports())).vfs[0]
    cases = [
        faults.Fault(
            "a tenant's flows are no longer offloaded",
            "OffloadFlowsInSoftware",
            (f"node-0 {P0}",),
            lambda _: vf.growth.update(software_packets=40_000),
            lambda _: vf.growth.update(software_packets=20),
        ),
    ]
    with watch.watching(lab, [*map(target, site.hosts)], tmp_path) as watched:
        assert faults.quiet(watched), watched.restless()
        seen = [faults.try_out(watched, case) for case in cases]
    print(faults.table(seen, watched.factor))
    assert [each.told for each in seen if not each.holds] == []
