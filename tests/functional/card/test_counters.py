# SPDX-License-Identifier: Apache-2.0
"""The counters of ethtool -S, the lab's own ones among them, and a firmware that is silent with link."""

import json
import re

import pytest
from functional.card.test_netdev import TOR

P0, PF = "enp59s0f0np0", "0000:3b:00.0"
COUNTERS = f"/sys/kernel/debug/vcx/{PF}/counters"


def counters(card, netdev=P0):
    """Return the counters of ethtool -S."""
    rows = card.run(["ethtool", "-S", netdev]).stdout.splitlines()[1:]
    return {name.strip(): int(value) for name, _, value in (row.partition(":") for row in rows)}


def up(card):
    card.run(f"ip link set {P0} up")
    card.await_output(f"cat /sys/class/net/{P0}/carrier", "1")


def test_frames_are_counted_in_the_priority_of_their_dscp(card):
    card.bond(members=(P0,))
    card.await_output(f"ping -c 1 -W 1 {TOR}", "1 received")
    card.run(f"dcb app add dev {P0} dscp-prio 26:3 2>/dev/null || dcb app add dev {P0} dscp-prio AF31:3")
    before = counters(card)
    card.run(["ping", "-c", "5", "-i", "0.2", "-Q", str(26 << 2), TOR])
    after = counters(card)
    assert after["tx_prio3_packets"] - before["tx_prio3_packets"] == 5
    assert after["tx_prio3_bytes"] - before["tx_prio3_bytes"] == 5 * 98
    assert after["tx_packets_phy"] - before["tx_packets_phy"] >= 5
    assert after["rx_packets_phy"] - before["rx_packets_phy"] >= 5


def test_pauses_are_counted_only_where_they_are_on(card):
    """mlx5e_query_pfc_combined() of en_stats.c, 6.1 to 6.12"""
    card.run(f"dcb pfc set dev {P0} prio-pfc 0:off 3:on; ethtool -A {P0} rx off tx off")
    paused = {name for name in counters(card) if "pause" in name}
    assert paused == {
        "rx_prio3_pause", "rx_prio3_pause_duration", "rx_prio3_pause_transition",
        "tx_prio3_pause", "tx_prio3_pause_duration",
    }  # fmt: skip
    card.run(f"ethtool -A {P0} rx on tx on")
    assert "rx_global_pause_duration" in counters(card)


def test_a_link_that_fails_is_counted(card):
    up(card)
    before = counters(card)["link_down_events_phy"]
    for value in (1, 0):
        card.fault("link_down", value)
        card.await_output(f"cat /sys/class/net/{P0}/carrier", str(1 - value))
    assert counters(card)["link_down_events_phy"] == before + 1


def test_the_lab_adds_to_a_counter_by_its_name(card):
    card.run(f"dcb pfc set dev {P0} prio-pfc 3:on")
    before = counters(card)
    for name, more in [("rx_prio3_pause", 40), ("rx_discards_phy", 7), ("module_high_temp", 1)]:
        card.write(COUNTERS, f"{name} {more}")
        assert counters(card)[name] == before[name] + more
    refused = card.write(COUNTERS, "rx_prio8_pause 1", check=False)
    assert "No such file or directory" in refused.stderr
    assert "Invalid argument" in card.write(COUNTERS, "rx_discards_phy many", check=False).stderr


@pytest.fixture
def tenant(card):
    """A VF of the first port in switchdev mode, and its representor."""
    card.vfs(1, pfs=card.pfs[:1])
    card.set_mode("switchdev", pfs=card.pfs[:1])
    card.bind("0000:3b:00.2")
    return card.vf_netdev("0000:3b:00.2"), card.ports()["pf0vf0"]


RDMA = {
    f"{way}_vport_rdma_{cast}_{what}"
    for way in ("rx", "tx")
    for cast in ("unicast", "multicast")
    for what in ("packets", "bytes")
}
"""vport_rep_stats_desc of en_rep.c, since 6.4"""


def is_recent(card):
    """mlx5 of Debian 13's kernel, not of Debian 12's."""
    return tuple(map(int, card.run("uname -r").stdout.split(".")[:2])) >= (6, 4)


