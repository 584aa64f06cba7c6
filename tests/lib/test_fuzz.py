# SPDX-License-Identifier: Apache-2.0
"""The shared packages' and the bundles' readers of text that others write."""

import base64
import contextlib
import dataclasses
import json
import tempfile
import zlib
from collections.abc import Callable
from email.message import Message
from pathlib import Path
from types import SimpleNamespace
from urllib.request import Request

import pytest
from charmkit import containers
from charmkit.fabric import Host, Policy
from charmkit.reboot import databag, services
from check import merge
from converge import StepError
from converge.render import PLAN_WIDTH
from converge.shape import InvalidValue
from exporter import facts
from fuzz import Reader, check
from hostnic import handover
from hostnic.capture import file
from hostnic.devices import lag, pci, selector, users, vdpa, vlan
from hostnic.firmware import mstconfig, mstflint
from hostnic.firmware.msterrors import MstError, explain, locked_down
from hostnic.netlink import dcbattrs
from hostnic.network import flows, lldp, ovs, routes, unixctl
from hostnic.system import CommandError, DeviceInfo, FileStat, System, failure
from hostnic.testing import FakeHost
from maas import client as maas
from maas import commission, readiness, sitefile, verify
from operate import fleet, health, running
from operate import verify as operate
from operate.adopt import text as adopt_text
from operate.adopt.adoption import adoption
from operate.client import Juju
from operate.process import Output
from vault import client as vault
from yamlfile.values import FileError

ROOT = Path(__file__).parents[2]
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
    (facts.Port(PF, "enp59s0f0np0", "bond0", True, {"vfs": 8}, {"vf_lag": 1}),),
    facts.Reboot(True, True, 2400, {"x/0": 3}, 2),
)
OVS = {
    "headings": ["other_config", "external_ids"],
    "data": [[["map", [["hw-offload", "true"]]], ["map", [["ovn-encap-ip", "10.0.0.1"]]]]],
}
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
VLANS = (
    "networks: {mgmt: {vlan: 40, space: x}, tenant: {vlan: 41}}\nprovider-vlans: {vlans: 1001-1100,1200}\n"
)
ROUTE6 = f"{'0' * 32} 00 {'0' * 32} 00 fe80{'0' * 27}1 00000400 00000001 00000000 00000003 eth0\n"


def of_file(path: str, read: Callable[[System], object]) -> Callable[[str], object]:
    """A reader of a file of the host."""

    def run(text: str) -> object:
        host = FakeHost()
        host.disk.install(path, text.encode("utf-8", "surrogatepass"), 0o644)
        return read(host)

    return run


def of_command(read: Callable[[System], object]) -> Callable[[str], object]:
    """A reader of what a command prints."""

    def run(text: str) -> object:
        host = FakeHost()
        host.disk.install(containers.LXC, b"", 0o755)
        host.answers[()] = text
        return read(host)

    return run


def members(host: System) -> object:
    return services.not_joined(host, containers.autostarting(host).running, "/run/x")


def raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def burned(host: System) -> object:
    return mstflint.burn(host, PF, "/fw.bin", lambda _: None)


def sysfs_number(host: System) -> object:
    return pci.number(host, PF, "unknown")


def overlay(text: str) -> object:
    documents = merge.parse(f"applications: {{a: {{charm: b}}}}\n---\n{text}", "0.yaml")
    return merge.merge([merge.Part(Path("0.yaml"), document) for document in documents])


def site(text: str) -> object:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "site.yaml"
        path.write_bytes(raw(text))
        return sitefile.Site.read(path)


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


def of_intent(text: str) -> object:
    """The intent of a site file, in a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "intent.yaml"
        path.write_bytes(raw(text))
        return dataclasses.replace(EXAMPLE, intent=str(path)).fabric_intent()


def findings(text: str) -> object:
    """What the actions say of the units of a model, with the text as their findings."""
    results = {"verified": "x", "findings": text, "health": text}
    return of_action(json.dumps({key: {"status": "completed", "results": results} for key in UNITS}))


def client(text: str) -> Juju:
    """Juju's client, which prints the text whatever it is asked."""
    return Juju(run=lambda *_, **__: Output(0, text))


def of_action(text: str) -> object:
    """What an action says of a unit, in Juju's words, as two commands read it."""

    def run(words: list[str], *_: object, **__: object) -> Output:
        return Output(0, json.dumps(STATUS) if words[1] == "status" else text)

    return operate.verify(Juju(run=run), print), health.health(Juju(run=run), print)


def of_model(text: str) -> object:
    """What adopting takes in a model; one text is both its status and each application's options."""
    found = adopt_text.text("m", adoption(running.read(client(text))))
    assert max(map(len, found.splitlines())) < 2 * PLAN_WIDTH
    return found


def of_vault(text: str) -> object:
    """What the vault's client makes of an answer to each of its questions."""

    class Answered:
        status = 200

        def __init__(self, *_: object, **__: object) -> None: ...
        def request(self, *_: object) -> None: ...
        def getresponse(self) -> "Answered":
            return self

        def read(self) -> bytes:
            return raw(text)

        def close(self) -> None: ...

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vault, "Connection", Answered)
        return vault.initialised(vault.Vault("10.0.0.1")), vault.init(vault.Vault("10.0.0.1"))


