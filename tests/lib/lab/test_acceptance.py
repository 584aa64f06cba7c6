# SPDX-License-Identifier: Apache-2.0
"""The RDG's acceptance set: what is made of the tools' answers, and how its figures are told."""

from lab.rack import capture, figures, iperf, perftest
from lab.rack.figures import Figure

SENT = """\
{
	"start":	{"connected": [{"socket": 5, "local_host": "10.0.101.11", "remote_port": 5001}]},
	"intervals":	[],
	"end":	{
		"sum_sent":	{"seconds": 10.0008, "bits_per_second": 320943440.4, "retransmits": 15},
		"sum_received":	{"seconds": 10.0045, "bits_per_second": 319462207.1}
	}
}
"""
NOT_SENT = """\
{
	"start":	{"connected": [], "version": "iperf 3.18"},
	"intervals":	[],
	"end":	{
	},
	"error":	"unable to connect to server: Connection timed out"
}
"""
BANDWIDTH = """\
************************************
* Waiting for client to connect... *
************************************
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Number of qps   : 2		Transport type : IB
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:00:102:12
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
Conflicting CPU frequency values detected: 2100.000000 != 2095.078000. CPU Frequency is not max.
 4096       400              0.19               0.17   		     0.005163
---------------------------------------------------------------------------------------
"""
LATENCY = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
    "   99% percentile[usec]   99.9% percentile[usec] \n"
    " 2       200          410.12         9120.44      455.31  \t       502.77        \t312.05\t\t1802.66"
    "   \t\t9120.44\n"
)
OUT = "in_port(r0),eth_type(0x0800),ipv4(frag=no), packets:560, bytes:49, used:0.3s, offloaded:yes, dp:tc, "
OUT += "actions:set(tunnel(tun_id=0x1,dst=172.16.0.52)),genev_sys_6081"
IN = "tunnel(tun_id=0x1,src=172.16.0.52),in_port(genev_sys_6081),eth_type(0x0800), packets:281, bytes:2, "
IN += "used:0.3s, offloaded:yes, dp:tc, actions:r0"
OUTER = "in_port(br-nvda),eth_type(0x0800), packets:9000, bytes:2, offloaded:yes, dp:tc, actions:bond0"
ARP = "in_port(r0),eth_type(0x0806), packets:2, used:never, dp:tc, actions:set(tunnel(tun_id=0x1)),2"
FIGURE = Figure("TCP", "iperf3 -c A & B", "179.45 Gb/s, 20 pairs", "iperf3 <here>", "0.32 Gb/s, 2 pairs")


def test_senders_are_summed_and_those_that_could_not_are_named() -> None:
    assert iperf.parse(SENT + SENT, 2).told == "0.642 Gb/s"
    assert iperf.parse(SENT, 1).errors == ()
    assert iperf.parse(SENT + NOT_SENT, 2).told == "unable to connect to server: Connection timed out"
    assert iperf.parse("Cannot open network namespace", 1).told == "Cannot open network namespace"


def test_a_client_that_died_is_missed() -> None:
    assert iperf.parse("", 1).told == "no answer"
    assert iperf.parse(SENT, 3).errors == ("no answer", "no answer")
    assert len(iperf.parse(SENT + SENT[:100], 2).errors) == 1, "it died while it wrote"
    assert iperf.parse(SENT + '{"end": {}}', 2).errors == ("no answer",)


def test_perftests_row_is_read_by_its_headings() -> None:
    assert perftest.parse(BANDWIDTH)["BW average[Gb/sec]"] == 0.17
    row = perftest.parse(LATENCY)
    assert (row["#bytes"], row["t_typical[usec]"], row["99.9% percentile[usec]"]) == (2, 455.31, 9120.44)
    assert perftest.parse("Couldn't connect to 10.0.102.12:18515") == {}


def test_only_tunnelled_ipv4_packets_are_those_of_an_instance() -> None:
    assert capture.packets("\n".join([OUT, IN, OUTER, ARP])) == 841
    assert capture.packets("") == 0


def test_what_the_slow_path_had_is_the_rest_of_the_capture() -> None:
    assert capture.Seen(845, 841).slow == 4
    assert capture.Seen(840, 841).slow == 0


def test_the_report_has_them_side_by_side_and_says_what_they_are_not() -> None:
    told = list(figures.text([FIGURE]))
    assert told[1] == "The RDG's acceptance set: emulated, not a performance claim"
    assert told[3:] == [
        "  TCP",
        "    RDG   179.45 Gb/s, 20 pairs",
        "          iperf3 -c A & B",
        "    here  0.32 Gb/s, 2 pairs",
        "          iperf3 <here>",
    ]
    assert list(figures.text([])) == []
