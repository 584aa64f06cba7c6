# SPDX-License-Identifier: Apache-2.0
"""Files of others that set VFs or eswitch modes when a host boots."""

from lab.modelled import FakeHost

PORT, OTHER, BDF, MAC = "enp59s0f0np0", "eno1", "0000:3b:00.0", "10:70:fd:3b:00:00"
UNITS = "/etc/systemd/system"
Files = dict[str, str]


def netplan(text: str, path: str = "/etc/netplan/60-site.yaml") -> Files:
    return {path: f"network: {{version: 2, ethernets: {{{text}}}}}\n"}


def unit(command: str, name: str = "vfs.service", directory: str = UNITS, enabled: str = "") -> Files:
    """A unit that runs ``command`` when the host boots."""
    return {
        f"{directory}/{name}": f"[Service]\nType=oneshot\nExecStart={command}\n",
        f"link {UNITS}/multi-user.target.wants/{enabled or name}": f"{directory}/{name}",
    }


def shim(text: str, directory: str = UNITS) -> Files:
    name = "sriov-netplan-shim.service"
    return {
        "/etc/sriov-netplan-shim/interfaces.yaml": f"interfaces:\n{text}\n",
        **unit("/usr/bin/sriov-netplan-shim configure", name, directory),
    }


def rule(text: str, directory: str = "/etc/udev/rules.d") -> Files:
    return {f"{directory}/99-vf.rules": f"{text}\n"}


COUNT = "[Link]\nSR-IOVVirtualFunctions=4"


def link(match: str, text: str = COUNT, directory: str = "/etc/systemd/network") -> Files:
    return {f"{directory}/10-vf.link": f"[Match]\n{match}\n{text}\n"}


CONF = "/etc/NetworkManager/conf.d"
KEYFILES = "/etc/NetworkManager/system-connections"


def keyfile(connection: str, sriov: str = "total-vfs=4") -> Files:
    """A connection of NetworkManager that sets VFs."""
    return {f"{KEYFILES}/pf.nmconnection": f"[connection]\nid=pf\n{connection}\n\n[sriov]\n{sriov}\n"}


def tuned(text: str, active: str = "site\n", name: str = "site", **more: str) -> Files:
    """tuned, enabled, and a profile of the operator's with files beside it."""
    directory = f"/etc/tuned/{name}"
    return {
        "/lib/systemd/system/tuned.service": "[Service]\nExecStart=/usr/sbin/tuned -l -P\n",
        f"link {UNITS}/multi-user.target.wants/tuned.service": "/lib/systemd/system/tuned.service",
        "/etc/tuned/active_profile": active,
        f"{directory}/tuned.conf": f"[main]\nsummary=site\ninclude=throughput-performance\n{text}\n",
        **{f"{directory}/{file}": content for file, content in more.items()},
    }


TUNED_SETS = f"[sysfs]\n/sys/class/net/{PORT}/device/sriov_numvfs=4"
ASSIGN = 'ATTR{device/sriov_numvfs}="8"'


def echo(where: str) -> str:
    return f"echo 4 > /sys/class/net/{where}/device/sriov_numvfs"


def arrange(host: FakeHost, files: Files) -> None:
    for path, text in files.items():
        if path.startswith("link "):
            host.disk.link(path.removeprefix("link "), text)
        else:
            host.disk.install(path, text.encode(), 0o644)


CLOUD_INIT = "/etc/netplan/50-cloud-init.yaml"
USER_DATA = "/var/lib/cloud/instance/cloud-config.txt"
OVN = "/etc/netplan/150-charm-ovn.yaml"
SHIM_FILE = "/etc/sriov-netplan-shim/interfaces.yaml"
COUNTED = "virtual-function-count: 4"
ELSE_MAC = "match: {macaddress: '02:00:00:00:00:01'}"
