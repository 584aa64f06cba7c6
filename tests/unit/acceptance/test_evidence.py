# SPDX-License-Identifier: Apache-2.0
"""From what nodes and servers print to the rung, the reason and the remedy, without a cloud."""

import shutil
import subprocess

import pytest
from acceptance.measure import evidence
from acceptance.measure.evidence import Evidence, Sample
from acceptance.measure.parse import Figure
from acceptance.measure.results import Results, RungResult
from acceptance.measure.witness import Witness
from acceptance.report import offload
from acceptance.report.judge import explanation, judge, overall
from acceptance.report.verdict import State
from lab.openstack import actions, sysfs
from lab.openstack.traffic import Traffic

START = "PING 33.33.33.11 (33.33.33.11) 8914(8942) bytes of data.\n"
STATISTICS = "\n--- 33.33.33.11 ping statistics ---\n3 packets transmitted, {}% packet loss, time 404ms\n"
TOO_LONG = "ping: local error: message too long, mtu={}\n"
PINGS = {
    "arrives": (
        START
        + "".join(f"8922 bytes from 33.33.33.11: icmp_seq={n} ttl=64 time=0.058 ms\n" for n in (1, 2, 3))
        + STATISTICS.format("3 received, 0")
        + "rtt min/avg/max/mdev = 0.058/0.146/0.322/0.124 ms\n",
        "",
    ),
    "own netdev": (
        START + 3 * TOO_LONG.format(1442) + STATISTICS.format("0 received, +3 errors, 100"),
        "ping: local error: message too long, mtu=1442",
    ),
    "router": (
        START
        + "From 33.33.33.1 icmp_seq=1 Frag needed and DF set (mtu = 1500)\n"
        + 2 * TOO_LONG.format(1500)
        + STATISTICS.format("0 received, +3 errors, 100"),
        "From 33.33.33.1 icmp_seq=1 Frag needed and DF set (mtu = 1500)",
    ),
    "switch": (
        START + STATISTICS.format("0 received, 100"),
        "3 packets transmitted, 0 received, 100% packet loss, time 404ms",
    ),
}
"""iputils 20221126's output where a netdev, a router or a silent hop has the smaller MTU, and the reason.

Recorded between network namespaces; the addresses are the RDG's.
"""


class Told:
    """A shell that prints one thing."""

    def __init__(self, text):
        self.text = text

    def run(self, script, seconds):
        return self.text


def passing(**more):
    """A rung at 190 Gb/s."""
    return RungResult({"tcp-8": Figure(190.0, "Gb/s", {})}, **more)


def node(rows):
    """A node's evidence: no flow before the rung, these rows after it, and both ports used alike."""
    ports = {f"enp63s0f{port}": {"tx_packets_phy": 5, "rx_packets_phy": 5} for port in (0, 1)}
    idle = {port: dict.fromkeys(counters, 0) for port, counters in ports.items()}
    return Evidence(Sample([], [], idle, 200_000, {}), Sample(rows, [], ports, 200_000, {}))


def counted(share, told=None):
    """A million packets in each direction; the NIC forwarded this share, and OVS tells that, or `told`."""
    packets, told = 1_000_000, share if told is None else told
    inside = int(2 * packets * told)
    both = dict.fromkeys(("sent", "received"), packets)
    slow = {way: int(packets * (1 - share)) for way in both}
    wire, kernel = {"enp63s0f0": both}, {"enp63s0f0": slow}
    counts = {"flows": 2, "inside": inside, "outside": 2 * packets - inside}
    return {"tcp-8": {"node1": Witness(30.0, vf=both, slow=slow, wire=wire, kernel=kernel, seen=0, **counts)}}


def explained(**rungs):
    return explanation(judge(Results("rdg", 1_790_000_000, 30, {"vm1": "node1"}, rungs, True)))


@pytest.mark.parametrize("where", PINGS)
def test_a_probe_quotes_the_line_of_ping_that_says_where_the_mtu_is_smaller(where):
    printed, reason = PINGS[where]
    assert evidence.probe(Told(printed), "33.33.33.11", 8942) == reason


