# SPDX-License-Identifier: Apache-2.0
"""measure: the whole ladder, on which ports and servers, and what cannot be measured."""

import re

import pytest
from lab.openstack.machines import Machines


def test_the_whole_ladder_passes_and_the_report_says_so(whole):
    status, out, err = whole.outcome
    assert status == 0, out + err
    assert "rdg: passed." in out
    told = whole.result()
    rungs = told["results"]["rungs"]
    assert list(rungs) == [
        "host", "virtio", "vf", "vf-group", "vf-rdma", "vf-vlan", "vf-ipv6", "vf-vlan-ipv6", "north-south",
        "cross-rack", "lossy", "lossless", "dcqcn", "dpdk-virtio", "dpdk", "dpdk-group",
    ]  # fmt: skip
    figures = {
        key: {name: figure["value"] for name, figure in rung["figures"].items()}
        for key, rung in rungs.items()
    }
    assert figures["vf"]["tcp-32"] == pytest.approx(182)
    assert figures["vf-group"]["tcp-pinned"] == pytest.approx(182)
    assert figures["vf-rdma"] == {"rdma-lat": 4.58, "rdma-bw": 182}
    assert figures["dpdk"]["dpdk"] == pytest.approx(30.03, abs=0.01)
    assert figures["dpdk-virtio"] == {"testpmd": pytest.approx(1.21, abs=0.01)}
    said = "With DPDK in the guests, virtio carries 1.21 Mpps and the VF 30.03"
    assert said in told["host-cpu"]["packets"]
    assert figures["vf"]["link-cut"] == pytest.approx(0.4)
    pairs = [f"{kind}-{pairs}" for kind in ("udp", "tcp") for pairs in (1, 2, 8, 32)]
    assert rungs["cross-rack"]["skipped"] == dict.fromkeys(pairs, "the site file names no other-rack")
    assert "no cuda" in rungs["vf-rdma"]["skipped"]["gpu-bw"]
    page = (whole.state / "report.html").read_text()
    assert "<h1>Acceptance of rdg: passed</h1>" in page
    assert page.count("<svg") == 2 + 6 + 1, "by pairs; rate, CPU, rate for each core of both; congestion"
    assert not re.search(r"<script|<img|<link|url\(|@import", page)
    for word in (
        "179.45",
        "node1.maas",
        "iperf3 -c 33.33.33.10",
        "one pair on each CPU",
        "line rate 200",
        "habr.com",
    ):
        assert word in page, word


def test_each_path_with_pairs_has_them_for_tcp_and_udp(whole):
    """As Cloud.ru measures, on nodes that may be disturbed."""
    wanted = {f"{kind}-{pairs}" for kind in ("udp", "tcp") for pairs in (1, 2, 8, 32)}
    rungs = whole.result()["results"]["rungs"]
    made = {key: wanted & (rung["figures"].keys() | rung["skipped"].keys()) for key, rung in rungs.items()}
    assert {key: found for key, found in made.items() if found and "ipv6" not in key} == dict.fromkeys(
        ("host", "virtio", "vf", "vf-group", "vf-vlan", "north-south", "cross-rack"), wanted
    )


def test_nothing_is_left_that_was_changed_for_a_rung(whole):
    groups = whole.openstack.neutron.objects["security-groups"]
    (data,) = [group["id"] for group in groups.values() if group["name"] == "data_policy"]
    for port in whole.openstack.neutron.of("ports", **{"binding:vnic_type": "direct"}):
        assert port["security_groups"] == [data]
        assert port["port_security_enabled"]


def test_traffic_that_disturbs_others_is_only_on_nodes_named_for_it(short):
    short.site["disturb"] = ["node1.maas"]
    assert short.run("measure")[0] == 0
    scripts = " ".join(script for _, script in short.machines.scripts)
    assert "-u -b 0" not in scripts
    assert "ip link set" not in scripts
    skipped = short.result()["results"]["rungs"]["vf"]["skipped"]
    assert skipped["link-cut"] == (
        "it disturbs other traffic, and the site file does not list node2.maas under disturb"
    )


