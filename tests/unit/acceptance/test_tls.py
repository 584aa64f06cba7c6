# SPDX-License-Identifier: Apache-2.0
"""Whose certificates the tool trusts: --cacert, clouds.yaml's CA, and the system's own."""

import pytest
import yaml
from lab.nvue.certificate import Certificate
from lab.openstack.operator import one_sentence


@pytest.fixture
def secure(world, tmp_path, monkeypatch):
    """The cloud behind HTTPS, with a certificate that nothing trusts."""
    made = Certificate.make(tmp_path, "cloud")
    server = world.openstack._server
    server.socket = made.context().wrap_socket(server.socket, server_side=True)
    openstack = world.openstack
    openstack.url = openstack.url.replace("http://", "https://")
    for service in (openstack.keystone, openstack.nova, openstack.neutron, openstack.glance):
        service.url = openstack.url
    world.credentials(password=openstack.keystone.password)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    world.certificate = str(made.certificate)
    return world


def test_a_certificate_that_nothing_trusts_names_the_option(secure):
    status, _, err = secure.run("plan")
    assert status == 2
    said = one_sentence(err)
    assert "has a certificate that is not trusted" in said
    assert "give its CA as --cacert FILE" in said
    assert secure.run("plan", "--cacert", secure.certificate)[0] == 0


def test_the_systems_store_is_trusted(secure, monkeypatch):
    """As update-ca-certificates makes it; Python takes another place from SSL_CERT_FILE."""
    monkeypatch.setenv("SSL_CERT_FILE", secure.certificate)
    assert secure.run("plan")[0] == 0


def test_the_option_goes_before_clouds_yaml(secure):
    content = yaml.safe_load(secure.clouds.read_text())
    content["clouds"]["rdg"]["cacert"] = str(secure.folder / "nowhere.pem")
    secure.clouds.write_text(yaml.safe_dump(content))
    assert secure.run("plan", "--cacert", secure.certificate)[0] == 0


@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
def test_a_file_without_a_certificate_is_named(secure, content):
    path = secure.folder / "ca.pem"
    if content is not None:
        path.write_bytes(content)
    status, _, err = secure.run("plan", "--cacert", str(path))
    assert status == 2
    assert one_sentence(err).startswith(f"--cacert {path} has no certificate that can be read: ")
