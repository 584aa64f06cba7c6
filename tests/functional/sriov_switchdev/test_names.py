# SPDX-License-Identifier: Apache-2.0
"""A site renames the ports after the charm has noted their names: the bond has them after the boot."""

import pytest
from functional.sriov_switchdev.node import VFS, Node
from lab.guest import Guest

PLAN = "/etc/netplan/50-cloud-init.yaml"
WITHOUT_NAMES = f"sed -i '/match:/,/macaddress: 0c:42:a1:00:3b:0.$/d; /set-name:/d' {PLAN}"
"""netplan has its ethernets by names alone: for set-name it has a rule of its own, which wins anyway."""
RENAMED = f"sed -i 's/enp59s0f0np0/rail0/; s/enp59s0f1np1/rail1/' {PLAN}"
LINKS = """
for port in 0 1; do
    printf '[Match]\\nPermanentMACAddress=0c:42:a1:00:3b:0%s\\n[Link]\\nName=rail%s\\n' $port $port \\
        >/etc/systemd/network/10-rail$port.link
done
"""


@pytest.mark.every_release
def test_a_name_by_an_operators_link_file_is_the_ports_name_after_the_boot(
    machine: Guest, prepared: Node
) -> None:
    machine.run(f"{WITHOUT_NAMES}; {RENAMED}; {LINKS}")
    assert "enp59s0f0np0" in machine.run("cat /etc/udev/rules.d/70-ovn-offload-sriov.rules").stdout
    prepared.reboot()
    state = prepared.state()
    assert "bond0 rail0 rail1" in state.replace("rail1 rail0", "rail0 rail1"), state
    assert state.count(f"numvfs {VFS} autoprobe 1 mode switchdev lag active") == 2, state
    assert prepared.reachable()
    # netplan's .link files, which have an MTU and no name, leave the names to the charm's rule.
    rules = machine.run("cat /etc/udev/rules.d/70-ovn-offload-sriov.rules").stdout
    assert 'ENV{.OVN_OFFLOAD_NAME}="rail1"' in rules


@pytest.mark.thorough
@pytest.mark.every_release
def test_a_port_keeps_its_name_where_netplan_goes_by_names(machine: Guest, prepared: Node) -> None:
    machine.run(WITHOUT_NAMES)
    prepared.reboot()
    state = prepared.state()
    assert "bond0 enp59s0f0np0 enp59s0f1np1" in state.replace(
        "enp59s0f1np1 enp59s0f0np0", "enp59s0f0np0 enp59s0f1np1"
    )
    assert prepared.reachable()
