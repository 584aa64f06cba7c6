# SPDX-License-Identifier: Apache-2.0
"""The eswitch through `devlink`: mode, ports, information, parameters; what is refused, and in what words."""

import pytest

BUSY = "Error: mlx5_core: Can't change mode, E-Switch is busy."
REFUSED = "Error: mlx5_core: Failed setting eswitch to offloads."
SLOW_PATH = "Failed to create slow path FDB Table err -22"


def test_info_names_driver_psid_and_firmware(card):
    shown = card.run("devlink dev info pci/0000:3b:00.0").stdout
    assert "driver mlx5_core" in shown
    assert "fw.psid MT_0000000359" in shown
    for name in ("fw.version", "fw"):  # running and stored
        assert shown.count(f" {name} 22.35.2000\n") == 2


@pytest.mark.thorough
def test_a_plain_card_is_in_legacy_mode(card):
    shown = card.run("devlink dev eswitch show pci/0000:3b:00.0").stdout
    assert shown == "pci/0000:3b:00.0: mode legacy inline-mode none encap-mode basic\n"


def test_switchdev_brings_one_representor_per_vf_and_legacy_takes_them_away(card):
    card.vfs(3)
    card.set_mode("switchdev")
    assert [card.mode(bdf) for bdf in card.pfs] == ["switchdev"] * 2
    vfs = {f"pf{pf}vf{n}" for pf in range(2) for n in range(3)}
    assert set(card.ports()) == {"p0", "p1"} | vfs
    # The index has the PF's number above its 16 bits of port.
    shown = card.run("devlink port show pci/0000:3b:00.1/65538").stdout
    assert "flavour pcivf controller 0 pfnum 1 vfnum 1 external false" in shown
    assert "flavour physical port 1" in card.run("devlink port show pci/0000:3b:00.1/131071").stdout
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


def test_the_firmware_refuses_switchdev_while_a_vf_is_bound(card):
    card.vfs(1, pfs=card.pfs[:1], bound=True)
    done = card.try_mode("0000:3b:00.0", "switchdev")
    assert REFUSED in done.stderr
    assert "Invalid argument" in done.stderr
    assert card.mode("0000:3b:00.0") == "legacy"
    log = card.log()
    assert (
        "CREATE_FLOW_TABLE(0x930) op_mod(0x0) failed, status bad resource state(0x9), "
        "syndrome (0x98afbb), err(-22)" in log
    )
    assert "E-Switch: Failed to create slow path FDB Table err -22" in log


@pytest.mark.thorough
def test_a_vf_that_another_driver_has_is_bound_too(card):
    card.run("modprobe pci-stub")
    card.vfs(1, pfs=card.pfs[:1])
    card.run("cd /sys/bus/pci/devices/0000:3b:00.2 && echo pci-stub >driver_override")
    card.run("echo 1 >/sys/bus/pci/devices/0000:3b:00.0/sriov_drivers_autoprobe")
    card.run("echo 0000:3b:00.2 >/sys/bus/pci/drivers/pci-stub/bind")
    assert REFUSED in card.try_mode("0000:3b:00.0", "switchdev").stderr
    card.run("echo 0000:3b:00.2 >/sys/bus/pci/drivers/pci-stub/unbind")
    card.set_mode("switchdev", pfs=card.pfs[:1])


@pytest.mark.thorough
def test_a_bound_vf_hinders_neither_a_variation_nor_switchdev_without_encapsulation_nor_legacy(card):
    card.vfs(1, bound=True)
    card.run("devlink dev eswitch set pci/0000:3b:00.0 encap-mode none")
    card.set_mode("switchdev", pfs=card.pfs[:1])
    card.parameter("strict_bound", "N")
    card.set_mode("switchdev", pfs=card.pfs[1:])
    card.parameter("strict_bound", "Y")
    card.set_mode("legacy")


@pytest.mark.thorough
def test_a_failed_switch_leaves_vfs_without_a_switch_until_they_are_made_anew(card):
    card.vfs(1, pfs=card.pfs[:1], bound=True)
    netdev = card.vf_netdev("0000:3b:00.2")
    card.run(f"ip link set enp59s0f0np0 up; ip link set {netdev} up")
    assert REFUSED in card.try_mode("0000:3b:00.0", "switchdev").stderr
    said = [line.partition("E-Switch: ")[2] for line in card.log().splitlines() if "E-Switch: " in line]
    assert [line.partition(": mode(")[0] for line in said] == ["Enable", "Disable", SLOW_PATH]
    assert not reaches_the_wire(card, netdev)
    card.vfs(0)
    card.vfs(1, pfs=card.pfs[:1], bound=True)
    card.run(f"ip link set {netdev} up")
    assert reaches_the_wire(card, netdev)


FRAMES = """
import socket, subprocess, sys
far = subprocess.Popen(
    ["ip", "netns", "exec", "tor", "timeout", "2", "tcpdump", "-U", "-w", "-", "-i", "swp0",
     "ether proto 0x88b5"],
    stdout=subprocess.PIPE, stderr=subprocess.PIPE,
)
far.stderr.readline()  # it listens
near = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
near.bind((sys.argv[1], 0))
near.send(b"\\xff" * 6 + bytes(6) + b"\\x88\\xb5" + b"a frame" + bytes(50))
print(b"a frame" in far.communicate()[0])
"""


def reaches_the_wire(card, netdev):
    """Whether a broadcast that a VF sends arrives at the wire's far end."""
    return card.run(["python3", "-c", FRAMES, netdev]).stdout == "True\n"


@pytest.mark.parametrize("strict", ["N", pytest.param("Y", marks=pytest.mark.thorough)])
def test_a_bond_and_a_mode_change(card, strict):
    card.parameter("strict_bond", strict)
    card.bond()
    done = card.try_mode("0000:3b:00.0", "switchdev")
    assert (BUSY in done.stderr) == (strict == "Y")
    assert card.mode("0000:3b:00.0") == ("legacy" if strict == "Y" else "switchdev")
    assert "master bond0" in card.run("ip link show enp59s0f0np0").stdout


@pytest.mark.thorough
def test_somebody_holds_the_eswitch(card):
    card.fault("esw_locked", "Y")
    done = card.try_mode("0000:3b:00.0", "switchdev")
    assert BUSY in done.stderr
    assert "Invalid argument" in done.stderr


@pytest.mark.thorough
def test_the_log_of_a_mode_change_and_back(card):
    card.vfs(2, pfs=card.pfs[:1])
    card.set_mode("switchdev", pfs=card.pfs[:1])
    card.set_mode("legacy", pfs=card.pfs[:1])
    card.vfs(0, pfs=card.pfs[:1])
    lines = [line.partition("E-Switch: ")[2] for line in card.log().splitlines() if "E-Switch: " in line]
    assert [line.replace(", necvfs(0)", "").partition(", active")[0] for line in lines] == [
        "Enable: mode(LEGACY), nvfs(2)",
        "Disable: mode(LEGACY), nvfs(2)",
        "Enable: mode(OFFLOADS), nvfs(2)",
        "Disable: mode(OFFLOADS), nvfs(2)",
        "Enable: mode(LEGACY), nvfs(2)",
        "Unload vfs: mode(LEGACY), nvfs(2)",
        "Disable: mode(LEGACY), nvfs(2)",
    ]


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
    assert ("Device or resource busy" in done.stderr) == (strict == "Y")
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
