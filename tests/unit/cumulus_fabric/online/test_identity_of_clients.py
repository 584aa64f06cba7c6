# SPDX-License-Identifier: Apache-2.0
"""Switches may ask for a certificate of their clients: in the secret, and in files of the command line."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from lab.nvue import Certificate, Server
from ops import testing
from rest.identity import Identity, IdentityError
from unit.cumulus_fabric.online.shell import Shell
from unit.cumulus_fabric.online.site import PASSWORD, USER, Rack
from unit.cumulus_fabric.online.unit import Unit


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    made = Certificate.make(tmp_path_factory.mktemp("client"), "fabric")
    made.key.chmod(0o600)
    return made


def asks(rack: Rack, client: Certificate) -> None:
    """All switches ask for this certificate from now on."""
    for server in rack.servers.values():
        assert isinstance(server, Server)
        server.clients = client


def give(unit: Unit, **content: str) -> None:
    keys = {key.replace("_", "-"): value for key, value in content.items()}
    secret = testing.Secret({"user": USER, "password": PASSWORD, **keys}, id=unit.secret.id)
    unit.state = replace(unit.state, secrets={secret})


def test_the_charm_presents_what_the_secret_has(running: Unit, client: Certificate) -> None:
    asks(running.rack, client)
    found = " ".join(running.action("verify")["findings"].split())
    assert "it wants a client's certificate that it knows" in found
    give(running, client_certificate=client.pem, client_key=client.key.read_text())
    assert "certificate" not in running.action("verify")["findings"]


def test_the_command_line_takes_files(shell: Shell, client: Certificate) -> None:
    asks(shell.rack, client)
    status, out, _ = shell("plan")
    assert (status, "give --client-certificate and --client-key" in " ".join(out.split())) == (1, True)
    words = ("--client-certificate", str(client.certificate), "--client-key", str(client.key))
    assert shell("plan", *words)[0] == 0
    assert shell("apply", *words)[0] == 0


def expired(client: Certificate, folder: Path) -> str:
    """A certificate of the same key whose last day is over."""
    old, asked = folder / "old.pem", folder / "asked"
    key = ["-key", str(client.key), "-subj", "/CN=fabric", "-out", str(asked)]
    subprocess.run(["openssl", "req", "-new", *key], check=True, capture_output=True)
    signed = ["-req", "-in", str(asked), "-signkey", str(client.key), "-days", "-1", "-out", str(old)]
    subprocess.run(["openssl", "x509", *signed], check=True, capture_output=True)
    return old.read_text()


def with_passphrase(client: Certificate, folder: Path) -> str:
    locked = folder / "locked.key"
    words = ["-in", str(client.key), "-aes256", "-passout", "pass:Correct-Horse", "-out", str(locked)]
    subprocess.run(["openssl", "ec", *words], check=True, capture_output=True)
    return locked.read_text()


def test_what_cannot_be_used_is_one_sentence(
    client: Certificate, other_certificate: Certificate, tmp_path: Path
) -> None:
    key = client.key.read_text()
    for certificate, with_key, says in (
        (client.pem, other_certificate.key.read_text(), "the client's key is not that of the certificate"),
        (
            expired(client, tmp_path),
            key,
            "the client's certificate cannot be used: certificate has expired",
        ),
        (
            client.pem,
            with_passphrase(client, tmp_path),
            "the client's key has a passphrase; give one without",
        ),
        (key, key, "the client's certificate is not in PEM form"),
        (client.pem, client.pem, "the client's key is not in PEM form"),
        (client.pem[:200], key, "the client's certificate or key cannot be read"),
    ):
        with pytest.raises(IdentityError) as caught:
            Identity(certificate, with_key).check()
        assert str(caught.value) == says


def test_the_key_is_not_shown(client: Certificate) -> None:
    key = client.key.read_text()
    assert key not in repr(Identity(client.pem, key))


def test_the_charm_names_the_secret_and_sends_nothing(
    running: Unit, client: Certificate, other_certificate: Certificate
) -> None:
    give(running, client_certificate=client.pem, client_key=other_certificate.key.read_text())
    running.forget()
    with pytest.raises(testing.ActionFailed) as failed:
        running.action("plan")
    assert failed.value.message == (
        "option credentials: the secret cannot be used: the client's key is not that of the certificate; "
        "renew client-certificate and client-key in the secret"
    )
    assert all(not server.calls for server in running.rack.servers.values())


@pytest.mark.parametrize("given", ["--client-certificate", "--client-key"])
def test_one_option_without_the_other_is_refused(shell: Shell, client: Certificate, given: str) -> None:
    status, _, err = shell("plan", given, str(client.key))
    says = "--client-certificate and --client-key: one is of no use without the other\n"
    assert (status, err) == (2, says)


def test_a_key_that_others_can_read_is_refused(shell: Shell, client: Certificate, tmp_path: Path) -> None:
    opened = tmp_path / "open.key"
    opened.write_text(client.key.read_text())
    opened.chmod(0o644)
    words = ("--client-certificate", str(client.certificate), "--client-key", str(opened))
    status, _, err = shell("plan", *words)
    assert (status, err) == (2, f"--client-key: {opened} can be read by others; run chmod 600 {opened}\n")
