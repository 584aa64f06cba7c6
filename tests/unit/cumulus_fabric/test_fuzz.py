# SPDX-License-Identifier: Apache-2.0
"""The charm's readers of text that others write: the intent, answers of switches, reports of hosts."""

import http.client
import json
from pathlib import Path

import hosts
import observe
import pytest
from audit.foreign import Ownership
from audit.ports.links import readdressed
from audit.running import conflicts
from cli import passwords
from config import Applying, Options, Rendering, Returning
from converge.bounded import Meter
from converge.shape import InvalidValue
from fuzz import Reader, check, raw
from intent import expand, pins, ports
from intent.model import Dialect, Unmanaged
from rest.answers import read
from rest.client import Nvue
from rest.connection import Access, Credentials, SwitchError
from tree import record, render
from tree.seen import by_port
from unit.cumulus_fabric.fabrics import fabric
from yamlfile.values import FileError

ROOT = Path(__file__).parents[3]
INTENTS = [path.read_text() for path in sorted((ROOT / "charms/cumulus-fabric/examples").glob("*.yaml"))]
TREE = {
    "interface": {"swp1-4": {"link": {"mtu": 9216}, "bridge": {"domain": {"br_default": {"access": 5}}}}},
    "vrf": {"default": {"router": {"bgp": {"autonomous-system": 65000}}}},
}
REVISION = {
    "state": "ays_fail",
    "transition": {"issue": {"0": {"message": "m", "data": {"location": "l"}}}, "rollback_target": "5"},
}
SYSTEM = {"version": {"image": {"build-id": "5.9.1"}, "kernel": "6.1"}, "build": "Cumulus Linux 5.9.1"}


class Said:
    """A switch that gives one answer to everything."""

    def __init__(self, text: str) -> None:
        self.status = http.client.OK
        self.content = raw(text)

    def request(self, *_: object) -> None:
        """It does not matter."""

    def getresponse(self) -> "Said":
        return self

    def read(self) -> bytes:
        return self.content

    def close(self) -> None:
        """Nothing is open."""


def switch(text: str) -> Nvue:
    access = Access(Credentials("u", "p"), pauses=())
    return Nvue("leaf1", "10.0.0.1", access, connect=lambda *_: Said(text))


def answer(text: str) -> object:
    return [read("u", "p:1", "GET /", status, raw(text)) for status in (200,)]


def refusal(text: str) -> object:
    return read("u", "p:1", "PATCH /", 400, raw(text))


def provider_vlans(text: str) -> object:
    """The value of that key, as JSON, which YAML reads, too; in an intent that is right without it."""
    return expand.read(f"{INTENTS[-1]}\nprovider-vlans: {text}")


def left_to_others(text: str) -> object:
    """The same for what the intent leaves to others."""
    return expand.read(f"{INTENTS[-1]}\nunmanaged: {text}")


SPLIT = fabric(change={"leaves.breakout": {"swp20": "4x"}})
WANTED = render.tree(SPLIT, SPLIT.switch("Leaf0-1"), Dialect.UNTIL_5_14)
RUNNING = {
    "interface": {
        "swp20": {"link": {"breakout": {"4x25G": {}}}},
        "bond7": {"type": "bond"},
        "swp31": {"ip": {"address": {"10.1.0.1/31": {}}}},
    },
    "bridge": {"domain": {"br_default": {"vlan": {"10": {"vni": {"10": {}}}, "77": {}}}}},
    "vrf": {
        "blue": {"evpn": {"vlan": 10, "vni": {"4001": {}}}},
        "default": {"router": {"bgp": {"neighbor": {"10.1.0.0": {"peer-group": "underlay"}}}}},
    },
    "nve": {"vxlan": {"mac-learning": "off"}},
    "qos": {"roce": {"enable": "on"}},
}


def beside(text: str) -> object:
    """Read a switch's configuration: the intent's changes to it, and the findings on the rest."""
    applied = switch(text).applied()
    others = Ownership().compare("Leaf0-1", applied, WANTED, Unmanaged())
    found = [*conflicts("Leaf0-1", applied, WANTED, {}), *others.findings()]
    found += readdressed(SPLIT.switch("Leaf0-1"), applied, WANTED, {})
    by_port(applied, applied)
    return others.patch, [each.sentence() for each in found]


