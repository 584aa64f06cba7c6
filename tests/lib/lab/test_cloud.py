# SPDX-License-Identifier: Apache-2.0
"""The parts of the lab's control plane that need no namespace; tests/functional/test_cloud.py runs it."""

import json
import re
import socket
import threading

import pytest
from lab import host
from lab.cloud import configuration, root, translate, wires
from lab.cloud.addresses import CONTROLLER
from lab.cloud.cloud import BUNDLE


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
    assert json.loads(node["pci"]["device_spec"])[0] == {"devname": "enp63s0f0", "physical_network": None}
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
