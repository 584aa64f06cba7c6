# SPDX-License-Identifier: Apache-2.0
"""Opening Vault, against a server that keeps Vault's rules."""

import errno
import io
import os
import sys

import pytest
from converge import StepError
from lab import vaultserver
from lab.endless import DRIPS, FLOODS, dripping, flooding
from lab.nvue.certificate import Certificate
from lab.vaultserver import BYTES, KEYS, ROOT
from recorded import vault as recorded_vault
from recorded.vault import calls, differences
from vault import client as vault
from vault.__main__ import main

MADE = vault.Keys(KEYS, ROOT)


def test_a_vault_that_somebody_else_initialised_is_said(server):
    server.initialised = True
    with pytest.raises(StepError, match="already initialized"):
        vault.init(vault.Vault("127.0.0.1"))


def test_keys_are_read_as_the_vault_client_prints_them():
    keys = "Unseal Key 1: a/b+c=\nUnseal Key 2: d\nUnseal Key 3: e\n\nInitial Root Token: hvs.x\n"
    assert vault.parse(f"{keys}\nVault initialized with 5 key shares") == vault.Keys(
        ("a/b+c=", "d", "e"), "hvs.x"
    )
    assert vault.parse(MADE.text()) == MADE
    with pytest.raises(StepError, match="these are not the keys of a Vault"):
        vault.parse("Initial Root Token: hvs.x")


@pytest.mark.parametrize("threshold", [2, 5])
def test_a_vault_of_another_threshold_is_opened_with_as_many_keys_as_it_needs(world, server, threshold):
    server.initialised, server.threshold = True, threshold
    world.private("keys.txt", MADE.text())
    assert "Vault at 127.0.0.1 is open." in world.run(main, "unseal", "--keys", "keys.txt")
    assert len(server.used) == threshold


def test_holders_of_one_key_each_open_a_vault_one_after_the_other(world, server):
    """They need no root token."""
    server.initialised, server.threshold = True, 2
    for name, key in zip(("alice.txt", "bob.txt"), KEYS, strict=False):
        world.private(name, f"Unseal Key 1: {key}\n")
    said = world.run(main, "unseal", "--keys", "alice.txt", expected=2)
    assert said == (
        "Vault at 127.0.0.1 is still sealed: it has 1 of the 2 keys that it needs; "
        "run unseal again with a file of other keys\n"
    )
    assert "is open" in world.run(main, "unseal", "--keys", "bob.txt")
    assert world.run(main, "authorize", "--keys", "bob.txt", expected=2) == (
        "the keys have no root token; "
        'add a line "Initial Root Token: …" with a token that may create tokens\n'
    )


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return Certificate.make(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def encrypted(certificate, monkeypatch):
    """A new Vault with a certificate."""
    with vaultserver.serving(certificate.context()) as server:
        monkeypatch.setattr(vault, "PORT", server.server_port)
        yield server


def test_a_vault_with_a_certificate_is_asked_by_https(world, encrypted, certificate):
    world.change(actions={"vault/0 authorize-charm": {}, "vault/0 generate-root-ca": {}})
    by = ("--keys", "keys.txt", "--cacert", str(certificate.certificate))
    world.run(main, "init", *by)
    world.run(main, "unseal", *by)
    world.run(main, "authorize", *by)
    assert len(encrypted.used) == 3


def test_a_certificate_of_the_systems_store_is_taken(world, encrypted, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.certificate))
    world.run(main, "init", "--keys", "keys.txt", "--https")
    assert encrypted.initialised


def test_no_key_goes_to_a_vault_whose_certificate_nobody_signed(world, encrypted):
    world.private("keys.txt", MADE.text())
    said = world.run(main, "unseal", "--keys", "keys.txt", "--https", expected=2)
    assert "has a certificate that is not trusted: " in said
    assert said.endswith("give the CA that signed it as --cacert FILE, and a name in it as --address HOST\n")
    assert encrypted.given == set()


def test_a_vault_that_wants_https_is_said(world, encrypted):
    said = world.run(main, "init", "--keys", "keys.txt", expected=2)
    assert said.endswith("if it has a certificate, add --https or --cacert FILE\n")
    assert not (world.folder / "keys.txt").exists()


@pytest.mark.parametrize("text", [None, "no certificate"])
def test_a_ca_that_is_none_is_said(world, text):
    if text:
        (world.folder / "ca.pem").write_text(text)
    said = world.run(main, "init", "--keys", "keys.txt", "--cacert", "ca.pem", expected=2)
    assert said.startswith("--cacert ca.pem has no certificate that can be read: ")
    assert not (world.folder / "keys.txt").exists()


