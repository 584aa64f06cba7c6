# SPDX-License-Identifier: Apache-2.0
"""A PF goes away and comes back: devlink's health recovery and reload; test_pci.py has bind and rescan."""

import pytest
from functional.card.test_lag import make_lag, make_switchdev

PF, OTHER_PF = "0000:3b:00.0", "0000:3b:00.1"
P0 = "enp59s0f0np0"


@pytest.fixture
def switchdev(prepared):
    return prepared("switchdev", make_switchdev)


@pytest.fixture
def lag(prepared):
    return prepared("lag", make_lag)


def ifindex(card):
    return card.run(f"udevadm settle; cat /sys/class/net/{P0}/ifindex").stdout


def test_a_fatal_error_of_the_firmware_takes_the_pf_out_of_the_bond_and_into_legacy_mode(lag):
    card, before = lag, ifindex(lag)
    card.fault("fw_fatal", 1)
    card.await_output("dmesg", "mlx5_core 0000:3b:00.0: health recovery succeeded")
    assert ifindex(card) != before
    assert "master bond0" not in card.run(f"ip link show {P0}").stdout
    assert [card.mode(bdf) for bdf in card.pfs] == ["legacy", "switchdev"]
    assert card.lag("state") == "disabled"
    assert card.read(PF, "sriov_numvfs") == "2"
    assert set(card.ports()) == {"p0", "p1", "pf1vf0", "pf1vf1"}
    assert "reporter fw_fatal" in card.run(f"devlink health show pci/{PF} reporter fw_fatal").stdout
    log = card.log()
    for words in ("Fatal error 1 detected", "handling bad device here", "starting health recovery flow"):
        assert words in log
    # And back: as after a boot.
    card.set_mode("switchdev", pfs=card.pfs[:1])
    card.run(f"ip link set {P0} master bond0")
    card.await_lag("active")


@pytest.mark.thorough
def test_a_second_error_within_a_minute_is_not_recovered_from_but_a_reload_helps(switchdev):
    card = switchdev
    card.fault("fw_fatal", 1)
    card.await_output("dmesg", "health recovery succeeded")
    card.fault("fw_fatal", 1)
    card.await_output("dmesg", "Driver is in error state. Unloading")
    card.await_output(f"test -e /sys/class/net/{P0} || echo gone", "gone")
    assert "Input/output error" in card.try_mode(PF, "switchdev").stderr
    card.run(f"devlink dev reload pci/{PF}")
    card.await_output("ls /sys/class/net", P0)
    card.set_mode("switchdev", pfs=card.pfs[:1])


@pytest.mark.thorough
def test_a_reload_begins_anew_and_keeps_the_vfs_functions(switchdev):
    card, before = switchdev, ifindex(switchdev)
    done = card.run(f"devlink dev reload pci/{PF}")
    assert "reload while VFs are present is unfavorable" in done.stderr
    assert ifindex(card) != before
    assert card.mode(PF) == "legacy"
    assert card.run("lspci -d 15b3:101e | wc -l").stdout == "4\n"
    card.set_mode("switchdev", pfs=card.pfs[:1])
    assert len(card.ports()) == 6


@pytest.mark.thorough
def test_a_reload_is_refused_while_a_lag_is_active(lag):
    done = lag.run(f"devlink dev reload pci/{PF}", check=False)
    assert "reload is unsupported in Lag mode" in done.stderr
    assert lag.lag("state") == "active"


@pytest.mark.thorough
def test_a_pf_that_does_not_come_back_stays_without_netdev_until_it_is_bound_again(switchdev):
    card = switchdev
    card.fault("surprise_remove", "Y")
    card.fault("fw_fatal", 1)
    card.await_output("dmesg", "health recovery flow aborted, PCI reads still not working")
    assert P0 not in card.run("ls /sys/class/net").stdout
    card.fault("surprise_remove", "N")
    for what in ("unbind", "bind"):
        card.write(f"/sys/bus/pci/drivers/mlx5_core/{what}", PF)
    card.await_output("ls /sys/class/net", P0)
    assert (card.mode(PF), card.read(PF, "sriov_numvfs")) == ("legacy", "0")
    assert card.mode(OTHER_PF) == "switchdev"