@pytest.mark.thorough
def test_a_representor_counts_what_its_vf_sends(card, tenant):
    vf, representor = tenant
    card.run(f"ip link set {representor} up && ip link set {vf} up")
    card.run(f"ip address add 192.0.2.1/24 dev {vf} && ping -c 2 -W 1 -I {vf} 192.0.2.9", check=False)
    found = counters(card, representor)
    assert found["vport_rx_packets"] == found["rx_packets"] > 0
    assert set(found) == {
        *("rx_packets", "rx_bytes", "tx_packets", "tx_bytes"),
        *("vport_rx_packets", "vport_rx_bytes", "vport_tx_packets", "vport_tx_bytes"),
        *(RDMA if is_recent(card) else ()),
    }


def software(card, representor):
    """Packets that the kernel forwarded from and to a representor, as IFLA_OFFLOAD_XSTATS_CPU_HIT has them.

    Read as the exporter does: `ip stats` is in iproute2 since 5.18, and jammy has 5.15.
    """
    index = card.run(["cat", f"/sys/class/net/{representor}/ifindex"]).stdout.strip()
    read = f"from hostnic.machine import Machine; print(Machine().links.traffic()[{index}])"
    shown = card.run(f"env PYTHONPATH=/opt/ovn-offload/lib:/opt/site-packages python3 -c '{read}'").stdout
    return int(re.search(r"software_packets=(\d+)", shown)[1])


def test_a_representor_tells_which_packets_no_rule_takes(card, tenant):
    vf, representor = tenant
    # The two counts are read one after the other: nothing but the pings below may be sent meanwhile.
    card.run(f"sysctl -q -w net.ipv6.conf.{vf}.disable_ipv6=1 net.ipv6.conf.{representor}.disable_ipv6=1")
    card.run(f"ip link set {representor} up && ip link set {vf} up && ip address add 192.0.2.1/24 dev {vf}")
    card.run(f"ip neighbour add 192.0.2.9 lladdr 02:00:00:00:00:09 dev {vf}")

    def sent():
        before = software(card, representor), counters(card, representor)
        card.run(f"ping -c 3 -i 0.1 -W 1 -I {vf} 192.0.2.9", check=False)
        after = software(card, representor), counters(card, representor)
        assert after[1]["rx_packets"] == after[0]
        return after[0] - before[0], after[1]["vport_rx_packets"] - before[1]["vport_rx_packets"]

    in_software, in_all = sent()
    assert in_all >= in_software >= 3
    card.run(f"tc qdisc add dev {representor} ingress && modprobe -a cls_flower act_mirred")
    card.run(
        f"tc filter add dev {representor} ingress protocol ip flower skip_sw dst_ip 192.0.2.9 "
        f"action mirred egress redirect dev {card.uplinks[0]}"
    )
    in_software, in_all = sent()
    assert in_all - in_software >= 3
    card.fault("slow_path", 1)
    in_software, _ = sent()
    assert in_software >= 3
    assert "in_hw" in card.run(f"tc filter show dev {representor} ingress").stdout
    card.fault("slow_path", 0)
    card.run(f"tc qdisc del dev {representor} ingress")
    in_software, _ = sent()
    assert in_software >= 3


def test_an_uplink_leaves_out_what_a_rule_routes_for_a_vf(card, tenant):
    """Behind a router's rule a frame has the router's address, not its VF's."""
    vf, representor = tenant
    uplink, router = card.uplinks[0], "02:00:00:00:00:aa"
    quiet = " ".join(f"net.ipv6.conf.{name}.disable_ipv6=1" for name in (vf, representor, uplink))
    card.run(f"sysctl -q -w {quiet}; ip link set {uplink} up; ip link set {representor} up")
    card.run(f"ip link set {vf} up && ip address add 192.0.2.1/24 dev {vf}")
    card.run(f"ip neighbour add 192.0.2.9 lladdr 02:00:00:00:00:09 dev {vf}")
    card.run(f"tc qdisc add dev {representor} ingress && modprobe -a cls_flower act_mirred act_pedit")

    def sent():
        """Frames on the wire, and those of them that the kernel forwarded."""
        before = counters(card, uplink)
        card.run(f"ping -c 3 -i 0.1 -W 1 -I {vf} 192.0.2.9", check=False)
        after = counters(card, uplink)
        return [after[name] - before[name] for name in ("tx_packets_phy", "tx_packets")]

    card.run(
        f"tc filter add dev {representor} ingress protocol ip flower dst_ip 192.0.2.9 "
        f"action pedit ex munge eth src set {router} pipe action mirred egress redirect dev {uplink}"
    )
    assert sent() == [3, 0]
    card.fault("slow_path", 1)
    assert sent() == [3, 3]


