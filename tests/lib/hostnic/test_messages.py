# SPDX-License-Identifier: Apache-2.0
"""Links, devlink and ethtool in the kernel's bytes: requests as it reads them, answers as it writes them."""

import errno
import itertools
import struct
import sys
from cProfile import Profile
from pstats import Stats
from typing import TypeVar

import pytest
from hostnic.netlink import channel as netlink
from hostnic.netlink.channel import Family
from hostnic.netlink.dcb import Coalescing, Rings
from hostnic.netlink.devlink import DevlinkClient
from hostnic.netlink.ethtool import EthtoolClient
from hostnic.netlink.links import LinksClient
from hostnic.system import Channels, DeviceInfo, Link, Pause


def attribute(kind: int, content: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(content), kind) + content + bytes(-len(content) % 4)


def nested(kind: int, *attributes: bytes) -> bytes:
    return attribute(kind | 0x8000, b"".join(attributes))


def text(kind: int, value: str) -> bytes:
    return attribute(kind, value.encode() + b"\0")


def number(kind: int, value: int, size: int) -> bytes:
    return attribute(kind, value.to_bytes(size, sys.byteorder))


DEVLINK, ETHTOOL = 20, 21
BDF = "0000:3b:00.0"
DEVICE = text(1, "pci") + text(2, BDF)
PORT = nested(1, text(2, "enp1"))

Client = TypeVar("Client", LinksClient, DevlinkClient, EthtoolClient)


class Kernel:
    """The kernel's end of a socket: answers each request with the next reply and its errno.

    Attributes:
        requests: type, flags and body of each.

    """

    def __init__(self, *replies: list[bytes] | int) -> None:
        self.requests: list[tuple[int, int, bytes]] = []
        self._replies = list(replies)
        self._waiting: list[bytes] = []

    def client(self, cls: type[Client]) -> Client:
        channel = netlink.Channel.__new__(netlink.Channel)
        channel._socket, channel._numbers = self, itertools.count(1)
        made = cls.__new__(cls)
        if isinstance(made, LinksClient):
            made._channel = channel
        else:
            family = made._family = Family.__new__(Family)
            family._channel, family._name = channel, "devlink"
            family._id = DEVLINK if isinstance(made, DevlinkClient) else ETHTOOL
        return made

    def send(self, data: bytes) -> None:
        length, kind, flags, sequence, _ = struct.unpack_from("=IHHII", data)
        assert length == len(data)
        self.requests.append((kind, flags & ~netlink.REQUEST, data[16:]))
        reply = self._replies.pop(0) if self._replies else []
        answers, code = ([], reply) if isinstance(reply, int) else (reply, 0)
        last = (netlink.ERROR, struct.pack("=i", -code) + bytes(16))
        self._waiting = [
            struct.pack("=IHHII", 16 + len(body), kind, 0, sequence, 0) + body
            for kind, body in (*((kind, body) for body in answers), last)
        ]

    def recv(self, _: int) -> bytes:
        return self._waiting.pop(0)

    def close(self) -> None: ...


def link(index: int, *attributes: bytes, flags: int = 1, change: int = 0) -> bytes:
    return struct.pack("=BBHiII", 0, 0, 0, index, flags, change) + b"".join(attributes)


def families(*attributes: bytes, command: int = 1) -> bytes:
    return struct.pack("=BBH", command, 1, 0) + b"".join(attributes)


