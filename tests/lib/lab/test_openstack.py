# SPDX-License-Identifier: Apache-2.0
"""Scenario openstack's reading of the acceptance tool's report, and of the objects that are left after it."""

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from acceptance.__main__ import Around
from acceptance.kinds import KINDS
from acceptance.measure.results import Results, RungResult, as_data
from acceptance.measure.witness import Witness
from lab.checks import Check
from lab.rack import openstack, ovn, spoiled
from lab.rack.operator import MEASURES

Told = dict[str, Any]


def verdict(rung: str, check: str, state: str, measured: str) -> dict[str, str]:
    """One of the tool's."""
    return {"rung": rung, "check": check, "state": state, "measured": measured, "cause": ""}


@pytest.fixture
def told() -> Told:
    """The report of a rack where all is well, at the speed of emulated processors."""
    rungs = {
        key: {"figures": {each: {"value": 0.2, "unit": "Gb/s"} for each in measures}, "problems": {}}
        for key, measures in MEASURES.items()
    }
    checks = [
        verdict("vf", "mtu", "passed", "a packet of 8942 bytes arrives"),
        verdict("vf", "in-nic", "passed", "TCP: past the kernel sent 99.87%; Open vSwitch 99.95%"),
        verdict("vf", "vf-to-host", "failed", "tcp-1: 0.10 of 0.20 Gb/s = 50%"),
    ]
    sentence = "At 8 pairs the host spends 1.9 cores on virtio and 1.2 on the VF, for 0.2 and 0.2 Gb/s."
    rows = [
        {"rung": key, "measure": each, "nodes": {"node-0": 1.9, "node-1": 1.2}}
        for key, measures in MEASURES.items()
        for each in measures
    ]
    cpu = {"sentence": sentence, "unknown": [], "rows": rows}
    return {"results": {"rungs": rungs}, "checks": checks, "host-cpu": cpu}


def measured(told: Told, tmp_path: Path, kernels: tuple[str, str] = ("", "")) -> dict[str, Check]:
    """The scenario's checks by subject, and the report beside the rack's."""
    (tmp_path / "report.html").write_text("the page")
    rack = SimpleNamespace(
        display=SimpleNamespace(phase=lambda name: None),
        pages={},
        substituted=(),
        on_nodes=lambda command: {openstack.EXTENSION: dict(zip(("node-0", "node-1"), kernels))}[command],
    )
    person = SimpleNamespace(rack=rack, state=tmp_path, run=lambda verb: (1, ""), report=lambda: told)
    found = openstack.measured(person)  # type: ignore[arg-type]
    assert rack.pages["openstack.html"] == "the page"
    assert any("network namespace" in sentence for sentence in rack.substituted)
    assert ("CONFIG_NET_TC_SKB_EXT" in " ".join(rack.substituted)) == (not all(kernels))
    return {check.subject: check for check in found}


def bad(found: dict[str, Check]) -> list[str]:
    """Subjects of the checks that do not hold."""
    return [subject for subject, check in found.items() if not check.holds]


def test_figures_of_emulated_processors_are_not_judged_by_their_speed(told: Told, tmp_path: Path) -> None:
    found = measured(told, tmp_path)
    assert bad(found) == []
    assert found["rung vf"].found == "tcp-1 0.2 Gb/s, 1.9 host cores; tcp-8 0.2 Gb/s, 1.9 host cores"
    assert not any("vf-to-host" in subject for subject in found)


def test_a_rung_with_a_wrong_mtu_or_out_of_the_nic_does_not_hold(told: Told, tmp_path: Path) -> None:
    told["checks"][0] = verdict("vf", "mtu", "failed", "a packet of 8942 bytes does not arrive")
    told["checks"][1] = verdict(
        "vf", "in-nic", "failed", "TCP: past the kernel sent 30.00%; Open vSwitch 99.95%"
    )
    assert bad(measured(told, tmp_path)) == ["rung vf, mtu", "rung vf, in-nic"]


def test_tracked_connections_are_out_of_the_nic_under_debian_and_the_tool_says_why(
    told: Told, tmp_path: Path
) -> None:
    verdicts = [verdict(rung, "in-nic", "failed", "20.00%") for rung in openstack.TRACKED]
    told["checks"] += verdicts
    subjects = [f"rung {rung}, in-nic" for rung in openstack.TRACKED]
    assert bad(measured(told, tmp_path)) == subjects
    for each in verdicts:
        each["cause"] = "2 flows: OVS could not express it for the kernel's classifier (see ovs-vswitchd.log)"
    assert bad(measured(told, tmp_path)) == []
    option = "CONFIG_NET_TC_SKB_EXT=y\n"
    assert bad(measured(told, tmp_path, (option, ""))) == [], "both nodes need it"
    assert bad(measured(told, tmp_path, (option, option))) == subjects
    verdicts[0]["state"] = "passed"
    assert bad(measured(told, tmp_path)) == subjects[:1]


