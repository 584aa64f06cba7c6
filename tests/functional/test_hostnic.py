# SPDX-License-Identifier: Apache-2.0
"""The real kernel with the virtual card, and the model that unit tests use: alike, line by line."""

import pytest
from functional.kinds import WITH_IOMMU
from lab import site
from lab.guest import Guest
from lab.modelled import FakeHost, contract

pytestmark = pytest.mark.every_release

PYTHON = "env PYTHONPATH=/opt/ovn-offload/lib:/opt/ovn-offload/tests:/opt/site-packages python3"
CHARM = "/opt/ovn-offload/charms/sriov-switchdev/src"


def on_guest(guest: Guest, name: str) -> list[str]:
    assert site.reachable(guest, 60), "the site's network, bridge included, never came up"
    done = guest.run(f"{PYTHON} -m lab.modelled.contract {name}", timeout=600)
    return done.stdout.splitlines()


def model(guest: Guest, *, iommu: bool = False) -> FakeHost:
    """A modelled host with the guest's kernel: the default guest has no IOMMU."""
    host = FakeHost(kernel=guest.run("uname -r").stdout.strip())
    host.iommu = iommu
    return host


AT_EACH_PUSH = ("converge", "plain", "faults", "refusals")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in AT_EACH_PUSH else pytest.mark.thorough)
        for name in contract.SCENARIOS
    ],
)
def test_the_model_does_as_the_card_does(machine: Guest, name: str) -> None:
    assert contract.on_model(name, model(machine)) == on_guest(machine, name)


@pytest.mark.thorough
@WITH_IOMMU
@pytest.mark.parametrize("name", ["plain", "converge"])
def test_the_model_does_as_the_card_does_behind_an_iommu(machine: Guest, name: str) -> None:
    seen = on_guest(machine, name)
    assert any("iommu True" in line for line in seen)
    assert contract.on_model(name, model(machine, iommu=True)) == seen


def test_a_vf_in_a_network_namespace_is_in_use(machine: Guest) -> None:
    machine.run("echo 1 > /sys/bus/pci/devices/0000:3b:00.0/sriov_numvfs; udevadm settle")
    netdev = machine.run("ls /sys/bus/pci/devices/0000:3b:00.0/virtfn0/net").stdout.strip()
    machine.run(f"ip netns add container && ip link set {netdev} netns container")
    host = model(machine)
    host.files.write("/sys/bus/pci/devices/0000:3b:00.0/sriov_numvfs", "1")
    host.move_to_netns("0000:3b:00.2")
    seen = on_guest(machine, "plain")
    assert any("('network namespace',)" in line for line in seen)
    assert contract.on_model("plain", host) == seen


def test_the_firmware_is_asked_for_the_next_boot_through_the_real_mstconfig(machine: Guest) -> None:
    ask = (
        f'{PYTHON} -c "from hostnic.machine import Machine; from hostnic.firmware import mstconfig;'
        "print(mstconfig.offered_vfs(Machine(), '0000:3b:00.0').next_boot)\""
    )
    answers = [machine.run(ask, timeout=300).stdout]
    for setting in ("NUM_OF_VFS=16", "SRIOV_EN=0"):
        machine.run(f"mstconfig -d 0000:3b:00.0 -y set {setting}", timeout=300)
        answers.append(machine.run(ask, timeout=300).stdout)
    assert answers == ["8\n", "16\n", "0\n"]


def test_openvswitch_of_the_guest_is_understood(machine: Guest) -> None:
    ask = (
        "from hostnic.network import flows, ovs; from hostnic.machine import Machine; m = Machine();"
        "print(ovs.settings(m).hw_offload, len(flows.parse(ovs.dump_flows(m))) > 0)"
    )
    machine.run("ip netns exec tor ping -nq -c 3 192.168.25.51")
    assert machine.run(f'{PYTHON} -c "{ask}"').stdout == "False True\n"
    machine.run("ovs-vsctl set Open_vSwitch . other_config:hw-offload=true")
    assert machine.run(f'{PYTHON} -c "{ask}"').stdout == "True True\n"


STYLES = {
    "block": "network:\n  version: 2\n  ethernets:\n    enp59s0f0np0:\n      virtual-function-count: 4\n",
    "flow": "network: {version: 2, ethernets: {enp59s0f0np0: {virtual-function-count: 4}}}\n",
    "quoted": '{"network": {"version": 2, "ethernets": {"enp59s0f0np0": {"virtual-function-count": 4}}}}\n',
}


def test_the_charm_finds_vfs_in_each_style_of_file_that_netplan_reads(machine: Guest) -> None:
    path = "/etc/netplan/95-vfs.yaml"
    ask = (
        f"import sys; sys.path.insert(0, '{CHARM}'); from writers import netplan;"
        "from hostnic.machine import Machine; found, wrong = netplan.second_writers(Machine());"
        "print([(each.path, [setting.keys for setting in each.settings]) for each in found], wrong)"
    )
    found: dict[str, tuple[str, bool]] = {}
    for style, text in STYLES.items():
        machine.write(path, text, 0o600)
        said = machine.run(f'{PYTHON} -c "{ask}"').stdout
        found[style] = said, "virtual-function-count" in machine.run("netplan get").stdout
    machine.run(f"rm {path}")
    writer = f"[('{path}', [('virtual-function-count',)])] ()\n"
    assert found == dict.fromkeys(STYLES, (writer, True))
    assert machine.run(f'{PYTHON} -c "{ask}"').stdout == "[] ()\n"
