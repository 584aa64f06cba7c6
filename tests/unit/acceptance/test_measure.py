# SPDX-License-Identifier: Apache-2.0
"""measure and report: the whole ladder, each kind of loss at its rung with its reason, and interruptions."""

import json
import re

import pytest
from lab.openstack.machines import Machines

SHORT = {"host": ("rdma-bw", "udp-8", "tcp-8"), "virtio": ("tcp-8",), "vf": ("link-cut", "udp-8", "tcp-8")}
"""Rungs and measurements that are enough to see one loss."""


def test_the_whole_ladder_passes_and_the_report_says_so(whole):
    status, out, err = whole.outcome
    assert status == 0, out + err
    assert "rdg: passed." in out
    told = whole.result()
    rungs = told["results"]["rungs"]
    assert list(rungs) == [
        "host", "virtio", "vf", "vf-group", "vf-rdma", "vf-vlan", "north-south", "cross-rack", "dpdk",
    ]  # fmt: skip
    figures = {
        key: {name: figure["value"] for name, figure in rung["figures"].items()}
        for key, rung in rungs.items()
    }
    assert figures["vf"]["tcp-32"] == pytest.approx(182)
    assert figures["vf-group"]["tcp-pinned"] == pytest.approx(182)
    assert figures["vf-rdma"] == {"rdma-lat": 4.58, "rdma-bw": 182}
    assert figures["dpdk"]["dpdk"] == pytest.approx(30.03, abs=0.01)
    assert figures["vf"]["link-cut"] == pytest.approx(0.4)
    assert rungs["cross-rack"]["skipped"] == dict.fromkeys(
        ("tcp-1", "tcp-2", "tcp-8", "tcp-32"), "the site file names no other-rack"
    )
    assert "no cuda" in rungs["vf-rdma"]["skipped"]["gpu-bw"]
    page = (whole.state / "report.html").read_text()
    assert "<h1>Acceptance of rdg: passed</h1>" in page
    assert page.count("<svg") == 2
    assert not re.search(r"<script|<img|<link|url\(|@import", page)
    for word in ("179.45", "node1.maas", "iperf3 -c 33.33.33.11", "tcp-pinned", "line rate 200", "habr.com"):
        assert word in page, word


def test_nothing_is_left_that_was_changed_for_a_rung(whole):
    groups = whole.openstack.neutron.objects["security-groups"]
    (data,) = [group["id"] for group in groups.values() if group["name"] == "data_policy"]
    for port in whole.openstack.neutron.of("ports", **{"binding:vnic_type": "direct"}):
        assert port["security_groups"] == [data]
        assert port["port_security_enabled"]


def test_a_second_measurement_starts_anew(short):
    assert short.run("measure")[0] == 0
    short.machines.limits["direct_overlay"] = 100.0
    assert short.run("measure")[0] == 1
    assert "rdg: failed." in short.run("report")[1]


def test_traffic_that_disturbs_others_is_only_on_nodes_named_for_it(applied):
    applied.site["disturb"] = ["node1.maas"]
    applied.rungs = SHORT
    assert applied.run("measure")[0] == 0
    scripts = " ".join(script for _, script in applied.machines.scripts)
    assert "-u -b 0" not in scripts
    assert "ip link set" not in scripts
    skipped = applied.result()["results"]["rungs"]["vf"]["skipped"]
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
    (command,) = [script for script in commands if "seq 5001 2 5063" in script]
    assert "-B 55.55.55.10" in command


def loss(world):
    """Exit status; rung, reason and remedy of the explanation; all that was printed."""
    status, out, err = world.run("measure")
    told = world.result()
    (found,) = told["explanation"]
    return status, found["subject"], found["what"], found["remedy"], out + err


@pytest.fixture
def short(applied):
    applied.rungs = SHORT
    return applied


def test_a_wrong_mtu_of_the_networks_is_found_before_any_vf(world):
    world.openstack.neutron.mtu = 1500
    world.rungs = SHORT
    world.run("apply")
    status, rung, what, remedy, _ = loss(world)
    assert (status, rung) == (1, "virtio on Geneve")
    assert what.startswith("MTU (")
    assert "message too long, mtu=1442" in what
    assert "global-physnet-mtu" in remedy


def test_a_wrong_mtu_of_the_fabric_is_found_from_host_to_host(short):
    short.machines.path_mtu = 1500
    status, rung, what, remedy, _ = loss(short)
    assert (status, rung) == (1, "Host to host")
    assert "0 received" in what
    assert "cumulus-fabric" in remedy


def test_a_wrong_mtu_of_one_node_is_found_from_host_to_host_and_the_node_named(short):
    other = sorted(short.openstack.nova.hosts)[1]
    short.machines.tunnel_mtu[other] = 1500
    status, rung, what, remedy, _ = loss(short)
    assert (status, rung) == (1, "Host to host")
    assert f"from {other}: ping: local error: message too long, mtu=1500" in what
    assert "the MTU of bond and bridge on both nodes" in remedy


def test_offload_that_is_off_is_found_at_the_first_vf_with_the_reason(short):
    short.machines.in_nic["direct_overlay"] = 0.3
    short.machines.limits["direct_overlay"] = 20.0
    short.machines.why = "2 flows: the tunnel endpoint is on an OVS internal port"
    status, rung, what, remedy, _ = loss(short)
    assert (status, rung) == (1, "VF on Geneve")
    assert what.startswith("offload (share of packets that the NICs forwarded: 30.00%")
    assert "OVS internal port" in what
    assert "sriov-switchdev/N verify" in remedy


