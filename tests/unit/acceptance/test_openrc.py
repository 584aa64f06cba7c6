# SPDX-License-Identifier: Apache-2.0
"""openrc: credentials from Keystone's action into clouds.yaml, readable by nobody else."""

import base64
import json
import stat

import pytest
import yaml

SECRET = "not-a-secret"


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def bare(world):
    world.clouds.unlink()
    world.openstack.keystone.password = SECRET
    return world


def test_it_writes_what_the_other_verbs_read(bare):
    status, out, err = bare.run("openrc")
    assert status == 0, err
    assert out.strip() == f"{bare.clouds} has cloud rdg at https://10.7.208.20:5000/v3."
    assert mode(bare.clouds) == 0o600
    cloud = yaml.safe_load(bare.clouds.read_text())["clouds"]["rdg"]
    assert cloud["auth"]["password"] == SECRET
    assert cloud["auth"]["user_domain_name"] == "admin_domain"
    assert cloud["region_name"] == "RegionOne"
    assert (bare.folder / "rdg-ca.pem").read_text().startswith("-----BEGIN CERTIFICATE")
    assert cloud["cacert"] == str(bare.folder / "rdg-ca.pem")


def test_it_says_as_json_what_it_wrote(bare):
    status, out, _ = bare.run("openrc", "--json")
    assert (status, json.loads(out)) == (0, {"cloud": "rdg", "file": str(bare.clouds)})


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_the_password_is_nowhere_else(bare, options):
    told = bare.run("openrc", *options)
    assert SECRET not in json.dumps([told, bare.machines.commands])
    assert [
        path
        for path in bare.folder.rglob("*")
        if path.is_file() and SECRET in path.read_text(errors="replace")
    ] == [bare.clouds]


def test_other_clouds_in_the_file_stay(bare):
    bare.clouds.write_text(
        yaml.safe_dump({"clouds": {"other": {"region_name": "X"}}, "cache": {"expiration_time": 3}})
    )
    bare.clouds.chmod(0o644)
    assert bare.run("openrc")[0] == 0
    content = yaml.safe_load(bare.clouds.read_text())
    assert content["clouds"]["other"] == {"region_name": "X"}
    assert content["cache"] == {"expiration_time": 3}
    assert mode(bare.clouds) == 0o600


def test_without_a_certificate_there_is_no_tls_and_that_is_said(bare):
    del bare.machines.model["status"]["applications"]["keystone"]["relations"]
    out = bare.run("openrc")[1]
    assert "http://10.7.208.20:5000/v3" in out
    assert "the password crosses the network unencrypted" in out


def certified_by(bare, name):
    """Another provider of certificates in place of Vault."""
    applications = bare.machines.model["status"]["applications"]
    applications[name] = {"charm-name": name}
    applications["keystone"]["relations"] = {"certificates": [{"related-application": name}]}


def test_the_ca_of_easyrsa_comes_from_keystones_unit(bare, monkeypatch):
    certified_by(bare, "easyrsa")
    ca = "-----BEGIN CERTIFICATE-----\neasyrsa\n"
    seen = []
    monkeypatch.setattr(bare.machines, "run_on", lambda *asked: seen.append(asked) or (0, ca, ""))
    assert "https://10.7.208.20:5000/v3" in bare.run("openrc")[1]
    assert (bare.folder / "rdg-ca.pem").read_text() == ca
    assert seen == [("keystone/0", "cat /usr/local/share/ca-certificates/easyrsa_juju_ca_cert.crt")]


def test_a_ca_that_is_not_there_yet_leaves_no_credentials(bare, monkeypatch):
    certified_by(bare, "easyrsa")
    monkeypatch.setattr(bare.machines, "run_on", lambda *_: (1, "", "cat: No such file or directory"))
    status, _, err = bare.run("openrc")
    assert status == 2
    assert "keystone is related to easyrsa, which has given it no certificate yet" in err
    assert not bare.clouds.exists()


def test_a_vault_without_a_root_certificate_is_waited_for(bare, monkeypatch):
    act = bare.machines.act
    monkeypatch.setattr(
        bare.machines, "act", lambda u, a, given: {"results": {}} if a == "get-root-ca" else act(u, a, given)
    )
    status, _, err = bare.run("openrc")
    assert status == 2
    assert "keystone is related to vault, which has given it no certificate yet; authorize Vault first" in err


@pytest.mark.parametrize("ca", ["", "-----BEGIN CERTIFICATE-----\nours\n"])
def test_a_certificate_of_the_operators_own(bare, ca):
    del bare.machines.model["status"]["applications"]["keystone"]["relations"]
    options = {"ssl_cert": "LS0t", "ssl_ca": base64.b64encode(ca.encode()).decode() or None}
    bare.machines.model["config"]["keystone"] |= options
    assert "https://10.7.208.20:5000/v3" in bare.run("openrc")[1]
    file = bare.folder / "rdg-ca.pem"
    assert (file.read_text() if file.exists() else "") == ca


def test_a_virtual_ip_is_preferred(bare):
    bare.machines.model["config"]["keystone"] |= {"region": "R2", "vip": "10.7.208.50 172.18.0.50"}
    assert "https://10.7.208.50:5000/v3" in bare.run("openrc")[1]
    assert yaml.safe_load(bare.clouds.read_text())["clouds"]["rdg"]["region_name"] == "R2"


def test_an_action_that_fails(bare):
    bare.machines.failing["get-admin-password"] = "keystone is not ready"
    status, _, err = bare.run("openrc")
    assert status == 2
    assert (
        err.strip()
        == "juju run keystone/leader get-admin-password: keystone is not ready; see: juju debug-log"
    )
    assert not bare.clouds.exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- a\n", ":1: this is no clouds.yaml: it has no mapping with the key clouds"),
        ("cache: {}\nclouds: [a]\n", ":2: clouds is no mapping of names and clouds"),
        (
            "clouds:\n  other: {}\nclouds: {}\n",
            ":3: the key clouds stands twice in one mapping; remove or rename one of them",
        ),
        ("clouds: {at: 2020-99-99}\n", " cannot be read: month must be in 1..12"),
    ],
)
def test_a_file_that_is_no_list_of_clouds_stays(bare, text, says):
    bare.clouds.write_text(text)
    status, _, err = bare.run("openrc")
    assert status == 2
    assert err.strip() == f"{bare.clouds}{says}; correct it, or move it away, then run openrc again"
    assert bare.clouds.read_text() == text


def test_a_name_that_is_no_name(bare, capsys):
    with pytest.raises(SystemExit) as stopped:
        bare.run("openrc", cloud="../rdg")
    assert stopped.value.code == 2
