# SPDX-License-Identifier: Apache-2.0
"""The counters of each second, as the sampler writes them and as they are read."""

import os
import re
import subprocess

import pytest
from acceptance.measure import cpu, tracking, witness

UPLINK = """\
at enp63s0f0
     rx_packets: {soft}
     tx_packets: {soft}
     tx_packets_phy: {wire}
     rx_packets_phy: {wire}
     tx_bytes_phy: {size}
     rx_bytes_phy: {size}
     tx_prio3_packets: {wire}
"""
REPRESENTOR = """\
at eth7
     rx_packets: {soft}
     tx_packets: {soft}
     vport_rx_packets: {wire}
     vport_rx_bytes: {size}
     vport_tx_packets: {wire}
     vport_tx_bytes: {size}
"""


def reading(at, *, wire, soft=0, vf=None, form=UPLINK + REPRESENTOR):
    uplink, representor = form.split("at eth7")[0], "at eth7" + form.split("at eth7")[1]
    vf = wire if vf is None else vf
    told = f"{at:.2f} cpu  {int(at) * 100} 0 0 9000 10 0 0 0 0 0\n"
    told += uplink.format(wire=wire, soft=soft, size=wire * 1108)
    return told + representor.format(wire=vf, soft=soft, size=vf * 1100)


def test_packets_at_the_vf_in_the_kernel_and_on_the_wire_by_direction_and_priority():
    text = "own eth7\n" + reading(1, wire=5) + reading(2, wire=5) + reading(12, wire=1_000_005, soft=7)
    told = witness.read(text + "seen enp63s0f0 3\nflows 2 999 4\n", 8)
    assert (told.seconds, told.resets) == (11.0, 0)
    assert told.vf == {"sent": 1_000_000, "received": 1_000_000}
    assert told.slow == {"sent": 7, "received": 7}
    assert told.wire == {"enp63s0f0": told.vf}
    assert told.kernel == {"enp63s0f0": told.slow}
    assert told.priorities == {"enp63s0f0": {"tx_prio3": 1_000_000}}
    assert told.others == {"sent": 0.0, "received": 0.0}
    assert (told.seen, told.flows, told.inside, told.outside) == (3, 2, 999, 4)


def test_what_others_send_is_what_the_vf_did_not():
    text = "own eth7\n" + reading(0, wire=0) + reading(1, wire=1_000_000, vf=0)
    told = witness.read(text + reading(11, wire=3_000_000, vf=1_000_000), 8)
    gbits = 1_000_000 * 1108 * 8 / 1e9
    assert told.before["sent"] == pytest.approx(gbits)
    assert told.others["sent"] == pytest.approx(2 * gbits / 11)


@pytest.mark.parametrize("now", [0, 12], ids=["a driver that is loaded anew", "a counter that wraps"])
def test_an_interval_in_which_a_counter_went_back_does_not_count(now):
    values = [4_294_000_000, 4_294_500_000, now, now + 500_000]
    told = witness.read("own eth7\n" + "".join(reading(at, wire=each) for at, each in enumerate(values)), 8)
    assert (told.resets, told.seconds) == (1, 2.0)
    assert told.vf == {"sent": 1_000_000, "received": 1_000_000}


def test_a_sampler_that_did_not_run_is_no_witness():
    assert witness.read("1.00 cpu  1 2\n", 8) is None


TOOLS = {
    "ovs-vsctl": 'echo "eth${*: -1}" | sed s/external_ids:iface-id=//',
    "ethtool": 'echo "NIC statistics:"; echo "     rx_packets: 5"; echo "     rx0_packets: 5"; '
    '[ $2 != eth7 ] || echo "     vport_tx_packets: 9"',
    "tcpdump": 'echo "$*" > $FOLDER/tcpdump; echo "listening on p0, link-type EN10MB (Ethernet)" >&2; '
    'echo "IP 33.33.33.10.5001 > 33.33.33.11.5001: tcp"; echo else',
    "ovs-appctl": "printf 'in_port(eth7),eth(),packets:12, bytes:9, offloaded:yes, dp:tc, actions:2\\n"
    "in_port(eth7),eth(),packets:3, dp:ovs, actions:2\\nin_port(eth77), packets:5, dp:ovs, actions:2\\n'",
}