@pytest.fixture
def opened(server, world):
    """The keys are made, kept in a file, and Juju's model has the charm."""
    world.change(actions={"vault/0 authorize-charm": {}, "vault/0 generate-root-ca": {}})
    world.said = world.run(main, "init", "--keys", "vault-keys.txt")
    return world


def test_init_keeps_the_keys_in_a_file_of_the_operator_alone_and_prints_none(opened):
    path = opened.folder / "vault-keys.txt"
    assert path.stat().st_mode & 0o777 == 0o600
    assert vault.parse(path.read_text()) == MADE
    assert not any(word in opened.said for word in (*KEYS, ROOT))


def test_init_prints_the_keys_when_asked_to_and_keeps_none(server, world):
    said = world.run(main, "init", "--keys", "-")
    assert vault.parse(said) == MADE
    assert [path.name for path in world.folder.iterdir()] == ["bin"]


def test_the_whole_path_ends_with_an_authorized_charm(opened, server):
    assert "Vault at 127.0.0.1 is open." in opened.run(main, "unseal", "--keys", "vault-keys.txt")
    assert len(server.used) == vault.THRESHOLD
    opened.run(main, "authorize", "--keys", "vault-keys.txt")
    assert opened.state["parameters"] == [
        ["authorize-charm", {"token": "short-lived"}],
        ["generate-root-ca", {}],
    ]


def test_no_key_and_no_token_is_ever_in_argv(opened):
    opened.run(main, "unseal", "--keys", "vault-keys.txt")
    opened.run(main, "authorize", "--keys", "vault-keys.txt")
    argv = [word for call in opened.state["calls"] for word in call]
    assert not any(secret in word for word in argv for secret in (*KEYS, ROOT, "short-lived"))
    (read,) = opened.state["files"].values()
    assert read["mode"] == 0o600


def test_a_vault_that_has_keys_is_left_alone(opened, server):
    said = opened.run(main, "init", "--keys", "again.txt", expected=2)
    assert "Vault at 127.0.0.1 already has its keys; unseal it with them" in said
    assert not (opened.folder / "again.txt").exists()


def test_keys_are_not_made_where_they_cannot_be_kept(world, server):
    world.private("vault-keys.txt", "the keys of another Vault")
    said = world.run(main, "init", "--keys", "vault-keys.txt", expected=2)
    assert "vault-keys.txt already exists; name another file, or move it away" in said
    assert world.run(main, "init", "--keys", "none/vault-keys.txt", expected=2).startswith(
        "none/vault-keys.txt"
    )
    assert server.initialised is False


def test_a_vault_that_refuses_leaves_no_empty_file_of_keys(world, server):
    server.broken = True
    said = world.run(main, "init", "--keys", "vault-keys.txt", expected=2)
    assert "Vault at 127.0.0.1 answers 503 to sys/init: restarting" in said
    assert not (world.folder / "vault-keys.txt").exists()


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_seen_before_the_keys_are_made(world, server, monkeypatch):
    monkeypatch.setattr(os, "posix_fallocate", full)
    said = world.run(main, "init", "--keys", "vault-keys.txt", expected=2)
    assert said == "vault-keys.txt cannot be written: No space left on device\n"
    assert server.initialised is False
    assert not (world.folder / "vault-keys.txt").exists()


def test_keys_that_cannot_be_written_are_printed(world, server, monkeypatch):
    """Vault tells them once."""
    monkeypatch.setattr(os, "fsync", full)
    said = world.run(main, "init", "--keys", "vault-keys.txt", expected=2)
    assert vault.parse(said) == MADE
    assert "the keys could not be written to vault-keys.txt: No space left on device" in said
    assert "they are printed here instead: copy them to a safe place now" in said


def test_keys_are_printed_on_standard_error_where_standard_output_is_full(world, server, monkeypatch):
    stdout = io.StringIO()
    stdout.flush = full
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stdout)
        assert main(["init", "--keys", "-"]) == 0
    assert vault.parse(world.capsys.readouterr().err) == MADE


def test_the_keys_are_kept_also_when_vault_answers_without_a_root_token(world, server, monkeypatch):
    answer = server.RequestHandlerClass.answer

    def without(handler, path, body):
        status, said = answer(handler, path, body)
        return status, {key: value for key, value in said.items() if key != "root_token"}

    monkeypatch.setattr(server.RequestHandlerClass, "answer", without)
    world.run(main, "init", "--keys", "vault-keys.txt")
    assert all(key in (world.folder / "vault-keys.txt").read_text() for key in KEYS)