def test_a_measurement_that_is_missing_does_not_hold(told: Told, tmp_path: Path) -> None:
    del told["results"]["rungs"]["north-south"]
    told["results"]["rungs"]["vf"]["figures"].pop("tcp-8")
    told["results"]["rungs"]["vf-vlan"]["problems"] = {"": "vm1 cannot be reached by ssh"}
    found = measured(told, tmp_path)
    assert bad(found) == ["rung vf", "rung vf-vlan", "rung north-south"]
    assert found["rung north-south"].found == "not reached"
    assert "vm1 cannot be reached by ssh" in found["rung vf-vlan"].found


def test_a_report_without_the_hosts_cpu_on_both_paths_does_not_hold(told: Told, tmp_path: Path) -> None:
    assert measured(told, tmp_path)["CPU of the host"].found.startswith("At 8 pairs the host spends 1.9")
    unknown = ["CPU of node-0: it has no /proc/stat"]
    told["host-cpu"] = {"sentence": "", "unknown": unknown, "rows": told["host-cpu"]["rows"][1:]}
    found = measured(told, tmp_path)
    assert bad(found) == ["rung host", "CPU of the host"]
    assert found["CPU of the host"].found == "CPU of node-0: it has no /proc/stat"


def counted(slow: int, inside: int = 40_000) -> Witness:
    """A node whose VF sent 20,000 packets, of which the kernel had so many on representor and uplink."""
    packets = {"sent": 20_000, "received": 900}
    had = {"sent": slow, "received": 2}
    return Witness(
        40.0, vf=packets, slow=had, wire={"p0": packets}, kernel={"p0": had},
        flows=4, inside=inside, outside=40_010 - inside,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("status", "nodes", "holds"),
    [
        (1, (counted(30), counted(20_000)), [True, True]),
        (0, (counted(30), counted(20_000)), [False, True]),
        (1, (counted(30), counted(0)), [True, False]),
        (1, (counted(30), counted(20_000, inside=100)), [True, False]),
        (1, (counted(9_000), counted(20_000)), [True, False]),
        (1, (counted(30), Witness()), [True, False]),
    ],
    ids=[
        "fails with both witnesses",
        "passes",
        "the fault has no effect",
        "Open vSwitch knows it",
        "the sound node fails too",
        "nothing is shown",
    ],
)
def test_a_card_that_forwards_nothing_must_fail_whatever_ovs_says(
    status: int, nodes: tuple[Witness, Witness], holds: list[bool]
) -> None:
    witnesses = {"tcp-1": dict(zip(("node-0", "node-1"), nodes))}
    results = Results("rack", 1_795_000_000, 40, rungs={"vf": RungResult(witnesses=witnesses)})
    explanation = [{"subject": "VF on Geneve", "what": "offload (share of packets: TCP: sent 0.00%)"}]
    report = json.loads(json.dumps({"explanation": explanation, "results": as_data(results)}))
    ran: list[tuple[str, str]] = []
    person = SimpleNamespace(
        nodes=["node-0", "node-1"],
        around=Around(),
        rack=SimpleNamespace(on=lambda node, command, **_: ran.append((node, command))),
        run=lambda verb: (status, ""),
        report=lambda: report,
    )
    assert [check.holds for check in spoiled.slow_path(person)] == holds  # type: ignore[arg-type]
    assert ran == [("node-1", spoiled.SLOW.wrong), ("node-1", spoiled.SLOW.right)]


def test_an_address_of_a_server_is_told_from_that_of_the_labs_own_instance(tmp_path: Path) -> None:
    fake = tmp_path / "ip"
    addresses = (ovn.mac(1), "fa:16:3e:30:28:3e", "52:54:00:77:02:00")
    shown = "".join(f"    link/ether {each} brd ff:ff:ff:ff:ff:ff\n" for each in addresses)
    fake.write_text(f"#!/bin/sh\nprintf '{shown}'\n")
    fake.chmod(0o755)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", openstack.ADDRESSES], capture_output=True, text=True, env=path)
    assert done.stdout == "fa:16:3e:30:28:3e\n"
    assert openstack.ADDRESSES in openstack.LEFT


def test_what_a_server_leaves_on_its_node_does_not_hold() -> None:
    said = {"node-0": "instance-00000001\nenp59s0f0r2\n", "node-1": ""}
    rack = SimpleNamespace(
        display=SimpleNamespace(phase=lambda name: None), on_nodes=lambda command, **options: said
    )
    door = SimpleNamespace(all={kind: [] for kind in KINDS})
    person = SimpleNamespace(
        rack=rack, door=lambda: door, run=lambda verb: (0, "44 deleted; nothing is left.\n")
    )
    found = {check.subject: check for check in openstack.destroyed(person)}  # type: ignore[arg-type]
    assert bad(found) == ["node-0: left of servers"]
    assert found["node-0: left of servers"].found == "instance-00000001 enp59s0f0r2"
