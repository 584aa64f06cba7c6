# SPDX-License-Identifier: Apache-2.0
"""The hosts' CPU time for each path: read on both nodes, told in one sentence, and drawn."""

import re
from xml.etree import ElementTree

import pytest
from acceptance.measure import cpu
from acceptance.measure.parse import Figure
from acceptance.measure.results import Results, RungResult
from acceptance.report import cores
from converge import StepError

SHORT = {"host": ("rdma-bw", "tcp-8"), "virtio": ("tcp-8",), "vf": ("tcp-8",)}


def reading(at, user, system, guest):
    return f"{at:.2f} cpu  {user} 5 {system} 9000 10 0 7 0 {guest} 0"


def test_guests_are_not_the_hosts_and_the_busiest_period_counts():
    """Ten seconds with one busy CPU, ten with three beside two that guests use, and ten with one again."""
    rates = [(1.0, 0.0)] * 10 + [(3.0, 2.0)] * 10 + [(1.0, 0.0)] * 10
    user = guest = 0.0
    lines = [reading(100, 0, 0, 0)]
    for at, (own, guests) in enumerate(rates, 101):
        user, guest = user + 100 * (own + guests), guest + 100 * guests
        lines.append(reading(at, int(user), 0, int(guest)))
    assert cpu.cores("\n".join(lines), 10) == pytest.approx(3.0)
    assert cpu.cores("\n".join(lines), 60) == pytest.approx(50 / 30)


@pytest.mark.parametrize("text", ["", reading(1, 1, 1, 0), "1.00 cpu  1 2 3\n2.00 cpu  4 5 6\n"])
def test_too_few_readings_are_no_rate(text):
    with pytest.raises(StepError, match="its CPU times could not be read"):
        cpu.cores(text, 10)


@pytest.fixture
def measured(applied):
    applied.rungs = SHORT
    applied.machines.limits["normal"] = 23.5
    return applied


def test_the_report_says_what_the_host_spends_on_virtio_and_on_the_vf(measured):
    status, out, err = measured.run("measure")
    assert status == 0, out + err
    said = "At 8 pairs the host spends 11.2 cores on virtio and 0.3 on the VF, for 23.5 and 182.0 Gb/s; "
    said += "for each core that is 2.1 Gb/s on virtio and 606.7 Gb/s on the VF."
    assert said in out
    told = measured.result()
    assert told["host-cpu"]["sentence"] == said
    spent = {(row["rung"], row["measure"]): row["nodes"] for row in told["host-cpu"]["rows"]}
    assert spent["virtio", "tcp-8"] == {"node1.maas": 11.2, "node2.maas": 11.2}
    assert spent["vf", "tcp-8"] == pytest.approx({"node1.maas": 0.3, "node2.maas": 0.3})
    page = (measured.state / "report.html").read_text()
    assert said in page
    drawn = [f"<svg{each.partition('</svg>')[0]}</svg>" for each in page.split("<svg")[1:]]
    titles = {ElementTree.fromstring(each).get("aria-label"): each for each in drawn}
    both = ElementTree.fromstring(titles["CPU of the host for this TCP"])
    shown = [rect.find("title").text for rect in both.iter("rect") if rect.find("title") is not None]
    assert shown == ["virtio on Geneve, 8 pairs: 11.20 cores", "VF on Geneve, 8 pairs: 0.30 cores"]
    assert "TCP by iperf3 pairs, virtio beside the VF" in titles
    assert "TCP for each core of the host" in titles
    row = ("virtio on Geneve", "TCP, 8 iperf3 pairs", "23.50 Gb/s", "11.20", "11.20", "83%", "2.10 Gb/s")
    assert "".join(f"<td>{cell}</td>" for cell in row) in page


def test_the_vf_is_drawn_with_the_stateful_group_that_virtio_has_too():
    figures = {"tcp-8": Figure(20.0, "Gb/s", {})}
    rungs = {
        key: RungResult(figures, cores={"tcp-8": {"node1": 2.0}})
        for key in ("host", "virtio", "vf", "vf-group", "north-south")
    }
    (first, *_) = [each for each in cores.section(Results("rdg", 1, 30, {}, rungs, True)) if "<svg" in each]
    shown = re.findall(r"<title>(.*?), 8 pairs", first)
    assert shown == ["virtio on Geneve", "VF on Geneve", "VF with a stateful security group"]


def test_a_host_whose_cpu_cannot_be_read_is_named_and_all_else_measured(measured):
    run_on = measured.machines.run_on

    def refusing(unit, script):
        if unit == "nova-compute/1" and cpu.UNIT in script:
            script = "echo 'Failed to connect to bus' >&2; exit 1"
        return run_on(unit, script)

    measured.machines.run_on = refusing
    status, out, err = measured.run("measure")
    assert status == 2, out + err
    assert "not seen: CPU of node2.maas: node2.maas: Failed to connect to bus" in out
    assert "TCP: not shown: node2.maas: its counters could not be read" in out
    assert "the host spends 11.2 cores on virtio" in out
    assert "<li>CPU of node2.maas" in (measured.state / "report.html").read_text()


def test_nothing_is_left_on_a_node(measured):
    measured.run("measure")
    scripts = [script for machine, script in measured.machines.scripts if cpu.UNIT in script]
    started = [script for script in scripts if "systemd-run" in script]
    measurements = sum(map(len, SHORT.values()))
    assert len(started) == 2 * measurements
    assert len(scripts) == 2 * len(started)
    assert all(f"rm -f {cpu.FILE}" in script for script in scripts if script not in started)


def test_a_vf_that_costs_nothing_has_no_rate_for_each_core():
    rungs = {
        key: RungResult({"tcp-2": Figure(rate, "Gb/s", {})}, cores={"tcp-2": {"node1": spent}})
        for key, rate, spent in (("virtio", 20.0, 10.0), ("vf", 180.0, 0.0))
    }
    said = cores.sentence(Results("rdg", 1, 30, {}, rungs, True))
    assert said == (
        "At 2 pairs the host spends 10.0 cores on virtio and 0.0 on the VF, for 20.0 and 180.0 Gb/s; "
        "for each core that is 2.0 Gb/s on virtio."
    )