def test_an_error_of_vault_does_not_repeat_a_key(opened, server, monkeypatch):
    def repeating(_, path, body):
        return 400, {"errors": [f"bad key {body['key']}"]}

    monkeypatch.setattr(server.RequestHandlerClass, "answer", repeating)
    assert "bad key ***" in opened.run(main, "unseal", "--keys", "vault-keys.txt", expected=2)


def test_keys_that_others_can_read_are_refused(opened, server):
    (opened.folder / "vault-keys.txt").chmod(0o644)
    said = opened.run(main, "unseal", "--keys", "vault-keys.txt", expected=2)
    assert said == "vault-keys.txt can be read by others; run chmod 600 vault-keys.txt\n"
    assert server.given == set()


def test_keys_that_are_none_are_said(opened):
    opened.private("other.txt", vault.Keys(("x", "y", "z"), "root").text())
    said = opened.run(main, "unseal", "--keys", "other.txt", expected=2)
    assert "answers 400 to sys/unseal: 'key' must be a valid hex or base64 string" in said


def test_vault_drops_all_keys_where_one_is_of_another_vault_and_the_next_attempt_opens_it(opened):
    """It takes any key until it has as many as it needs: a holder of a wrong one is told nothing."""
    wrong = (KEYS[0], KEYS[1], f"{0x99:02x}" * BYTES)
    opened.private("wrong.txt", vault.Keys(wrong, ROOT).text())
    said = opened.run(main, "unseal", "--keys", "wrong.txt", expected=2)
    assert said == (
        "Vault at 127.0.0.1 refuses the keys that it was given, of this file or before: at least one is of "
        "another Vault, and it has dropped them all (Vault at 127.0.0.1 answers 500 to sys/unseal: unable to "
        "retrieve stored keys: failed to decrypt keys from storage: cipher: message authentication failed); "
        "run unseal again with keys of this Vault alone\n"
    )
    assert "is open" in opened.run(main, "unseal", "--keys", "vault-keys.txt")


def test_the_simulated_vault_answers_as_vault_1_8_did(server):
    recorded = calls()
    life = recorded_vault.Life("127.0.0.1", server.server_port)
    for answer, before in zip(life.answers(recorded), recorded, strict=True):
        assert [*differences(answer, before)] == [], answer.call


def test_a_charm_that_refuses_is_said_with_its_reason(opened):
    opened.change(actions={"vault/0 authorize-charm": {"status": "failed", "message": "permission denied"}})
    opened.run(main, "unseal", "--keys", "vault-keys.txt")
    said = opened.run(main, "authorize", "--keys", "vault-keys.txt", expected=2)
    assert said == ("juju run vault/leader authorize-charm: permission denied; see: juju debug-log\n")


def test_a_vault_without_a_unit_or_an_answer_is_said(world, server):
    said = world.run(main, "init", "--keys", "k", "--application", "keystone", expected=2)
    assert "keystone has no unit with an address; wait, or give --address" in said
    server.shutdown()
    server.server_close()
    said = world.run(main, "init", "--keys", "k", "--address", "127.0.0.1", expected=2)
    assert "cannot be asked: Connection refused; check" in said


def said_of(peer, monkeypatch):
    monkeypatch.setattr(vault, "PORT", peer.port)
    with pytest.raises(StepError) as failed:
        vault.initialised(vault.Vault("127.0.0.1"))
    assert failed.value.remedy.startswith("check the network to it, and what listens there")
    return str(failed.value).replace(peer.place, "PEER")


@pytest.mark.parametrize("where", DRIPS)
def test_a_vault_that_drips_is_left_in_time(monkeypatch, where):
    monkeypatch.setattr(vault, "TIMEOUT", 1.0)
    with dripping(where, 0.1) as peer:
        told = "Vault at PEER cannot be asked: timed out: PEER does not finish its answer within 1 s"
        assert said_of(peer, monkeypatch) == told


@pytest.mark.parametrize("where", FLOODS)
def test_a_vault_that_floods_is_left_at_the_limit(monkeypatch, where):
    with flooding(where) as peer:
        said = said_of(peer, monkeypatch)
    assert "PEER sends more than 1 MiB" in said or "got more than" in said
    assert peer.sent < 2**25, "beside what the kernel keeps"