def vlan_of_a_vrf(text: str) -> object:
    return beside(f'{{"vrf": {{"blue": {{"evpn": {{"vlan": {text}, "vni": {{"4001": {{}}}}}}}}}}}}')


class Asks:
    """A session in which passwd says this, however it comes, and then ends."""

    def __init__(self, text: str) -> None:
        data = raw(text)
        self.parts = [data[at : at + 97] for at in range(0, len(data), 97)]

    def settimeout(self, _: float) -> None:
        """It never waits."""

    def recv(self, _: int) -> bytes:
        return self.parts.pop(0) if self.parts else b""

    def sendall(self, data: bytes) -> None:
        assert data in (b"cumulus\n", b"Secret-Horse-9\n")

    def recv_exit_status(self) -> int:
        return 0


def passwd(text: str) -> object:
    return passwords.converse(Asks(text), Meter("leaf1", 60.0, passwords.MOST), "Secret-Horse-9")


PASSWD = "You must change your password now!\r\nCurrent password: \r\nNew password: \r\nBAD PASSWORD: x\r\n"

LEFT = '{"ports": "swp9-10", "bonds": ["bond7"], "vlans": "1000-1999", "settings": ["qos roce"]}'
LAST = record.written(record.Record({"Leaf0-1": {"interface": {"bond1": {"type": "bond"}}}}))
REFUSALS = (InvalidValue,)
WRONG = (FileError,)

PINS = f"# of 12 May\nLeaf0-1={'9F:' * 31}9F # ours\nLeaf0-2=sha256 Fingerprint={'0a' * 32}\n"

READERS = [
    Reader("intent", expand.read, INTENTS, WRONG),
    Reader("answer", answer, [json.dumps(TREE)], (SwitchError,)),
    Reader("refusal", refusal, ['{"detail": "d"}'], (SwitchError,)),
    Reader("configuration", lambda text: switch(text).applied(), [json.dumps(TREE)], (SwitchError,)),
    Reader("configuration beside the intent", beside, [json.dumps(RUNNING)], (SwitchError,)),
    Reader("VLAN of a VRF", vlan_of_a_vrf, ["10", '"auto"'], (SwitchError,)),
    Reader("revision", lambda text: switch(text).progress("6"), [json.dumps(REVISION)], (SwitchError,)),
    Reader(
        "revisions", lambda text: switch(text).revisions(), ['{"6": {"state": "applied"}}'], (SwitchError,)
    ),
    Reader("release", lambda text: observe.release_of(switch(text)), [json.dumps(SYSTEM)], (SwitchError,)),
    Reader("provider VLANs", provider_vlans, ['"1001-1003,1200"', '{"vlans": "7", "vni-base": 9}'], WRONG),
    Reader("passwd's questions", passwd, [PASSWD], (SwitchError, OSError)),
    Reader("what others look after", left_to_others, [LEFT], WRONG),
    Reader("what was applied last", record.read, [LAST], REFUSALS),
    Reader("file for --pins", lambda text: pins.given(text, ()), [PINS], REFUSALS),
    Reader("names in a range", ports.names, ["swp1-4,swp7s0-3", "bond1"]),
    Reader(
        "host's report",
        lambda text: hosts.read([("u/0", text)]),
        ['{"version": 1, "hostname": "n", "ports": []}'],
    ),
    *(
        Reader(f"option {name}", lambda text, name=name: Options(**{name: text}), [sample], REFUSALS)
        for name, sample in {
            "ca_certificate": "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
            "canary": "Leaf0-1",
            "pinned_certificates": f"Leaf0-1={'ab' * 32}",
        }.items()
    ),
    Reader("plan to apply", lambda text: Applying(plan=text), ["p0123456789abcdef"], REFUSALS),
    Reader("switch to return", Returning, ["Leaf0-1"], REFUSALS),
    Reader("dialect to render", lambda text: Rendering(dialect=text), ["5.14"], REFUSALS),
]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_reader_never_raises_what_it_does_not_document(reader: Reader) -> None:
    check(reader)
