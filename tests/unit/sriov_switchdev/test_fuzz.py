# SPDX-License-Identifier: Apache-2.0
"""The charm's readers of text that others write."""

import json
from collections.abc import Callable

import actions
import live
import pytest
import record
from boot import bootfile
from config import Options
from converge import StepError
from converge.shape import InvalidValue
from fuzz import Reader, check, of_file
from hostnic import nova
from hostnic.devices import discover
from hostnic.system import System
from hostnic.tuning import observe as tuning
from lab.modelled import FakeHost
from unit.sriov_switchdev.tuned import NOVA
from writers import netplan, other_files

BOOT = {
    "version": 1,
    "phases": {
        "early": {"state": "done", "at": 5.0, "problems": [{"subject": "s", "what": "w", "remedy": "r"}]}
    },
    "ports": {
        "0000:3b:00.0": {"found": None, "left": {"number": 8, "mode": "switchdev", "made": 7, "at": 5.0}}
    },
}
LIVE = {"version": 1, "target": "t", "failures": 1, "undone": ""}
PREVIOUS = {
    "ports": [
        {
            "bdf": "0000:3b:00.0", "netdev": "p0", "mode": "legacy", "num_vfs": 2, "autoprobe": True,
            "bond": "bond0", "queues": 8, "mac": "10:70:fd:3b:00:00",
        }
    ],
    "answering": ["192.168.25.1"],
    "target": "t",
}  # fmt: skip
ACCEPTED = {
    "version": 1,
    "ports": [
        {
            "bdf": "0000:3b:00.0", "netdev": "p0", "num_vfs": 2, "bond": "bond0", "lag": True,
            "mac": "10:70:fd:3b:00:00",
        }
    ],
    "steering_mode": "smfs",
    "lag_required": True,
    "uplink_queues": 8,
    "follow_uplink": True,
    "absent": [
        {
            "bdf": "0000:5e:00.0", "netdev": "p1", "num_vfs": 2, "bond": None, "lag": False, "mac": None,
            "former": ["0000:3b:00.1", "p2"],
        }
    ],
}  # fmt: skip
"""The file of the action accept-nic."""
ADDRESSES = [{"ifname": "br-int", "link": "br", "addr_info": [{"local": "172.16.0.51"}]}]
LINK_FILE = "[Match]\nMACAddress=10:70:fd:3b:00:00\nDriver=!ice\n[Link]\nSR-IOVVirtualFunctions=4\n"
RULES = 'SUBSYSTEM=="net", KERNEL=="enp*|eth[0-9]", ATTR{device/sriov_numvfs}="8", RUN+="/opt/x"\n'
SCRIPT = "#!/bin/sh\nfor pf in enp59s0f0np0; do echo 8 > /sys/class/net/$pf/device/sriov_numvfs; done\n"
SHIM = "interfaces:\n  enp59s0f0np0: {num_vfs: 4, match: {pciaddress: '0000:3b:00.0'}}\n"
TUNED = "[main]\ninclude=-other, site\n[sysfs]\n/sys/class/net/enp*/device/sriov_numvfs=4\n"
TUNED += "[script]\nscript=${i:PROFILE_DIR}/x\n"
USER_DATA = (
    "#cloud-config\nbootcmd:\n- echo 4 > /sys/class/net/enp59s0f0np0/device/sriov_numvfs\n- [sh, -c, x]\n"
)
OPERATOR = '{"pciAddress": "0000:3b:00.0", "numVfs": 8, "externallyManaged": true, "name": "enp59s0f0np0"}'
STANZA = "iface enp59s0f0np0 inet dhcp\n  pre-up echo 4 > /sys/class/net/$IFACE/device/sriov_numvfs\n"
NETPLAN = "network:\n  version: 2\n  ethernets:\n    enp59s0f0np0: {virtual-function-count: 8, link: x}\n"


def of_writers(path: str) -> Callable[[str], object]:
    """A reader of a file that may set VFs; the units that read one are enabled, and tuned has a profile."""

    def read(system: System) -> object:
        assert isinstance(system, FakeHost)
        system.disk.install("/etc/tuned/active_profile", b"site\n", 0o644)
        for name in ("sriov-netplan-shim.service", "tuned.service", "vfs.service"):
            unit = f"/etc/systemd/system/{name}"
            if unit != path:
                system.disk.install(unit, b"[Service]\nExecStart=/opt/x\n", 0o644)
            system.disk.link(f"/etc/systemd/system/multi-user.target.wants/{name}", unit)
        return list(other_files.others(system, discover.observe(system).pfs))

    return of_file(path, read)


def of_addresses(text: str) -> object:
    """Read the output of ``ip -json address show``."""
    host = FakeHost()
    host.answers[()] = text
    return actions._internal(host, host.links.all(), "172.16.0.51")


def boot_record(system: System) -> object:
    """Ask the record as hooks do."""
    return record.read_boot(system).unfinished(system.now(), 900.0, 900.0)


REFUSALS = (InvalidValue,)

READERS = [
    Reader("desired state for boot", bootfile.from_json, [json.dumps(ACCEPTED)], (ValueError,)),
    Reader("converged NICs", of_file(record.CONVERGED, record.read_converged), ['{"nics": ["0000:3b:00"]}']),
    Reader("addresses", of_addresses, [json.dumps(ADDRESSES)], (OSError,)),
    Reader("record of boot", of_file(record.BOOT, boot_record), [json.dumps(BOOT)]),
    Reader("record of live changes", of_file(record.LIVE, record.read_live), [json.dumps(LIVE)]),
    Reader(
        "state before a live change",
        of_file(record.PREVIOUS, live.read_previous),
        [json.dumps(PREVIOUS)],
        (StepError,),
    ),
    Reader("netplan file", of_file("/etc/netplan/50-x.yaml", netplan.second_writers), [NETPLAN]),
    Reader(".link file", of_writers("/etc/systemd/network/10-x.link"), [LINK_FILE]),
    Reader(
        "NetworkManager keyfile",
        of_writers("/etc/NetworkManager/system-connections/x.nmconnection"),
        ["[connection]\ninterface-name=enp59s0f0np0\n[match]\ndriver=mlx5*;\n[sriov]\ntotal-vfs=4\n"],
    ),
    Reader("udev rules", of_writers("/etc/udev/rules.d/99-x.rules"), [RULES]),
    Reader("script", of_writers("/etc/rc.local"), [SCRIPT]),
    Reader("unit", of_writers("/etc/systemd/system/vfs.service"), [f"[Service]\nExecStart=/opt/x\n{SCRIPT}"]),
    Reader("profile of tuned", of_writers("/etc/tuned/site/tuned.conf"), [TUNED]),
    Reader("cloud-init's user data", of_writers(other_files.USER_DATA), [USER_DATA]),
    Reader("sriov-network-operator", of_writers("/etc/sriov-operator/pci/0000:3b:00.0"), [OPERATOR]),
    Reader("interfaces of ifupdown", of_writers("/etc/network/interfaces"), [f"auto lo\n{STANZA}"]),
    Reader("sriov-netplan-shim", of_writers("/etc/sriov-netplan-shim/interfaces.yaml"), [SHIM]),
    Reader("nova.conf", of_file(nova.PATH, lambda host: tuning.observe(host, ())), [NOVA]),
    Reader(
        "list of PCI devices", of_file(nova.PATH, lambda host: nova.offered(nova.read(host) or {})), [NOVA]
    ),
    Reader("option devices", lambda text: Options(devices=text), ["0000:3b:00.0:8"], REFUSALS),
]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_reader_never_raises_what_it_does_not_document(reader: Reader) -> None:
    check(reader)
