# SPDX-License-Identifier: Apache-2.0
"""Measurements that are interrupted, repeated, or of something else; the file that keeps their results."""

import json

import pytest


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


def test_what_an_expired_token_kept_from_being_measured_is_measured_when_it_continues(short):
    short.rungs = {**short.rungs, "vf-vlan": ("tcp-8",)}
    keystone, bash = short.openstack.keystone, short.machines._bash
    keystone.given.add("gAAAAA-still-valid")
    keystone.tokens.add("gAAAAA-still-valid")
    short.credentials(token="gAAAAA-still-valid")

    def expiring(machine, host, script):
        if "iperf3 -c 22.22.22." in script:
            keystone.expire()
        return bash(machine, host, script)

    short.machines._bash = expiring
    status, out, err = short.run("measure")
    assert status == 2
    assert "port direct_overlay1: the cloud refuses the credentials, or the token has expired" in err
    assert "VF on VLAN" in out
    short.machines._bash = bash
    short.credentials(password=keystone.password)
    status, out, _ = short.run("measure")
    assert "Continuing after virtio on Geneve." in out
    assert status == 0, out


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
    assert "version: 7 is not allowed; expected 1; move it away, then measure again" in err


def test_results_are_read_as_they_were_written(short):
    assert short.run("measure")[0] == 0
    first = short.result()["results"]
    assert short.result()["results"] == first
    assert (
        json.loads((short.state / "results.json").read_text()).items()
        >= {"cloud": "rdg", "version": 1}.items()
    )


def test_a_second_measurement_starts_anew(short):
    assert short.run("measure")[0] == 0
    short.machines.limits["direct_overlay"] = 100.0
    assert short.run("measure")[0] == 1
    assert "rdg: failed." in short.run("report")[1]
