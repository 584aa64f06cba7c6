# SPDX-License-Identifier: Apache-2.0
"""Files that set VFs or eswitch modes of another NIC, or of none, concern nobody."""

import pytest
from unit.sriov_switchdev.foreign import (
    ASSIGN,
    BDF,
    CLOUD_INIT,
    CONF,
    COUNT,
    COUNTED,
    ELSE_MAC,
    KEYFILES,
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
from unit.sriov_switchdev.node import Node, compute_node

NOT_OURS: dict[str, Files] = {
    "netplan": netplan(f"{OTHER}: {{{COUNTED}}}"),
    "netplan, by MAC address": netplan(f"pf: {{{ELSE_MAC}, {COUNTED}}}"),
    "netplan, by driver": netplan(f"pfs: {{match: {{driver: ixgbe}}, {COUNTED}}}"),
    "netplan, by name and driver": netplan(f"pfs: {{match: {{name: en*, driver: ixgbe}}, {COUNTED}}}"),
    "netplan, matched in another file": {
        **netplan(f"pf: {{{COUNTED}}}"),
        **netplan(f"pf: {{{ELSE_MAC}}}", CLOUD_INIT),
    },
    "netplan, VFs": netplan(f"{OTHER}: {{}}, vf0: {{link: {OTHER}}}"),
    "ovn-chassis": netplan(f"{OTHER}: {{{COUNTED}}}", OVN),
    "the shim": shim(f"  {OTHER}: {{num_vfs: 4}}"),
    "the shim, not enabled": {SHIM_FILE: f"interfaces: {{{PORT}: {{num_vfs: 4}}}}\n"},
    "NetworkManager": keyfile(f"interface-name={OTHER}"),
    "NetworkManager's own settings": {
        f"{CONF}/vfs.conf": f"[device-pf]\nmatch-device=interface-name:{OTHER}\nsriov-num-vfs=4\n"
    },
    "a .link file, by property": link("Property=ID_NET_DRIVER=ice", COUNT),
    "NetworkManager without VFs": {f"{KEYFILES}/pf.nmconnection": f"[connection]\ninterface-name={PORT}\n"},
    "a .link file": link(f"OriginalName={OTHER}", COUNT),
    "a .link file, by driver": link("Driver=!mlx5_core", COUNT),
    "a .link file that only names": link(f"MACAddress={MAC}", f"[Link]\nName={PORT}"),
    "a udev rule": rule(f'KERNEL=="{OTHER}", {ASSIGN}'),
    "a udev rule for a vendor": rule(f'ATTRS{{vendor}}=="0x8086", {ASSIGN}'),
    "a udev rule that compares": rule(f'KERNEL=="{PORT}", ATTR{{device/sriov_numvfs}}=="0", NAME="{PORT}"'),
    "a udev rule in a comment": rule(f'# KERNEL=="{PORT}", {ASSIGN}'),
    "a unit": unit(f"/bin/sh -c '{echo(OTHER)}'"),
    "a unit that is not enabled": {
        f"{UNITS}/vfs.service": f"[Service]\nExecStart=/bin/sh -c '{echo(PORT)}'\n"
    },
    "a script for another port": {
        **unit(f"/usr/local/sbin/vfs {OTHER}"),
        "/usr/local/sbin/vfs": f"{echo('$1')}\n",
    },
    "sysfsutils": {"/etc/sysfs.conf": "bus/pci/devices/0000:18:00.0/sriov_numvfs = 4\n"},
    "a unit with its port in a file": {
        f"{UNITS}/vfs.service": "[Service]\nEnvironmentFile=-/etc/default/vfs\nExecStart=/opt/vfs\n",
        f"link {UNITS}/multi-user.target.wants/vfs.service": f"{UNITS}/vfs.service",
        "/etc/default/vfs": f"PF={OTHER}\n",
        "/opt/vfs": f"#!/bin/sh\n{echo('${PF}')}\n",
    },
    "a drop-in": {f"{UNITS}/openibd.service.d/vfs.conf": f"[Service]\nExecStartPost={echo(OTHER)}\n"},
    "root's own table of cron": {"/var/spool/cron/crontabs/root": f"@reboot {echo(OTHER)}\n"},
    "cloud-init's runcmd, which has run": {USER_DATA: f"bootcmd: [true]\nruncmd:\n- {echo(PORT)}\n"},
    "cloud-init's bootcmd": {USER_DATA: f"bootcmd:\n- {echo(OTHER)}\n"},
    "a script that cron starts, for another port": {
        "/etc/cron.d/vfs": f"@reboot root /opt/vfs.sh {OTHER} >> /var/log/vfs.log\n",
        "/opt/vfs.sh": f"#!/bin/sh\n{echo('$1')}\n",
        "/var/log/vfs.log": f"{echo(PORT)}\n",
    },
    "a script that only reads": {
        "/etc/cron.d/vfs": f"*/5 * * * * root cat /sys/class/net/{PORT}/device/sriov_numvfs > /run/vfs; "
        "/opt/vfs-metrics\n",
        "/opt/vfs-metrics": "for pf in /sys/class/net/*; do [ -r $pf/device/sriov_numvfs ] || continue\n"
        "echo vfs{pf=$pf} $(cat $pf/device/sriov_numvfs); read n < $pf/device/sriov_numvfs; done\n"
        "grep -H . /sys/class/net/*/device/sriov_numvfs\n",
    },
    "a unit that a udev rule wants for another NIC": {
        **rule('SUBSYSTEM=="net", DRIVERS=="ice", TAG+="systemd", ENV{SYSTEMD_WANTS}+="vfs@%k.service"'),
        f"{UNITS}/vfs@.service": f"[Service]\nExecStart=/bin/sh -c '{echo('%i')}'\n",
    },
    "a udev rule's program with a comment": {
        **rule(f'SUBSYSTEM=="net", KERNEL=="{PORT}", RUN+="/usr/local/bin/up %k"'),
        "/usr/local/bin/up": f"#!/bin/sh\n# {echo('$1')}\nethtool -G $1 rx 8192\n",
    },
    "user data that cloud-init cannot read": {USER_DATA: f"bootcmd: [\n- {echo(PORT)}\n"},
    "tuned, for another port": tuned(f"[sysfs]\n/sys/class/net/{OTHER}/device/sriov_numvfs=4"),
    "tuned with another profile": tuned(TUNED_SETS, "virtual-host\n"),
    "tuned with only other settings": tuned("[sysfs]\n/sys/kernel/mm/ksm/run=0"),
    "tuned that does not start": {k: v for k, v in tuned(TUNED_SETS).items() if not k.startswith("link ")},
    "the initramfs, for another port": {
        "/etc/initramfs-tools/scripts/init-top/vfs": f"#!/bin/sh\n{echo(OTHER)}\n"
    },
    "driverctl, for a disk": {"/etc/driverctl.d/pci-0000:04:00.0": "vfio-pci\n"},
    "driverctl, for the driver that the port has": {f"/etc/driverctl.d/pci-{BDF}": "mlx5_core\n"},
    "a longer name": {"/etc/rc.local": f"{echo(PORT + '0')}\n"},
}


@pytest.mark.parametrize("case", NOT_OURS)
def test_a_writer_of_another_nic_is_none_of_our_business(monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    host = compute_node()
    arrange(host, NOT_OURS[case])
    node = Node(host, monkeypatch)
    assert node.converge(reboot_settle=0).name == "active"
    host.spawned.clear()
    node.emit("update_status")
    assert host.spawned == []