def of_maas(text: str) -> object:
    """What verify and commission make of a MAAS that gives these answers by path, or one answer to all."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None

    class Answer:
        def __init__(self, request: Request, **_: object) -> None:
            path = request.full_url.partition("/api/2.0/")[2]
            of_path = isinstance(content, dict) and path in content
            self.text = json.dumps(content[path]) if of_path else text
            self.headers = Message()
            self.headers["Content-Type"] = "application/json"

        def __enter__(self) -> "Answer":
            return self

        def __exit__(self, *_: object) -> None: ...
        def read(self) -> bytes:
            return raw(self.text)

    client = maas.Maas("http://maas", "a:b:c")
    client._open = Answer
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sitefile.Secret, "read", lambda _: "secret")
        found = verify.verify(client, EXAMPLE, INTENT), [*readiness.way_out(EXAMPLE, client.objects)]
        return found, commission.plan(EXAMPLE, client.objects).steps


def of_write(text: str) -> object:
    """What MAAS answers to a write."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return None  # send() says so in a sentence
    client = SimpleNamespace(objects={}, send=lambda *_: answer)
    return maas.Write("VLAN 9", "POST fabrics/1/vlans/", {"mtu": 9000, "name": "v9"}).run(client)


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
UNITS = ("roce-qos/0", "sriov-switchdev/0")
FINDINGS = '[{"severity": "blocked", "subject": "s", "what": "w", "remedy": "r"}]'
HEALTH = '[{"state": "blocked", "about": "a", "found": "f", "help": "h"}]'
SAID = {UNITS[0]: {"status": "completed", "results": {"verified": "true", "findings": FINDINGS}}}
STATUS = {
    "applications": {
        unit.partition("/")[0]: {
            "charm-name": unit.partition("/")[0],
            "units": {"a/0": {"subordinates": {unit: {}}}},
        }
        for unit in UNITS
    }
}
VAULT = {"initialized": False, "keys": ["k"] * 5, "root_token": "t", "errors": []}

RELATED = {"interface": "neutron-plugin", "scope": "container"}
APPLICATION = {
    "charm-channel": "yoga/stable",
    "base": {"name": "ubuntu", "channel": "22.04"},
    "relations": {},
}
MODEL = {
    "model": {"controller": "c", "name": "m", "version": "3.6.9"},
    "machines": {"0": {"hardware": "arch=amd64", "constraints": "tags=a spaces=b"}},
    "applications": {
        "nova-compute": APPLICATION
        | {
            **{"charm": "nova-compute", "charm-name": "nova-compute", "units": {"n/0": {"machine": "0"}}},
            "relations": {"neutron-plugin": [{"related-application": "ovn-chassis", **RELATED}]},
            "endpoint-bindings": {"": "oam"},
        },
        "ovn-chassis": APPLICATION
        | {
            **{"charm": "ovn-chassis", "charm-name": "ovn-chassis"},
            "relations": {"nova-compute": [{"related-application": "nova-compute", **RELATED}]},
        },
        "sriov-switchdev": {
            **APPLICATION,
            "charm": "local:sriov-switchdev-0",
            "charm-name": "sriov-switchdev",
        },
    },
    "application-endpoints": {"neutron": {"url": "c:a/m.neutron"}},
    "settings": {
        "enable-hardware-offload": {"source": "user", "value": True},
        "sriov-numvfs": {"source": "user", "value": "p0:8 p1:4"},
        "devices": {"source": "user", "value": "p0:8"},
        "num-vfs": {"source": "default", "value": 8},
    },
}
EXAMPLE = sitefile.Site.read(ROOT / "bundles/maas/site-example.yaml")
INTENT = EXAMPLE.fabric_intent()
SITE = (ROOT / "bundles/maas/site-example.yaml").read_text()
FABRIC = ("    vid: 9\n", "    vid: 9\n    fabric: other\n")
NIC = (
    "    comment: OpenStack",
    "    nics: {a: {bond: bond1, networks: [public-space], rdma: true}}\n    comment: OpenStack",
)
NICS = ("    tag: controller\n", "    tag: controller\n    nics: {a: [eno1, eno2]}\n")
URI = {"resource_uri": "/MAAS/api/2.0/x/1/"}
ON_BOOT = {"mode": "auto", "subnet": {"cidr": "192.168.25.0/24"}}
PORT = {"type": "physical", "parents": [], "links": [ON_BOOT], "params": "", **URI}
PORT |= {"link_connected": True, "numa_node": 0, "vlan": {"id": 5001, "vid": 0}}
BOOT_IMAGE = {
    "id": 7,
    "name": "ubuntu/jammy",
    "architecture": "amd64/ga-22.04",
    "subarches": "generic,ga-22.04",
}
MAAS = {
    "spaces/": [{"name": "oam-space", **URI}],
    "subnets/": [{"cidr": "192.168.25.0/24", "vlan": {"id": 5001, "vid": 0, "fabric_id": 0}, **URI}],
    "ipranges/": [{"type": "dynamic", "start_ip": "192.168.25.200", "end_ip": "192.168.25.250", **URI}],
    "tags/": [{"name": "compute_sriov", "comment": "", "kernel_opts": "", **URI}],
    "rackcontrollers/": [{"hostname": "maas", "system_id": "rack01", "ip_addresses": ["192.168.25.1"]}],
    "boot-resources/": [BOOT_IMAGE],
    "boot-resources/7/": {**BOOT_IMAGE, "sets": {"20240912": {"complete": True}}},
    "maas/?op=get_config&name=commissioning_distro_series": "jammy",
    "maas/?op=get_config&name=enable_http_proxy": True,
    "maas/?op=get_config&name=upstream_dns": "8.8.8.8",
    "fabrics/": [{"id": 0, "name": "fabric-0", "vlans": [{"id": 5001, "vid": 0, "mtu": 1500, **URI}], **URI}],
    "machines/?op=power_parameters": {"abc": {"power_address": "192.168.0.11"}},
    "nodes/abc/devices/": [
        {
            "vendor_id": "15b3",
            "pci_address": f"0000:3f:00.{n}",
            "physical_interface": {"name": f"enp63s0f{n}"},
        }
        for n in (0, 1)
    ],
    "machines/": [
        {
            "hostname": "node1",
            "system_id": "abc",
            "status_name": "Ready",
            "tag_names": ["compute_sriov"],
            "memory": 262144,
            "numanode_set": [{"index": 0, "cores": [0, 1, 2], "memory": 131072}],
            "interface_set": [
                *({"name": f"enp63s0f{n}", **PORT} for n in (0, 1)),
                {**PORT, "name": "bond0", "type": "bond", "parents": ["enp63s0f0", "enp63s0f1"], "links": []},
            ],
            **URI,
        }
    ],
}
TOOK = {"id": 7, "vid": 9, "mtu": 9000, "name": "v9", "params": {"bond_mode": "802.3ad"}}

