# SPDX-License-Identifier: Apache-2.0
"""The modelled host's own rules: what it refuses, what a reboot takes, when the LAG comes and goes."""

import copy
import errno

import pytest
from hostnic.devices import discover
from hostnic.ops.bonding import JoinBond, LeaveBond
from hostnic.ops.boot import SetEnabled
from hostnic.ops.eswitch import SetEswitchMode, SetHwTcOffload, SetSteeringMode
from hostnic.ops.files import InstallFile, RemoveFile
from hostnic.ops.vf import BindVf, CreateVfs, SetAutoprobe, UnbindVf
from lab.modelled import FakeHost, card
from lab.modelled.recorder import Recorder
from lab.modelled.states import converged, free, switchdev, with_vfs

P0, P1 = "0000:3b:00.0", "0000:3b:00.1"
UPLINK0, UPLINK1 = "enp59s0f0np0", "enp59s0f1np1"
VF0 = "0000:3b:00.2"
NUM_VFS = f"/sys/bus/pci/devices/{P0}/sriov_numvfs"
EARLY = b"[Unit]\nBefore=network-pre.target\n[Install]\nWantedBy=sysinit.target\n"
LATE = b"[Unit]\nAfter=network-online.target\n[Install]\nWantedBy=multi-user.target\n"


def lag(host: FakeHost) -> str | None:
    host.sleep(1.0)
    return host.cards[0].lag


@pytest.mark.parametrize(
    ("value", "number"),
    [("9", errno.ERANGE), ("-1", errno.EINVAL), ("many", errno.EINVAL), ("1", errno.EBUSY)],
)
def test_numvfs_refuses_as_the_kernel_does(value: str, number: int) -> None:
    host = with_vfs(FakeHost(), 2)
    with pytest.raises(OSError) as error:
        host.files.write(NUM_VFS, value)
    assert error.value.errno == number


def test_the_same_numvfs_again_is_no_error() -> None:
    with_vfs(FakeHost(), 2).files.write(NUM_VFS, "2")


def test_vfs_of_the_second_port_follow_those_that_the_first_could_have() -> None:
    host = with_vfs(FakeHost([card(total_vfs=64)]), 1)
    assert [vf.bdf for port in host.cards[0].ports for vf in port.vfs] == ["0000:3b:00.2", "0000:3b:08.2"]


def test_plain_bonded_ports_have_a_roce_lag_that_ends_with_the_first_vf() -> None:
    host = FakeHost()
    assert lag(host) == "roce"
    with_vfs(host)
    assert lag(host) is None


def test_vf_lag_forms_with_both_ports_in_switchdev_and_vfs_unbound() -> None:
    assert lag(converged(FakeHost())) == "switchdev"


@pytest.mark.parametrize("mode", ["broadcast", "balance-rr"])
def test_vf_lag_does_not_form_in_other_bond_modes(mode: str) -> None:
    host = switchdev(FakeHost())
    host.network.bonds["bond0"].mode = mode
    JoinBond(UPLINK0, "bond0").run(host)
    JoinBond(UPLINK1, "bond0").run(host)
    assert lag(host) is None


def test_vf_lag_does_not_form_with_more_than_64_vfs_offered() -> None:
    host = switchdev(FakeHost([card(total_vfs=65)]))
    JoinBond(UPLINK0, "bond0").run(host)
    JoinBond(UPLINK1, "bond0").run(host)
    assert lag(host) is None


def test_vf_lag_does_not_form_with_a_third_member() -> None:
    host = switchdev(FakeHost([card("3b"), card("5e")]))
    for netdev in ("enp94s0f0np0", UPLINK0, UPLINK1):
        JoinBond(netdev, "bond0").run(host)
    assert lag(host) is None


def test_vf_lag_broken_with_bound_vfs_does_not_come_back_until_the_driver_restarts() -> None:
    host = converged(FakeHost())
    LeaveBond(UPLINK0).run(host)
    assert lag(host) is None
    assert any("driver restart required" in line for line in host.log)
    for vf in [vf for port in host.cards[0].ports for vf in port.vfs]:
        UnbindVf(vf.bdf).run(host)
    JoinBond(UPLINK0, "bond0").run(host)
    assert lag(host) is None
    host.reboot()
    assert lag(host) == "roce"


def test_a_lag_for_roce_is_down_before_vfs_come_whose_driver_would_keep_it() -> None:
    host = FakeHost()
    assert lag(host) == "roce"
    host.files.write(f"/sys/bus/pci/devices/{P0}/sriov_numvfs", "2")
    assert lag(host) is None
    assert not any("Failed to deactivate" in line for line in host.log)


