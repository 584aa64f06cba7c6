# SPDX-License-Identifier: Apache-2.0
"""LAG by mlx5's rules: when it activates, when not, what debugfs and the kernel log then say."""

import pytest

LAG = "/sys/kernel/debug/mlx5/0000:3b:00.0/lag"
UNBIND_FIRST = "Make sure all VFs are unbound prior to VF LAG activation or deactivation"


def make_switchdev(card):
    card.vfs(2)
    card.set_mode("switchdev")


def make_lag(card):
    make_switchdev(card)
    card.bond()
    card.await_lag("active")


@pytest.fixture
def switchdev(prepared):
    """Both PFs in switchdev mode with two unbound VFs each."""
    return prepared("switchdev", make_switchdev)


@pytest.fixture
def lag(prepared):
    """The same with an active LAG over an 802.3ad bond."""
    return prepared("lag", make_lag)


def stays_off(card):
    """LAG is still off some time after the bond is complete."""
    card.await_output("cat /sys/class/net/bond0/carrier", "1")
    state = f"/sys/kernel/debug/mlx5/{card.pfs[0]}/lag/state"
    return card.run(f"sleep 1; cat {state}").stdout == "disabled\n"


def test_both_ports_in_switchdev_and_in_one_bond_activate_vf_lag(switchdev):
    card = switchdev
    assert card.lag("state") == "disabled"
    card.bond()
    card.await_lag("active")
    for bdf in card.pfs:
        assert card.lag("state", bdf) == "active"
        assert card.lag("type", bdf) == "switchdev"
        assert card.lag("port_sel_mode", bdf) == "hash"
        assert card.lag("flags", bdf) == "shared_fdb:on\nfdb_selection_mode:native"
        assert card.lag("members", bdf) == "0000:3b:00.0\n0000:3b:00.1"
    card.await_output(f"cat {LAG}/mapping", "1\n2")
    assert "mlx5_core 0000:3b:00.0: lag map active ports: 1, 2\n" in card.log()
    assert "mlx5_core 0000:3b:00.0: shared_fdb:1 mode:hash\n" in card.log()
    assert "mlx5_core 0000:3b:00.0: Operation mode is single FDB\n" in card.log()
    card.bind("0000:3b:00.2")
    assert card.lag("state") == "active"


@pytest.mark.thorough
def test_active_backup_selects_ports_by_queue_affinity(switchdev):
    switchdev.bond("mode active-backup")
    switchdev.await_lag("active")
    assert switchdev.lag("port_sel_mode") == "queue_affinity"
    switchdev.await_output("dmesg", "mlx5_core 0000:3b:00.0: lag map: port 1:1 port 2:1\n")
    assert switchdev.lag("mapping") == "1:1\n2:1"


@pytest.mark.thorough
def test_the_port_that_is_left_sends_for_both(lag):
    lag.await_output(f"cat {LAG}/mapping", "1\n2")
    lag.fault("link_down", "Y")
    lag.await_output("dmesg", "mlx5_core 0000:3b:00.0: lag map active ports: 2\n")
    assert lag.lag("mapping") == "2"
    assert lag.lag("state") == "active"


def test_without_vfs_in_legacy_mode_the_lag_is_of_roce_and_ends_with_the_first_vf(card):
    card.bond()
    card.await_lag("active")
    assert card.lag("type") == "roce"
    assert card.lag("port_sel_mode") == "hash"
    assert card.lag("flags") == "shared_fdb:off\nfdb_selection_mode:affinity"
    card.vfs(1)
    card.await_lag("disabled")
    assert card.lag("type") == "invalid"


def test_bound_vfs_fail_the_activation(switchdev):
    card = switchdev
    card.bind("0000:3b:00.2")
    card.bond()
    card.await_output("dmesg", UNBIND_FIRST)
    assert stays_off(card)
    log = card.log()
    refusal = "CREATE_LAG(0x840) op_mod(0x0) failed, status bad parameter(0x3), syndrome (0x7d49cb), err(-22)"
    assert refusal in log
    assert "Failed to create LAG (-22)" in log
    assert "Failed to activate VF LAG\n" in log


@pytest.mark.thorough
def test_vfs_bound_while_it_ends_need_a_driver_restart(lag):
    card = lag
    card.bind("0000:3b:01.2")
    card.run("ip link set enp59s0f1np1 nomaster")
    card.await_output("dmesg", "Failed to deactivate VF LAG; driver restart required")
    card.write("/sys/bus/pci/drivers/mlx5_core/unbind", "0000:3b:01.2")
    card.run("ip link set enp59s0f1np1 down; ip link set enp59s0f1np1 master bond0")
    assert stays_off(card)
    card.run("ip link del bond0")
    card.reload()
    make_lag(card)


@pytest.mark.parametrize("switched", [0, pytest.param(1, marks=pytest.mark.thorough)])
def test_one_port_in_switchdev_is_not_enough(card, switched):
    card.vfs(1)
    card.set_mode("switchdev", pfs=(card.pfs[switched],))
    card.bond()
    assert stays_off(card)