READERS = [
    Reader("answers of MAAS", of_maas, [json.dumps(MAAS)], (StepError,)),
    Reader("what MAAS took", of_write, [json.dumps(TOOK)], (StepError,)),
    Reader("capture", file.read, [capture_of(json.dumps(CAPTURE))], (file.CaptureError,)),
    Reader("what a capture has", replayed, [json.dumps(CAPTURE)], (file.CaptureError,)),
    Reader("membership of OVN", services.raft_joined, [RAFT]),
    Reader("membership of RabbitMQ", services.rabbit_joined, [RABBIT], (ValueError,)),
    Reader("members", of_command(members), [json.dumps(INSTANCES), RAFT]),
    Reader(
        "members a minute ago",
        of_file("/run/x", lambda s: services.not_joined(s, ["juju-0-lxd-1"], "/run/x")),
        ['{"at": 5.0, "said": "a has not joined"}'],
    ),
    Reader("intent for the overlay", of_intent, [VLANS], (FileError,)),
    Reader("findings of a unit", findings, [FINDINGS, HEALTH], (StepError,)),
    Reader("answer of an action", of_action, [json.dumps(SAID)], (StepError,)),
    Reader(
        "status of a model",
        lambda text: fleet.own_units(client(text).data("status")),
        [json.dumps(STATUS)],
        (StepError,),
    ),
    Reader("model to adopt", of_model, [json.dumps(MODEL)], (StepError,)),
    Reader("answers of Vault", of_vault, [json.dumps(VAULT)], (StepError,)),
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
    Reader("ovs settings", of_command(ovs.settings), [json.dumps(OVS)], (CommandError,)),
    Reader("ovs rows", ovs.rows, [json.dumps(OVS)], (CommandError,)),
    Reader("flows", flows.parse, [FLOW]),
    Reader("flows that OVS counts", of_command(ovs.counts), [COUNTED]),
    Reader(
        "answers of ovs-vswitchd",
        lambda text: unixctl.answered(text.encode(errors="surrogatepass")),
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
        of_file(f"{users.LIBVIRT}/i.xml", lambda s: users.domains(s, PF, ["/dev/vhost-vdpa-0"])),
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
    Reader(
        "bundle",
        lambda text: merge.parse(text, "b.yaml"),
        ["a: &x {b: 1}\nc: *x\n---\nd: [1]\n"],
        (FileError,),
    ),
    Reader(
        "bundle and overlay",
        overlay,
        ["applications: {a: {options: {x: 1}}}\n"],
        (FileError,),
    ),
    Reader("site file", site, [SITE, SITE.replace(*FABRIC).replace(*NIC).replace(*NICS)], (FileError,)),
    Reader("vault keys", vault.parse, ["Unseal Key 1: abc\nInitial Root Token: s.1\n"], (StepError,)),
]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_reader_never_raises_what_it_does_not_document(reader: Reader) -> None:
    check(reader)
