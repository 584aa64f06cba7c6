# SPDX-License-Identifier: Apache-2.0
"""Whose certificates the tool trusts: --cacert, clouds.yaml's CA, and the system's own."""

import pytest
import yaml
from acceptance.asking import asking
from converge import StepError
from keystoneauth1.exceptions import SSLError
from lab.nvue.certificate import Certificate
from lab.openstack.operator import one_sentence


@pytest.fixture
def serving(tmp_path, monkeypatch):
    """Put a world's cloud behind HTTPS, with a certificate for a name; the certificate's path."""

    def serve(world, name):
        made = Certificate.make(tmp_path, "cloud", (name,))
        server = world.openstack._server
        server.socket = made.context().wrap_socket(server.socket, server_side=True)
        openstack = world.openstack
        openstack.url = openstack.url.replace("http://", "https://")
        for service in (openstack.keystone, openstack.nova, openstack.neutron, openstack.glance):
            service.url = openstack.url
        world.credentials(password=openstack.keystone.password)
        for variable in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
            monkeypatch.delenv(variable, raising=False)
        return str(made.certificate)

    return serve


@pytest.fixture
def secure(world, serving):
    """The cloud behind HTTPS, with a certificate that nothing trusts."""
    world.certificate = serving(world, "IP:127.0.0.1")
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


def test_a_service_without_tls_is_said_to_have_none(world):
    """A CA would not help."""
    world.clouds.write_text(world.clouds.read_text().replace("http://", "https://"))
    said = one_sentence(world.run("plan")[2])
    assert said.startswith("cloud rdg does not speak TLS at that address: ")
    assert said.endswith("; write http:// in auth_url, or the port that has HTTPS")


def test_a_certificate_for_another_address_is_said_to_be_one(world, serving):
    """A CA would not help: it is known."""
    certificate = serving(world, "IP:127.0.0.2")
    said = one_sentence(world.run("plan", "--cacert", certificate)[2])
    assert said == (
        "cloud rdg has a certificate for other names: IP address mismatch, certificate is not valid for "
        "'127.0.0.1'; use a name or address that the certificate has, in auth_url and in the catalog: "
        "openstack endpoint list"
    )


@pytest.mark.parametrize("reason", ["certificate has expired", "certificate is not yet valid"])
def test_a_certificate_out_of_its_time_is_said_to_be_one(reason):
    words = f"[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: {reason} (_ssl.c:1006)"
    error = SSLError(f"SSL exception connecting to https://10.0.0.9:5000/v3: (Caused by SSLError('{words}'))")
    with pytest.raises(StepError) as raised, asking("cloud rdg"):
        raise error
    assert str(raised.value) == f"cloud rdg has a certificate that is not valid now: {reason}"
    assert raised.value.remedy == "have it renewed, and compare the clocks of both hosts"


def test_what_is_wrong_with_a_certificate_is_said(secure):
    said = one_sentence(secure.run("plan")[2])
    assert "has a certificate that is not trusted: self-signed certificate; give its CA" in said
