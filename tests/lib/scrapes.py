# SPDX-License-Identifier: Apache-2.0
"""A modelled host whose exporter is scraped."""

from typing import Any

from exporter import facts
from exporter.facts import Facts, Port
from exporter.main import Exporter
from hostnic.testing import FakeHost, card
from vfs import in_switchdev

PF = "enp59s0f0np0"
DECLARED = {"vfs": 4, "switchdev": 1, "hw_tc_offload": 1, "queues": 8, "vf_lag": 1}


def converged(vfs: int = 4) -> FakeHost:
    """A host in switchdev mode, and what a hook has written."""
    host = FakeHost([card("3b", total_vfs=vfs)])
    host.cards[0].rdma = True
    in_switchdev(host, vfs)
    tell(host)
    return host


def tell(host: FakeHost, **more: Any) -> None:
    ports = tuple(
        Port(port.bdf, port.netdev, "bond0", True, DECLARED, {"vf_lag": 1}) for port in host.network.ports()
    )
    given = {"findings": {"blocked": 2}, "held": 1, "ports": ports, **more}
    facts.publish(host, Facts("sriov-switchdev", "sriov-switchdev/3", int(host.now()), **given))


def exporter(host: FakeHost, deadline: float = 5.0) -> Exporter:
    return Exporter(lambda: host, deadline)


def scrape(found: Exporter) -> dict[tuple[str, ...], float]:
    """Values by the series' name, without its prefix, and its labels' values."""
    return {
        (sample.name.removeprefix("ovn_offload_"), *sample.labels.values()): sample.value
        for family in found.collect()
        for sample in family.samples
    }
