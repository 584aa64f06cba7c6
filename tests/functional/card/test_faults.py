# SPDX-License-Identifier: Apache-2.0
"""Faults on demand: what a driver of such hardware, and its user, then see."""

import pytest

DEVICES = "/sys/bus/pci/devices"


def test_every_fault_is_off_at_first(card):
    shown = card.run("cd /sys/kernel/debug/vcx/0000:3b:00.1 && grep . fault_* | sort").stdout
    assert dict(line.split(":") for line in shown.splitlines()) == {
        "fault_cmd_timeout_ms": "0",
        "fault_esw_locked": "0",
        "fault_fw": "0",
        "fault_fw_fatal": "0",
        "fault_lag_never": "0",
        "fault_link_down": "0",
        "fault_lockdown": "0",
        "fault_mode_fail": "0",
        "fault_numvfs_enomem": "0",
        "fault_rx": "0",
        "fault_slow_path": "0",
        "fault_surprise_remove": "0",
        "fault_tx": "0",
        "fault_vf_delay_ms": "0",
        "fault_vf_no_probe": "-1",
    }


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "value"), [("mode_fail", "perhaps"), ("vf_delay_ms", "soon")])
def test_a_wrong_value_is_refused(card, name, value):
    done = card.write(f"/sys/kernel/debug/vcx/0000:3b:00.0/fault_{name}", value, check=False)
    assert "Invalid argument" in done.stderr


@pytest.mark.thorough
def test_vfs_that_appear_late_and_a_mode_change_that_races_them(card):
    card.fault("vf_delay_ms", 60000)
    card.vfs(2, pfs=card.pfs[:1])
    assert card.run(f"ls -d {DEVICES}/0000:3b:00.0/virtfn*", check=False).returncode != 0
    done = card.try_mode("0000:3b:00.0", "switchdev")
    assert "Error: mlx5_core: Failed setting eswitch to offloads." in done.stderr
    assert "Invalid argument" in done.stderr
    assert "syndrome (0x98afbb), err(-22)" in card.log()
    card.fault("vf_delay_ms", 200)
    for what in ("unbind", "bind"):  # a number while VFs are still to come is refused
        card.write(f"/sys/bus/pci/drivers/mlx5_core/{what}", card.pfs[0])
    card.vfs(2, pfs=card.pfs[:1])
    card.await_output(f"ls {DEVICES}/0000:3b:00.0", "virtfn1")
    card.set_mode("switchdev", pfs=card.pfs[:1])


@pytest.mark.thorough
def test_vfs_that_were_still_to_come_do_not_outlive_their_pf(card):
    card.fault("vf_delay_ms", 500)
    card.vfs(2, pfs=card.pfs[:1])
    card.write("/sys/bus/pci/drivers/mlx5_core/unbind", "0000:3b:00.0")
    card.run("sleep 1")
    assert card.run("lspci -d 15b3:101e").stdout == ""


@pytest.mark.thorough
def test_a_vf_that_never_probes(card):
    card.fault("vf_no_probe", 1)
    card.vfs(3, pfs=card.pfs[:1], bound=True)
    bound = card.run(f"cd {DEVICES} && ls -d 0000:3b:00.[2-4]/driver").stdout.split()
    assert bound == ["0000:3b:00.2/driver", "0000:3b:00.4/driver"]
    assert "mlx5_core 0000:3b:00.3: mlx5_function_setup" in card.log()
    assert "in pre-initializing state, aborting" in card.log()
    card.fault("vf_no_probe", -1)
    card.bind("0000:3b:00.3")


def test_a_mode_change_that_the_firmware_refuses(card):
    card.fault("mode_fail", "Y")
    done = card.try_mode("0000:3b:00.0", "switchdev")
    assert "Failed setting eswitch to offloads" in done.stderr
    assert card.mode("0000:3b:00.0") == "legacy"
    card.set_mode("switchdev", pfs=card.pfs[1:])
    card.fault("mode_fail", "N")
    card.set_mode("switchdev", pfs=card.pfs[:1])


@pytest.mark.thorough
def test_no_room_for_vfs(card):
    card.fault("numvfs_enomem", "Y")
    done = card.write(f"{DEVICES}/0000:3b:00.0/sriov_numvfs", 2, check=False)
    assert "Cannot allocate memory" in done.stderr
    assert "not enough MMIO resources for SR-IOV" in card.log()
    assert card.read("0000:3b:00.0", "sriov_numvfs") == "0"


def test_a_lag_that_never_activates(card):
    card.fault("lag_never", "Y")
    card.vfs(1)
    card.set_mode("switchdev")
    card.bond()
    card.await_output("cat /proc/net/bonding/bond0", "Number of ports: 2")
    card.run("sleep 1")
    assert card.lag("state") == "disabled"


def test_a_link_that_goes_down_is_seen_at_both_ends(card):
    card.run("ip link set enp59s0f0np0 up")
    card.await_output("cat /sys/class/net/enp59s0f0np0/carrier", "1")
    card.fault("link_down", "Y")
    card.await_output("cat /sys/class/net/enp59s0f0np0/carrier", "0")
    assert card.run("ip netns exec tor cat /sys/class/net/swp0/carrier").stdout == "0\n"
    card.fault("link_down", "N")
    card.await_output("cat /sys/class/net/enp59s0f0np0/carrier", "1")


@pytest.mark.thorough
def test_a_card_that_vanishes_and_comes_back(card):
    card.vfs(2, bound=True)
    card.fault("surprise_remove", "Y")
    assert card.run("setpci -s 3b:00.0 VENDOR_ID.l").stdout == "ffffffff\n"
    assert "Input/output error" in card.try_mode("0000:3b:00.0", "switchdev").stderr
    card.write(f"{DEVICES}/0000:3b:00.0/remove", 1)
    assert card.run("lspci -s 3b:00.0").stdout == ""
    assert card.mode("0000:3b:00.1") == "legacy"
    card.fault("surprise_remove", "N")
    card.write("/sys/bus/pci/rescan", 1)
    card.await_output("ls /sys/class/net", "enp59s0f0np0")
    card.vfs(1, pfs=card.pfs[:1])
