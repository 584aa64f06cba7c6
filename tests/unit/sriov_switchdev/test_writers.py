# SPDX-License-Identifier: Apache-2.0
"""Files that set VFs or eswitch modes of this charm's ports when the host boots block it."""

import pytest
from unit.sriov_switchdev.foreign import (
    ASSIGN,
    BDF,
    CLOUD_INIT,
    CONF,
    COUNT,
    COUNTED,
    MAC,
    OTHER,
    OVN,
    PORT,
    SHIM_FILE,
    TUNED_SETS,
    UNITS,
    USER_DATA,
    Files,
    arrange,
    echo,
    keyfile,
    link,
    netplan,
    rule,
    shim,
    tuned,
    unit,
)
from unit.sriov_switchdev.node import Node, compute_node, nic

RULE = "remove the lines with sriov_numvfs from this file"
BY_MAC = f"match: {{macaddress: '{MAC.upper()}'}}"

OURS: dict[str, tuple[Files, str]] = {
    "netplan, by MAC address": (netplan(f"pf: {{{BY_MAC}, {COUNTED}}}"), "(pf)"),
    "netplan, by driver": (netplan(f"pfs: {{match: {{driver: mlx5_core}}, {COUNTED}}}"), "(pfs)"),
    "netplan, by drivers": (netplan(f"pfs: {{match: {{driver: [ixgbe, 'mlx5*']}}, {COUNTED}}}"), "(pfs)"),
    "netplan, by a pattern": (
        netplan("pfs: {match: {name: enp59s0f*}, embedded-switch-mode: legacy}"),
        "remove embedded-switch-mode from",
    ),
    "netplan, by the name that it gives": (
        netplan(f"pf: {{match: {{name: eth3}}, set-name: {PORT}, {COUNTED}}}"),
        "(pf)",
    ),
    "netplan, matched in another file": (
        {**netplan(f"pf: {{{COUNTED}}}"), **netplan(f"pf: {{{BY_MAC}}}", CLOUD_INIT)},
        "(pf)",
    ),
    "netplan, VFs of a port that another file matches": (
        {**netplan("vf0: {link: pf}"), **netplan(f"pf: {{{BY_MAC}, set-name: {PORT}}}", CLOUD_INIT)},
        "remove link from the ethernets of this file (vf0)",
    ),
    "netplan, both": (
        netplan(f"{OTHER}: {{{COUNTED}}}, {PORT}: {{embedded-switch-mode: switchdev}}"),
        f"remove embedded-switch-mode from the ethernets of this file ({PORT})",
    ),
    "ovn-chassis, both": (
        netplan(f"{OTHER}: {{{COUNTED}}}, {PORT}: {{virtual-function-count: 8}}", OVN),
        f'run: juju config ovn-chassis sriov-numvfs="{OTHER}:4"; existing VFs stay '
        "(if this host's ovn-chassis has another name in the model, use that one)",
    ),
    "the shim": (
        shim(f"  {PORT}: {{num_vfs: 4}}"),
        "systemctl disable sriov-netplan-shim.service, without --now",
    ),
    "the shim, by PCI address": (shim(f"  x: {{num_vfs: 4, match: {{pciaddress: '{BDF}'}}}}"), SHIM_FILE),
    "the shim of a package": (
        shim(f"  {PORT}: {{num_vfs: 4}}", "/lib/systemd/system"),
        "sriov-netplan-shim.service",
    ),
    "the shim, both": (
        shim(f"  {PORT}: {{num_vfs: 4}}\n  {OTHER}: {{num_vfs: 2}}"),
        SHIM_FILE,
    ),
    "a .link file, by MAC address": (
        link(f"MACAddress={MAC.upper().replace(':', '-')}", COUNT),
        "remove the lines with SR-IOVVirtualFunctions from this file; existing VFs stay",
    ),
    "NetworkManager, by name": (
        keyfile(f"interface-name={PORT}"),
        "remove the lines with [sriov] from this file",
    ),
    "NetworkManager, to no VF": (
        keyfile(f"interface-name={PORT}", ""),
        "remove the lines with [sriov] from this file",
    ),
    "NetworkManager, by MAC address": (
        keyfile(f"interface-name=\n[ethernet]\nmac-address={MAC.upper()}"),
        "remove the lines with [sriov] from this file",
    ),
    "NetworkManager's own settings": (
        {f"{CONF}/vfs.conf": f"[device-pf]\nmatch-device=interface-name:{PORT}\nsriov-num-vfs=4\n"},
        "remove the lines with sriov-num-vfs from this file",
    ),
    "a udev rule that assigns it": (
        rule(f'ACTION=="add", SUBSYSTEM=="net", KERNEL=="{PORT}", {ASSIGN}'),
        RULE,
    ),
    "a udev rule for PCI, in two lines": (
        rule(f'SUBSYSTEM=="pci", KERNEL=="{BDF}", \\\n  ATTR{{sriov_numvfs}}="8"'),
        RULE,
    ),
    "a udev rule that runs a shell": (
        rule(f'KERNELS=="{BDF}", RUN+="/bin/sh -c \'{echo("%k")}\'"', "/run/udev/rules.d"),
        RULE,
    ),
    "a udev rule for the vendor": (rule(f'SUBSYSTEM=="net", ATTRS{{vendor}}=="0x15b3", {ASSIGN}'), RULE),
    "a udev rule that sets the mode": (
        rule(f'SUBSYSTEM=="pci", RUN+="/usr/sbin/devlink dev eswitch set pci/{BDF} mode legacy"'),
        "99-vf.rules",
    ),
    "a unit": (unit(f"/bin/sh -c '{echo(PORT)}'"), "systemctl disable vfs.service, without --now; or"),
    "an instance of a unit": (
        unit(f"/bin/sh -c '{echo('%i')}'", "vfs@.service", enabled=f"vfs@{PORT}.service"),
        f"systemctl disable vfs@{PORT}.service",
    ),
    "rc.local": (
        {"/etc/rc.local": f"#!/bin/sh\necho 4 > /sys/bus/pci/devices/{BDF}/sriov_numvfs\n"},
        "remove the lines with sriov_numvfs from this file",
    ),
    "cron": ({"/etc/cron.d/vfs": f"@reboot root {echo(PORT)}\n"}, "/etc/cron.d/vfs"),
    "sysfsutils": (
        {"/etc/sysfs.d/vf.conf": f"bus/pci/devices/{BDF}/sriov_numvfs = 4\n"},
        "/etc/sysfs.d/vf.conf",
    ),
    "tmpfiles": (
        {"/etc/tmpfiles.d/vf.conf": f"w /sys/class/net/{PORT}/device/sriov_numvfs - - - - 4\n"},
        "/etc/tmpfiles.d/vf.conf",
    ),
    "root's own table of cron": (
        {"/var/spool/cron/crontabs/root": f"@reboot {echo(PORT)}\n"},
        "/var/spool/cron/crontabs/root",
    ),
    "a script that cron starts when the host boots": (
        {
            "/etc/cron.d/vfs": "@reboot root /opt/site/vfs.sh >> /var/log/vfs.log 2>&1\n",
            "/opt/site/vfs.sh": f"[ $(cat /sys/class/net/{PORT}/device/sriov_numvfs) = 4 ] || {echo(PORT)}\n",
        },
        "/opt/site/vfs.sh",
    ),
    "a script of System V": (
        {"/etc/init.d/vfs": f"#!/bin/sh\n{echo(PORT)}\n"},
        "/etc/init.d/vfs",
    ),
    "modprobe": (
        {"/etc/modprobe.d/mlx5.conf": f"install mlx5_core modprobe -i mlx5_core; {echo(PORT)}\n"},
        "/etc/modprobe.d/mlx5.conf",
    ),
    "cloud-init at each boot": (
        {"/etc/cloud/cloud.cfg.d/99-vfs.cfg": f"bootcmd:\n- {echo(PORT)}\n"},
        "/etc/cloud/cloud.cfg.d/99-vfs.cfg",
    ),
    "cloud-init at each boot, in its first file": (
        {"/etc/cloud/cloud.cfg": f"bootcmd:\n- [sh, -c, '{echo(PORT)}']\n"},
        "/etc/cloud/cloud.cfg",
    ),
    "NetworkManager's dispatcher": (
        {"/etc/NetworkManager/dispatcher.d/20-vfs": f"#!/bin/sh\n[ $1 = {PORT} ] && {echo('$1')}\n"},
        "/etc/NetworkManager/dispatcher.d/20-vfs",
    ),
    "a drop-in of another unit": (
        {f"{UNITS}/openibd.service.d/vfs.conf": f"[Service]\nExecStartPost=/bin/sh -c '{echo(PORT)}'\n"},
        f"{UNITS}/openibd.service.d/vfs.conf",
    ),
    "MLNX_OFED's file of the mode": (
        {"/etc/rc.local": f"echo switchdev > /sys/class/net/{PORT}/compat/devlink/mode\n"},
        "remove the lines with compat/devlink/mode from this file",
    ),
    "devlink with options": (
        {"/etc/rc.local": f"devlink -v dev eswitch set pci/{BDF} mode legacy\n"},
        "remove the lines with dev eswitch set from this file",
    ),
    "cloud-init's bootcmd": (
        {USER_DATA: f"#cloud-config\nruncmd: [true]\nbootcmd:\n- {echo(PORT)}\n"},
        USER_DATA,
    ),
    "cloud-init's bootcmd, as words": (
        {USER_DATA: f"bootcmd: [[devlink, dev, eswitch, set, pci/{BDF}, mode, legacy]]\n"},
        "remove the lines with dev eswitch set from this file",
    ),
    "cloud-init's network configuration, as it renders it": (
        netplan(f"pf: {{match: {{macaddress: {MAC}}}, set-name: {PORT}, {COUNTED}}}", CLOUD_INIT),
        CLOUD_INIT,
    ),
    "tuned": (tuned(TUNED_SETS), "it writes back what was there, so leave it alone until the next boot"),
    "the initramfs": (
        {"/etc/initramfs-tools/scripts/init-top/vfs": f"#!/bin/sh\n{echo(PORT)}\n"},
        "run update-initramfs -u -k all",
    ),
    "a hook of libvirt": (
        {"/etc/libvirt/hooks/qemu": f"#!/bin/bash\n[ $2 = prepare ] && {echo(PORT)}\n"},
        "/etc/libvirt/hooks/qemu",
    ),
    "a program that goes into the initramfs": (
        {
            "/etc/initramfs-tools/hooks/vfs": "#!/bin/sh\ncopy_exec /usr/local/sbin/vfs\n",
            "/usr/local/sbin/vfs": f"#!/bin/sh\n{echo(PORT)}\n",
        },
        "/usr/local/sbin/vfs",
    ),
    "MLNX_OFED": ({"/etc/mlnx-en.d/vfs": f"{echo(PORT)}\n"}, "/etc/mlnx-en.d/vfs"),
    "a unit's script": (
        {**unit(f"/usr/local/sbin/vfs {PORT}"), "/usr/local/sbin/vfs": f"#!/bin/sh\n{echo('$1')}\n"},
        "/usr/local/sbin/vfs",
    ),
    "rc.local, with the port as argument of a script": (
        {"/etc/rc.local": f"/root/vfs.sh {PORT} 4\n", "/root/vfs.sh": f"{echo('$1')}\n"},
        "remove the lines with sriov_numvfs from this file",
    ),
    "cloud-init's bootcmd that starts a script": (
        {
            USER_DATA: f"bootcmd: [[/usr/local/bin/vfs, {PORT}]]\n",
            "/usr/local/bin/vfs": f"#!/bin/sh\n{echo('$1')}\n",
        },
        "/usr/local/bin/vfs",
    ),
    "a unit's program among the packages": (
        {
            **unit(f"/usr/sbin/setup-sriov.sh {PORT}"),
            "/usr/sbin/setup-sriov.sh": f"#!/bin/sh\n{echo('$1')}\n",
        },
        "/usr/sbin/setup-sriov.sh",
    ),
    "a udev rule's program": (
        {
            **rule(f'SUBSYSTEM=="net", KERNEL=="{PORT}", RUN+="/lib/udev/vfs.sh %k"'),
            "/lib/udev/vfs.sh": f"#!/bin/sh\n{echo('$1')}\n",
        },
        RULE,
    ),
}
MAY = {
    "a udev rule with a condition that says nothing of a port": (
        rule(f'SUBSYSTEM=="net", DRIVERS=="mlx5_core", TEST=="/run/x", {ASSIGN}'),
        RULE,
    ),
    "a .link file, by PCI path, with a section": (
        link(f"Path=pci-{BDF[:-1]}*", "[SR-IOV]\nVirtualFunction=0", "/run/systemd/network"),
        "remove the lines with [SR-IOV] from this file",
    ),
    "NetworkManager, by a pattern": (
        keyfile("type=ethernet\n[match]\ninterface-name=eno*;enp59s0f*;\ndriver=mlx5_core", "eswitch-mode=1"),
        "remove the lines with [sriov] from this file",
    ),
    "NetworkManager's own settings of each device": (
        {f"{CONF}/vfs.conf": "[device]\nsriov-num-vfs=0\n"},
        "remove the lines with sriov-num-vfs from this file",
    ),
    "a unit that takes all of them": (
        unit("/bin/sh -c 'for f in /sys/class/net/*/device/sriov_numvfs; do echo 4 > $f; done'"),
        "vfs.service",
    ),
    "networkd's dispatcher, for each interface": (
        {"/etc/networkd-dispatcher/degraded.d/vfs": f"#!/bin/sh\n{echo('$IFACE')}\n"},
        "/etc/networkd-dispatcher/degraded.d/vfs",
    ),
    "a unit with its port in a file": (
        {
            f"{UNITS}/vfs.service": "[Service]\nEnvironmentFile=-/etc/default/vfs\nExecStart=/opt/vfs\n",
            f"link {UNITS}/multi-user.target.wants/vfs.service": f"{UNITS}/vfs.service",
            "/etc/default/vfs": f"PF={PORT}\n",
            "/opt/vfs": f"#!/bin/sh\n{echo('${PF}')}\n",
        },
        "/opt/vfs",
    ),
    "a script that asks ethtool by another name of the port": (
        {
            "/etc/rc.local": "pci=$(ethtool -i ens1f0np0 | awk '/^bus-info/ {print $2}')\n"
            "echo 4 > /sys/bus/pci/devices/$pci/sriov_numvfs\n"
        },
        "/etc/rc.local",
    ),
}


