# SPDX-License-Identifier: Apache-2.0
"""Neighbours as networkd tells them, in files or through networkctl; noise says nothing."""

import json
import struct
from functools import partial

import pytest
from converge import StepError
from hostnic.network import lldp
from hostnic.network.lldp import Neighbour
from hostnic.ops.lldp import FRAMES, LINKS, DropIn, SetLldp, drop_in, network_file, speaks
from hostnic.system import CommandError
from hypothesis import given
from hypothesis import strategies as st
from lab.modelled import FakeHost

P0 = "enp59s0f0np0"
KEYS = ["Neighbors", "InterfaceName", "ChassisID", "PortID"]
LEAF = Neighbour("44:38:39:00:00:01", "swp3", "leaf0-0")
MAC = bytes.fromhex("443839000001")
DROP_IN = "/etc/systemd/network/10-netplan-enp59s0f0np0.network.d/50-ovn-offload-lldp.conf"


def tlv(kind: int, value: bytes) -> bytes:
    return struct.pack("!H", kind << 9 | len(value)) + value


def kept(*tlvs: bytes) -> bytes:
    """One frame as networkd keeps it."""
    frame = bytes.fromhex("0180c200000e") + MAC + b"\x88\xcc" + b"".join(tlvs) + tlv(0, b"")
    return struct.pack("<Q", len(frame)) + frame


FRAME = kept(
    tlv(1, b"\x04" + MAC), tlv(2, b"\x05swp3"), tlv(3, b"\0\x78"), tlv(5, b"leaf0-0"), tlv(127, b"\0\x80\xc2")
)


@pytest.fixture
def host() -> FakeHost:
    host = FakeHost()
    for link in host.links.all():
        text = f"NETWORK_FILE=/run/systemd/network/10-netplan-{link.name}.network\nADMIN_STATE=configured\n"
        host.disk.install(f"{LINKS}/{link.ifindex}", text.encode(), 0o644)
    host.answers["networkctl", "reload"] = ""
    return host


def index(host: FakeHost, name: str) -> int:
    return next(link.ifindex for link in host.links.all() if link.name == name)


def test_neighbours_in_networkds_files(host: FakeHost) -> None:
    host.disk.install(f"{FRAMES}/{index(host, P0)}", FRAME, 0o644)
    assert lldp.neighbours(host, host.links.all()) == {P0: LEAF}
    assert host.spawned == []


def test_neighbours_through_networkctl(host: FakeHost) -> None:
    told = {
        "ChassisID": LEAF.chassis,
        "PortID": LEAF.port,
        "SystemName": LEAF.system,
        "EnabledCapabilities": 20,
    }
    both = [
        {"InterfaceIndex": 2, "InterfaceName": P0, "Neighbors": [told]},
        {"InterfaceIndex": 9, "InterfaceName": "eno1", "Neighbors": [told]},
    ]
    host.answers["networkctl", "lldp"] = json.dumps({"Neighbors": both})
    assert lldp.neighbours(host, host.links.all()) == {P0: LEAF}


def test_without_networkd_there_are_no_neighbours(host: FakeHost) -> None:
    host.answers["networkctl", "lldp"] = CommandError(["networkctl"], "networkctl is not installed")
    assert lldp.neighbours(host, host.links.all()) == {}


@pytest.mark.parametrize(
    ("tlvs", "told"),
    [
        ((tlv(1, b"\x07leaf"), tlv(2, b"\x03" + MAC)), Neighbour("leaf", "44:38:39:00:00:01")),
        ((tlv(1, b"\x05\x01\xc0\xa8\x19\x01"), tlv(2, b"\x05swp3")), Neighbour("01:c0:a8:19:01", "swp3")),
        ((tlv(1, b"\x04" + MAC[:5]), tlv(2, b"\x05swp3")), None),
        ((tlv(1, b"\x07leaf"),), None),
        ((tlv(1, b"\x07a\nb"), tlv(2, b"\x05swp3")), None),
        ((), None),
    ],
)
def test_identifiers_are_addresses_or_text(tlvs: tuple[bytes, ...], told: Neighbour | None) -> None:
    assert next(lldp.from_frames(kept(*tlvs)), None) == told


@given(st.binary(max_size=30), st.integers(0, len(FRAME)))
def test_any_damaged_file_is_read(noise: bytes, at: int) -> None:
    for told in lldp.from_frames(FRAME[:at] + noise + FRAME[at + len(noise) :]):
        assert told.chassis.isprintable()
        assert told.port.isprintable()


@pytest.mark.parametrize("text", ["", "null", "{", "[" * 9999])
def test_text_that_is_no_json_has_no_neighbours(text: str) -> None:
    assert lldp.from_json(text, {P0}) == {}


def test_the_drop_in_amends_the_file_that_networkd_uses(host: FakeHost) -> None:
    link = next(link for link in host.links.all() if link.name == P0)
    belongs = partial(drop_in, host, link, [link], partial(network_file, host), wanted=True)
    assert belongs() == DropIn(DROP_IN, there=False)
    SetLldp(DROP_IN, on=True).run(host)
    assert belongs() == DropIn(DROP_IN, there=True)
    host.disk.install(f"{LINKS}/{link.ifindex}", b"ADMIN_STATE=unmanaged\n", 0o644)
    assert belongs() is None
    host.disk.remove(f"{LINKS}/{link.ifindex}")
    assert belongs() is None


def test_lldp_is_switched_on_and_off_once(host: FakeHost) -> None:
    for on in (True, False):
        host.trace.clear()
        SetLldp(DROP_IN, on).run(host)
        SetLldp(DROP_IN, on).run(host)
        assert speaks(host, DROP_IN) is on
        verb = "install" if on else "remove"
        assert host.trace == [f"{verb} {DROP_IN}", "run networkctl reload"]


def test_a_networkd_whose_reload_takes_bond_members_down_is_not_asked(host: FakeHost) -> None:
    host.disk.directories.add(FRAMES)  # systemd 256 and earlier
    SetLldp(DROP_IN, on=True).run(host)
    assert host.trace == [f"install {DROP_IN}"]
    assert speaks(host, DROP_IN)


def test_a_networkd_that_does_not_answer_is_reported(host: FakeHost) -> None:
    host.answers["networkctl", "reload"] = CommandError(
        ["networkctl"], "networkctl failed (1): Connection refused"
    )
    with pytest.raises(StepError, match="Connection refused"):
        SetLldp(DROP_IN, on=True).run(host)
