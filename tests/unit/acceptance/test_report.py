# SPDX-License-Identifier: Apache-2.0
"""The page and its plots: everything inside the picture, nothing that a name could break."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from acceptance.measure.parse import Figure
from acceptance.measure.results import Results, RungResult
from acceptance.report.judge import explanation, judge, overall, references, unmeasured
from acceptance.report.page import STYLE, page
from acceptance.report.plots import COLOURS, LETTER, bars
from acceptance.report.verdict import State

NAMES = [
    "Host to host",
    "VF with a stateful security group",
    "North-south over a floating IP",
    "<b>&",
    "virtio",
] * 2


def number(element, name):
    return float(element.get(name))


@pytest.mark.parametrize("line", [0, 200])
def test_bars_and_legend_are_inside_the_picture(line):
    values = [38.0, None, 190.0, 190.0]
    series = {f"{name} {index}": values for index, name in enumerate(NAMES)}
    picture = ElementTree.fromstring(bars("T & C", "Gb/s", list("1248"), series, line))
    _, _, width, height = map(float, picture.get("viewBox").split())
    for rect in picture.iter("rect"):
        assert 0 <= number(rect, "x") <= number(rect, "x") + number(rect, "width") <= width
        assert 0 <= number(rect, "y") <= number(rect, "y") + number(rect, "height") <= height
    for text in picture.iter("text"):
        if text.get("text-anchor") is None:
            assert number(text, "x") + LETTER * len(text.text) <= width
            assert number(text, "y") <= height
    assert len([rect for rect in picture.iter("rect") if rect.find("title") is not None]) == 3 * len(NAMES)


def test_bars_are_as_high_as_their_values():
    picture = ElementTree.fromstring(bars("t", "u", ["a", "b"], {"s": [50.0, 100.0]}))
    half, full = [number(rect, "height") for rect in picture.iter("rect") if rect.find("title") is not None]
    assert full == pytest.approx(2 * half, abs=0.2)


def test_nothing_to_draw_is_no_picture():
    assert bars("t", "u", ["a"], {"s": [None]}) == ""


class Tags(HTMLParser):
    """Checks that tags close in order."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def results(**rungs):
    return Results("a<b>", 1_790_000_000, 30, {"vm1": "n1"}, rungs, True, ("<script>alert(1)</script>",))


def test_the_page_is_well_formed_and_quotes_what_it_is_told():
    figures = {"tcp-8": Figure(10.0, "Gb/s", {"CPU <idle>": 3.0})}
    rung = RungResult(figures, {"tcp-8": "iperf3 <&>"}, {"tcp-1": "<x>"}, {"udp-1": "<y>"}, "<z>")
    found = results(host=rung, vf=rung)
    text = page(found, judge(found), found.started)
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    assert tags.seen.isdisjoint({"script", "img", "link", "b", "x", "y", "z"})
    assert "&lt;script&gt;" in text


def colours(text):
    return set(re.findall(r"#[0-9a-f]{6}", text))


def test_the_verdicts_colours_are_in_no_plot():
    verdict = colours("".join(re.findall(r"--(?:passed|failed|open): #[0-9a-f]{6}", STYLE)))
    assert len(verdict) == 6, "light and dark"
    assert verdict.isdisjoint(COLOURS)
    assert "prefers-color-scheme: dark" in STYLE


def test_the_contents_lead_to_every_section_after_the_verdict():
    rung = RungResult({"tcp-8": Figure(10.0, "Gb/s", {})})
    found = results(host=rung, vf=rung)
    text = page(found, judge(found), found.started)
    links = re.findall(r'<a href="#(part-\d+)">(.*?)</a>', text)
    assert links == re.findall(r'<h2 id="(part-\d+)">(.*?)</h2>', text)
    assert "Judgement" in dict(links).values()
    assert text.index("<h1>") < text.index("<table>") < text.index("<nav>") < text.index("<h2")
    assert 'name="viewport"' in text


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        (60, "Measured on 2026-09-21"),
        (7200, ", 2 hours ago"),
        (90_000, ", 1 day ago"),
        (10**7, ", 115 days ago"),
    ],
)
def test_results_say_how_old_they_are(seconds, says):
    found = results(host=RungResult({"tcp-8": Figure(10.0, "Gb/s", {})}))
    text = page(found, judge(found), found.started + seconds)
    assert says in text
    assert bool(re.search("(hours?|days?) ago", text)) == (seconds > 3600)


def test_the_report_has_the_versions_of_what_ran(short):
    short.run("measure")
    assert "node1.maas: kernel 5.15.0-48-generic" in (short.state / "report.html").read_text()


