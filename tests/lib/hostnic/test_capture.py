# SPDX-License-Identifier: Apache-2.0
"""The substitutes in a capture for a host's identity, and the parts of the host that it leaves out."""

import base64
import ipaddress
import json
import struct
import zlib

import pytest
from converge import Plan
from hostnic.calls import CALLS
from hostnic.capture import file, reduce
from hostnic.capture.anonymous import Anonymous, macs
from hostnic.capture.file import VERSION, CaptureError, Shown, read, take
from hostnic.capture.recording import Recording, Replay
from hostnic.devices import users
from hostnic.firmware import mstconfig
from hostnic.firmware.configspace import ConfigSpace
from hostnic.network import routes
from hostnic.system import CommandError, DataCentreBridging, Devlink, Ethtool, Files, Links
from hypothesis import given
from hypothesis import strategies as st
from lab.modelled import FakeHost

KEY = b"fixed"
ADDRESSES = st.integers(0, (1 << 32) - 1).map(ipaddress.IPv4Address)


def stand_ins(text: str = "", words: tuple[tuple[str, str], ...] = ()) -> Anonymous:
    return Anonymous(macs(text), words, KEY)


def test_one_mac_address_has_one_stand_in_however_it_is_written():
    text = "ec:0d:9a:d3:c1:e8 EC-0D-9A-D3-C1-E8 enxec0d9ad3c1e8 ec:0d:9a:d3:c1:e9"
    assert stand_ins(text).text(text) == (
        "02:00:00:00:00:01 02-00-00-00-00-01 enx020000000001 02:00:00:00:00:02"
    )


def test_mac_addresses_keep_their_order():
    text = "ff:00:00:00:00:02 02:00:00:00:00:09"
    assert stand_ins(text).text(text) == "02:00:00:00:00:02 02:00:00:00:00:01"


def test_what_is_no_address_stays():
    text = "0000:3b:00.1 22.35.2000 6.8.0-45 MT_0000000359 00:00:00:00:00:00 0.0.0.0/0 ::/0 12:34:56 std::x"
    assert stand_ins(text).text(text) == text


@given(ADDRESSES, ADDRESSES)
def test_addresses_keep_the_length_of_their_common_prefix(one, other):
    hidden = stand_ins()

    def common(a, b):
        return 32 - (int(a) ^ int(b)).bit_length()

    found = [ipaddress.IPv4Address(hidden.number(int(each), 32)) for each in (one, other)]
    special = {0, (1 << 32) - 1} & {int(one), int(other)}
    assert special or common(*found) == common(one, other)


def test_no_address_of_a_private_network_stays_as_it_is():
    text = "10.20.30.40 192.168.25.1/24 172.16.0.0/16 2001:db8::25"
    found = stand_ins().text(text)
    assert not {*text.split()} & {*found.split()}
    assert ipaddress.ip_network(found.split()[2]).prefixlen == 16  # it is a network still


def test_an_ipv4_address_in_a_gid_has_the_stand_in_that_it_has_elsewhere():
    found = stand_ins().text("10.20.30.40 0000:0000:0000:0000:0000:ffff:0a14:1e28").split()
    assert found[0] != "10.20.30.40"
    assert str(ipaddress.IPv6Address(found[1]).ipv4_mapped) == found[0]


def test_routes_lead_through_the_same_netdevs_to_the_stand_ins_of_their_networks():
    def number(address):
        return f"{struct.unpack('=I', ipaddress.IPv4Address(address).packed)[0]:08X}"

    host = FakeHost()
    rows = [("bond0", "0.0.0.0", "192.168.25.1", "0003", "0.0.0.0"),
            ("bond0", "192.168.25.0", "0.0.0.0", "0001", "255.255.255.0")]  # fmt: skip
    text = "".join(
        f"{dev}\t{number(net)}\t{number(hop)}\t{flags}\t0\t0\t0\t{number(mask)}\t0\t0\t0\n"
        for dev, net, hop, flags, mask in rows
    )
    hidden = stand_ins()
    host.disk.install(routes.ROUTES, hidden.route(text + "secret words\n").encode(), 0o644)
    found = list(routes.ipv4(host))
    assert [(route.netdev, route.network) for route in found] == [
        ("bond0", "0.0.0.0/0"), ("bond0", hidden.text("192.168.25.0/24")),
    ]  # fmt: skip
    assert found[0].gateway == hidden.text("192.168.25.1")
    assert "secret" not in host.disk.read(routes.ROUTES)


