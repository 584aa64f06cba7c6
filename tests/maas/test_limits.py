# SPDX-License-Identifier: Apache-2.0
"""A MAAS, or what listens in its place, that drips or floods: one sentence, in time."""

from pathlib import Path

import pytest
from converge import StepError
from hostnic import process
from lab.endless import DRIPS, FLOODS, Peer, answering, dripping, flooding
from lab.maas import KEY
from maas import client
from maas.client import Maas
from operate import client as juju
from vault import client as vault


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(client, "TIMEOUT", 1.0)
    monkeypatch.setattr(client, "MOST", 2**20)


def said(peer: Peer, method: str = "GET") -> str:
    """The sentence with its remedy."""
    with pytest.raises(StepError) as failed:
        Maas(f"http://{peer.place}/MAAS", KEY).send(
            "spaces/", method, {"name": "a"} if method == "POST" else None
        )
    return f"{failed.value}; {failed.value.remedy}".replace(peer.place, "PEER")


BEGIN = "MAAS at http://PEER/MAAS/api/2.0/ cannot be reached:"
END = "check the network to it, and what listens there"


@pytest.mark.parametrize("where", DRIPS)
def test_an_answer_that_drips(where: str) -> None:
    with dripping(where, 0.1) as peer:
        assert said(peer) == f"{BEGIN} timed out: PEER does not finish its answer within 1 s; {END}"


def test_a_server_that_says_nothing() -> None:
    with answering(b"") as peer:
        assert said(peer, "POST") == f"{BEGIN} timed out: PEER does not answer within 1 s; {END}"


@pytest.mark.parametrize("where", FLOODS)
def test_an_answer_that_floods(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    monkeypatch.setattr(client, "TIMEOUT", 30.0)
    with flooding(where) as peer:
        sentence = said(peer)
    assert sentence.startswith(BEGIN)
    assert sentence.endswith(END)
    assert "PEER sends more than 1 MiB" in sentence or "got more than" in sentence
    assert peer.sent < 2**25, "beside what the kernel keeps"


@pytest.mark.parametrize(
    "status", [b"302 Found\r\nLocation: http://127.0.0.1/MAAS", b"503 Service Unavailable"]
)
def test_what_comes_with_a_refusal_is_read_as_far_as_it_is_quoted(status: bytes) -> None:
    with answering(b"HTTP/1.1 %s\r\n\r\n" % status, [b"x" * 65536] * 10_000) as peer:
        assert f"MAAS answers {status[:3].decode()} to GET spaces/: " in said(peer)
    assert peer.sent < 2**25, "beside what the kernel keeps"


def test_a_refusal_that_drips_is_a_refusal_nevertheless() -> None:
    with answering(b"HTTP/1.1 503 Service Unavailable\r\n\r\n", [b"x"] * 300, 0.1) as peer:
        sentence = "MAAS answers 503 to GET spaces/: timed out: PEER does not finish its answer within 1 s; "
        assert said(peer) == sentence


def test_the_document_names_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    security = (Path(__file__).parents[2] / "SECURITY.md").read_text()
    for name, of in (("MAAS", client), ("Vault", vault)):
        assert f"| an answer of {name} | {of.MOST >> 20} MiB | {of.TIMEOUT:g} s |" in security
    command = f"for a command of the operator | {process.MOST >> 20} MiB | {juju.READ:g} s, or as long as"
    assert command in security
