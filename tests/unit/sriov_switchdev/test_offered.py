# SPDX-License-Identifier: Apache-2.0
"""VFs that are as declared, and that no instance gets: what of it can be seen on the host."""

import pytest
from unit.sriov_switchdev.node import Node

PATH = "/etc/nova/nova.conf"
ENTRY = '{"devname": "enp59s0f0np0", "physical_network": null}'
OFFERS = {
    "entries in one list, as nova-compute of Yoga has them": f"[pci]\npassthrough_whitelist = [{ENTRY}]\n",
    "one entry a line, as since Zed": f'[pci]\ndevice_spec = {{"devname": "x"}}\ndevice_spec = {ENTRY}\n',
    "the oldest name": f"[DEFAULT]\npci_passthrough_whitelist={ENTRY}\n",
    "by address, of which only Nova knows what it selects": (
        '[pci]\ndevice_spec = {"address": "*:3b:*", "physical_network": "physnet1"}\n'
    ),
    "text that Nova refuses, and then does not start": "[pci]\npassthrough_whitelist = [{\n",
}
LACKS = {
    "no list": ("[DEFAULT]\ndebug = true\n", "nova.conf lists no PCI device"),
    "an empty list": ("[pci]\npassthrough_whitelist = []\n", "nova.conf lists no PCI device"),
    "no network": (
        '[pci]\ndevice_spec = {"devname": "enp59s0f0np0"}\n',
        "no PCI device that nova.conf lists has physical_network",
    ),
    "another port": (
        '[pci]\ndevice_spec = {"devname": "enp59s0f0", "physical_network": null}\n',
        "nova.conf offers those of enp59s0f0",
    ),
}


def write(node: Node, text: str) -> None:
    node.host.disk.install(PATH, text.encode(), 0o640)


@pytest.mark.parametrize("what", LACKS)
def test_vfs_that_no_instance_gets_are_a_warning_with_both_remedies(node: Node, what: str) -> None:
    text, why = LACKS[what]
    node.converge(num_vfs=8, reboot_settle=0)
    write(node, text)
    assert node.emit("update_status").name == "active"
    found = node.findings()
    assert f"no instance gets a VF of enp59s0f0np0 and enp59s0f1np1: {why}" in found
    assert """pci-passthrough-whitelist='[{"devname": "enp59s0f0np0", "physical_network": null}]\'""" in found
    assert "juju config neutron-api enable-hardware-offload=true" in found


@pytest.mark.parametrize("what", OFFERS)
def test_vfs_that_nova_offers_need_no_word(node: Node, what: str) -> None:
    node.converge(num_vfs=8, reboot_settle=0)
    write(node, OFFERS[what])
    assert node.action("verify")["verified"] == "true"
    assert "no instance gets a VF" not in node.findings()


def test_a_host_without_nova_is_verified(node: Node) -> None:
    node.converge(num_vfs=8, reboot_settle=0)
    assert node.action("verify")["verified"] == "true"


def test_nothing_is_said_before_there_are_vfs(node: Node) -> None:
    write(node, "[DEFAULT]\n")
    node.deploy(reboot_policy="manual", reboot_settle=0)
    assert "no instance gets a VF" not in node.findings()
