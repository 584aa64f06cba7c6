# SPDX-License-Identifier: Apache-2.0
"""A cloud that does not let the tool in says so in one sentence, with what helps; never a traceback."""

import pytest
import yaml
from acceptance.asking import service_says
from lab.openstack import keystone
from lab.openstack.operator import SECRET, one_sentence


def refused(world):
    """The sentence with which `plan` ends before it has asked for anything."""
    status, _, err = world.run("plan")
    assert status == 2
    return one_sentence(err)


def test_an_unknown_cloud(world):
    status, _, err = world.run("plan", cloud="nowhere")
    assert status == 2
    said = one_sentence(err)
    assert "cloud nowhere cannot be used" in said
    assert "openrc --cloud" in said


@pytest.mark.parametrize("text", ["clouds: [a]", "clouds: {rdg: a}", "clouds: {rdg: {auth: text}}"])
def test_a_cloud_that_is_no_mapping(world, text):
    world.clouds.write_text(text)
    assert "clouds.yaml has no mapping of keys and values for cloud rdg" in refused(world)


def test_a_wrong_password(world):
    world.openstack.keystone.password = "changed"
    assert "cloud rdg refuses the credentials" in refused(world)


def test_a_token_that_expires_in_between_is_renewed_with_the_password(world):
    expire = world.openstack.keystone.expire
    original = world.openstack.nova._os_services

    def services(*arguments):
        expire()
        return original(*arguments)

    world.openstack.nova._os_services = services
    assert world.run("plan")[0] == 0


def says_that_the_token_has_expired(world):
    said = refused(world)
    assert "the token has expired" in said
    assert "openrc" in said


def test_an_expired_token_without_a_password(world):
    world.openstack.keystone.given.add("gAAAAA-long-ago")
    world.credentials(token="gAAAAA-long-ago")
    says_that_the_token_has_expired(world)


def test_a_token_from_before_a_change_of_keystones_keys(world):
    """Or of another cloud: Keystone answers with status 404 and other words than to an expired one."""
    world.credentials(token="gAAAAA-of-other-keys")
    says_that_the_token_has_expired(world)


def test_a_token_that_expires_in_between_cannot_be_renewed_without_a_password(world):
    keystone = world.openstack.keystone
    keystone.given.add("gAAAAA-still-valid")
    keystone.tokens.add("gAAAAA-still-valid")
    world.credentials(token="gAAAAA-still-valid")
    original = world.openstack.nova._os_services

    def services(*arguments):
        keystone.expire()
        return original(*arguments)

    world.openstack.nova._os_services = services
    says_that_the_token_has_expired(world)


def test_an_address_that_is_not_keystones(world):
    world.credentials(password=SECRET, auth_url=f"{world.openstack.url}/elsewhere/v3")
    assert "check auth_url" in refused(world)


def test_a_cloud_that_is_down(world):
    world.credentials(password=SECRET, auth_url="http://127.0.0.1:9/v3")
    said = "cloud rdg cannot be reached: Unable to establish connection to http://127.0.0.1:9/v3/auth/tokens"
    assert f"{said}: [Errno 111] Connection refused; check auth_url" in refused(world)


@pytest.mark.parametrize("name", ["http_proxy", "all_proxy"])
def test_neither_password_nor_token_goes_through_a_proxy_unencrypted(world, monkeypatch, name):
    monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "")
    assert world.run("plan")[0] == 0


def test_a_service_that_repeats_the_password_is_told_without_it(world):
    error = 'POST /v3/auth/tokens: {"password": "%s"}'
    world.run("plan")
    assert SECRET not in service_says(Exception(error % SECRET))


@pytest.mark.parametrize("scope", [{}, {"domain_name": "admin_domain"}, {"system_scope": "all"}])
def test_credentials_for_no_project(world, scope):
    """An openrc file for a domain, or for the system as Charmed OpenStack's guide for its policies has it."""
    world.credentials(password=SECRET, project_name=None, project_domain_name=None, **scope)
    said = refused(world)
    assert "cloud rdg lets us into no project" in said
    assert "set project_name and project_domain_name" in said


@pytest.mark.parametrize("password", [None, ""])
@pytest.mark.parametrize("kind", [None, "password", "v3password"])
def test_the_file_that_horizon_offers_has_no_password(world, password, kind):
    document = yaml.safe_load(world.clouds.read_text())
    entry = document["clouds"]["rdg"]
    del entry["auth"]["password"]
    if password is not None:
        entry["auth"]["password"] = password
    if kind:
        entry["auth_type"] = kind
    world.clouds.write_text(yaml.safe_dump(document))
    said = refused(world)
    assert said.startswith("clouds.yaml has no password for cloud rdg; write password under its auth")


def test_a_region_that_the_cloud_does_not_have(world):
    text = world.clouds.read_text()
    world.clouds.write_text(text.replace("RegionOne", "RegionTwo"))
    assert "correct region_name and interface in clouds.yaml" in refused(world)


def test_a_catalog_that_leads_to_nothing(world, monkeypatch):
    monkeypatch.setitem(keystone.SERVICES, "compute", "nova/v2.1")
    said = refused(world)
    assert said.startswith("the list of compute services: Not Found; ")
    assert said.endswith("see: openstack catalog list, and what is at the address")
