# SPDX-License-Identifier: Apache-2.0
"""A site of 256 nodes: machines side by side, none held up by another one, tables that are cut."""

import sys
import time
import urllib.error
from functools import partial

import pytest
from converge.render import MOST
from lab.maas import CONFLICT, RefusedError, Region
from lab.maassite import NUMA, PORTS, commission, connect, discover, grown, machine, writes, written
from maas import __main__ as command
from maas import commission as waiting
from maas.plan import observe, plan
from maas.sitefile.reader import read_site
from operate import together

NODES = 256


class Slow(Region):
    """Takes its time for a request, refuses those about `failing` machines, and all of them once `gone`."""

    def __init__(self):
        super().__init__()
        self.seconds, self.at_once, self.most_at_once = 0.0, 0, 0
        self.failing, self.gone = set(), False

    def http_open(self, request):
        with self.lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        time.sleep(self.seconds)
        try:
            if self.gone:
                self.requests.append((request.get_method(), request.full_url, {}))
                raise urllib.error.URLError("no route to host")
            return super().http_open(request)
        finally:
            with self.lock:
                self.at_once -= 1

    def answer(self, method, words, op, data):
        names = {each["system_id"]: each["hostname"] for each in self.machines}
        if self.failing & {names.get(word, "") for word in words}:
            raise RefusedError(503, "its BMC does not answer")
        return super().answer(method, words, op, data)


def region_for(monkeypatch):
    region = Slow()
    discover(region, "192.168.0.0/16")
    connect(monkeypatch, region)
    return region


@pytest.fixture
def maas(monkeypatch):
    return region_for(monkeypatch)


@pytest.fixture
def site(maas, tmp_path):
    return grown(written(tmp_path), NODES)


@pytest.fixture
def seen(maas, run):
    """All machines are commissioned, and their networks are not made yet."""
    run("apply")
    commission(maas, "controller", PORTS[:1])
    for number in range(NODES):
        commission(maas, f"node{number}", PORTS, NUMA)
    maas.requests.clear()
    return maas


def test_a_machine_whose_step_fails_keeps_no_other_one_from_its_network(seen, run):
    seen.failing = {"node7"}
    said = run("apply", expected=1)
    assert "503" in said
    assert "its BMC does not answer" in said
    assert "steps done. Mend what failed, then repeat this for the others." in said
    made = {name for name in (f"node{number}" for number in range(NODES)) if bridged(seen, name)}
    assert made == {f"node{number}" for number in range(NODES)} - {"node7"}
    seen.failing.clear()
    seen.requests.clear()
    run("apply")
    assert bridged(seen, "node7")
    assert len(writes(seen)) < 20
    seen.requests.clear()
    run("apply")
    assert writes(seen) == []


def bridged(region, name):
    return any(each["name"] == "br-nvda" for each in machine(region, name)["interface_set"])


def test_what_maas_refuses_for_each_machine_is_told_for_60_of_them(seen, run):
    seen.failing = {f"node{number}" for number in range(NODES)}
    said = run("apply", expected=1).splitlines()
    assert sum("its BMC does not answer" in line for line in said) == MOST
    assert f"{NODES - MOST} more failures: --all shows them" in said


def test_a_machine_that_does_not_power_on_keeps_no_other_one_from_commissioning(maas, run, monkeypatch):
    monkeypatch.setattr(waiting, "POLL", 0)
    run("apply")
    maas.requests.clear()
    maas.failing = {"node3"}
    for each in maas.machines:
        name = each["hostname"]
        maas.hardware[name] = partial(commission, maas, name, PORTS[: 1 + (name != "controller")], NUMA)
    said = run("commission", "--power-on", expected=1)
    assert "its BMC does not answer" in said
    asked = {path for method, path, _ in writes(maas) if method == "POST"}
    assert len(asked) == 1 + NODES
    assert [each["hostname"] for each in maas.machines if each["status_name"] == "New"] == ["node3"]


