# SPDX-License-Identifier: Apache-2.0
"""A restore that fails or is cut off leaves no unused VF in legacy mode, and the next hook finishes."""

import contextlib
import itertools
from collections.abc import Sequence

import pytest
import record
from boot import files, main
from hostnic.calls import Call
from hostnic.listening import heard
from hostnic.system import Devlink, Ethtool, Files, Links, System
from lab.modelled import FakeHost
from lab.modelled.nic import reload
from unit.sriov_switchdev.node import APPROVE, PF0, PF1, PORT0, PORT1, REFUSED, Node, nic
from unit.sriov_switchdev.restored import CONVERGED, VF0, VF1, is_converged, small, state

__all__ = ["small"]


def test_the_only_port_that_carries_traffic_keeps_its_link(small: Node) -> None:
    small.host.network.unplugged.add(PORT1)
    reload.health_recovery(small.host, PF0)
    assert state(small.host)[0][0] == "legacy"
    small.emit("update_status")
    assert nic(small.writes) == []
    findings = small.action("verify")["findings"]
    assert f"{PORT0} is the only port of bond0 that carries traffic" in findings
    small.host.network.unplugged.clear()
    small.host.sleep(5)
    small.emit("update_status")
    assert is_converged(small.host)


@pytest.mark.parametrize(
    ("verb", "target"),
    [
        ("set_eswitch_mode", f"{PF0} switchdev"),
        ("write", f"{PF0}/sriov_drivers_autoprobe 0"),
        ("write", f"mlx5_core/unbind {VF1}"),
        ("write", f"mlx5_core/bind {VF1}"),
        ("set_channels", PORT0),
    ],
)
def test_a_step_that_fails_once_is_told_and_the_next_hook_finishes(
    small: Node, verb: str, target: str
) -> None:
    small.host.fail(verb, target, REFUSED)
    reload.health_recovery(small.host, PF0)
    found = record.read_boot(small.host).phases["restore"]
    assert (found.state, found.failures) == ("failed", 1)
    assert "ovn-offload-sriov-restore failed to" in found.problems[0].what
    assert "Input/output error" in found.problems[0].what
    small.host.sleep(5)
    assert small.host.reachable
    small.configure(allow_live=True)  # for queues
    for _ in range(2):
        small.emit("update_status")
    assert is_converged(small.host), small.log
    assert small.action("verify")["verified"] == "true"


def test_a_port_that_keeps_failing_has_no_vf_in_legacy_mode_and_is_given_up_after_three_attempts(
    small: Node,
) -> None:
    small.host.port(PF0).mode_fails = True
    reload.health_recovery(small.host, PF0)
    assert [port.eswitch_mode for port in small.host.network.ports()] == ["legacy", "switchdev"]
    assert [len(port.vfs) for port in small.host.network.ports()] == [0, 2]
    assert [vf.driver for vf in small.host.port(PF1).vfs] == ["mlx5_core"] * 2
    starts = 0
    for _ in range(4):
        assert small.emit("update_status").name == "blocked"
        starts += small.writes.count(f"run systemctl start {files.RESTORE}")
    assert starts == 2, "the first attempt was udev's"
    findings = small.action("verify")["findings"]
    assert f"{files.RESTORE} failed 3 times; {APPROVE}" in findings
    assert "ovn-offload-sriov-restore failed to set 0000:3b:00.0 to switchdev mode" in findings
    small.host.port(PF0).mode_fails = False
    small.configure(reboot_policy="always").emit()
    assert small.boot().name == "active"
    assert is_converged(small.host)


def test_a_vf_that_an_instance_takes_in_the_middle_stays_with_it(small: Node) -> None:
    change = small.host.devlink.set_eswitch_mode

    def taken(bdf: str, mode: str) -> None:
        small.host.start_instance(VF0)
        change(bdf, mode)

    small.host.devlink.set_eswitch_mode = taken
    reload.health_recovery(small.host, PF0)
    assert small.host.vf(VF0).driver == "vfio-pci"
    small.emit("update_status")
    assert nic(small.writes) == []
    assert f"VFs are in use: VF {VF0} by instance-0000002a" in small.action("verify")["findings"]
    small.host.devlink.set_eswitch_mode = change
    small.host.stop_instance(VF0)
    small.emit("update_status")
    assert is_converged(small.host)