def test_a_slow_vf_in_the_nic_is_a_matter_of_tuning(short):
    short.machines.limits["direct_overlay"] = 100.0
    short.machines.queues, short.machines.pin = 2, "0-23"
    status, rung, what, _, out = loss(short)
    assert (status, rung) == (1, "VF on Geneve")
    assert what.startswith("host tuning (throughput of a VF")
    assert "vm1 has 2 queues for 20 CPUs" in what
    assert "vCPUs of instance-00000008 on node1.maas are not pinned" in what
    assert "tcp-8: 100.00 of 190.00 Gb/s = 53%" in out


def test_a_rate_just_below_the_threshold_fails_and_just_above_passes(short):
    short.machines.limits["direct_overlay"] = 190 * 0.899
    assert short.run("measure")[0] == 1
    short.machines.limits["direct_overlay"] = 190 * 0.901
    assert short.run("measure")[0] == 0


def test_traffic_through_one_port_is_the_fabrics(short):
    short.machines.ports = (0.98, 0.98)
    status, rung, what, remedy, _ = loss(short)
    assert (status, rung) == (1, "Host to host")
    assert what.startswith("fabric (packets of the less used port")
    assert "VF-LAG" in remedy


def test_data_that_all_leave_through_one_port_are_seen_although_both_receive(short):
    short.machines.ports = (1.0, 0.5)
    status, rung, what, _, _ = loss(short)
    assert (status, rung) == (1, "Host to host")
    for node in ("node1.maas", "node2.maas"):
        assert f"{node}: the less used port sent 0%, received 100% of an equal share" in what


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
    world.rungs = SHORT
    world.run("apply")
    status, out, _ = world.run("measure")
    assert status == 0, out
    assert "both-ports" not in out


@pytest.mark.parametrize("counter", ["rx_prio3_discards", "rx_prio3_buf_discard", "rx_prio3_cong_discard"])
def test_a_drop_on_a_lossless_priority(short, counter):
    short.machines.dropped, short.machines.discards = 3, counter
    status, rung, what, remedy, _ = loss(short)
    assert (status, rung) == (1, "Host to host")
    assert "(packets dropped on priorities with flow control: 12 dropped)" in what
    assert "roce-qos" in remedy


def test_a_missing_tool_on_the_hosts_is_not_measured_with_the_command_that_installs_it(short):
    short.machines.missing = ("iperf3",)
    status, out, _ = short.run("measure")
    assert status == 2
    assert "iperf3 is not installed on node2.maas" in out
    assert "apt-get install -y iperf3 perftest sysstat" in out
    figures = short.result()["results"]["rungs"]
    assert figures["host"]["figures"]["rdma-bw"]["value"] == 190
    assert figures["vf"]["figures"]["tcp-8"]["value"] == pytest.approx(182)


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


def test_an_interrupted_measurement_continues_after_the_last_whole_rung(short):
    short.machines.interrupt = "iperf3 -c 33.33.33."
    status, _, err = short.run("measure")
    assert status == 2
    assert err.strip().endswith("Interrupted; measure continues where it was when you run it again.")
    short.machines.scripts.clear()
    status, out, _ = short.run("measure")
    assert status == 0, out
    assert "Continuing after virtio on Geneve." in out
    assert not [script for machine, script in short.machines.scripts if "iperf3 -c 172.16.0." in script]


def other_software(world):
    world.site["disturb"] = ["node1.maas", "node2.maas"]


def other_servers(world):
    world.run("destroy")
    world.run("apply")


def other_day(world):
    path = world.state / "results.json"
    told = json.loads(path.read_text())
    path.write_text(json.dumps({**told, "started": told["started"] - 90_000}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (other_software, "disturb changed in between"),
        (other_servers, "servers changed in between"),
        (other_day, "it was interrupted more than a day ago"),
    ],
)
def test_an_interrupted_measurement_of_something_else_is_not_continued(short, change, words):
    short.machines.interrupt = "iperf3 -c 33.33.33."
    short.run("measure")
    change(short)
    status, out, _ = short.run("measure")
    assert status == 0, out
    assert f"Starting anew: {words}." in out
    assert out.splitlines()[1] == "Host to host"


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


def test_a_slow_vf_far_from_its_nic_is_named(short):
    short.machines.limits["direct_overlay"], short.machines.pin = 100.0, "30"
    _, _, what, remedy, _ = loss(short)
    assert "vCPUs on node1.maas use CPUs 30, and the NIC's NUMA node has 0-23" in what
    assert "cpu-dedicated-set" in remedy


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


def test_the_result_of_an_interrupted_measurement_is_no_pass(short):
    short.machines.interrupt = "iperf3 -c 33.33.33."
    short.run("measure")
    status, out, _ = short.run("report")
    assert status == 2
    assert "rdg: not measured." in out


def test_results_that_are_damaged(short):
    assert short.run("measure")[0] == 0
    path = short.state / "results.json"
    path.write_text(path.read_text().replace('"version": 1', '"version": 7'))
    status, _, err = short.run("report")
    assert status == 2
    assert "version: 7 is not allowed; expected 1; delete it and measure again" in err


def test_results_are_read_as_they_were_written(short):
    assert short.run("measure")[0] == 0
    first = short.result()["results"]
    assert short.result()["results"] == first
    assert (
        json.loads((short.state / "results.json").read_text()).items()
        >= {"cloud": "rdg", "version": 1}.items()
    )


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
    # Off; on and its group (two requests); stateless; off for DPDK; on and back to its group.
    assert len(changes) == 1 + 2 + 1 + 1 + 2


def test_a_security_group_that_lets_nothing_through_is_not_measured(short):
    short.rungs = {"host": ("tcp-8",), "vf-rdma": ("tcp-8",)}
    status, out, _ = short.run("measure")
    assert status == 2
    assert "iperf3: unable to connect to server: Connection timed out" in out