def test_host_names_are_replaced_as_whole_words():
    hidden = stand_ins(words=(("host", "rack7"), ("host", "rack7.example.org")))
    assert hidden.text("rack7.example.org RACK7 rack77 /etc/rack7.yaml") == (
        "host002 host001 rack77 /etc/host001.yaml"
    )


def test_urls_and_serial_numbers_of_cards_go():
    text = stand_ins().text("https://user:word@files.example.org/fw.bin MT2015X01234 MT_0000000359")
    assert text == "https://left-out.invalid/ serial MT_0000000359"


def test_of_a_domain_only_its_devices_stay():
    address = "<address domain='0x0000' bus='0x3b' slot='0x00' function='0x2'/>"
    xml = (
        f"<domain><name>vm</name><graphics passwd='word'/><hostdev><source>{address}</source></hostdev>"
        "<interface><source dev='/dev/vhost-vdpa-3'/></interface></domain>"
    )
    kept = reduce.domain(xml)
    assert "word" not in kept
    assert users.pci_addresses(kept) == {"0000:3b:00.2"}
    assert users.vdpa_nodes(kept) == {"/dev/vhost-vdpa-3"}
    assert "<name>vm</name>" in kept


def test_of_mstconfigs_output_only_its_table_and_errors_stay():
    output = (
        "Device #1:\nDevice:  3b:00.0\nBase MAC: ec0d9ad3c1e8\n"
        "Configurations:     Default  Current  Next Boot\n"
        "*    NUM_OF_VFS    8   8   16\n     SRIOV_EN   False(0)  True(1)  True(1)\n"
        "-E- Unknown Parameter: X\n"
    )
    kept = reduce.parameters(output)
    assert mstconfig.parse(kept) == mstconfig.parse(output)
    assert len(mstconfig.parse(kept)) == 2
    assert "ec0d9ad3c1e8" not in kept
    assert "-E- Unknown Parameter: X" in kept