def test_a_link_is_cut_on_the_clients_node_by_a_unit_that_restores_it(whole):
    (unit,) = (whole.folder / "machines/node1.maas/units").read_text().splitlines()
    assert "ip link set dev enp63s0f1 up" in unit.replace("/usr/sbin/", "").replace("/usr/bin/", "")
    assert "ip link set dev enp63s0f1 down" in unit
    assert not (whole.folder / "machines/node2.maas/units").exists()


def test_north_south_goes_over_floating_ips_and_the_nat_network(whole):
    routes = (whole.folder / "machines/vm1/routes").read_text()
    assert re.search(r"route replace 10\.7\.208\.\d+ via 55\.55\.55\.1 dev ens7", routes)
    commands = {script for _, script in whole.machines.scripts if "iperf3 -c 10.7.208." in script}
    most = [script for script in commands if "seq 5001 2 5063" in script]
    assert sorted("-u -b 0" in script for script in most) == [False, True]
    assert all("-B 55.55.55.10" in script for script in most)


def test_only_ports_with_vfs_are_measured_and_cut(whole):
    """The nodes have a management bond, too, and representors below the same device as their port."""
    results = whole.result()["results"]
    for rung in results["rungs"].values():
        for node in rung["evidence"].values():
            assert node["after"]["ports"].keys() == {"enp63s0f0", "enp63s0f1"}
            assert node["after"]["speed"] == 200_000
    assert "-d mlx5_bond_0 " in results["rungs"]["host"]["commands"]["rdma-bw"]


def test_a_node_with_a_single_port_has_no_other_to_use(world):
    world.machines.uplinks = ("enp63s0f0",)
    world.rungs = {"host": ("rdma-bw", "tcp-8"), "vf": ("tcp-8",)}
    world.run("apply")
    status, out, _ = world.run("measure")
    assert status == 0, out
    assert "both-ports" not in out


def test_a_missing_tool_on_the_hosts_is_not_measured_with_the_command_that_installs_it(short):
    short.machines.missing = ("iperf3",)
    status, out, _ = short.run("measure")
    assert status == 2
    assert "iperf3 is not installed on node1.maas and node2.maas" in out
    assert (
        "juju exec --unit nova-compute/0,nova-compute/1 -- apt-get install -y iperf3 perftest sysstat" in out
    )
    figures = short.result()["results"]["rungs"]
    assert figures["host"]["figures"]["rdma-bw"]["value"] == 190
    assert figures["vf"]["figures"]["tcp-8"]["value"] == pytest.approx(182)


def test_a_server_without_a_package_archive_is_not_measured_with_the_reason(short):
    short.machines.uninstalled = ("iperf3", "mpstat")
    status, out, _ = short.run("measure")
    assert status == 2
    assert (
        "iperf3 is not installed on vm1 and vm2; the server needs a package archive: see /var/log/cloud-init"
        in out
    )
    assert out.count("Waiting until vm1 has installed its packages") == 1


def test_a_charm_whose_action_fails_is_named_with_its_own_words(short):
    short.machines.failing["show-offload"] = "ovs-vsctl is not installed"
    status, out, _ = short.run("measure")
    assert status == 2
    assert "juju run sriov-switchdev/0 show-offload: ovs-vsctl is not installed" in out


def test_a_server_that_does_not_answer(short):
    server = next(each for each in short.openstack.nova.servers.values() if each["name"] == "vm2")
    normal = short.openstack.neutron.of("ports", device_id=server["id"])[0]
    floating = short.openstack.neutron.of("floatingips", port_id=normal["id"])[0]

    class Silent(Machines):
        def _ssh(self, address, script):
            return super()._ssh(
                "192.0.2.1" if address == floating["floating_ip_address"] else address, script
            )

    short.machines.__class__ = Silent
    status, out, _ = short.run("measure")
    assert status == 2
    assert "vm2 cannot be reached by ssh" in out
    assert "openstack console log show vm2" in out