MAC, SWITCH = bytes.fromhex("1070fd3b0000"), bytes.fromhex("1070fd03003b0000")
UPLINK = link(
    5, text(3, "enp1"), attribute(1, MAC), number(4, 9000, 4), number(10, 7, 4), number(33, 1, 1),
    attribute(36, SWITCH), text(38, "p0"), attribute(52, text(53, "ens1") + text(53, "enx1070fd3b0000")),
    attribute(54, MAC), text(56, BDF), text(57, "pci"),
)  # fmt: skip
LACP = attribute(23, number(1, 1, 2) + attribute(5, bytes.fromhex("3a3288dbae7d")))
BOND = link(
    7,
    text(3, "bond0"),
    number(4, 1500, 4),
    number(33, 0, 1),
    attribute(18, text(1, "bond") + attribute(2, number(1, 4, 1) + LACP)),
)
ALONE = attribute(23, attribute(5, bytes(6)))
PLAIN = link(
    9, text(3, "bond1"), attribute(18, text(1, "bond") + attribute(2, number(1, 99, 1) + ALONE)), flags=0
)
VLAN = link(3, text(3, "v5@x"), attribute(18, text(1, "vlan") + attribute(2, number(1, 4, 2))), text(56, "x"))


def test_every_link_by_index() -> None:
    kernel = Kernel([BOND, UPLINK, PLAIN, VLAN])
    mac = "10:70:fd:3b:00:00"
    assert kernel.client(LinksClient).all() == [
        Link("v5@x", 3, None, None, 0, True, False, "vlan", None, None, None, None),
        Link("enp1", 5, mac, mac, 9000, True, True, None, "bond0", "1070fd03003b0000", "p0", BDF)._replace(
            altnames=("ens1", "enx1070fd3b0000")
        ),
        Link(
            *("bond0", 7, None, None, 1500, True, False, "bond", None, None, None, None),
            *("802.3ad", "3a:32:88:db:ae:7d"),
        ),
        Link("bond1", 9, None, None, 0, False, None, "bond", None, None, None, None),
    ]
    assert kernel.requests == [(18, netlink.DUMP, link(0, number(29, 8, 4), flags=0))]


def test_a_netdev_is_read_with_few_calls() -> None:
    """A node with 127 VFs on two ports has 512 netdevs: pyroute2's codec makes 600 calls for each."""

    def calls(netdevs: int) -> int:
        client, profile = Kernel([UPLINK] * netdevs).client(LinksClient), Profile()
        profile.runcall(client.all)
        return Stats(profile).total_calls

    assert calls(200) - calls(100) <= 100 * 200


def test_changes_of_a_link() -> None:
    asked = (18, netlink.ACK, link(0, text(3, "enp1"), number(29, 8, 4), flags=0))
    kernel = Kernel([UPLINK], [], [UPLINK])
    kernel.client(LinksClient).set_master("enp1", None)
    kernel.client(LinksClient).set_up("enp1", True)
    free, up = link(5, number(10, 0, 4), flags=0), link(5, change=1)
    assert kernel.requests == [asked, (19, netlink.ACK, free), asked, (19, netlink.ACK, up)]
    kernel = Kernel([BOND], [UPLINK])
    kernel.client(LinksClient).set_master("enp1", "bond0")
    assert kernel.requests[-1] == (19, netlink.ACK, link(5, number(10, 7, 4), flags=0))


def test_a_family_is_asked_for_once() -> None:
    kernel = Kernel([families(number(1, 23, 2), text(2, "devlink"))], [families()], [families()])
    client = kernel.client(DevlinkClient)
    client._family._id = None
    assert (client.eswitch_mode(BDF), client.eswitch_mode(BDF)) == (None, None)
    assert kernel.requests[0] == (16, netlink.ACK, families(text(2, "devlink"), command=3))
    assert [kind for kind, _, _ in kernel.requests] == [16, 23, 23]


@pytest.mark.parametrize(("number_", "mode"), [(0, "legacy"), (1, "switchdev"), (9, None)])
def test_the_eswitch_mode(number_: int, mode: str | None) -> None:
    kernel = Kernel([families(DEVICE, number(25, number_, 2), number(26, 0, 1))])
    assert kernel.client(DevlinkClient).eswitch_mode(BDF) == mode
    assert kernel.requests == [(DEVLINK, netlink.ACK, families(DEVICE, command=29))]


def test_a_device_without_eswitch_has_no_mode() -> None:
    assert Kernel(errno.EOPNOTSUPP).client(DevlinkClient).eswitch_mode(BDF) is None
    with pytest.raises(OSError, match="No such device"):
        Kernel(errno.ENODEV).client(DevlinkClient).eswitch_mode(BDF)