@pytest.mark.parametrize(
    ("rung", "title"), [("host", "Host to host"), ("virtio", "virtio on Geneve"), ("vf", "VF on Geneve")]
)
@pytest.mark.parametrize("where", [where for where, (_, reason) in PINGS.items() if reason])
def test_a_wrong_mtu_fails_the_first_rung_whose_probe_does_not_arrive(rung, title, where):
    rungs = {
        key: passing(probe="", evidence={"node1": node(actions.OFFLOAD["on"])}, witnesses=counted(1.0))
        for key in ("host", "vf")
    }
    rungs = {"host": rungs["host"], "virtio": passing(probe=""), "vf": rungs["vf"]}
    assert explained(**rungs) is None
    rungs[rung].probe = evidence.probe(Told(PINGS[where][0]), "33.33.33.11", 8942)
    rungs[rung].probed = 8942
    found = explained(**rungs)
    assert found.subject == title
    assert found.what.startswith("MTU (")
    assert f"a packet of 8942 bytes does not arrive: {PINGS[where][1]}" in found.what
    assert "global-physnet-mtu" in found.remedy


def test_offload_that_is_off_fails_the_vfs_rung_with_the_charms_own_reason():
    off = passing(probe="", evidence={"node1": node(actions.OFFLOAD["off"])}, witnesses=counted(0.0))
    off.figures["tcp-8"] = Figure(20.0, "Gb/s", {})
    host = passing(probe="", evidence={"node1": node(actions.OFFLOAD["off"])})
    found = explained(host=host, vf=off)
    assert found.subject == "VF on Geneve"
    said = (
        "offload (share of packets that the NICs forwarded: TCP: past the kernel sent 0.10%, received 0.10%; "
    )
    assert found.what.startswith(f"{said}Open vSwitch 0.04% on node1 (TCP, 8 iperf3 pairs); 2 flows: ")
    assert "hw-offload is not true (ovn-chassis option enable-hardware-offload)" in found.what
    assert "sriov-switchdev/N verify" in found.remedy


def test_reasons_that_ports_and_nodes_share_are_counted_together():
    """The most frequent one is first; what an older charm calls one flow is counted, too."""
    table = "its action goes to user space"
    other = "OVS could not express it for the kernel's classifier (see ovs-vswitchd.log)"
    rows = [f"2 flows: {other}; 1 flow: {table}", f"1 flows: {other}", "no flow has come through it", "-"]
    found = [{"in port": f"p{n}", "packets not in NIC": "1", "why not": why} for n, why in enumerate(rows)]
    after = evidence.Sample(found, [], {}, 0, {})
    both = [evidence.Evidence(evidence.Sample([], [], {}, 0, {}), after)] * 2
    assert evidence.why_not(both) == f"6 flows: {other}; 2 flows: {table}; no flow has come through it"
    assert evidence.why_not(both[:1]) == f"3 flows: {other}; 1 flow: {table}; no flow has come through it"


@pytest.mark.parametrize(
    ("share", "told", "state"),
    [
        (1.0, 1.0, State.PASS),
        (0.0, 1.0, State.FAIL),
        (1.0, 0.0, State.FAIL),
        (0.5, 0.5, State.FAIL),
        (0.991, 0.991, State.PASS),
        (0.98, 1.0, State.FAIL),
    ],
)
def test_open_vswitch_and_the_kernels_counters_must_agree(share, told, state):
    rungs = {
        "host": passing(),
        "vf": passing(evidence={"node1": node(actions.OFFLOAD["on"])}, witnesses=counted(share, told)),
    }
    verdicts = judge(Results("rdg", 1, 30, {}, rungs, True))
    assert {each.check: each.state for each in verdicts if each.rung == "vf"}["in-nic"] is state


def test_a_figure_from_host_to_host_is_no_baseline_beside_ports_of_unknown_speed():
    dumb = node([])
    dumb = Evidence(dumb.before, dumb.after._replace(speed=0))
    judged = {
        each.check: each for each in judge(Results("rdg", 1, 30, {}, {"host": passing(evidence={"n": dumb})}))
    }
    assert judged["line-rate"].state is State.UNKNOWN
    assert judged["line-rate"].measured == "190.0 Gb/s; the nodes' ports tell no speed"


def test_sound_hosts_alone_prove_no_cloud():
    """Nobody could make ports with a VF: their rungs were skipped."""
    rungs = {"host": passing(evidence={"node1": node([])}), "vf": RungResult(skipped={"tcp-8": "no ports"})}
    found = Results("rdg", 1, 30, {}, rungs, True)
    verdicts = judge(found)
    assert {each.state for each in verdicts} == {State.PASS}
    assert overall(found, verdicts) is State.UNKNOWN
    assert offload.proof(found) == "No compute node is proven: nothing was measured through a VF."