def test_before_linux_6_3_there_is_no_esw_multiport() -> None:
    host = FakeHost(kernel="6.1.0-41-amd64")
    with pytest.raises(OSError) as refused:
        host.devlink.set_param(P0, "esw_multiport", True)
    assert refused.value.errno == errno.EINVAL
    assert discover.observe(host).pfs[0].esw_multiport is None


def test_esw_multiport_is_refused_while_a_lag_is_active_and_does_not_keep_a_port_from_a_bond() -> None:
    host = converged(FakeHost())
    with pytest.raises(OSError, match="Invalid argument"):
        host.devlink.set_param(P0, "esw_multiport", True)
    host = switchdev(FakeHost())
    host.devlink.set_param(P0, "esw_multiport", True)
    host.links.set_up(UPLINK0, False)
    host.links.set_master(UPLINK0, "bond0")
    assert UPLINK0 in host.network.bonds["bond0"].members


def test_a_reboot_keeps_installed_files_and_the_bond_and_takes_the_rest() -> None:
    host = converged(FakeHost())
    host.files.install("/etc/x", b"1")
    host.files.install("/run/x", b"1")
    boot_id = host.boot_id
    host.reboot()
    port = host.port(P0)
    assert (port.vfs, port.eswitch_mode, port.autoprobe, port.hw_tc_offload) == ([], "legacy", True, False)
    assert host.files.exists("/etc/x")
    assert not host.files.exists("/run/x")
    assert host.boot_id != boot_id
    assert host.reachable


def test_a_reboot_brings_back_a_member_that_the_network_configuration_names() -> None:
    host = free(FakeHost())
    host.reboot()
    assert host.network.bonds["bond0"].members == [UPLINK0, UPLINK1]


def test_a_reboot_makes_the_firmwares_next_values_current() -> None:
    host = FakeHost()
    host.port(P0).firmware.next_num_of_vfs = 16
    assert host.files.read(f"/sys/bus/pci/devices/{P0}/sriov_totalvfs") == "8\n"
    host.reboot()
    assert host.files.read(f"/sys/bus/pci/devices/{P0}/sriov_totalvfs") == "16\n"


def test_at_boot_early_units_run_before_the_bond_is_formed_and_late_ones_after() -> None:
    host = FakeHost()
    seen: list[tuple[str, int]] = []
    for name, unit in (("early.service", EARLY), ("late.service", LATE), ("off.service", LATE)):
        host.files.install(f"/etc/systemd/system/{name}", unit)
        host.services[name] = lambda host, name=name: seen.append(
            (name, len(host.network.bonds["bond0"].members))
        )
    host.run(["systemctl", "enable", "early.service", "late.service"])
    host.reboot(boot=[lambda host: seen.append(("boot", len(host.network.bonds["bond0"].members)))])
    assert seen == [("early.service", 0), ("boot", 0), ("late.service", 2)]


def test_the_host_is_unreachable_while_its_bond_is_cut() -> None:
    host = free(FakeHost())
    assert not host.reachable
    JoinBond(UPLINK0, "bond0").run(host)
    assert not host.reachable
    host.sleep(1.0)
    assert host.reachable
    host.network.unplugged.add(UPLINK0)
    assert not host.reachable


def test_faults_come_when_asked_for() -> None:
    host = FakeHost()
    host.fail("write", "numvfs", OSError(errno.EIO, "once"), skip=1)
    host.files.write(NUM_VFS, "2")
    with pytest.raises(OSError, match="once"):
        host.files.write(NUM_VFS, "0")
    host.files.write(NUM_VFS, "0")
    assert len(host.trace) == 3


def test_the_recorder_and_the_model_use_the_same_words() -> None:
    host = free(FakeHost())
    recorder = Recorder(host)
    SetAutoprobe(P0, False).run(recorder)
    CreateVfs(P0, 2).run(recorder)
    SetSteeringMode(P0, "dmfs").run(recorder)
    SetEswitchMode(P0, "switchdev").run(recorder)
    SetHwTcOffload(UPLINK0, False).run(recorder)
    SetAutoprobe(P0, True).run(recorder)
    BindVf(VF0).run(recorder)
    UnbindVf(VF0).run(recorder)
    JoinBond(UPLINK0, "bond0").run(recorder)
    LeaveBond(UPLINK0).run(recorder)
    InstallFile("/etc/systemd/system/x.service", LATE).run(recorder)
    SetEnabled("x.service", True).run(recorder)
    SetEnabled("x.service", False).run(recorder)
    RemoveFile("/etc/systemd/system/x.service").run(recorder)
    recorder.links.set_up(UPLINK0, True)
    assert recorder.writes == host.trace
    assert len(recorder.writes) == 16


def test_a_copy_of_a_host_hears_its_own_calls() -> None:
    host = FakeHost()
    other = copy.deepcopy(host)
    other.files.write(NUM_VFS, "2")
    assert (host.trace, other.trace) == ([], [f"write {NUM_VFS} 2"])
