# SPDX-License-Identifier: Apache-2.0
"""A port's driver is loaded anew on a running node: its settings return, after sriov-switchdev's unit."""

import pytest
from boot import files, main
from hostnic.boot import units
from hostnic.netlink.dcb import Dcb
from lab.modelled import FakeHost
from lab.modelled.nic import reload
from unit.roce_qos.node import P0, P1, PF0, PF1, Node, nic

RESTORE = "ovn-offload-sriov-restore.service"
"""sriov-switchdev's unit, which the same event starts."""
RULE = f'SUBSYSTEM=="net", ACTION=="add|move", KERNELS=="{PF0}", ENV{{SYSTEMD_WANTS}}+="{RESTORE}"\n'


@pytest.fixture
def lossless(converged: Node) -> Node:
    """A lossless node; its units do what they say."""
    host = converged.host
    host.services[files.AGAIN] = lambda machine: main.converge(machine, main.AGAIN_DEADLINE)
    host.trace.clear()
    return converged


def is_lossless(host: FakeHost) -> bool:
    return all(
        (port.dcb.pfc, port.dcb.ets.tsa[0], len(port.dcb.apps), port.pause) == ((3,), "ets", 64, False)
        for port in host.network.ports()
    )


@pytest.mark.parametrize("ports", [(PF0,), (PF1,), (PF0, PF1)])
def test_what_a_health_recovery_resets_is_set_again_without_a_hook(
    lossless: Node, ports: tuple[str, ...]
) -> None:
    reload.health_recovery(lossless.host, *ports)
    assert is_lossless(lossless.host)
    assert lossless.emit("update_status").name == "active"
    assert nic(lossless.writes) == []


def test_it_comes_after_the_change_of_mode_by_sriov_switchdev(lossless: Node) -> None:
    """A change of mode resets the shares, whatever was set before (mlx5e_dcbnl_initialize)."""

    def restore(host: FakeHost) -> None:
        host.devlink.set_eswitch_mode(PF0, "switchdev")

    host = lossless.host
    host.services[RESTORE] = restore
    host.disk.install(units.path(RESTORE), b"[Service]\nType=oneshot\n", 0o644)
    host.disk.install("/etc/udev/rules.d/70-ovn-offload-sriov.rules", RULE.encode(), 0o644)
    reload.health_recovery(host, PF0)
    assert is_lossless(host)
    first = host.trace.index(f"set_eswitch_mode {PF0} switchdev")
    assert not [line for line in host.trace[:first] if line.startswith("set_dcb")]


@pytest.mark.parametrize(("set_on", "again"), [(P1, P0), (P0, P1)])
def test_a_port_that_is_added_anew_while_the_unit_runs_is_served_too(
    lossless: Node, set_on: str, again: str
) -> None:
    """systemd merges that start into the one that runs."""
    host, done = lossless.host, list[str]()
    set_dcb = host.dcb.set

    def set_and_lose(link: str, wanted: Dcb) -> None:
        set_dcb(link, wanted)
        if link == set_on and wanted.pfc and not done:
            done.append(link)
            host.port(again).dcb.power_on()

    host.dcb.set = set_and_lose
    reload.health_recovery(host, PF0, PF1)
    assert done
    assert is_lossless(host)
    assert not main.record.read(host).problems
