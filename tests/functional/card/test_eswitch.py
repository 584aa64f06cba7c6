# SPDX-License-Identifier: Apache-2.0
"""The eswitch through `devlink`: mode, ports, information, parameters; what is refused, and in what words."""

import pytest

BUSY = "Error: mlx5_core: Can't change mode, E-Switch is busy."


def test_info_names_driver_psid_and_firmware(card):
    shown = card.run("devlink dev info pci/0000:3b:00.0").stdout
    assert "driver mlx5_core" in shown
    assert "fw.psid MT_0000000359" in shown
    assert shown.count("fw.version 22.35.2000") == 2


@pytest.mark.thorough
def test_a_plain_card_is_in_legacy_mode(card):
    shown = card.run("devlink dev eswitch show pci/0000:3b:00.0").stdout
    assert shown == "pci/0000:3b:00.0: mode legacy inline-mode none\n"


def test_switchdev_brings_one_representor_per_vf_and_legacy_takes_them_away(card):
    card.vfs(3)
    card.set_mode("switchdev")
    assert [card.mode(bdf) for bdf in card.pfs] == ["switchdev"] * 2
    vfs = {f"pf{pf}vf{n}" for pf in range(2) for n in range(3)}
    assert set(card.ports()) == {"p0", "p1"} | vfs
    shown = card.run("devlink port show pci/0000:3b:00.1/2").stdout
    assert "flavour pcivf controller 0 pfnum 1 vfnum 1 external false" in shown
    card.set_mode("legacy")
    assert set(card.ports()) == {"p0", "p1"}


@pytest.mark.thorough
def test_vfs_created_in_switchdev_bring_their_representors(card):
    card.set_mode("switchdev")
    assert set(card.ports()) == {"p0", "p1"}
    card.vfs(2)
    assert len(card.ports()) == 6
    card.vfs(0)
    assert set(card.ports()) == {"p0", "p1"}


def test_the_uplink_keeps_its_netdev_through_a_mode_change(card):
    index = card.run("cat /sys/class/net/enp59s0f0np0/ifindex").stdout
    card.set_mode("switchdev")
    assert card.run("cat /sys/class/net/enp59s0f0np0/ifindex").stdout == index


def test_the_host_of_a_dpu_manages_no_eswitch(card):
    card.reload("cards=3b:bf2:2")
    assert "Operation not supported" in card.try_mode("0000:3b:00.0", "switchdev").stderr


@pytest.mark.parametrize("strict", ["Y", pytest.param("N", marks=pytest.mark.thorough)])
def test_bound_vfs_and_a_mode_change(card, strict):
    card.parameter("strict_bound", strict)
    card.vfs(1, pfs=card.pfs[:1], bound=True)
    done = card.try_mode("0000:3b:00.0", "switchdev")
    if strict == "Y":
        assert BUSY in done.stderr
        assert "Device or resource busy" in done.stderr
        assert card.mode("0000:3b:00.0") == "legacy"
    else:
        assert card.mode("0000:3b:00.0") == "switchdev"


@pytest.mark.parametrize("strict", ["Y", pytest.param("N", marks=pytest.mark.thorough)])
def test_a_bond_and_a_mode_change(card, strict):
    card.parameter("strict_bond", strict)
    card.bond()
    done = card.try_mode("0000:3b:00.0", "switchdev")
    assert (BUSY in done.stderr) == (strict == "Y")
    assert card.mode("0000:3b:00.0") == ("legacy" if strict == "Y" else "switchdev")


@pytest.mark.parametrize("strict", ["Y", pytest.param("N", marks=pytest.mark.thorough)])
def test_an_offloaded_rule_and_a_mode_change(card, strict):
    card.parameter("strict_rules", strict)
    card.vfs(1)
    card.set_mode("switchdev")
    representor = card.ports()["pf0vf0"]
    card.run(f"modprobe cls_flower && modprobe act_mirred && tc qdisc add dev {representor} ingress")
    card.run(
        f"tc filter add dev {representor} ingress protocol ip flower skip_sw dst_ip 10.0.0.1 "
        "action mirred egress redirect dev enp59s0f0np0"
    )
    done = card.try_mode("0000:3b:00.0", "legacy")
    assert (BUSY in done.stderr) == (strict == "Y")
    card.run(f"tc qdisc del dev {representor} ingress", check=False)
    card.set_mode("legacy")


@pytest.mark.thorough
def test_flow_steering_mode_is_a_matter_of_legacy_mode(card):
    def steering(mode):
        parameter = ["name", "flow_steering_mode", "value", mode, "cmode", "runtime"]
        return card.run(
            ["devlink", "dev", "param", "set", "pci/0000:3b:00.0", *parameter], check=False
        ).stderr

    def value():
        return card.run("devlink dev param show pci/0000:3b:00.0 name flow_steering_mode").stdout.split()[-1]

    assert steering("dmfs") == ""
    assert value() == "dmfs"
    assert steering("smfs") == ""
    assert 'Bad parameter: supported values are ["dmfs", "smfs"]' in steering("hwfs")
    card.set_mode("switchdev")
    assert steering("dmfs") == ""
    assert "Software managed steering is not supported when eswitch offloads enabled." in steering("smfs")
    assert value() == "dmfs"


@pytest.mark.thorough
def test_the_inline_mode_is_fixed(card):
    done = card.run("devlink dev eswitch set pci/0000:3b:00.0 inline-mode transport", check=False)
    assert "Inline mode can't be set" in done.stderr
