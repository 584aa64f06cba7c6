# SPDX-License-Identifier: Apache-2.0
"""The forms in which units, rules and settings name the ports whose VFs they set."""

from collections.abc import Iterable

import pytest
from lab.modelled import card
from observe import observe
from observed import Observed, Writer
from unit.sriov_switchdev.foreign import (
    ASSIGN,
    BDF,
    CLOUD_INIT,
    CONF,
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

NET, PCI = "/sys/class/net", "/sys/bus/pci/devices"


def script(text: str) -> Files:
    return {"/etc/rc.local": f"#!/bin/bash\n{text}\nexit 0\n"}


def operator(name: str, bdf: str, others: str = "false") -> Files:
    """The unit that sets VFs at boot where Kubernetes' operator has mode systemd, and what it reads."""
    interface = f"- pciaddress: {bdf}\n          numvfs: 4\n          name: {name}\n"
    text = f"spec:\n    interfaces:\n        {interface}          externallymanaged: {others}\n"
    files = unit("/var/lib/sriov/sriov-network-config-daemon", "sriov-config.service")
    return {
        **files,
        "/var/lib/sriov/sriov-network-config-daemon": "\x7fELF\0sriov_numvfs\0*",
        "/etc/sriov-operator/sriov-interface-config.yaml": text,
    }


def cron(program: str) -> Files:
    return {"/etc/cron.d/x": f"*/5 * * * * root {PROGRAM}\n", PROGRAM: f"#!/usr/bin/env python3\n{program}\n"}


def rules(*lines: str, directory: str = "/etc/udev/rules.d", name: str = "90-x") -> Files:
    return {f"{directory}/{name}.rules": "\n".join(lines) + "\n"}


def settings(match: str, more: str = "") -> Files:
    text = f"[device-x]\nmatch-device={match}\nsriov-num-vfs=4\n{more}"
    return {"/etc/NetworkManager/conf.d/x.conf": text}


def interfaces(text: str, program: str = "") -> Files:
    """Stanzas of ifupdown: one of another NIC's port, and after it those of ours."""
    ours = f"auto {PORT}\niface {PORT} inet manual\n  mtu 9000\n"
    files = {"/etc/network/interfaces": f"auto lo {OTHER}\niface {OTHER} inet dhcp\n  {text}\n{ours}"}
    return {**files, PROGRAM: program} if program else files


PROGRAM = "/usr/local/sbin/vfs"

OURS = {
    "a unit in two lines": unit(f"/bin/sh -c \\\n  '{echo(PORT)}'"),
    "a PCI address as a shell has it": {
        "/etc/rc.local": "echo 4 > /sys/bus/pci/devices/0000\\:3b\\:00.0/sriov_numvfs\n"
    },
    "a line with CR LF": {"/etc/rc.local": f"{echo(PORT)}\r\n"},
    "udev, jumped over for others": rules('DRIVERS!="mlx5_core", GOTO="end"', ASSIGN, 'LABEL="end"'),
    "udev by vendor": rules(f'ENV{{ID_VENDOR_ID}}=="0x15b3", {ASSIGN}'),
    "udev by PCI ID": rules(f'ENV{{PCI_ID}}=="15B3:*", {ASSIGN}'),
    "NetworkManager, all but another port": settings(f"except:interface-name:{OTHER}"),
    "NetworkManager by type": settings("type:ethernet"),
    "NetworkManager by MAC address": settings(f"mac:{MAC.upper()}"),
    "NetworkManager by driver, of several": settings("driver:ice,driver:mlx5_core"),
    "NetworkManager, all but a kind": settings("*,except:type:bond"),
    "a .link file by two properties": link("Property=ID_NET_DRIVER=mlx5_core ID_BUS=pci"),
    "a number in a loop": script(f"for i in 0 1; do {echo('enp59s0f${i}np$i')}; done"),
    "a number in a loop, in a unit": unit(
        f"/bin/bash -c 'for i in 0 1; do {echo('enp59s0f${i}np${i}')}; done'"
    ),
    "a number in a loop, of PCI": script(f"for i in 0 1; do echo 4 > {PCI}/0000:3b:00.$i/sriov_numvfs; done"),
    "a number in a loop, of Python": script(
        f"for i in 0, 1: open(f'{NET}/enp59s0f{{i}}np{{i}}/device/sriov_numvfs', 'w')"
    ),
    "names in braces": script(f"echo 4 | tee {NET}/enp59s0f{{0np0,1np1}}/device/sriov_numvfs"),
    "a PCI address from elsewhere": script(f"echo 4 > {PCI}/$1/sriov_numvfs"),
    "all that devlink lists": script(
        "for d in $(devlink dev); do devlink dev eswitch set $d mode switchdev; done"
    ),
    "the members of a bond": script(
        f"ip link set {OTHER} up\nfor p in $(cat {NET}/bond0/bonding/slaves); do {echo('$p')}; done"
    ),
    "the attribute of MLNX_OFED": script("echo 4 > /sys/class/infiniband/mlx5_0/device/mlx5_num_vfs"),
    "cloud-init's own settings": {"/etc/cloud/cloud.cfg.d/x.cfg": f"bootcmd:\n- {echo(PORT)}\n"},
    "another port by name, and ours in a variable": script(f"P={PORT}\n{echo(OTHER)}\n{echo('$P')}"),
    "another port before, and ours in a variable": script(
        f"PORTS={PORT}\nfor p in $PORTS; do cat {NET}/{OTHER}/mtu; {echo('$p')}; done"
    ),
    "another port by name, and ours in quotes": script(f"P={PORT}\n{echo(OTHER)}\n" + echo('"$P"')),
    "another port by name, and ours by a command": script(
        f"x() {{ echo {PORT}; }}\n{echo(OTHER)}\n{echo('$(x)')}"
    ),
    "our port in a directory": script(f"cd {NET}/{PORT}/device\n{echo(OTHER)}\necho 4 > sriov_numvfs"),
    "a script of networkd-dispatcher": {
        "/etc/networkd-dispatcher/configuring.d/x": f"[ $IFACE = {PORT} ] && {echo('$IFACE')}\n",
    },
    "a script in Python that reads and writes": cron(
        f"n = open('{NET}/{PORT}/device/sriov_numvfs').read()\nopen('{NET}/{PORT}/device/sriov_numvfs', 'w')"
    ),
    "ifupdown, in our stanza": interfaces(f"mtu 1500\niface {PORT} inet6 auto\n  pre-up {echo('$IFACE')}"),
    "ifupdown, in another's stanza": interfaces(f"pre-up {echo(PORT)}"),
    "ifupdown, all ports in another's stanza": interfaces(f"pre-up for d in *; do {echo('$d')}; done"),
    "ifupdown, a program for all ports": interfaces(
        f"pre-up {PROGRAM}", f"for d in *; do {echo('$d')}; done"
    ),
    "ifupdown, a stanza that a pattern may choose": interfaces(
        f"allow-hotplug /en*=lan\niface lan inet manual\n  up {echo('$IFACE')}"
    ),
    "ifupdown2, a template": interfaces(
        f"%for p in '{PORT}'.split():\niface ${{p}}\n  up ip link set {OTHER} up; {echo('${p}')}\n%endfor"
    ),
    "devlink's words cut short": script(f"devlink d e s pci/{BDF} mode switchdev"),
    "devlink's words cut short, for all": script(
        'devlink -j dev | jq | while read d; do devlink dev esw se "$d" mode switchdev; done'
    ),
    "devlink's words cut short, and another port in full": script(
        f"devlink dev eswitch set pci/0000:5e:00.0 mode legacy\ndevlink dev e set pci/{BDF} mode legacy"
    ),
    "a comment behind a quote": {"/etc/rc.local": f"x='a # b'; {echo(PORT)}\n"},
}
OTHERS = {
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
    "a .link file, by property": link("Property=ID_NET_DRIVER=ice"),
    "NetworkManager without VFs": {f"{KEYFILES}/pf.nmconnection": f"[connection]\ninterface-name={PORT}\n"},
    "a .link file": link(f"OriginalName={OTHER}"),
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
    "a longer name": {"/etc/rc.local": f"{echo(PORT + '0')}\n"},
    "a unit in two lines": unit(f"/bin/sh -c \\\n  '{echo(OTHER)}'"),
    "a port in a comment behind": {"/etc/rc.local": f"{echo(OTHER)} # not {PORT}\n"},
    "udev, jumped over": rules('DRIVERS!="ice", GOTO="end"', ASSIGN, 'LABEL="end"'),
    "udev by vendor": rules(f'ENV{{ID_VENDOR_ID}}=="0x8086", {ASSIGN}'),
    "udev by PCI ID": rules(f'ENV{{PCI_ID}}=="8086:1592", {ASSIGN}'),
    "NetworkManager by a pattern": settings("interface-name:eno*"),
    "NetworkManager, our port in another section": settings(
        f"interface-name:{OTHER}", f"[device-y]\nmatch-device=interface-name:{PORT}\nmanaged=0\n"
    ),
    "an editor's copy": {
        "/etc/NetworkManager/system-connections/x.nmconnection~": f"[match]\ninterface-name={PORT}\n[sriov]"
    },
    "dpkg's copy": {"/etc/cron.d/x.dpkg-old": f"@reboot root {echo(PORT)}\n"},
    "a script in Python that only reads": cron(
        f"with open('{NET}/{{}}/device/sriov_numvfs'.format(p)) as f:\n  f.read()\n"
        "n = open(os.path.join(p, 'sriov_numvfs')).read()\nn = (p / 'device/sriov_numvfs').read_text()"
    ),
    "a check that is called like the attribute": {
        "/etc/cron.d/x": f"@reboot root /opt/check_sriov_numvfs.py {PORT}:8 > /run/check_sriov_numvfs.out\n"
    },
    "our port for something else": script(f"ip link set {PORT} mtu 9000\n{echo(OTHER)}"),
    "another port and ours in one line": script(f"{echo(OTHER)}; ip link set {PORT} up"),
    "a unit that is masked": {
        **unit(f"/bin/sh -c '{echo(PORT)}'", "sriov.service", "/usr/lib/systemd/system"),
        "/etc/systemd/system/sriov.service": "",
    },
    "a .link file that is masked": {
        **link("Driver=mlx5_core", directory="/usr/lib/systemd/network"),
        "/etc/systemd/network/10-vf.link": "",
    },
    "a udev rule that is masked": {
        **rules(ASSIGN, directory="/usr/lib/udev/rules.d", name="90-sriov"),
        "/etc/udev/rules.d/90-sriov.rules": "",
    },
    "a compiled program, which may only read": {
        **unit("/usr/local/bin/node_exporter"),
        "/usr/local/bin/node_exporter": "\x7fELF\0/sys/class/net/*\0sriov_numvfs\0",
    },
    "the unit of sriov-network-operator": operator(OTHER, "0000:5e:00.0"),
    "the unit of sriov-network-operator, for VFs of others": operator(PORT, BDF, "true"),
    "cloud-init's own runcmd, which has run": {
        "/etc/cloud/cloud.cfg.d/x.cfg": f"bootcmd: [true]\nruncmd:\n- {echo(PORT)}\n"
    },
    "a number in a loop": script(f"for i in 0 1; do {echo('eno${i}')}; done"),
    "names in braces": script(f"echo 4 | tee {NET}/eno{{1,2}}/device/sriov_numvfs"),
    "ifupdown, in another's stanza": interfaces(f"pre-up {echo(OTHER)}"),
    "ifupdown, another port in a bridge's stanza": interfaces(f"iface br0 inet dhcp\n  up {echo(OTHER)}"),
    "a .link file by vendor": link("Property=ID_VENDOR_ID=0x8086"),
    "a .link file by a quoted property": link('Property="ID_NET_DRIVER=ice"'),
    "devlink that only shows": {"/etc/rc.local": f"devlink dev eswitch show pci/{BDF}\n"},
    "devlink that only shows, cut short": script(
        f"devlink d e sh pci/{BDF}\ndevlink d s pci/{BDF}\ndevlink d e sho $d"
    ),
    "devlink's words cut short": script(f"devlink d e s pci/0000:5e:00.0 mode switchdev\nethtool {PORT}"),
    "tmpfiles of packages": {
        "/usr/lib/tmpfiles.d/static-nodes-permissions.conf": "z /dev/vfio/vfio 0666 - - -\n"
    },
    "tmpfiles that are masked": {
        "/usr/lib/tmpfiles.d/site.conf": f"w {PCI}/{BDF}/sriov_numvfs - - - - 4\n",
        "/etc/tmpfiles.d/site.conf": "",
    },
    "a script of networkd-dispatcher that a package brings": {
        "/usr/lib/networkd-dispatcher/routable.d/20-chrony": "#!/bin/sh\nchronyc onoffline\n"
    },
    "mstconfig": {"/etc/cron.d/x": f"@reboot root mstconfig -d {BDF} -y set NUM_OF_VFS=4\n"},
    "our port for something else, and a loop": script(
        f"ip link set {PORT} mtu 9000\nfor i in 0 1; do {echo('eno$i')}; done"
    ),
    "a number in a loop, of PCI": script(f"for i in 0 1; do echo 4 > {PCI}/0000:5e:00.$i/sriov_numvfs; done"),
    "ifupdown, the stanza's own port": interfaces(f"pre-up {echo('$IFACE')}"),
    "ifupdown, a program for the stanza's own port": interfaces(f"pre-up {PROGRAM}", echo("$IFACE")),
}
MAY = {
    "a udev rule for all but our port": rule(f'KERNEL!="{PORT}", {ASSIGN}'),
    "NetworkManager, all but our port": settings(f"except:interface-name:{PORT}"),
    "a script for all but our port": script(
        f"for p in {NET}/*; do [ ${{p##*/}} != {PORT} ] && {echo('$p')}; done"
    ),
    "a .link file, by driver": link("Driver=!mlx5_core"),
    "a unit with its port in a file": {
        f"{UNITS}/vfs.service": "[Service]\nEnvironmentFile=-/etc/default/vfs\nExecStart=/opt/vfs\n",
        f"link {UNITS}/multi-user.target.wants/vfs.service": f"{UNITS}/vfs.service",
        "/etc/default/vfs": f"PF={OTHER}\n",
        "/opt/vfs": f"#!/bin/sh\n{echo('${PF}')}\n",
    },
    "NetworkManager, all but our ports": settings("except:driver:mlx5_core"),
}


OTHER_MAKERS = {
    "the driver's directory": "for d in /sys/bus/pci/drivers/i40e/0000:*; do echo 4 > $d/sriov_numvfs; done",
    "lspci's lines": f"for n in $(lspci -D | grep Intel); do echo 4 > {PCI}/$n/sriov_numvfs; done",
    "behind a test of the driver": f'for d in {NET}/*; do [ "$(readlink $d/device/driver)" = ice ] && {{\n'
    "echo 4 > $d/device/sriov_numvfs; }; done",
}


def judged(files: Files) -> Observed:
    host = compute_node(cards=[card(), card("5e", device="8086:1592", driver="ice")])
    arrange(host, files)
    found = observe(host)
    assert host.spawned == []
    return found


def concerns_ours(writers: Iterable[Writer]) -> bool:
    return any(setting.concerns({BDF}) for each in writers if each.creates for setting in each.settings)


def surely_sets_ours(writers: Iterable[Writer]) -> bool:
    return any(BDF in (setting.ports or ()) for each in writers for setting in each.settings)


@pytest.mark.parametrize("form", OURS)
def test_a_port_of_ours_is_found(form: str) -> None:
    assert concerns_ours(judged(OURS[form]).vf_writers)


@pytest.mark.parametrize("form", MAY)
def test_what_may_come_to_any_port_is_told_and_blocks_none(form: str) -> None:
    found = judged(MAY[form]).vf_writers
    assert concerns_ours(found)
    assert not surely_sets_ours(found)


@pytest.mark.parametrize("form", OTHER_MAKERS)
def test_a_script_for_other_makers_nics_is_none_of_our_business(form: str) -> None:
    assert not concerns_ours(judged(script(OTHER_MAKERS[form])).vf_writers)


@pytest.mark.parametrize("form", OTHERS)
def test_another_port_is_none_of_our_business(form: str) -> None:
    found = judged(OTHERS[form])
    assert not concerns_ours(found.vf_writers)
    assert found.unclear == ()


def test_files_about_another_nic_keep_no_host_from_converging(node: Node) -> None:
    for each in ("netplan", "the shim", "NetworkManager", "a udev rule", "a script that only reads"):
        arrange(node.host, OTHERS[each])
    assert node.converge(reboot_settle=0).name == "active"
    node.host.spawned.clear()
    node.emit("update_status")
    assert node.host.spawned == []
