# SPDX-License-Identifier: Apache-2.0
"""Readers of the tools' output: lines that the tools printed, and what they print when they fail."""

import json

import pytest
from acceptance.measure import parse
from converge import StepError

RDG_BANDWIDTH = """\
 remote address: LID 0000 QPN 0x0b59 PSN 0xde7a43
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:33:33:33:84
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      10941107         0.00               191.21             0.364705
---------------------------------------------------------------------------------------
"""
RDG_LATENCY = """\
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 2       1000          3.50           12.40        3.61               4.58           1.28            8.72                   12.40
---------------------------------------------------------------------------------------
"""  # noqa: E501 - as the tool prints it
LATENCY_BY_DURATION = """\
---------------------------------------------------------------------------------------
 #bytes        #iterations       t_avg[usec]    tps average
 2             3391522           4.42           226101.47
---------------------------------------------------------------------------------------
"""


def end(bits, sender=None):
    summed = {"start": 0, "end": 10.04, "seconds": 10.04, "bytes": 1, "bits_per_second": bits}
    return json.dumps(
        {
            "start": {},
            "intervals": [],
            "end": {"sum_sent": {**summed, "retransmits": 2}, "sum_received": summed},
        }
    )


def test_pairs_add_up_and_the_receivers_count():
    figure = parse.tcp(end(38.0e9) + "\n" + end(40.5e9), 2)
    assert figure.value == pytest.approx(78.5)
    assert figure.unit == "Gb/s"
    assert figure.details == {"retransmissions": 4}


def test_idle_cpu_is_the_mean_of_all_cpus():
    load = [{"cpu-load": [{"cpu": "all", "idle": idle}, {"cpu": "0", "idle": 0.0}]} for idle in (80.0, 86.84)]
    idle = json.dumps({"sysstat": {"hosts": [{"statistics": load}]}})
    assert parse.tcp(idle + end(1e9), 1).details["CPU idle in %"] == pytest.approx(83.42)


def test_a_pair_without_a_result_is_no_result():
    with pytest.raises(StepError, match="1 of 2 pairs have a result"):
        parse.tcp(end(1e9), 2)


def test_iperf3s_own_words():
    failed = json.dumps(
        {
            "start": {},
            "intervals": [],
            "end": {},
            "error": "error - unable to connect to server: No route to host",
        }
    )
    with pytest.raises(StepError, match=r"^iperf3: unable to connect to server: No route to host$"):
        parse.tcp(end(1e9) + failed, 2)


def test_json_that_ends_too_early():
    with pytest.raises(StepError, match="ends too early"):
        parse.tcp(end(1e9)[:-9], 1)


def test_udp_counts_what_arrived():
    summed = {"seconds": 10.0, "packets": 40_000_000, "lost_packets": 1_000_000, "bits_per_second": 5e8}
    figure = parse.udp(json.dumps({"end": {"sum": summed}}), 1)
    assert figure.value == pytest.approx(3.9)
    assert figure.details["lost in %"] == pytest.approx(2.5)


def intervals(rates):
    return json.dumps(
        {
            "intervals": [
                {"sum": {"start": number / 10, "seconds": 0.1, "bits_per_second": rate}}
                for number, rate in enumerate(rates)
            ],
            "end": {},
        }
    )


def test_an_outage_is_the_longest_time_without_traffic_on_all_pairs():
    rates = [1e9] * 20 + [0] * 7 + [1e9] * 20 + [0] * 3 + [1e9] * 20
    figure = parse.outage(intervals(rates) + intervals(rates), 2)
    assert figure.value == pytest.approx(0.7)
    assert figure.details["usual rate in Gb/s"] == pytest.approx(2.0)
    assert parse.outage(intervals([1e9] * 70) + intervals(rates), 2).value == 0


def test_the_references_own_rdma_figures():
    assert parse.rdma_bandwidth(RDG_BANDWIDTH) == (191.21, "Gb/s", {"message rate in Mpps": 0.364705})
    assert parse.rdma_latency(RDG_LATENCY) == (4.58, "µs", {"99 % in µs": 8.72})
    assert parse.rdma_latency(LATENCY_BY_DURATION) == (4.42, "µs", {})


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Unexpected CM event bl blka 8\n", "perftest: Unexpected CM event bl blka 8"),
        ("", "perftest: it printed nothing"),
        (RDG_BANDWIDTH.rsplit("65536", 1)[0], "perftest: #bytes"),
    ],
)
def test_perftests_own_words(said, words):
    with pytest.raises(StepError, match=words):
        parse.rdma_bandwidth(said)


def test_figures_of_another_tool():
    with pytest.raises(StepError, match="no bandwidth"):
        parse.rdma_bandwidth(RDG_LATENCY)
    with pytest.raises(StepError, match="no average latency"):
        parse.rdma_latency(RDG_BANDWIDTH)


def test_testpmd():
    period = "  RX-packets: 1 RX-missed: 17 RX-bytes: 9\n  Rx-pps:     {}          Rx-bps: 1\n"
    figure = parse.testpmd(period.format(0) + period.format(30030112) + period.format(12))
    assert figure.value == pytest.approx(30.030112)
    assert figure.details == {"missed": 17}
    with pytest.raises(StepError, match="EAL: Cannot set up DPDK: no free hugepages"):
        parse.testpmd("EAL: Detected 20 lcore(s)\nEAL: Cannot set up DPDK: no free hugepages\n")
    with pytest.raises(StepError, match="no packet arrived"):
        parse.testpmd(period.format(0))