def test_no_result_is_no_pass():
    assert overall(results(), []) is State.UNKNOWN
    empty = results(host=RungResult(), vf=RungResult())
    assert overall(empty, judge(empty)) is State.UNKNOWN


def test_a_vf_without_a_baseline_is_not_judged():
    found = results(vf=RungResult({"tcp-8": Figure(10.0, "Gb/s", {})}))
    states = {verdict.measured: verdict.state for verdict in judge(found)}
    assert states["TCP, 8 iperf3 pairs: not measured from host to host"] is State.UNKNOWN


@pytest.mark.parametrize(
    ("rung", "cause", "remedy"),
    [
        ("vf", "host tuning", "isolcpus"),
        ("vf-group", "offload", "connection tracking"),
        ("north-south", "offload", "connection tracking"),
        ("cross-rack", "fabric", "show-fabric health=true"),
    ],
)
def test_a_path_that_alone_is_slow_is_explained_by_what_it_adds(rung, cause, remedy):
    """The paths before it have the same CPUs and servers."""
    paths = ("host", "vf", "vf-group", "north-south", "cross-rack")
    rates = {**dict.fromkeys(paths, 190.0), rung: 60.0}
    found = results(**{key: RungResult({"tcp-8": Figure(rate, "Gb/s", {})}) for key, rate in rates.items()})
    told = explanation(judge(found))
    assert told.what.startswith(f"{cause} (throughput of a VF")
    assert remedy in told.remedy
    assert ("isolcpus" in told.remedy) == (rung == "vf")


def test_what_could_not_be_measured_is_listed():
    found = results(host=RungResult(problems={"": "no way"}), vf=RungResult(problems={"tcp-8": "no pair"}))
    assert unmeasured(found) == ["Host to host: no way", "VF on Geneve, TCP, 8 iperf3 pairs: no pair"]


def test_the_references_are_scaled_to_the_line_rate(whole):
    found = Results.read(whole.state / "results.json")
    rows = {(row.rung, row.measure): row for row in references(found) if not row.detail}
    assert found.line_rate == 200
    assert rows["vf", "tcp-pinned"].scaled == 179.45
    for rung in found.rungs.values():
        for both in rung.evidence.values():
            assert both.after.speed == 200_000
        rung.evidence = {
            node: both._replace(after=both.after._replace(speed=50_000))
            for node, both in rung.evidence.items()
        }
    rows = {(row.rung, row.measure): row for row in references(found) if not row.detail}
    assert rows["vf", "tcp-pinned"].scaled == pytest.approx(179.45 / 4)
    assert rows["vf-rdma", "rdma-lat"].scaled == 4.58
    assert re.search(r"RDG", rows["dpdk", "dpdk"].source)


def test_the_report_of_a_failure_between_the_hosts_does_not_speak_of_instances(short):
    short.machines.path_mtu = 1500
    short.run("measure")
    page = (short.state / "report.html").read_text()
    assert "The network between the hosts fails a check already" in page
    assert "Tenants do not get" not in page


def test_the_pinned_pairs_show_the_idle_cpu_beside_the_rdgs(whole):
    assert (
        "one on each CPU (RDG): 182.00 Gb/s (retransmissions: 60, CPU idle in %: 83.42)" in whole.outcome[1]
    )
    page = (whole.state / "report.html").read_text()
    assert "<th>idle CPU of the client, %</th>" in page
    assert 'CPU idle in % (RDG, TCP Throughput)</td><td class="number">83.42</td>' in page
    assert "<th>UDP lost, %</th>" in page


def test_the_report_begins_with_a_verdict_for_each_path(short):
    short.machines.in_nic["direct_overlay"] = 0.3
    short.run("measure")
    table = (short.state / "report.html").read_text().partition(">Figures</h2>")[0]
    rows = [re.sub(r"<[^>]+>", "|", row) for row in re.findall(r"<tr>(<td>.*?)</tr>", table)]
    spent = "the host&#x27;s CPU for each Gb/s or Mpps of a VF, as a share of what virtio spends"
    assert "line rate 200 Gb/s over all ports of a node, of which host to host reaches 95%" in table
    assert [re.sub(r"\|+", "|", row) for row in rows] == [
        "|Host to host|passed|&ndash;|190.00|",
        "|virtio on Geneve|only reported|&ndash;|24.00|",
        f"|VF on Geneve|failed|share of packets that the NICs forwarded; {spent}|182.00|",
    ]


def test_the_report_shows_what_ran_on_both_ends(whole):
    command = whole.result()["results"]["rungs"]["vf"]["commands"]["tcp-pinned"]
    server, client = command.partition("# vm1\n")[::2]
    assert server.startswith("# vm2\n")
    assert "iperf3 -s -1" in server
    assert "iperf3 -c 33.33.33.10" in client