def test_machines_are_asked_side_by_side_up_to_the_limit(seen, run):
    run("apply")
    seen.requests.clear()
    seen.most_at_once, seen.seconds = 0, 0.005
    run("verify")
    assert seen.most_at_once == together.AT_ONCE
    devices = [path for _, path, _ in seen.requests if path.endswith("/devices/")]
    assert len(devices) == len({*devices}) == 1 + NODES


def test_a_machine_whose_hardware_maas_does_not_tell_is_one_finding(seen, run):
    run("apply")
    seen.failing = {"node9"}
    said = run("verify", expected=1)
    (line,) = [line for line in said.splitlines() if "its hardware is not known" in line]
    assert line.split()[:2] == ["held", "node9"]


@pytest.mark.parametrize(("times", "expected"), [(4, 0), (5, 1)])
def test_a_write_that_met_another_one_is_tried_again_when_maas_asks_for_it(
    seen, run, monkeypatch, times, expected
):
    naps, left = [], [CONFLICT] * times
    answer = seen.answer

    def sometimes(method, words, op, data):
        if method != "GET" and left and data.get("name") == "bond0":
            raise RefusedError(409, left.pop())
        return answer(method, words, op, data)

    monkeypatch.setattr(seen, "answer", sometimes)
    monkeypatch.setattr("maas.client.time.sleep", naps.append)
    monkeypatch.setattr(together, "AT_ONCE", 1)
    said = run("apply", expected=expected)
    assert [seconds for seconds in naps if seconds] == [5] * 4
    assert (CONFLICT in said) == bool(expected)


def test_a_region_that_is_lost_is_not_asked_for_each_machine(seen, run, monkeypatch):
    class Leaves(list):
        """The region is gone with the first write."""

        def append(self, request):
            super().append(request)
            seen.gone = seen.gone or request[0] != "GET"

    monkeypatch.setattr(seen, "requests", Leaves())
    said = run("apply", expected=1)
    assert "cannot be reached: no route to host" in said
    assert len(writes(seen)) <= 1 + 2 * together.AT_ONCE


def test_one_request_without_answer_costs_only_the_machine_that_it_was_about(seen, run, monkeypatch):
    run("apply")
    (node9,) = [each["system_id"] for each in seen.machines if each["hostname"] == "node9"]
    left, opened = [f"/nodes/{node9}/devices/"], seen.http_open

    def breaks_once(request):
        if any(part in request.full_url for part in left):
            left.clear()
            raise urllib.error.URLError("connection reset by peer")
        return opened(request)

    monkeypatch.setattr(seen, "http_open", breaks_once)
    said = run("verify", expected=1)
    (line,) = [line for line in said.splitlines() if "its hardware is not known" in line]
    assert line.split()[:2] == ["held", "node9"]
    assert "connection reset by peer" in line


@pytest.mark.parametrize(("verb", "what"), [("plan", "steps"), ("verify", "findings")])
def test_the_first_rows_and_a_number_are_shown_unless_all_are_wanted(seen, run, verb, what):
    expected = int(verb == "verify")
    short, whole = run(verb, expected=expected), run(verb, "--all", expected=expected)
    (more,) = [line for line in short.splitlines() if line.endswith(f"more {what}: --all shows them")]
    assert len(short.splitlines()) < 3 * MOST
    assert "more " + what not in whole
    assert len(whole.splitlines()) > int(more.split()[0]) > 9 * NODES


def test_what_is_asked_before_a_plan_does_not_grow_with_the_machines(seen, run):
    run("plan")
    assert len(seen.requests) < 25


def test_a_plan_costs_as_much_for_each_machine_at_256_as_at_64(tmp_path, monkeypatch):
    def cost(nodes):
        region = region_for(monkeypatch)
        folder = tmp_path / str(nodes)
        folder.mkdir()
        path = grown(written(folder), nodes)
        command.main(["apply", str(path)])
        commission(region, "controller", PORTS[:1])
        for number in range(nodes):
            commission(region, f"node{number}", PORTS, NUMA)
        site = read_site(path)
        objects = observe(command._connect(site), site)
        return calls(lambda: plan(site, objects)) / nodes

    assert cost(256) < 1.2 * cost(64)


def calls(work):
    """Python functions that it calls."""
    count = 0

    def counted(_frame, event, _argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