@pytest.mark.parametrize("skip", [0, 1, 4])
def test_a_host_that_cannot_be_read_is_a_sentence(small: Node, skip: int) -> None:
    small.host.fail("links", "", REFUSED, skip=skip)
    small.host.services.clear()
    reload.health_recovery(small.host, PF0)
    (problem,) = main.restore(small.host)
    assert "the host cannot be read: Input/output error" in problem.what


def test_a_port_that_does_not_come_back_is_named_and_the_other_one_is_restored(small: Node) -> None:
    reload.rebind(small.host, PF0, PF1)
    assert is_converged(small.host)
    small.host.port(PF1).gone = True
    small.host.network.bonds["bond0"].members.remove(PORT1)
    reload.health_recovery(small.host, PF0)
    small.emit("update_status")
    assert f"the port ({PORT1}) is gone" in small.log


def test_a_unit_that_is_cut_off_leaves_no_unused_vf_in_legacy_mode(small: Node) -> None:
    """systemd ends it after its timeout, and runs ExecStopPost."""

    def killed(host: FakeHost) -> object:
        record.write_boot(host, "restore", "running")
        return main.fallback(host)

    small.host.services[files.RESTORE] = killed
    reload.health_recovery(small.host, PF0)
    assert [len(port.vfs) for port in small.host.network.ports()] == [0, 2]
    found = record.read_boot(small.host).phases["restore"]
    assert (found.state, found.failures) == ("failed", 1)
    small.host.services[files.RESTORE] = main.restore
    small.emit("update_status")
    assert is_converged(small.host)


def test_a_port_that_is_lost_while_the_other_one_is_restored_has_its_turn(small: Node) -> None:
    calls = itertools.count()
    change = small.host.devlink.set_eswitch_mode

    def lose_the_other(bdf: str, mode: str) -> None:
        if next(calls) == 0:
            services, small.host.services = small.host.services, {}
            reload.health_recovery(small.host, PF1)  # systemd merges this start into the running one
            small.host.services = services
        change(bdf, mode)

    small.host.devlink.set_eswitch_mode = lose_the_other
    reload.health_recovery(small.host, PF0)
    assert state(small.host) == CONVERGED


def test_a_unit_that_dies_after_any_of_its_writes_leaves_what_the_next_hooks_finish(small: Node) -> None:
    reload.health_recovery(small.host, PF0)
    writes = len(nic(small.host.trace))
    died: list[int] = []
    for cut in range(1, writes):
        died.append(_die_after(small, cut))
        assert not [
            vf for port in small.host.network.ports() if port.eswitch_mode == "legacy" for vf in port.vfs
        ]
        small.host.sleep(5)
        small.configure(allow_live=True)  # for queues
        for _ in range(2):
            small.emit("update_status")
        assert is_converged(small.host), (cut, state(small.host), small.log)
        small.configure(allow_live=False)
    assert died == list(range(1, writes))


DOORS = {"files": Files, "links": Links, "ethtool": Ethtool, "devlink": Devlink}
"""Those by which a restore changes something."""


class Killed(BaseException):
    """The process ends here."""


def _die_after(node: Node, most: int) -> int:
    """Recover a port; the unit makes so many writes to the NIC, then dies, and systemd runs ExecStopPost."""
    host, made = node.host, list[str]()

    def unit(system: System) -> object:
        host.trace.clear()

        def kill(call: Call, _: Sequence[str]) -> None:
            if call.writes and len(nic(host.trace)) == most:
                made.extend(nic(host.trace))
                raise Killed

        doors = {name: getattr(host, name) for name in DOORS}
        for name, door in doors.items():
            setattr(host, name, heard(door, DOORS[name], kill))
        with contextlib.suppress(Killed):
            main.restore(system)
        for name, door in doors.items():
            setattr(host, name, door)
        return main.fallback(system)

    host.services[files.RESTORE] = unit
    reload.health_recovery(host, PF0)
    host.services[files.RESTORE] = main.restore
    return len(made)
