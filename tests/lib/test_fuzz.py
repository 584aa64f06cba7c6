# SPDX-License-Identifier: Apache-2.0
"""The shared packages' readers of text that others write."""

import base64
import contextlib
import json
import zlib
from collections.abc import Callable

import pytest
from charmkit import containers
from charmkit.fabric import Host, Policy
from charmkit.reboot import databag, services
from converge.shape import InvalidValue
from exporter import facts
from fuzz import Reader, check, of_file, raw
from hostnic import handover
from hostnic.capture import file
from hostnic.devices import lag, pci, selector, users, vdpa, vlan
from hostnic.firmware import mstconfig, mstflint
from hostnic.firmware.msterrors import MstError, explain, locked_down
from hostnic.netlink import dcbattrs
from hostnic.network import flows, lldp, ovs, routes, unixctl
from hostnic.system import DeviceInfo, FileStat, System, failure
from lab.modelled import FakeHost

PF = "0000:3b:00.0"
HANDOVER = {
    "version": 1,
    "unit": "roce-qos/0",
    "reboot_owner": "nic-firmware",
    "reboot": {"reasons": ["why"], "since": 5, "ready": True},
    "vfs": {PF: 8},
    "parameters": {PF: {"NUM_OF_VFS": 8}},
    "pending": "",
}
FACTS = facts.Facts(
    "x",
    "x/0",
    5,
    {"blocked": 1},
    1,
    (facts.PortFacts(PF, "enp59s0f0np0", "bond0", True, {"vfs": 8}, {"vf_lag": 1}),),
    facts.Reboot(True, True, 2400, {"x/0": 3}, 2),
)
OVS = [
    {
        "other_config": ["map", [["hw-offload", "true"]]],
        "external_ids": ["map", [["ovn-encap-ip", "10.0.0.1"]]],
    }
]
XML = (
    "<domstatus><domain><name>i</name><devices><hostdev><source><address domain='0x0000' bus='0x3b' "
    "slot='0x00' function='0x2'/></source></hostdev><interface><source dev='/dev/vhost-vdpa-0'/></interface>"
    "</devices></domain></domstatus>"
)
FLOW = (
    "ufid:1, recirc_id(0),in_port(eth0),eth(src=00:00:00:00:00:01),eth_type(0x0800), packets:3, bytes:300, "
    "used:1s, offloaded:yes, dp:tc, actions:2\n"
)
COUNTED = "system@ovs-system:\n  flows : (current 3) (avg 3) (max 4) (limit 200000)\n  offloaded flows : 1\n"
QUERY = (
    "Configurations:   Default   Current   Next Boot\n"
    "*   NUM_OF_VFS   8   8   16\n    SRIOV_EN  False(0) True(1) True(1)\n"
)
BURN = "ActiveState=failed\nSubState=failed\nResult=exit-code\nExecMainStatus=1\n"
IMAGE = "FW Version:            22.39.1002\nPSID:                  MT_0000000359\n"
INSTANCES = [{"name": "juju-1", "config": {"boot.autostart": "true"}, "status": "Stopped"}]
ROUTE = (
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n"
    "br0\t00000000\t0119A8C0\t0003\t0\t0\t0\t00000000\n"
)
ROUTE6 = f"{'0' * 32} 00 {'0' * 32} 00 fe80{'0' * 27}1 00000400 00000001 00000000 00000003 eth0\n"


def of_command(read: Callable[[System], object]) -> Callable[[str], object]:
    """A reader of what a command prints."""

    def run(text: str) -> object:
        host = FakeHost()
        host.disk.install(containers.LXC, b"", 0o755)
        host.answers[()] = text
        return read(host)

    return run


def of_database(text: str) -> object:
    """Open vSwitch's settings where each table has these rows."""
    host = FakeHost()
    host.database = lambda *_: text  # type: ignore[method-assign]
    return ovs.settings(host)


def members(host: System) -> object:
    return services.not_joined(host, containers.autostarting(host).running, "/run/x", "")


def burned(host: System) -> object:
    return mstflint.burn(host, PF, "/fw.bin", lambda _: None)


