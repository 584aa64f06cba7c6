# SPDX-License-Identifier: Apache-2.0
"""The observation of a host, and the effect of one bad device on the rest."""

import errno

import pytest
from converge import Severity
from hostnic.devices import discover, lag
from hostnic.devices.model import Bond, Host, Pf
from hostnic.ops.vf import CreateVfs, DestroyVfs
from lab.modelled import FakeHost, card
from lab.modelled.states import converged, switchdev, with_vfs

P0, P1 = "0000:3b:00.0", "0000:3b:00.1"
UPLINK0, UPLINK1 = "enp59s0f0np0", "enp59s0f1np1"
VF0 = "0000:3b:00.2"


def pf(host: FakeHost, bdf: str = P0) -> Pf:
    found = discover.observe(host).pf(bdf)
    assert found is not None
    return found


def test_a_plain_node() -> None:
    host = FakeHost()
    seen = discover.observe(host)
    assert [one.bdf for one in seen.pfs] == [P0, P1]
    assert seen.findings == ()
    assert seen.kernel == "6.8.0-45-generic"
    first = pf(host)
    assert (first.port.driver, first.port.device, first.netdev) == ("mlx5_core", "15b3:101d", UPLINK0)
    assert (first.firmware, first.psid, first.numa_node) == ("22.35.2000", "MT_0000000359", 0)
    assert (first.port.total_vfs, first.port.num_vfs, first.autoprobe, first.vfs) == (8, 0, True, ())
    assert (first.eswitch_mode, first.steering_mode, first.esw_multiport) == ("legacy", "smfs", False)
    assert (first.bond, first.port.bridge, first.carrier, first.hw_tc_offload) == ("bond0", None, True, False)
    assert seen.bonds == (Bond("bond0", "802.3ad", (UPLINK0, UPLINK1)),)
    assert host.trace == []


def test_reading_starts_no_process_where_debugfs_tells() -> None:
    host = converged(FakeHost())
    host.spawned.clear()
    discover.observe(host)
    assert host.spawned == []


@pytest.mark.parametrize(
    ("kernel", "device", "vfs", "mode"),
    [
        ("5.15.0-119-generic", "15b3:101d", 8, "legacy"),
        ("5.15.0-119-generic", "15b3:101d", 0, None),  # the firmware hides SR-IOV
        ("5.15.0-119-generic", "15b3:a2d6", 8, None),  # a BlueField may be in DPU mode
        ("6.8.0-45-generic", "15b3:101d", 8, None),
    ],
)
def test_without_vfs_an_old_kernel_tells_no_mode_and_a_connectx_is_in_legacy_mode(
    kernel: str, device: str, vfs: int, mode: str | None
) -> None:
    host = FakeHost([card(device=device, total_vfs=vfs)], kernel=kernel)
    for port in host.network.ports():
        port.eswitch_mode = "none"
    assert host.devlink.eswitch_mode(P0) is None
    assert pf(host).eswitch_mode == mode


def test_on_an_old_kernel_the_eswitch_begins_and_ends_with_the_vfs() -> None:
    host = switchdev(FakeHost(kernel="5.15.0-119-generic"))
    assert host.devlink.eswitch_mode(P0) == "switchdev"
    DestroyVfs(P0).run(host)
    assert host.devlink.eswitch_mode(P0) is None
    assert pf(host).eswitch_mode == "legacy"
    CreateVfs(P0, 2).run(host)
    assert host.devlink.eswitch_mode(P0) == "legacy"


def test_a_converged_node_keeps_its_uplinks_among_the_representors() -> None:
    host = converged(FakeHost())
    first = pf(host)
    assert first.netdev == UPLINK0
    assert sum(link.pci == P0 for link in host.links.all()) == 3
    assert (first.eswitch_mode, first.hw_tc_offload, first.port.num_vfs) == ("switchdev", True, 2)
    assert (first.lag.active, first.lag.type, first.lag.source) == (True, "switchdev", "debugfs")
    shown = [host.files.read(f"{lag.DEBUGFS}/{P0}/lag/{name}") for name in ("port_sel_mode", "flags")]
    assert shown == ["hash\n", "shared_fdb:on\n"]