def test_configuration_space_loses_the_serial_number_of_the_function():
    content = bytearray(4096)
    content[0x100:0x104] = (0x0003 | 1 << 16 | 0x150 << 20).to_bytes(4, "little")
    content[0x104:0x10C] = bytes.fromhex("e8c1d30003 9a0dec".replace(" ", ""))
    content[0x150:0x154] = (0x000D | 1 << 16).to_bytes(4, "little")
    kept = reduce.configuration(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    assert kept[0x104:0x10C] == bytes(8)
    assert ConfigSpace(kept).extended(0x000D) == 0x150
    assert len(kept) == 4096


def test_a_file_that_no_rule_names_is_left_out():
    host = FakeHost()
    host.disk.install("/etc/shadow", b"root:word\n", 0o600)

    def look(system, _):
        system.files.read("/etc/shadow")
        with pytest.raises(CommandError):
            system.query(["some-tool", "--all"])
        return Shown(Plan(), (), {})

    found = read(take(host, "demo", {}, look))
    assert "word" not in json.dumps(found.content)
    with pytest.raises(OSError, match="left out"):
        found.system.files.read("/etc/shadow")


def test_every_method_of_a_door_is_known_to_read_or_to_write():
    doors = (Files, Links, Ethtool, DataCentreBridging, Devlink)
    methods = {f"{door.__name__}.{name}" for door in doors for name in vars(door) if not name.startswith("_")}
    assert CALLS.keys() == methods


def test_a_recording_changes_nothing():
    host = FakeHost()
    recording = Recording(host)
    for change in (
        lambda: recording.files.write("/sys/bus/pci/devices/0000:3b:00.0/sriov_numvfs", "4"),
        lambda: recording.devlink.set_eswitch_mode("0000:3b:00.0", "switchdev"),
        lambda: recording.run(["reboot"]),
    ):
        with pytest.raises(OSError, match="a capture changes nothing"):
            change()
    assert host.trace == []


def test_every_answer_comes_back_as_it_was():
    host = FakeHost()
    recording = Recording(host)

    def ask(system):
        return (
            system.links.all(), system.links.addresses("bond0"), system.dcb.get("enp59s0f0np0"),
            system.ethtool.pause("enp59s0f0np0"), system.ethtool.channels("enp59s0f0np0"),
            system.ethtool.rings("enp59s0f0np0"), system.ethtool.coalescing("enp59s0f0np0"),
            system.devlink.info("0000:3b:00.0"), system.devlink.param("0000:3b:00.0", "flow_steering_mode"),
            system.files.exists("/sys/class/net"), system.files.listdir("/sys/class/net"),
        )  # fmt: skip

    told = ask(recording)
    kept = json.loads(json.dumps(recording.answers))
    assert ask(Replay(kept, recording.started)) == told


def test_failures_come_back_as_they_were():
    host = FakeHost()
    host.fail("eswitch_mode", "", OSError(95, "Operation not supported"))
    recording = Recording(host)
    with pytest.raises(OSError, match="not supported"):
        recording.devlink.eswitch_mode("0000:3b:00.0")
    with pytest.raises(FileNotFoundError):
        recording.files.read("/nowhere")
    again = Replay(json.loads(json.dumps(recording.answers)), 0.0)
    with pytest.raises(OSError, match="not supported") as failed:
        again.devlink.eswitch_mode("0000:3b:00.0")
    assert failed.value.errno == 95
    with pytest.raises(FileNotFoundError):
        again.files.read("/nowhere")


def test_a_survey_that_fails_still_gives_a_capture():
    host = FakeHost()
    host.fail("links", "", OSError(12, "Cannot allocate memory"), times=None)

    def look(system, _):
        system.files.listdir("/sys/class/net")
        return Shown(Plan(), {"links": str(system.links.all())})

    found = read(take(host, "demo", {}, look))
    with pytest.raises(OSError, match="Cannot allocate memory"):
        look(found.system, found.inputs)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there is no capture in it"),
        ("ovn-offload-capture:AAAA", "is damaged"),
        ("ovn-offload-capture:eJyrVipLLSrOzM9TsjKsBQAkqQSk", "is damaged"),
        ("ovn-offload-capture:eNqrVipLLSrOzM9TslKwrAUAJqYE1g==", "has version 9; this revision reads 1"),
    ],
)
def test_what_is_no_capture_is_refused_in_one_sentence(text, reason):
    with pytest.raises(CaptureError, match=reason):
        read(text)


def test_a_capture_that_unpacks_to_more_than_any_host_has_is_damaged(monkeypatch):
    content = {"version": VERSION, "charm": "roce-qos", "inputs": {}, "started": 0, "answers": {}}
    packed = base64.b64encode(zlib.compress(json.dumps(content).encode())).decode()
    assert read(f"ovn-offload-capture:{packed}").charm == "roce-qos"
    monkeypatch.setattr(file, "_LARGEST", len(json.dumps(content)) - 1)
    with pytest.raises(CaptureError, match="is damaged"):
        read(f"ovn-offload-capture:{packed}")


@pytest.mark.parametrize("question", ["", " "])
def test_an_answer_without_a_question_is_damage(question):
    answers = {question: None}
    content = {"version": VERSION, "charm": "roce-qos", "inputs": {}, "started": 0, "answers": answers}
    packed = base64.b64encode(zlib.compress(json.dumps(content).encode())).decode()
    with pytest.raises(CaptureError, match="is damaged"):
        read(f"ovn-offload-capture:{packed}")
