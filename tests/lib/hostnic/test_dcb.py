# SPDX-License-Identifier: Apache-2.0
"""dcbnl's bytes: every attribute reads back as written, layouts are the kernel's, noise never crashes."""

import contextlib
import errno
import os
import socket
import struct
from collections.abc import Iterator

import pytest
from hostnic.netlink import channel as netlink
from hostnic.netlink import dcb, dcbnl
from hostnic.netlink.dcb import App, Dcb, Ets, Pfc, dcbx_words
from hostnic.netlink.dcbattrs import decode, encode
from hypothesis import given
from hypothesis import strategies as st

octets = st.tuples(*[st.integers(0, 255)] * 8)
ets = st.builds(Ets, octets, st.tuples(*[st.sampled_from(sorted(dcb.TSA.values()))] * 8), octets)
none_seen = st.just((0,) * 8)
pfc = st.builds(Pfc, st.integers(0, 255).map(dcb.priorities), st.integers(0, 65535), none_seen, none_seen)
apps = st.builds(App, st.integers(0, 255), st.integers(0, 65535), st.integers(0, 255))
settings = st.builds(
    Dcb,
    st.none() | ets,
    st.none() | pfc,
    st.sets(apps, max_size=64).map(lambda found: tuple(sorted(found))),
    st.none(),
)


def counted(ets: Ets | None) -> Ets | None:
    """The shares of the classes that have one."""
    return ets and ets._replace(
        bandwidth=tuple(share if tsa == "ets" else 0 for share, tsa in zip(ets.bandwidth, ets.tsa))
    )


@given(settings)
def test_every_setting_that_counts_reads_back_as_it_was_encoded(wanted: Dcb) -> None:
    assert decode(encode(wanted)) == wanted._replace(ets=counted(wanted.ets))


def test_the_bandwidth_that_mlx5_reports_for_strict_and_vendor_classes_is_no_share() -> None:
    tsa = ("ets", "strict", "strict", "ets", "strict", "strict", "strict", "vendor")
    told = Ets((0, 0, 0, 3, 0, 0, 6, 0), tsa, (50, 100, 100, 50, 100, 100, 100, 100))
    assert decode(encode(Dcb(ets=told))).ets == told._replace(bandwidth=(50, 0, 0, 50, 0, 0, 0, 0))


@given(settings, st.data())
def test_a_reply_with_flipped_bytes_or_cut_short_is_decoded_to_something(
    wanted: Dcb, data: st.DataObject
) -> None:
    content = bytearray(encode(wanted))
    for position in (
        data.draw(st.lists(st.integers(0, max(len(content) - 1, 0)), max_size=8)) if content else ()
    ):
        content[position] = data.draw(st.integers(0, 255))
    found = decode(bytes(content[: data.draw(st.integers(0, len(content)))]))
    assert found.ets is None or len(found.ets.prio_tc) == len(found.ets.tsa) == 8


def attribute(kind: int, content: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(content), kind) + content + bytes(-len(content) % 4)


def test_the_kernels_layout_of_ets() -> None:
    """struct ieee_ets: willing, cap, cbs, then seven arrays of eight."""
    ours = Ets((0, 1, 2, 3, 4, 5, 6, 7), ("ets", *["strict"] * 6, "vendor"), (100, *[0] * 7))
    content = encode(Dcb(ets=ours))
    assert content[:4] == struct.pack("=HH", 4 + 59, 1)
    assert content[4 + 3 : 4 + 11] == bytes([100, 0, 0, 0, 0, 0, 0, 0])
    assert content[4 + 19 : 4 + 27] == bytes([2, 0, 0, 0, 0, 0, 0, 255])
    assert content[4 + 27 : 4 + 35] == bytes(range(8))


def test_the_kernels_layout_of_pfc() -> None:
    """struct ieee_pfc: the mask at 1, the delay at 4, requests at 8, indications at 72."""
    content = encode(Dcb(pfc=Pfc((3, 5), 20)))
    assert content[:4] == struct.pack("=HH", 4 + 136, 2)
    assert content[5] == 0b101000
    assert struct.unpack_from("=H", content, 4 + 4) == (20,)
    reply = bytearray(content)
    struct.pack_into("=Q", reply, 4 + 8 + 3 * 8, 7)
    struct.pack_into("=Q", reply, 4 + 72 + 5 * 8, 9)
    found = decode(bytes(reply)).pfc
    assert found is not None
    assert (found.sent[3], found.received[5]) == (7, 9)


def test_the_kernels_layout_of_app_entries() -> None:
    content = encode(Dcb(apps=(App(dcb.DSCP, 26, 3),)))
    assert content == attribute(3, attribute(1, struct.pack("=BBH", 5, 3, 26)))


def test_structures_of_a_newer_kernel_and_unknown_attributes_are_read() -> None:
    content = attribute(11, b"trust") + attribute(2, encode(Dcb(pfc=Pfc((3,))))[4:] + b"more")
    assert decode(content) == Dcb(pfc=Pfc((3,)))