def test_vfs_in_order_with_driver_netdev_and_user() -> None:
    host = with_vfs(FakeHost(), 4, bound=True)
    host.start_instance("0000:3b:00.3", "instance-00000007")
    host.move_to_netns("0000:3b:00.4")
    host.vf("0000:3b:00.5").driver = None
    free, instance, netns, unbound = pf(host).vfs
    assert (free.driver, free.users) == ("mlx5_core", ())
    assert free.netdev is not None
    assert (instance.driver, instance.users) == ("vfio-pci", ("instance-00000007",))
    assert (netns.netdev, netns.users) == (None, ("network namespace",))
    assert (unbound.driver, unbound.users) == (None, ())


def test_one_unreadable_device_is_one_finding_and_the_others_go_on() -> None:
    host = FakeHost([card("3b"), card("5e")])
    host.fail("device_info", P0, OSError(errno.EIO, "no answer from the firmware"), times=None)
    seen = discover.observe(host)
    assert [one.bdf for one in seen.pfs] == [P1, "0000:5e:00.0", "0000:5e:00.1"]
    (finding,) = seen.findings
    assert (finding.severity, finding.subject) == (Severity.WARNING, P0)
    assert "no answer from the firmware" in finding.what


@pytest.mark.parametrize(
    "call", ["read", "eswitch_mode", "devlink_param", "device_info", "hw_tc_offload", "listdir"]
)
def test_a_call_that_fails_does_not_affect_the_other_nic(call: str) -> None:
    host = FakeHost([card("3b"), card("5e")])
    target = UPLINK0 if call == "hw_tc_offload" else P0
    host.fail(call, target, OSError(errno.EIO, "no"), times=None)
    seen = discover.observe(host)
    assert seen.pf("0000:5e:00.0") is not None
    assert [finding.subject for finding in seen.findings] == [P0]


def test_what_a_driver_does_not_know_is_unknown_and_no_finding() -> None:
    host = FakeHost()
    for call in ("eswitch_mode", "devlink_param"):
        host.fail(call, P0, OSError(errno.EOPNOTSUPP, "Operation not supported"), times=None)
    first = pf(host)
    assert (first.eswitch_mode, first.steering_mode, first.esw_multiport) == (None, None, None)
    assert discover.observe(host).findings == ()


def test_sriov_off_in_firmware_is_seen_and_not_hidden() -> None:
    host = FakeHost()
    host.port(P0).firmware.next_sriov_en = False
    host.reboot()
    assert (pf(host).port.total_vfs, pf(host).port.num_vfs) == (0, 0)


def test_a_host_without_nics() -> None:
    assert discover.observe(FakeHost([], bonded=False)) == Host((), (), "6.8.0-45-generic")


def test_a_port_that_is_itself_in_a_bridge_says_in_which() -> None:
    host = FakeHost(bonded=False)
    uplink = next(link for link in host.links.all() if link.name == UPLINK0)
    host.cards[0].ports[0].driver = None
    host.network.others[UPLINK0] = uplink._replace(master="br-ex")
    host.network.others["br-ex"] = uplink._replace(name="br-ex", kind="bridge", pci=None, port_name=None)
    first = pf(host)
    assert (first.bond, first.port.bridge) == (None, "br-ex")


def test_a_driver_without_port_names_has_one_netdev() -> None:
    host = FakeHost([card(device="8086:1572")], bonded=False)
    uplink = next(link for link in host.links.all() if link.name == UPLINK0)
    host.cards[0].ports[0].driver = "i40e"
    host.network.others[UPLINK0] = uplink._replace(port_name=None, switch_id=None)
    first = pf(host)
    assert (first.port.driver, first.netdev, first.eswitch_mode, first.lag.active) == (
        "i40e",
        UPLINK0,
        None,
        None,
    )


def test_pfs_and_bonds_are_found_by_name() -> None:
    seen = discover.observe(FakeHost())
    assert seen.pf(UPLINK1) == seen.pf(P1)
    assert seen.pf("eth0") is None
    assert seen.bond("bond0") is not None
    assert seen.bond("bond1") is None
    assert [one.port.nic for one in seen.pfs] == ["0000:3b:00", "0000:3b:00"]