@pytest.fixture
def sampled(tmp_path):
    """Run the sampler for some seconds in a real bash; only tools of NIC and Open vSwitch are replaced."""
    for name, prints in TOOLS.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{prints}\n")
        (tmp_path / name).chmod(0o755)
    port, vf = tmp_path / "sys/class/net/p0", tmp_path / "sys/class/net/eth7"
    (port / "device").mkdir(parents=True)
    (port / "device/sriov_numvfs").write_text("8\n")
    (vf / "statistics").mkdir(parents=True)
    (vf / "statistics/tx_packets").write_text("5\n")

    def run(seconds, limit):
        beside = witness.script(["7"], {"33.33.33.10", "33.33.33.11"})
        loop = cpu.loop(seconds, beside, tracking.look({"33.33.33.10"}))
        assert "${" not in loop, "systemd would replace it"
        assert "%" not in loop
        path = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "FOLDER": str(tmp_path)}
        command = ["timeout", str(limit), "bash", "-c", loop.replace("/sys/", f"{tmp_path}/sys/")]
        return subprocess.run(command, env=path, capture_output=True, text=True, check=False).stdout

    return run


def test_a_node_so_busy_that_a_round_takes_seconds_is_looked_at_once_the_traffic_runs(sampled, tmp_path):
    """The middle of its rounds comes after the end of the traffic."""
    packets = tmp_path / "sys/class/net/eth7/statistics/tx_packets"
    slow = f"sleep 1; echo $(($(cat {packets}) + 400)) > {packets}"
    (tmp_path / "ethtool").write_text(f"#!/bin/bash\n{slow}\n{TOOLS['ethtool']}\n")
    told = witness.read(sampled(seconds=30, limit=10), 8)
    assert (told.flows, told.inside, told.outside) == (2, 12, 3)


def test_the_sampler_writes_what_is_read(sampled, tmp_path):
    """It changes no device's mode."""
    printed = sampled(seconds=0, limit=6)
    told = witness.read(printed, 8)
    assert told.vf == {"sent": 0, "received": 0}
    assert told.wire.keys() == {"p0"}
    assert "rx0_packets" not in printed
    assert (told.seen, told.flows, told.inside, told.outside) == (1, 2, 12, 3)
    assert re.search(r"^-p .*-i p0$", (tmp_path / "tcpdump").read_text()), "not in promiscuous mode"


@pytest.mark.parametrize(
    "tcpdump",
    ["exit 127", 'echo "tcpdump: p0: You don\'t have permission to perform this capture" >&2; exit 1'],
)
def test_a_capture_that_could_not_be_made_has_not_seen_nothing(sampled, tmp_path, tcpdump):
    (tmp_path / "tcpdump").write_text(f"#!/bin/bash\n{tcpdump}\n")
    told = witness.read(sampled(seconds=0, limit=6), 8)
    assert (told.seen, told.flows) == (-1, 2)


@pytest.mark.parametrize("ends", ["exit 1", "sleep 60"], ids=["that fails", "that takes too long"])
def test_a_list_of_flows_without_its_end_is_none(sampled, tmp_path, ends):
    """The flows that came until then are no share of all."""
    (tmp_path / "ovs-appctl").write_text(f"#!/bin/bash\n{TOOLS['ovs-appctl']}\n{ends}\n")
    shorter = '[ $1 != 20 ] || set -- 1 "${@:2}"; exec /usr/bin/timeout "$@"'
    (tmp_path / "timeout").write_text(f"#!/bin/bash\n{shorter}\n")
    (tmp_path / "timeout").chmod(0o755)
    printed = sampled(seconds=0, limit=8)
    told = witness.read(printed, 8)
    assert (told.flows, told.inside, told.outside) == (-1, 0, 0)
    assert tracking.read(printed).flows == -1
