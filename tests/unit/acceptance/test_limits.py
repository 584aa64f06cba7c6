# SPDX-License-Identifier: Apache-2.0
"""A service that drips, floods or never comes to an end is left in time, in one sentence that names it."""

import gzip
import itertools
from pathlib import Path

import pytest
import requests
from acceptance import transport
from lab.endless import DRIPS, FLOODS, OK, Peer, answering, dripping, flooding
from lab.nvue.certificate import Certificate
from lab.openstack.answer import Answer
from lab.openstack.operator import SECRET, one_sentence


def asked(world, peer):
    """Return the tool's words on a Keystone at this place."""
    world.credentials(password=SECRET, auth_url=f"http://{peer.place}/v3")
    status, _, err = world.run("plan")
    assert status == 2
    return one_sentence(err).replace(peer.place, "PEER")


@pytest.mark.parametrize("where", DRIPS)
def test_a_keystone_that_drips(world, monkeypatch, where):
    monkeypatch.setattr(transport, "SECONDS", 1.0)
    with dripping(where, 0.1) as peer:
        said = asked(world, peer)
    assert said.startswith(
        "cloud rdg: timed out: PEER does not finish its answer within 1 s; check the network"
    )


@pytest.mark.parametrize("where", [each for each in FLOODS if "header" not in each])
def test_a_keystone_that_floods(world, monkeypatch, where):
    monkeypatch.setattr(transport, "MOST", 2**20)
    with flooding(where) as peer:
        said = asked(world, peer)
    assert said.startswith(
        ("cloud rdg: PEER sends more than 1 MiB; check the network", "cloud rdg cannot be ")
    )
    assert peer.sent < 2**25, "beside what the kernel keeps"


def test_an_answer_that_grows_when_it_is_unpacked(world):
    packed = gzip.compress(b" " * 10**8)
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    with answering(head, [packed]) as peer:
        assert "PEER compresses its answer, which nobody asked it to do" in asked(world, peer)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return Certificate.make(tmp_path_factory.mktemp("certificate"))


def fetched(peer, certificate):
    """Return the answer by TLS to a session that sends through the adapter, in a question of its own."""
    with requests.Session() as session:
        session.trust_env = False
        session.mount("https://", transport.Adapter())
        transport.begin()
        return session.get(f"https://{peer.place}/", verify=str(certificate.certificate)).content


def encrypted(certificate, parts, pause=0.0):
    def play(peer, connection):
        with certificate.context().wrap_socket(connection, server_side=True) as tls:
            tls.recv(65536)
            peer.send(tls, parts, pause)

    return Peer(play)


def test_an_answer_by_tls(certificate):
    with encrypted(certificate, [OK + b"Content-Length: 2\r\n\r\n{}"]) as peer:
        assert fetched(peer, certificate) == b"{}"


RECORD = b"\x16\x03\x03\x3f\xff"
"""The head of a record of TLS' handshake."""


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda _: answering(RECORD, [b"\x02"] * 300, 0.1), "timed out: PEER does not answer within 2 s"),
        (
            lambda pem: encrypted(pem, [OK] + [b"a"] * 300, 0.1),
            "timed out: PEER does not finish its answer within",
        ),
        (lambda pem: encrypted(pem, [OK + b"\r\n"] + [b" " * 65536] * 1000), "PEER sends more than 1 MiB"),
    ],
    ids=["handshake", "headers", "flood"],
)
def test_limits_hold_by_tls(certificate, monkeypatch, make, says):
    monkeypatch.setattr(transport, "SECONDS", 2.0 if "timed out" in says else 60.0)
    monkeypatch.setattr(transport, "MOST", 2**20)
    with make(certificate) as peer:
        with pytest.raises(requests.RequestException) as failed:
            fetched(peer, certificate)
        assert str(transport.limit_behind(failed.value)).replace(peer.place, "PEER").startswith(says)


def test_pages_without_end_have_the_bytes_of_one_list(world, monkeypatch):
    nova = world.openstack.nova
    original, numbers = nova.answer, itertools.count()

    def answer(method, words, values, headers, body):
        if words[-2:] == ["flavors", "detail"]:
            number = next(numbers)
            link = f"{world.openstack.url}/compute/v2.1/flavors/detail?marker={number}"
            flavor = {"id": str(number), "name": "x" * 10_000, "extra_specs": {"a": "b"}}
            return Answer(body={"flavors": [flavor], "flavors_links": [{"rel": "next", "href": link}]})
        return original(method, words, values, headers, body)

    monkeypatch.setattr(nova, "answer", answer)
    monkeypatch.setattr(transport, "MOST", 2**20)
    status, _, err = world.run("plan")
    assert status == 2
    assert "the list of flavors: " in one_sentence(err)
    assert "sends more than 1 MiB" in err
    assert next(numbers) <= 105


def test_an_image_has_more_time_the_larger_it_is(world, monkeypatch):
    begun = []
    original = transport.begin
    monkeypatch.setattr(transport, "begin", lambda upload=0: (begun.append(upload), original(upload)))
    assert world.run("apply")[0] == 0
    assert sum(begun) == (world.folder / "jammy.img").stat().st_size
    transport.begin(10**9)
    assert transport.SECONDS + 1000 - 1 < transport.BUDGET.left() <= transport.SECONDS + 1000


def test_the_document_names_the_limits():
    security = (Path(__file__).parents[3] / "SECURITY.md").read_text()
    (row,) = (line for line in security.splitlines() if "asks OpenStack for" in line)
    assert f"| {transport.MOST >> 20} MiB | {transport.SECONDS:g} s; one more for each megabyte" in row
    assert transport.UPLOAD == 1e6