@pytest.mark.thorough
def test_vfs_in_legacy_mode_prevent_it(card):
    card.vfs(1)
    card.bond()
    assert stays_off(card)


def test_a_third_member_prevents_it_and_a_leaving_one_ends_it(switchdev):
    card = switchdev
    card.run("ip link add third type veth peer name other")
    card.bond(members=(*card.uplinks, "third"))
    card.await_lag("disabled")
    assert stays_off(card)
    card.run("ip link set third nomaster")
    card.await_lag("active")
    card.run("ip link set enp59s0f0np0 nomaster")
    card.await_lag("disabled")


@pytest.mark.thorough
def test_ports_of_two_cards_are_no_lag(card):
    card.reload("cards=3b:cx6dx:2,5e:cx6dx:2", "wires=w0,none,w1,none")
    for bdf in ("0000:3b:00.0", "0000:5e:00.0"):
        card.set_mode("switchdev", pfs=(bdf,))
    card.bond(members=("enp59s0f0np0", "enp94s0f0np0"))
    assert stays_off(card)


@pytest.mark.thorough
def test_broadcast_bonds_are_refused_in_words(switchdev):
    done = switchdev.bond("mode broadcast")
    assert "Can't activate LAG offload, TX type isn't supported" in done.stderr
    assert stays_off(switchdev)


def test_a_connectx_5_has_neither_a_shared_fdb_nor_a_hash(card):
    card.reload("cards=3b:cx5:2")
    make_lag(card)
    assert card.lag("flags") == "shared_fdb:off\nfdb_selection_mode:affinity"
    assert card.lag("port_sel_mode") == "queue_affinity"
    assert "shared_fdb:0 mode:queue_affinity\n" in card.log()


@pytest.mark.thorough
def test_without_port_metadata_the_ports_share_no_fdb(card):
    name = "name esw_port_metadata value false cmode runtime"
    for bdf in card.pfs:
        card.run(f"devlink dev param set pci/{bdf} {name}")
    make_lag(card)
    assert card.lag("flags") == "shared_fdb:off\nfdb_selection_mode:affinity"
    assert card.lag("port_sel_mode") == "hash"
    assert "shared_fdb:0 mode:hash\n" in card.log()
    done = card.run(f"devlink dev param set pci/{card.pfs[0]} {name.replace('false', 'true')}", check=False)
    assert "E-Switch must either disabled or non switchdev mode" in done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("strict", ["Y", "N"])
def test_a_firmware_that_offers_more_than_64_vfs(card, strict):
    card.run("mstconfig -d 3b:00.0 -y set NUM_OF_VFS=65")
    # As after a reboot: the store no longer names this boot as the one that wrote it.
    card.run("printf X | dd of=/var/lib/lab/firmware bs=1 seek=8 conv=notrunc")
    card.reload(f"strict_vf64={strict}")
    assert card.read("0000:3b:00.0", "sriov_totalvfs") == "65"
    make_switchdev(card)
    done = card.bond()
    if strict == "Y":  # no LAG object: no directory beside the port's, and no word about the bond
        assert (done.returncode, done.stderr) == (0, "")
        card.await_output("cat /sys/class/net/bond0/carrier", "1")
        assert card.run("ls /sys/kernel/debug/mlx5/0000:3b:00.0").stdout == ""
        assert "lag map" not in card.log()
    else:
        card.await_lag("active")


def set_multiport(card, value):
    name = "pci/0000:3b:00.0 name esw_multiport"
    return card.run(f"devlink dev param set {name} value {value} cmode runtime", check=False).stderr


@pytest.mark.thorough
def test_esw_multiport_and_a_bond(card):
    if card.machine.release.linux < (6, 3):
        assert "esw_multiport" not in card.run("devlink dev param show").stdout
        return
    assert "Operation not supported" in set_multiport(card, "true")
    card.set_mode("switchdev")
    assert set_multiport(card, "true") == ""
    assert card.lag("type") == "multiport_eswitch"
    assert card.lag("port_sel_mode") == "mpesw"
    assert card.lag("flags") == "shared_fdb:on\nfdb_selection_mode:native"
    assert card.bond().returncode == 0
    assert card.lag("type") == "multiport_eswitch"
    assert set_multiport(card, "false") == ""
    assert card.lag("state") == "disabled"


@pytest.mark.thorough
def test_an_active_lag_prevents_esw_multiport(lag):
    if lag.machine.release.linux >= (6, 3):
        assert "Invalid argument" in set_multiport(lag, "true")
    assert lag.lag("type") == "switchdev"


def test_a_mode_change_takes_an_active_lag_down_and_setting_the_same_mode_too(lag):
    card = lag
    card.run("dmesg -C")
    card.set_mode("switchdev", pfs=card.pfs[:1])
    card.await_output("dmesg", "shared_fdb:1 mode:hash")
    card.await_lag("active")


@pytest.mark.thorough
def test_an_old_kernel_has_no_lag_directory_but_the_log(card):
    card.reload("lag_debugfs=N")
    make_switchdev(card)
    card.bond()
    card.await_output("dmesg", "lag map active ports")
    assert card.run("ls /sys/kernel/debug/mlx5/0000:3b:00.0").stdout == ""