def sysfs_number(host: System) -> object:
    return pci.number(host, PF, "unknown")


def capture_of(text: str) -> str:
    """A capture whose content is the text."""
    return f"{file.MARK}:{base64.b64encode(zlib.compress(raw(text), 1)).decode()}"


def replayed(text: str) -> None:
    """Ask a capture everything that it has an answer to."""
    capture = file.read(capture_of(text))
    assert isinstance(capture.inputs, dict)
    for question in capture.content["answers"]:
        verb, *words = question.split()
        door = DOORS.get(verb)
        with contextlib.suppress(OSError):
            if verb == "query":
                assert isinstance(capture.system.query(words), str)
            elif door:
                found = getattr(getattr(capture.system, door[0]), door[1])(*words)
                assert isinstance(found, door[2])


DOORS = {
    "read": ("files", "read", str),
    "readlink": ("files", "readlink", str),
    "listdir": ("files", "listdir", list),
    "links": ("links", "all", list),
    "addresses": ("links", "addresses", list),
    "stat": ("files", "stat", FileStat),
    "device_info": ("devlink", "info", DeviceInfo),
}
CAPTURE = {
    "version": 1,
    "charm": "roce-qos",
    "started": 5.0,
    "inputs": {"options": {}},
    "answers": {
        "read /sys/x": "8\n",
        "listdir /sys": ["a"],
        "readlink /sys/y": "a",
        "links": [{"Link": ["p0", 1, None, None, 1500, True, True, None, None, None, "p0", None]}],
        "addresses p0": ["10.0.0.1"],
        "stat /x": {"FileStat": [1, 2, 3]},
        "device_info 0000:3b:00.0": {"DeviceInfo": ["22.39.1002", None]},
        "query ip link": {"CommandError": ["ip failed", 1, "", ""]},
        "query uname": "x",
        "read /y": {"OSError": [2, "No such file or directory"]},
    },
}
RAFT = "Status: cluster member\nRole: follower\nLeader: 68d9\n"
RABBIT = '{"disk_nodes": ["a", "b"], "ram_nodes": [], "running_nodes": ["a", "b"], "partitions": {}}'


