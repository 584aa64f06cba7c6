# SPDX-License-Identifier: Apache-2.0
"""Names of netdevs: a site renames ports after the charm has noted them; what systemd calls the others."""

import re
from pathlib import Path

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

FILTER = Path(__file__).parents[3] / "docs/how-to/filter-representors.md"


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


@pytest.mark.every_release
def test_the_documented_filter_drops_representors_and_vfs_by_the_names_of_this_systemd(
    machine: Guest, converged: Node
) -> None:
    (pattern,) = re.findall(r"```text\n(.+)\n```", FILTER.read_text())
    if machine.release.systemd < 255:  # its names are too long for a NIC on this bus
        pattern = f"^({pattern[1:-1]}|eth[0-9]+)$"
    ports = machine.run("grep -sl '^p[01]$' /sys/class/net/*/phys_port_name | cut -d/ -f5").stdout.split()
    representors = machine.run("grep -sl vf /sys/class/net/*/phys_port_name | cut -d/ -f5").stdout.split()
    vfs = machine.run("basename -a /sys/bus/pci/devices/0000:3b:00.[01]/virtfn*/net/*").stdout.split()
    assert (len(ports), len(representors), len(vfs)) == (2, 2 * VFS, 2 * VFS)
    assert [name for name in (*representors, *vfs) if not re.fullmatch(pattern, name)] == []
    assert [name for name in (*ports, "bond0", "br-nvda") if re.fullmatch(pattern, name)] == []
