# SPDX-License-Identifier: Apache-2.0
"""The card with ``esw_none=Y``: what the driver of Linux 5.15, jammy's GA kernel, does unlike later ones."""

import pytest

DEVICES = "/sys/bus/pci/devices"


def make_old(card):
    card.reload("esw_none=Y")


@pytest.fixture
def card(prepared):
    return prepared("linux-5.15", make_old)


def shown(card, bdf="0000:3b:00.0"):
    """The mode, or the kernel's answer."""
    done = card.run(["devlink", "dev", "eswitch", "show", f"pci/{bdf}"], check=False)
    return done.stdout.split("mode ")[1].split()[0] if done.returncode == 0 else done.stderr


def test_without_vfs_there_is_no_eswitch_to_show_but_a_mode_can_be_set(card):
    assert "Operation not supported" in shown(card)
    card.vfs(1, pfs=card.pfs[:1])
    assert shown(card) == "legacy"
    card.vfs(0, pfs=card.pfs[:1])
    assert "Operation not supported" in shown(card)
    card.set_mode("switchdev", pfs=card.pfs[:1])
    assert shown(card) == "switchdev"


def test_the_end_of_the_vfs_is_the_end_of_switchdev_mode(card):
    card.vfs(2)
    card.set_mode("switchdev")
    assert len(card.ports()) == 6
    card.vfs(0, pfs=card.pfs[:1])
    assert "Operation not supported" in shown(card)
    assert shown(card, card.pfs[1]) == "switchdev"
    log = card.log().splitlines()
    assert [line.partition("E-Switch: ")[2] for line in log if "E-Switch" in line and "00.0" in line] == [
        "Enable: mode(LEGACY), nvfs(2), active vports(3)",
        "Disable: mode(LEGACY), nvfs(2), active vports(3)",
        "Enable: mode(OFFLOADS), nvfs(2), active vports(3)",
        "Disable: mode(OFFLOADS), nvfs(2), active vports(3)",
    ]


def test_a_lag_is_known_from_the_kernel_log_alone(card):
    card.vfs(2)
    card.set_mode("switchdev")
    card.bond()
    card.await_output("dmesg", "mlx5_core 0000:3b:00.0: lag map port 1:1 port 2:2 shared_fdb:1")
    assert card.run("ls /sys/kernel/debug/mlx5/0000:3b:00.0").stdout == ""
    card.run("dmesg -C")
    card.fault("link_down", "Y")
    card.await_output("dmesg", "modify lag map port 1:2 port 2:2")
    assert "esw_multiport" not in card.run("devlink dev param show").stdout


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["none", "legacy"])
def test_a_roce_lag_is_of_ports_without_an_eswitch(card, mode):
    if mode == "legacy":
        card.set_mode("legacy")
    card.bond()
    if mode == "none":
        card.await_output("dmesg", "lag map port 1:1 port 2:2 shared_fdb:0")
    else:
        card.await_output("cat /sys/class/net/bond0/carrier", "1")
        assert "lag map" not in card.run("sleep 1; dmesg").stdout


@pytest.mark.thorough
def test_a_failed_switch_goes_back_to_the_legacy_one(card):
    card.vfs(1, pfs=card.pfs[:1], bound=True)
    done = card.try_mode("0000:3b:00.0", "switchdev")
    assert "Failed setting eswitch to offloads" in done.stderr
    assert shown(card) == "legacy"
    log = [line for line in card.log().splitlines() if "E-Switch: Enable" in line]
    assert [line.partition("Enable: ")[2].partition(",")[0] for line in log] == ["mode(LEGACY)"] * 2
