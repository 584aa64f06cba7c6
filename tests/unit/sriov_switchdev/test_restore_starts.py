# SPDX-License-Identifier: Apache-2.0
"""When the restore unit starts, and what it leaves to hooks and to live changes."""

import re

import live
import pytest
import record
from boot import files, main
from converge import StepError
from lab.modelled import FakeHost, card
from lab.modelled.nic import reload
from unit.sriov_switchdev.node import PF0, PF1, Node, compute_node, nic
from unit.sriov_switchdev.restored import is_converged, small

__all__ = ["small"]


def test_nothing_happens_before_the_node_was_converged(monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(compute_node(cards=[card(total_vfs=2)]), monkeypatch)
    node.deploy(num_vfs=2)
    node.host.trace.clear()
    reload.rebind(node.host, PF0, PF1)
    assert node.host.trace == []
    assert main.restore(node.host) == ()
    assert node.host.trace == []


def test_an_event_on_a_node_in_order_writes_nothing(small: Node) -> None:
    assert main.restore(small.host) == ()
    assert small.host.trace == []


def test_it_runs_after_the_boot_units_and_roce_qos_after_it() -> None:
    unit = files.restore_unit(files.desired.Desired())
    assert f"After=network.target {files.EARLY} {files.BIND}\n" in unit
    assert "Wants=ovn-offload-roce-qos-again.service\n" in unit
    assert "[Install]" not in unit
    assert "RemainAfterExit" not in unit


def test_udev_starts_it_for_uplinks_alone_and_only_after_the_first_convergence(small: Node) -> None:
    rules = [line for line in small.host.disk.read(files.RULE).splitlines() if "SYSTEMD_WANTS" in line]
    assert [re.findall(r'KERNELS=="([^"]+)"', line) for line in rules] == [[PF0], [PF1]]
    for line in rules:
        assert f'TEST=="{record.CONVERGED}"' in line
        assert 'ATTR{phys_port_name}!="*vf*|*sf*"' in line


def test_hooks_leave_the_nics_alone_while_it_runs_and_come_back(small: Node) -> None:
    seen: list[str] = []
    at_work = main.restore

    def with_a_hook(host: FakeHost) -> object:
        record.write_boot(host, "restore", "running")
        seen.append(small.emit("update_status").name)
        seen.extend(nic(small.writes))
        return at_work(host)

    small.host.services[files.RESTORE] = with_a_hook
    reload.health_recovery(small.host, PF0)
    assert seen == ["waiting"]
    assert is_converged(small.host)


def test_it_leaves_a_live_change_that_waits_for_its_confirmation_alone(small: Node) -> None:
    small.host.files.install(record.PREVIOUS, b"{}", 0o600)
    reload.health_recovery(small.host, PF0)
    assert nic(small.host.trace) == []
    assert record.read_boot(small.host).phases["restore"].state == "done"


def test_a_live_change_does_not_begin_while_it_runs(small: Node) -> None:
    record.write_boot(small.host, "restore", "running")
    with pytest.raises(StepError, match="is being restored"):
        live.Arm((), "x").run(small.host)
    assert not record.armed(small.host)
    assert "systemd-run" not in " ".join(small.host.trace)