@pytest.mark.parametrize(("number_", "mode"), [(0, "none"), (1, "basic"), (9, None)])
def test_the_encapsulation_mode(number_: int, mode: str | None) -> None:
    kernel = Kernel([families(DEVICE, number(25, 1, 2), number(26, 0, 1), number(62, number_, 1))])
    assert kernel.client(DevlinkClient).encap_mode(BDF) == mode
    assert kernel.requests == [(DEVLINK, netlink.ACK, families(DEVICE, command=29))]


def test_a_device_that_does_not_tell_its_encapsulation_mode_has_none() -> None:
    assert Kernel([families(DEVICE, number(25, 1, 2))]).client(DevlinkClient).encap_mode(BDF) is None
    assert Kernel(errno.EOPNOTSUPP).client(DevlinkClient).encap_mode(BDF) is None


def test_changes_of_an_eswitch() -> None:
    kernel = Kernel()
    kernel.client(DevlinkClient).set_eswitch_mode(BDF, "switchdev")
    kernel.client(DevlinkClient).set_inline_mode(BDF, "transport")
    assert [body for _, _, body in kernel.requests] == [
        families(DEVICE, number(25, 1, 2), command=30),
        families(DEVICE, number(26, 3, 1), command=30),
    ]


def test_versions_of_a_device() -> None:
    psid = attribute(100, text(103, "fw.psid") + text(104, "MT_0000000359"))
    running, stored = (attribute(n, text(103, "fw.version") + text(104, f"22.{n}")) for n in (101, 102))
    kernel = Kernel([families(DEVICE, text(98, "mlx5_core"), psid, running, stored)])
    assert kernel.client(DevlinkClient).info(BDF) == DeviceInfo("22.101", "MT_0000000359")


def param(kind: int, *values: bytes) -> bytes:
    held = b"".join(attribute(85, value) for value in values)
    return families(DEVICE, attribute(80, text(81, "x") + number(83, kind, 1) + attribute(84, held)))


RUNTIME, PERMANENT = number(87, 0, 1), number(87, 2, 1)


@pytest.mark.parametrize(
    ("kind", "held", "value", "wanted", "written"),
    [
        (5, (text(86, "dmfs") + PERMANENT, text(86, "smfs") + RUNTIME), "smfs", "dmfs", text(86, "dmfs")),
        (6, (attribute(86, b"") + RUNTIME,), True, False, b""),
        (6, (RUNTIME,), False, True, attribute(86, b"")),
        (3, (number(86, 8, 4) + RUNTIME,), 8, 9, number(86, 9, 4)),
        (3, (RUNTIME,), None, 9, number(86, 9, 4)),
        (2, (number(86, 300, 2) + RUNTIME,), 300, 9, number(86, 9, 2)),
        (1, (number(86, 8, 1) + PERMANENT,), None, 9, number(86, 9, 1)),
    ],
)
def test_parameters(
    kind: int, held: tuple[bytes, ...], value: object, wanted: str | bool | int, written: bytes
) -> None:
    kernel = Kernel([param(kind, *held)], [param(kind, *held)])
    assert kernel.client(DevlinkClient).param(BDF, "x") == value
    kernel.client(DevlinkClient).set_param(BDF, "x", wanted)
    assert [body for _, _, body in kernel.requests] == [
        *[families(DEVICE, text(81, "x"), command=38)] * 2,
        families(DEVICE, text(81, "x"), number(83, kind, 1), RUNTIME, written, command=39),
    ]


def bits(kind: int, *names: str) -> bytes:
    held = (nested(1, number(1, index, 4), text(2, name)) for index, name in enumerate(names))
    return nested(kind, attribute(1, b""), number(2, 64, 4), nested(3, *held))