def test_packets_in_the_kernel_that_others_sent_do_not_count():
    """An uplink has others' packets, a representor none of them."""
    (told,) = counted(1.0)["tcp-8"].values()
    busy = told._replace(
        wire={"enp63s0f0": dict.fromkeys(told.vf, 3_000_000)},
        kernel={"enp63s0f0": dict.fromkeys(told.vf, 2_000_000)},
    )
    assert offload.shown(busy).least == 1.0
    ours = busy._replace(wire={"enp63s0f0": dict.fromkeys(told.vf, 2_000_000)})
    assert offload.shown(ours).least == pytest.approx(0.001)


@pytest.mark.parametrize(
    ("flows", "words"),
    [(0, "has no flow of it"), (-1, "did not list its flows within 20 s")],
)
def test_the_table_shows_no_share_by_one_witness_alone(flows, words):
    (told,) = counted(1.0)["tcp-8"].values()
    alone = told._replace(flows=flows, inside=0, outside=0)
    rungs = {"vf": passing(witnesses={"tcp-8": {"node1": alone}})}
    (row,) = offload.rows(Results("rdg", 1, 30, {}, rungs, True))
    words = f"not shown: past the kernel sent 100.00%, received 100.00%; Open vSwitch {words}"
    assert dict(zip(offload.HEAD, row))["slower witness"] == words


def test_a_capture_that_is_full_of_the_measurement_outweighs_all_counters():
    (told,) = counted(1.0)["tcp-8"].values()
    assert offload.shown(told._replace(seen=200)).least == 1.0
    assert offload.shown(told._replace(seen=20_000)).least == 0.0


class Machine:
    """A compute node whose shell has only the commands grep and ethtool; the charms' tables are empty."""

    def __init__(self, folder):
        self.folder, self.bin = folder, folder / "bin"
        sysfs.make(folder, ("p0", "p1"), 9000, node=True)
        sysfs.links(folder, "node1.maas", ("p0", "p1"), Traffic(("p0", "p1")))
        self.bin.mkdir()
        (self.bin / "grep").symlink_to(shutil.which("grep"))
        (self.bin / "ethtool").write_text(ETHTOOL)
        (self.bin / "ethtool").chmod(0o755)

    def run(self, script, seconds):
        script = script.replace("/sys/", f"{self.folder}/sys/")
        return subprocess.run(
            [shutil.which("bash"), "-c", script],
            env={"PATH": str(self.bin)},
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        ).stdout

    def table(self, charm, action, result):
        return []


ETHTOOL = f"""#!{shutil.which("bash")}
case $1 in
-l) printf 'Channel parameters for %s:\\nPre-set maximums:\\nRX:\\t\\tn/a\\nCombined:\\t63\\n' "$2"
    printf 'Current hardware settings:\\nRX:\\t\\tn/a\\nCombined:\\t1\\n' ;;
-i) printf 'driver: mlx5e_rep\\nversion: 5.15.0\\nfirmware-version: 22.35.1012 (MT_0000000359)\\n' ;;
-S) printf '     rx_packets_phy: 7\\n     tx_prio3_pause: 5\\n     ch0_events: 9\\n' ;;
esac
"""
"""The output of ethtool 5.16 for mlx5's uplink representor, shortened."""


def test_a_node_is_read_without_a_process_for_each_file(tmp_path):
    """It is read before and after each rung, while others measure on it."""
    told = evidence.sample(Machine(tmp_path), "")
    assert list(told.ports) == ["p0", "p1"]
    assert told.ports["p0"] == {"rx_packets_phy": 7, "tx_prio3_pause": 5, "tx_packets": 1, "rx_packets": 1}
    assert (told.speed, told.near, told.active, told.down) == (200_000, "0-23", "", ())


def test_a_node_tells_versions_and_the_queues_that_are_set(tmp_path):
    told = evidence.sample(Machine(tmp_path), "")
    assert told.versions["firmware of p1"] == "22.35.1012 (MT_0000000359)"
    assert [each.partition(",")[0] for each in told.slows] == ["p0 has one queue", "p1 has one queue"]