def test_evidence_is_about_the_tools_own_instances(short):
    assert short.run("measure")[0] == 0
    pins = {
        node: told["after"]["pins"]
        for node, told in short.result()["results"]["rungs"]["vf"]["evidence"].items()
    }
    assert pins == {
        "node1.maas": {"instance-00000008": "2 5"},
        "node2.maas": {"instance-00000009": "2 5"},
    }


def test_servers_on_other_nodes_than_the_site_file_means_are_not_measured(world):
    """By default, nodes are the first two that are up; here one more comes up after apply."""
    del world.site["nodes"]
    world.openstack.nova.hosts["node0.maas"] = "nova"
    world.machines = Machines(world.openstack, world.folder / "three")
    world.openstack.nova.down.add("node0.maas")
    assert world.run("apply")[0] == 0
    world.openstack.nova.down.clear()
    status, _, err = world.run("measure")
    assert status == 2
    assert err.strip() == (
        "the cloud is not as the site file says: server vm1: it is on node1.maas, not on node0.maas; "
        "name the servers' compute hosts as nodes in the site file, or run destroy, then apply again"
    )
    world.site["nodes"] = ["node1.maas", "node2.maas"]
    world.rungs = {"host": ("tcp-8",), "vf": ("tcp-8",)}
    assert world.run("measure")[0] == 0


def test_a_site_file_that_differs_from_what_apply_made_is_not_measured(applied):
    applied.site["flavor"] = {"vcpus": 10}
    status, _, err = applied.run("measure")
    assert status == 2
    assert "flavor m1.packet: its vcpus is 20, not 10; run destroy, then apply again" in err


def test_measure_before_apply(world):
    status, _, err = world.run("measure")
    assert status == 2
    assert err.strip() == "not everything is there yet: create image ubuntu-22.04; run apply first"


def test_report_before_measure(world):
    status, _, err = world.run("report")
    assert status == 2
    assert err.strip() == "there is no measurement of rdg; run measure first"


def test_a_node_that_juju_does_not_know(short):
    short.machines.model["status"]["machines"]["1"]["hostname"] = "other"
    code, _, err = short.run("measure")
    assert code == 2
    assert (
        err.strip() == "Juju has no unit of nova-compute on node2.maas; juju switch MODEL; see: juju status"
    )


def test_a_rung_across_racks(world):
    world.openstack.nova.hosts["node5.maas"] = "nova"
    world.machines = Machines(world.openstack, world.folder / "three")
    world.site["other-rack"] = "node5.maas"
    world.rungs = {"host": ("tcp-8",), "cross-rack": ("tcp-8",)}
    world.run("apply")
    status, out, err = world.run("measure")
    assert status == 0, out + err
    rung = world.result()["results"]["rungs"]["cross-rack"]
    assert rung["evidence"].keys() == {"node1.maas", "node5.maas"}
    assert rung["figures"]["tcp-8"]["value"] == pytest.approx(182)


def test_each_rung_has_its_security_before_it_is_measured(whole):
    """The model of the network lets through only what the ports' security groups allow."""
    told = whole.result()["results"]["rungs"]
    assert told["vf-group"]["problems"] == {}
    assert told["vf-rdma"]["problems"] == {}
    (port,) = whole.openstack.neutron.of("ports", name="direct_overlay1")
    changes = [
        path for method, path in whole.openstack.writes if method == "PUT" and path.endswith(port["id"])
    ]
    # Off; on and its group (two requests); stateless; off for DPDK; stateless again; back to its group.
    assert len(changes) == 1 + 2 + 1 + 1 + 2 + 1


def test_a_security_group_that_lets_nothing_through_is_not_measured(short):
    short.rungs = {"host": ("tcp-8",), "vf-rdma": ("tcp-8",)}
    status, out, _ = short.run("measure")
    assert status == 2
    assert "iperf3: unable to connect to server: Connection timed out" in out