@pytest.mark.parametrize(
    ("supported", "active", "told"),
    [
        (("tso", "hw-tc-offload"), ("tso",), False),
        (("tso", "hw-tc-offload"), ("hw-tc-offload",), True),
        (("tso",), ("tso",), None),
        ((), (), None),
    ],
)
def test_hw_tc_offload(supported: tuple[str, ...], active: tuple[str, ...], told: bool | None) -> None:
    kernel = Kernel([families(PORT, bits(2, *supported), bits(3, "hw-tc-offload"), bits(4, *active))])
    assert kernel.client(EthtoolClient).hw_tc_offload("enp1") is told
    assert kernel.requests == [(ETHTOOL, netlink.ACK, families(PORT, command=11))]


def test_a_change_of_hw_tc_offload() -> None:
    kernel = Kernel()
    for on, value in ((True, attribute(3, b"")), (False, b"")):
        kernel.client(EthtoolClient).set_hw_tc_offload("enp1", on)
        wanted = nested(3, nested(3, nested(1, text(2, "hw-tc-offload"), value)))
        assert kernel.requests[-1] == (ETHTOOL, netlink.ACK, families(PORT, wanted, command=12))


def test_channels() -> None:
    told = [families(PORT, *(number(kind, value, 4) for kind, value in ((2, 0), (5, 63), (6, 0), (9, 1))))]
    kernel = Kernel(told, errno.EOPNOTSUPP, [families(PORT, number(2, 8, 4))])
    assert kernel.client(EthtoolClient).channels("enp1") == Channels(combined=1, most=63)
    assert kernel.requests == [(ETHTOOL, netlink.ACK, families(PORT, command=17))]
    assert kernel.client(EthtoolClient).channels("enp1") is None
    assert kernel.client(EthtoolClient).channels("enp1") is None
    kernel.client(EthtoolClient).set_channels("enp1", 16)
    assert kernel.requests[-1] == (ETHTOOL, netlink.ACK, families(PORT, number(9, 16, 4), command=18))


def test_rings() -> None:
    told = [
        families(
            PORT, *(number(kind, value, 4) for kind, value in ((2, 8192), (5, 8192), (6, 1024), (9, 512)))
        )
    ]
    kernel = Kernel(told, errno.EOPNOTSUPP)
    assert kernel.client(EthtoolClient).rings("enp1") == Rings(rx=1024, tx=512)
    assert kernel.client(EthtoolClient).rings("enp1") is None
    kernel.client(EthtoolClient).set_rings("enp1", Rings(4096, 2048))
    wanted = families(PORT, number(6, 4096, 4), number(9, 2048, 4), command=16)
    assert kernel.requests[-1] == (ETHTOOL, netlink.ACK, wanted)


def test_coalescing() -> None:
    values = [number(kind, value, 4) for kind, value in ((2, 8), (3, 128), (6, 16), (7, 32))]
    adaptive = [number(11, 1, 1), number(12, 0, 1)]
    kernel = Kernel([families(PORT, *values, *adaptive)], [families(PORT, *values)])
    wanted = Coalescing(8, 128, 16, 32, adaptive_rx=True, adaptive_tx=False)
    assert kernel.client(EthtoolClient).coalescing("enp1") == wanted
    assert kernel.client(EthtoolClient).coalescing("enp1") is None
    kernel.client(EthtoolClient).set_coalescing("enp1", wanted)
    assert kernel.requests[-1] == (ETHTOOL, netlink.ACK, families(PORT, *values, *adaptive, command=20))


def test_pause_frames() -> None:
    kernel = Kernel([families(PORT, number(2, 1, 1), number(3, 1, 1), number(4, 0, 1))], errno.EOPNOTSUPP)
    assert kernel.client(EthtoolClient).pause("enp1") == Pause(rx=True, tx=False)
    assert kernel.client(EthtoolClient).pause("enp1") is None
    kernel.client(EthtoolClient).set_pause("enp1", rx=False, tx=True)
    wanted = families(PORT, number(3, 0, 1), number(4, 1, 1), command=22)
    assert kernel.requests[-1] == (ETHTOOL, netlink.ACK, wanted)