READERS = [
    Reader("capture", file.read, [capture_of(json.dumps(CAPTURE))], (file.CaptureError,)),
    Reader("what a capture has", replayed, [json.dumps(CAPTURE)], (file.CaptureError,)),
    Reader("membership of OVN", services.raft_joined, [RAFT]),
    Reader("membership of RabbitMQ", services.rabbit_joined, [RABBIT], (ValueError,)),
    Reader("members", of_command(members), [json.dumps(INSTANCES), RAFT]),
    Reader(
        "members a minute ago",
        of_file("/run/x", lambda s: services.not_joined(s, ["juju-0-lxd-1"], "/run/x", "")),
        ['{"at": 5.0, "said": "a has not joined"}'],
    ),
    Reader(
        "facts for the exporter",
        of_file(facts.path_of("x"), lambda s: [*facts.read_all(s)]),
        [facts.to_json(FACTS)],
    ),
    Reader(
        "handover",
        of_file(handover.path_of("x"), lambda s: handover.read_others(s, "y")),
        [json.dumps(HANDOVER)],
    ),
    Reader("unit databag", databag.decode_unit, [databag.encode(databag.decode_unit(None))], (InvalidValue,)),
    Reader(
        "cluster databag",
        databag.decode_cluster,
        [databag.encode(databag.decode_cluster(None))],
        (InvalidValue,),
    ),
    Reader("host databag", Host.from_json, ['{"version": 1, "hostname": "n", "ports": []}'], (InvalidValue,)),
    Reader("policy databag", Policy.from_json, ['{"version": 1, "mtu": {"host": 9000}}'], (InvalidValue,)),
    Reader("ovs settings", of_database, [json.dumps(OVS)], (OSError,)),
    Reader("ovs rows", ovs.rows, [json.dumps(OVS)], (OSError,)),
    Reader("flows", flows.parse, [FLOW]),
    Reader("flows that OVS counts", of_command(ovs.counts), [COUNTED]),
    Reader(
        "answers of ovs-vswitchd",
        lambda text: unixctl.answered(raw(text)),
        [json.dumps({"id": 0, "error": None, "result": COUNTED})],
        (OSError,),
    ),
    Reader(
        "lldp of networkctl",
        lambda text: lldp.from_json(text, {"eth0"}),
        ['{"Neighbors": [{"InterfaceName": "eth0", "Neighbors": [{"ChassisID": "a", "PortID": "b"}]}]}'],
    ),
    Reader(
        "lldp frames",
        lambda text: list(lldp.from_frames(raw(text))),
        ["\x20\0\0\0\0\0\0\0" + "\x02\x07\x04abcdef\x04\x03\x05ab"],
    ),
    Reader("libvirt status", lambda text: (users.pci_addresses(text), users.vdpa_nodes(text)), [XML]),
    Reader(
        "libvirt file",
        of_file(f"{users.LIBVIRT[0]}/i.xml", lambda s: users.domains(s, PF, ["/dev/vhost-vdpa-0"])),
        [XML],
    ),
    Reader("routes", of_file(routes.ROUTES, routes.through), [ROUTE]),
    Reader("routes of IPv6", of_file(routes.ROUTES6, routes.through), [ROUTE6]),
    Reader("vlans", of_file(f"{vlan.DIRECTORY}/config", vlan.devices), ["h\nh\nbond0.5  | 5  | bond0\n"]),
    Reader(
        "vlan",
        of_file(f"{vlan.DIRECTORY}/bond0.5", lambda s: vlan.egress(s, "bond0.5")),
        ["EGRESS priority mappings: 0:3 9:1\n"],
    ),
    Reader(
        "sysfs number", of_file(pci.attribute(PF, "unknown"), sysfs_number), ["8\n", "0x08\n"], (OSError,)
    ),
    Reader("vdpa link", vdpa.function_of, [f"../../../devices/pci0000:3a/{PF}/vdpa0"]),
    Reader(
        "kernel log",
        lambda text: lag.from_log(text, PF),
        [f"mlx5_core {PF}: lag map: port 1:1 port 2:2\n"],
    ),
    Reader(
        "selector",
        selector.parse,
        ["0000:3b:00.0, enp59s0f0np0:8", "15b3:101d", "all"],
        (InvalidValue,),
    ),
    Reader("mstconfig query", mstconfig.parse, [QUERY]),
    Reader("mstconfig backup", mstconfig.parse_backup, ["NUM_OF_VFS=8\n# c\n"], (ValueError,)),
    Reader("mstconfig number", mstconfig.number, ["True(1)", "8", "0x10"]),
    Reader("mstflint flash", of_command(lambda s: mstflint.read_flash(s, PF)), [IMAGE], (MstError,)),
    Reader("mstflint image", of_command(lambda s: mstflint.read_image(s, "/fw.bin")), [IMAGE], (MstError,)),
    Reader("digest", of_command(lambda s: mstflint.digest(s, "/x")), [f"{'ab' * 32}  /x\n"], (MstError,)),
    Reader("end of a burn", of_command(burned), [BURN], (OSError,)),
    Reader("firmware versions", lambda text: mstflint.newer(text, "22.35.2000"), ["22.39.1002"]),
    Reader(
        "mst errors",
        lambda text: explain(FakeHost(), failure(["mstconfig"], 3, text, "")),
        ["-E- Unknown Parameter: X\n"],
    ),
    Reader("lockdown", of_file("/sys/kernel/security/lockdown", locked_down), ["none [integrity]"]),
    Reader("lxd", of_command(lambda s: containers.autostarting(s).stopped), [json.dumps(INSTANCES)]),
    Reader("dcb attributes", lambda text: dcbattrs.decode(raw(text)), ["\x08\0\x01\0\0\0\0\0"], (OSError,)),
]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_reader_never_raises_what_it_does_not_document(reader: Reader) -> None:
    check(reader)
