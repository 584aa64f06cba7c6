# SPDX-License-Identifier: Apache-2.0
"""The operator's commands' readers of text that others write."""

import dataclasses
import json
from email.message import Message
from pathlib import Path
from types import SimpleNamespace
from urllib.request import Request

import pytest
from check import facts, merge
from converge import StepError
from converge.render import PLAN_WIDTH
from fuzz import Reader, check, of_path, raw
from maas import client as maas
from maas import commission, readiness, verify
from maas.sitefile.model import Secret
from maas.sitefile.reader import read_site
from operate import fleet, health, running
from operate import verify as operate
from operate.adopt import text as adopt_text
from operate.adopt.adoption import adoption
from operate.client import Juju
from operate.process import Output
from vault import client as vault
from yamlfile.values import FileError

ROOT = Path(__file__).parents[2]
VLANS = (
    "networks: {mgmt: {vlan: 40, space: x}, tenant: {vlan: 41}}\nprovider-vlans: {vlans: 1001-1100,1200}\n"
)


def overlay(text: str) -> object:
    documents = merge.parse(f"applications: {{a: {{charm: b}}}}\n---\n{text}", "0.yaml")
    return merge.merge([merge.Part(Path("0.yaml"), document) for document in documents])


def intent(path: Path) -> object:
    """The intent of the example site, in this file."""
    return dataclasses.replace(EXAMPLE, intent=str(path)).fabric_intent


def findings(text: str) -> object:
    """Read the actions' results on the units of a model, with the text as their findings."""
    results = {"verified": "x", "findings": text, "health": text}
    return of_action(json.dumps({key: {"status": "completed", "results": results} for key in UNITS}))


def client(text: str) -> Juju:
    """Juju's client, which prints the text whatever it is asked."""
    return Juju(run=lambda *_, **__: Output(0, text))


def of_action(text: str) -> object:
    """Read an action's result on a unit, in Juju's words, as two commands read it."""

    def run(words: list[str], *_: object, **__: object) -> Output:
        return Output(0, json.dumps(STATUS) if words[1] == "status" else text)

    return operate.verify(Juju(run=run)), health.health(Juju(run=run))


def of_model(text: str) -> object:
    """Read a model as adopting does; one text is both its status and each application's options."""
    found = adopt_text.text("m", adoption(running.read(client(text))))
    assert max(map(len, found.splitlines())) < 2 * PLAN_WIDTH
    return found


def of_vault(text: str) -> object:
    """Read an answer to each question of the vault's client."""

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
    """Read a MAAS that gives these answers by path, or one answer to all, as verify and commission do."""
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
        patch.setattr(Secret, "read", lambda _: "secret")
        found = verify.verify(client, EXAMPLE), [*readiness.way_out(EXAMPLE, client.objects)]
        return found, commission.plan(EXAMPLE, client.objects).steps


def of_write(text: str) -> object:
    """Read MAAS' answer to a write."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return None  # send() says so in a sentence
    client = SimpleNamespace(objects={}, send=lambda *_: answer)
    return maas.Write("VLAN 9", "POST fabrics/1/vlans/", {"mtu": 9000, "name": "v9"}).run(client)


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
EXAMPLE = read_site(ROOT / "tools/maas/site-example.yaml")
SITE = (ROOT / "tools/maas/site-example.yaml").read_text()
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
    Reader("intent for the overlay", of_path(intent), [VLANS], (FileError,)),
    Reader("findings of a unit", findings, [FINDINGS, HEALTH], (StepError,)),
    Reader("answer of an action", of_action, [json.dumps(SAID)], (StepError,)),
    Reader(
        "status of a model",
        lambda text: fleet.own_units(client(text).data("status"), facts.own()),
        [json.dumps(STATUS)],
        (StepError,),
    ),
    Reader("model to adopt", of_model, [json.dumps(MODEL)], (StepError,)),
    Reader("answers of Vault", of_vault, [json.dumps(VAULT)], (StepError,)),
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
    Reader(
        "site file",
        of_path(read_site),
        [SITE, SITE.replace(*FABRIC).replace(*NIC).replace(*NICS)],
        (FileError,),
    ),
    Reader("vault keys", vault.parse, ["Unseal Key 1: abc\nInitial Root Token: s.1\n"], (StepError,)),
]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_reader_never_raises_what_it_does_not_document(reader: Reader) -> None:
    check(reader)
