# SPDX-License-Identifier: Apache-2.0
"""The parts of the lab's control plane that need no namespace; tests/functional/test_cloud.py runs it."""

import json
import os
import re
import socket
import threading

import pytest
from lab import host, store
from lab.cloud import configuration, openstacks, root, services, translate, wires
from lab.cloud.addresses import CONTROLLER, PORTS
from lab.cloud.cloud import BUNDLE, Cloud


def test_a_user_who_may_not_create_namespaces_is_told_in_one_sentence(monkeypatch):
    monkeypatch.setattr(host, "require", lambda: None)
    monkeypatch.setattr(
        root,
        "NAMESPACES",
        ["sh", "-c", "echo 'unshare: unshare failed: Operation not permitted' >&2; exit 1"],
    )
    with pytest.raises(host.HostError) as told:
        root.require()
    assert str(told.value) == (
        "The cloud runs in namespaces with a tap interface, which this user may not create (unshare: unshare "
        "failed: Operation not permitted): run this as root, or allow user namespaces, ids in /etc/subuid "
        "and /dev/net/tun to the user."
    )


def asked(request):
    """Return the answer of the proxy to a client."""
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=wires._serve, args=(theirs,))
    thread.start()
    ours.sendall(request)
    told = b""
    while data := ours.recv(4096):
        told += data
    thread.join()
    ours.close()
    return told


@pytest.mark.parametrize("target", ["http://10.0.0.1:80/", f"https://{CONTROLLER}:5000/", "/v3"])
def test_the_proxy_leads_to_nothing_but_the_control_plane(target):
    assert asked(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode()).startswith(b"HTTP/1.1 403 ")


def test_the_bundles_options_reach_nova_and_neutron():
    options = translate.bundle(BUNDLE)
    node = configuration.compute("node-0", "192.168.25.51", translate.nova_compute(options["nova-compute"]))
    assert node["DEFAULT"]["default_ephemeral_format"] == "ext4"
    assert node["compute"] == {"cpu_dedicated_set": "2-23"}
    assert json.loads(node["pci"]["passthrough_whitelist"])[0] == {
        "devname": "enp63s0f0",
        "physical_network": None,
    }
    written = configuration.files(CONTROLLER, options)
    alias = json.loads(re.search(r"^alias = (.*)$", written["/etc/nova/nova.conf"], re.MULTILINE)[1])
    assert alias["name"] == "a100-gpu"
    assert "global_physnet_mtu = 9000\n" in written["/etc/neutron/neutron.conf"]
    ml2 = written["/etc/neutron/plugins/ml2/ml2_conf.ini"]
    assert "path_mtu = 9000\n" in ml2
    assert "network_vlan_ranges = tenantvlan:101:101\n" in ml2
    assert "enable_distributed_floating_ip = False\n" in ml2


def test_several_aliases_are_an_option_each_and_several_ranges_one():
    told = translate.nova_compute({"pci-alias": '[{"name": "a"}, {"name": "b"}]', "config-flags": "a=1, b=2"})
    assert told == {"DEFAULT": {"a": "1", "b": "2"}, "pci": {"alias": ['{"name": "a"}', '{"name": "b"}']}}
    api = {"vlan-ranges": "one:1:2 two:3:4", "global-physnet-mtu": 9000, "path-mtu": 8900}
    plugin = {"dns-servers": "8.8.8.8", "enable-distributed-floating-ip": False}
    found = translate.ml2(api, plugin)
    assert found["ml2_type_vlan"] == {"network_vlan_ranges": "one:1:2,two:3:4"}
    assert found["ml2"] == {"path_mtu": 8900}


@pytest.mark.parametrize(
    ("named", "version"),
    [
        ("jammy", "Yoga"),
        ("jammy-5.15,noble", "Yoga"),
        ("noble", "2024.1"),
        ("trixie", "2025.1"),
    ],
)
def test_the_first_release_of_the_guests_says_which_openstack_runs(monkeypatch, named, version):
    monkeypatch.setenv("LAB_RELEASES", named)
    assert Cloud().openstack.version == version


@pytest.mark.parametrize("named", ["bookworm,noble", "xenial"])
def test_a_release_without_an_openstack_is_one_sentence(monkeypatch, named):
    monkeypatch.setenv("LAB_RELEASES", named)
    first = named.partition(",")[0]
    with pytest.raises(host.HostError) as told:
        Cloud()
    assert str(told.value) == (
        f"LAB_RELEASES={first}: there is no OpenStack for it; the first must be one of "
        "jammy, jammy-5.15, noble, noble-7.0, trixie"
    )


@pytest.mark.parametrize("suite", openstacks.OPENSTACKS)
def test_each_service_of_the_catalog_is_started_once_in_every_release(suite):
    """A workers' process that a release does not have would end at once, and one too few hang a request."""
    openstack = openstacks.OPENSTACKS[suite]
    started = [services.keystone(openstack), *services.rest(openstack)]
    names = [each.name for each in started]
    assert sorted(names) == sorted({*PORTS, "nova-conductor", "nova-scheduler", *openstack.workers})
    commands = {each.name: each.command for each in started}
    for name in openstack.programs:
        assert commands[name][0] == openstack.programs[name]
    for name in openstack.wsgi:
        assert openstack.wsgi[name] in commands[name]


def test_each_release_keeps_a_root_and_databases_of_its_own(monkeypatch, tmp_path):
    """Two releases on one host in turn would else build each other's root anew."""
    monkeypatch.setattr(store, "folder", lambda: tmp_path)
    for suite in openstacks.OPENSTACKS:
        for age in range(3):
            path = tmp_path / f"cloud-state-{suite}-{age}.tar"
            path.touch()
            os.utime(path, (0, 1000 - age))
    before = set(tmp_path.iterdir())
    root.forget_states(root.state(tmp_path / "cloud-root-noble-0123"))
    assert {path.name for path in before - set(tmp_path.iterdir())} == {"cloud-state-noble-2.tar"}