@pytest.mark.parametrize(
    "wanted",
    [
        Dcb(ets=Ets((0,) * 7, ("strict",) * 8, (0,) * 8)),
        Dcb(ets=Ets((0,) * 8, ("lax",) * 8, (0,) * 8)),
        Dcb(ets=Ets((256,) * 8, ("strict",) * 8, (0,) * 8)),
        Dcb(pfc=Pfc((3,), 70000)),
        Dcb(pfc=Pfc((8,))),
        Dcb(apps=(App(5, 70000, 3),)),
    ],
)
def test_what_does_not_fit_is_a_value_error(wanted: Dcb) -> None:
    ours, of_struct = "belong|no transmission selection", "range|requires|expected"
    with pytest.raises(ValueError, match=f"{ours}|{of_struct}"):
        encode(wanted)


@pytest.mark.parametrize(
    ("byte", "code"),
    [
        (256 - errno.EINVAL, errno.EINVAL),
        (256 - errno.EOPNOTSUPP, errno.EOPNOTSUPP),
        (256 - errno.EEXIST, errno.EEXIST),
        (-524 & 0xFF, errno.EOPNOTSUPP),
    ],
)
def test_a_refusal_is_one_byte_in_the_reply_and_has_the_settings_name(byte: int, code: int) -> None:
    with pytest.raises(OSError) as refused:
        dcbnl.raise_refusal("PFC", bytes([byte]))
    assert (refused.value.errno, refused.value.strerror) == (code, f"PFC: {os.strerror(code)}")


def test_a_zero_is_no_refusal() -> None:
    dcbnl.raise_refusal("PFC", b"\0")


@pytest.mark.parametrize("content", [None, b"", b"\0\0"])
def test_a_reply_without_a_result_is_one_sentence(content: bytes | None) -> None:
    with pytest.raises(OSError, match="PFC: the kernel's answer has no result"):
        dcbnl.raise_refusal("PFC", content)


def message(kind: int, body: bytes, number: int) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, 0, number, 0) + body


def acknowledged(number: int, code: int = 0) -> bytes:
    return message(netlink.ERROR, struct.pack("=i", -code) + bytes(16), number)


@contextlib.contextmanager
def client(*answers: bytes) -> Iterator[tuple[dcbnl.DcbClient, socket.socket]]:
    """A client whose kernel gives these answers, and the kernel's end of its socket."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel = netlink.Channel.__new__(netlink.Channel)
    channel._socket, channel._numbers = near, iter(range(1, 99))
    for answer in answers:
        far.send(answer)
    made = dcbnl.DcbClient.__new__(dcbnl.DcbClient)
    made._channel = channel
    with near, far:
        yield made, far


def reply(number: int, *attributes: bytes) -> bytes:
    return message(dcbnl.GETDCB, struct.pack("=BBH", 0, 0, 0) + b"".join(attributes), number) + acknowledged(
        number
    )


RUNNING = Dcb(pfc=Pfc((3,), 7), apps=(App(5, 26, 3),), dcbx=0x0D)


def test_get_asks_for_everything_and_for_dcbx() -> None:
    with client(reply(1, attribute(13, encode(RUNNING))), reply(2, attribute(14, b"\x0d"))) as (ours, far):
        assert ours.get("eth0") == RUNNING
        first, second = far.recv(4096), far.recv(4096)
    assert struct.unpack_from("=HH", first, 4) == (78, netlink.REQUEST | netlink.ACK)
    assert first[16:20] == struct.pack("=BBH", 0, 21, 0)
    assert attribute(1, b"eth0\0") in first
    assert second[17] == 22


def test_a_driver_without_dcbx_reports_the_rest() -> None:
    with client(reply(1, attribute(13, encode(RUNNING))), acknowledged(2, errno.EOPNOTSUPP)) as (ours, _):
        assert ours.get("eth0") == RUNNING._replace(dcbx=None)


def test_a_netdev_without_data_centre_bridging_raises() -> None:
    with client(acknowledged(1, errno.EOPNOTSUPP)) as (ours, _), pytest.raises(OSError) as refused:
        ours.get("lo")
    assert refused.value.errno == errno.EOPNOTSUPP


def test_settings_go_one_by_one_and_the_refused_one_is_named() -> None:
    taken, refused = reply(1, attribute(13, b"\0")), reply(2, attribute(13, bytes([256 - errno.EINVAL])))
    wanted = Dcb(ets=Ets((0,) * 8, ("strict",) * 8, (0,) * 8), pfc=Pfc((3,)))
    with client(taken, refused) as (ours, _), pytest.raises(OSError, match="PFC: Invalid argument"):
        ours.set("eth0", wanted)


def test_dcbx_is_refused_without_a_reason() -> None:
    words = "DCBX: the driver refuses mode host cee ieee"
    with client(reply(1, attribute(14, b"\1"))) as (ours, _), pytest.raises(OSError, match=words):
        ours.set_dcbx("eth0", 0x0D)


def test_an_answer_without_content_is_one_sentence() -> None:
    with client(acknowledged(1)) as (ours, _), pytest.raises(OSError, match="acknowledged without an answer"):
        ours.get("eth0")


def test_words_for_dcbx_modes_and_settings() -> None:
    assert dcbx_words(0x0D) == "host cee ieee"
    assert dcbx_words(0) == "none"
    wanted = Dcb(pfc=Pfc(()), apps=(App(5, 1, 1),))
    assert wanted.names == ("apps 1", "pfc none")