@pytest.mark.parametrize("case", OURS)
def test_a_writer_of_a_managed_port_is_named_as_a_file_with_what_to_remove(
    monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    files, says = OURS[case]
    host = compute_node()
    host.port(PORT).altnames = ("ens1f0np0",)
    arrange(host, files)
    node = Node(host, monkeypatch)
    assert node.deploy(reboot_policy="always", reboot_settle=0).name == "blocked"
    assert says in node.findings()
    assert nic(node.writes) == []
    assert node.reboots_asked == 0


@pytest.mark.parametrize("case", MAY)
def test_what_may_set_any_port_is_a_warning_and_keeps_no_host_from_its_reboot(
    monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """The boot units see what it does (test_unseen_writer.py)."""
    files, says = MAY[case]
    host = compute_node()
    host.port(PORT).altnames = ("ens1f0np0",)
    arrange(host, files)
    node = Node(host, monkeypatch)
    node.deploy(reboot_policy="always", reboot_settle=0)
    assert says in node.findings()
    assert "may set VFs or eswitch modes of this charm's ports" in " ".join(node.findings().split())
    assert node.reboots_asked == 1


OPERATOR = f"/etc/sriov-operator/pci/{BDF}"


@pytest.mark.parametrize("vfs", [8, 0])
def test_an_operator_that_uses_vfs_of_others_is_told_of_and_blocks_nothing(
    monkeypatch: pytest.MonkeyPatch, vfs: int
) -> None:
    host = compute_node()
    text = f'{{"pciAddress":"{BDF}","numVfs":{vfs},"externallyManaged":true,"name":"{PORT}"}}'
    arrange(host, {OPERATOR: text})
    node = Node(host, monkeypatch)
    assert node.converge(reboot_settle=0).name == "active"
    assert f"info {OPERATOR} sriov-network-operator uses VFs" in " ".join(node.findings().split())


@pytest.mark.parametrize("managed", ["false", '"true"', "1"])
def test_an_operator_that_creates_vfs_itself_blocks(monkeypatch: pytest.MonkeyPatch, managed: str) -> None:
    host = compute_node()
    arrange(host, {OPERATOR: f'{{"pciAddress":"{BDF}","numVfs":8,"externallyManaged":{managed}}}'})
    node = Node(host, monkeypatch)
    assert node.deploy(reboot_policy="always", reboot_settle=0).name == "blocked"
    assert "sriov-network-operator sets VFs or eswitch modes too" in node.findings()


def test_a_file_that_sets_vfs_in_two_stanzas_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    host = compute_node()
    ports = (PORT, "enp59s0f1np1")
    text = "".join(f"iface {port} inet manual\n  pre-up {echo(port)}\n" for port in ports)
    arrange(host, {"/etc/network/interfaces": text})
    node = Node(host, monkeypatch)
    assert node.deploy(reboot_policy="always", reboot_settle=0).name == "blocked"
    assert node.findings().count("sets VFs or eswitch modes too") == 1