def test_a_tenants_roce_and_its_lack_of_buffers_are_counted_for_its_representor(card, tenant):
    _, representor = tenant
    before = counters(card, representor)
    card.write(COUNTERS, "vf0:rx_vport_rdma_unicast_packets 500")
    card.write(COUNTERS, "vf0:rx_vport_out_of_buffer 70")
    assert "vf0:rx_vport_out_of_buffer 70" in card.run(["cat", COUNTERS]).stdout.splitlines()
    (shown,) = json.loads(card.run(["ip", "-s", "-s", "-j", "link", "show", representor]).stdout)
    missed = shown["stats64"]["rx"]["missed_errors"]
    after = counters(card, representor)
    assert "rx_vport_out_of_buffer" not in after, "no kernel shows it there"
    if not is_recent(card):
        assert (after, missed) == (before, 0)
        return
    assert missed == 70
    assert after["rx_vport_rdma_unicast_packets"] == 500
    assert after["vport_rx_packets"] == before["vport_rx_packets"] + 500
    for wrong in ("vf127:rx_vport_out_of_buffer 1", "vf0:rx_discards_phy 1"):
        assert "No such file or directory" in card.write(COUNTERS, wrong, check=False).stderr


def reporters(card):
    """Return the state, errors and recoveries of `devlink health show` by reporter."""
    shown = json.loads(card.run(["devlink", "-j", "health", "show"]).stdout)["health"]
    return {
        each["reporter"]: (each["state"], each["error"], each["recover"])
        for name, found in shown.items()
        if name.startswith(f"pci/{PF}")
        for each in found
    }


HEALTHY = ("healthy", 0, 0)


def of_device(card):
    """The reporters that do not hang on the netdev."""
    return {"fw", "fw_fatal", *(["vnic"] if is_recent(card) else [])}


def test_health_reporters_tell_each_error_and_whether_it_was_recovered_from(card):
    assert reporters(card) == dict.fromkeys((*of_device(card), "tx", "rx"), HEALTHY)
    card.fault("fw", 1)
    card.fault("tx", 1)
    card.fault("rx", 2)
    found = reporters(card)
    assert found["fw"] == ("error", 1, 0), "nothing recovers it"
    assert found["tx"] == ("healthy", 1, 1)
    assert found["rx"] == ("error", 1, 0)
    log = card.log()
    assert "Health issue observed, firmware internal error, severity(3) ERROR" in log
    assert "TX timeout on queue: 0" in log
    port = f"pci/{PF}/65535"
    card.run(["devlink", "health", "recover", port, "reporter", "rx"])
    assert reporters(card)["rx"] == ("healthy", 1, 1)
    refused = card.run(["devlink", "health", "recover", f"pci/{PF}", "reporter", "fw"], check=False)
    assert "Operation not supported" in refused.stderr
    card.fault("fw_fatal", 1)
    card.await_output(f"devlink health show pci/{PF} reporter fw_fatal", "recover 1")
    assert reporters(card)["tx"] == HEALTHY, "the port's are made anew"


def test_the_uplink_in_switchdev_mode_has_no_reporters_of_its_queues(card):
    """mlx5e_nic_init() of en_main.c makes them; mlx5e_init_ul_rep() of en_rep.c does not."""
    card.set_mode("switchdev", pfs=card.pfs[:1])
    assert set(reporters(card)) == of_device(card)
    card.fault("tx", 1)
    card.set_mode("legacy", pfs=card.pfs[:1])
    assert reporters(card)["tx"] == HEALTHY


@pytest.mark.thorough
def test_the_vnic_reporter_shows_what_no_steering_rule_took(card):
    card.write(COUNTERS, "rx_steer_missed_packets 12")
    show = ["devlink", "-j", "health", "diagnose", f"pci/{PF}", "reporter", "vnic"]
    done = card.run(show, check=False)
    if is_recent(card):
        assert json.loads(done.stdout) == {"vNIC env counters": {"nic_receive_steering_discard": 12}}
    else:
        assert done.returncode != 0


def temperature(card):
    done = card.run(["ethtool", "-m", P0], check=False)
    return re.findall(r"Module temperature\s*: ([0-9.]+) degrees C", done.stdout), done.stderr


def test_the_module_tells_its_temperature_while_the_firmware_answers(card):
    assert temperature(card) == (["35.00"], "")
    card.write(f"/sys/kernel/debug/vcx/{PF}/module_temperature", 81)
    assert temperature(card) == (["81.00"], "")
    sensors = f"/sys/bus/pci/devices/{PF}/hwmon/hwmon*/temp2"
    shown = card.run(f"cat {sensors}_label {sensors}_input {sensors}_crit", check=False).stdout
    assert shown == ("Module0\n81000\n75000\n" if is_recent(card) else ""), "since Linux 6.7"
    card.fault("cmd_timeout_ms", 100)
    found, said = temperature(card)
    assert found == []
    assert "Connection timed out" in said


def test_a_silent_firmware_fails_commands_while_the_link_is_up(card):
    up(card)
    seen = counters(card)["tx_packets_phy"]
    card.fault("cmd_timeout_ms", 300)
    done = card.run(["devlink", "dev", "info", f"pci/{PF}"], check=False)
    assert "Connection timed out" in done.stderr
    assert "ACCESS_REG(0x805) timeout. Will cause a leak of a command resource" in card.log()
    assert card.try_mode(PF, "switchdev").returncode != 0
    assert card.run(["cat", f"/sys/class/net/{P0}/carrier"]).stdout == "1\n"
    assert counters(card)["tx_packets_phy"] >= seen
    card.fault("cmd_timeout_ms", 0)
    card.run(["devlink", "dev", "info", f"pci/{PF}"])


@pytest.fixture
def rdma(card):
    """The module of RDMA devices, which udev loads on real machines."""
    card.run("modprobe mlx5_ib")
    yield "/sys/class/infiniband"
    card.run("modprobe -r mlx5_ib")


def netdevs(card):
    """Return the netdev of each port in ``rdma link show``, by device."""
    shown = json.loads(card.run("rdma -j link show").stdout)
    found = {}
    for each in shown:
        found.setdefault(each["ifname"], {})[each["port"]] = each.get("netdev")
    return sorted(found.values(), key=len)


def becomes(card, wanted):
    """Wait until the RDMA devices have these ports: they come after the representors."""
    assert card.machine.until(lambda: netdevs(card) == wanted, 60), netdevs(card)


@pytest.mark.every_release
def test_a_vfs_roce_is_counted_at_its_representors_rdma_port(card, tenant, rdma):
    """hw/mlx5/counters.c: vport_basic_q_cnts, since 6.4"""
    _, representor = tenant
    becomes(card, [{1: P0, 2: representor}])
    (device,) = card.run(["ls", rdma]).stdout.split()
    counted = f"{rdma}/{device}/ports/2/hw_counters/vport_out_of_sequence"
    card.write(COUNTERS, "vf0:vport_out_of_sequence 7")
    if is_recent(card):
        card.await_output(f"cat {counted}", "7")
    else:
        assert "No such file" in card.run(["cat", counted], check=False).stderr


def test_a_lag_with_one_fdb_has_one_rdma_device_for_both_ports(card, rdma):
    """mlx5_lag_remove_devices() and mlx5_lag_add_devices() of lag.c"""
    card.vfs(2)
    card.set_mode("switchdev")
    ports = card.ports()
    one, other = ([ports[f"pf{pf}vf{vf}"] for vf in range(2)] for pf in range(2))
    becomes(card, [dict(enumerate([netdev, *vfs], 1)) for netdev, vfs in zip(card.uplinks, (one, other))])
    card.bond()
    becomes(card, [dict(enumerate([P0, *one, *other], 1))])
    card.set_mode("legacy")
    becomes(card, [])
