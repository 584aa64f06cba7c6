# SPDX-License-Identifier: Apache-2.0
"""The four charms on three machines without a ConnectX, on Juju 3.6 and 4.0; said.yaml is what is expected.

The tests share one model and run in this order.
"""

import json
import time

import pytest
import yaml
from integration.conftest import ROOT
from integration.deployment import HOOK, SETTLE, Deployment, gone
from integration.said import CHARMS, HOST_CHARMS, INTENT, credentials, read
from lab.juju import uniter

FABRIC = "cumulus-fabric"


def assert_fails(deployment: Deployment, unit: str, action: str, sentence: str) -> None:
    answer = deployment.act(unit, action)
    assert (answer.succeeded, sentence in answer.message) == (False, True), answer


def peers(charm: str) -> list[str]:
    """The endpoints of a charm's relations with its peers."""
    meta = yaml.safe_load((ROOT / f"charms/{charm}/charmcraft.yaml").read_text())
    return [*meta.get("peers", {})]


@pytest.mark.parametrize("charm", CHARMS)
def test_each_unit_says_what_it_lacks(deployment: Deployment, charm: str) -> None:
    deployment.settles(read(charm), SETTLE)


@pytest.mark.parametrize("charm", CHARMS)
def test_the_hooks_of_new_units_are_those_of_the_simulations(deployment: Deployment, charm: str) -> None:
    """Lab, bench and unit tests run hooks in the order of lab.juju.uniter. Relations have no order.

    Juju also goes back and forth between two of them, so that only contradictions are looked for.
    """
    endpoints = sorted([*peers(charm), *(["juju-info"] if charm in HOST_CHARMS else [])])
    for unit in deployment.units(charm):
        ran = deployment.hooks_of(unit)
        start, last_created = ran.index("start"), len(endpoints)
        first = [ran[0], *sorted(ran[1 : last_created + 1]), *ran[last_created + 1 : start + 1]]
        assert first == uniter.of_a_new_unit(endpoints, leads="leader-elected" in first), unit
        assert [*uniter.contradictions(ran)] == [], unit


@pytest.mark.parametrize("charm", CHARMS)
def test_values_are_refused_and_accepted(deployment: Deployment, charm: str) -> None:
    """One refused, one accepted, and so on: each status differs from the one before it."""
    said = read(charm)
    before = ""
    for number in range(max(len(said.refused), len(said.accepted))):
        refused = said.refused[number % len(said.refused)]
        accepted = said.accepted[number % len(said.accepted)]
        deployment.refuses(charm, refused, reset=before)
        deployment.accepts(said, accepted, refused=refused)
        before = accepted.option
    deployment.refuses(charm, said.refused[0], reset=before)
    deployment.juju.config(charm, reset=said.refused[0].option)
    deployment.settles(said)


@pytest.mark.parametrize(
    ("charm", "number"),
    [(charm, number) for charm in CHARMS for number in range(len(read(charm).actions))],
    ids=lambda each: str(each),
)
def test_an_action(deployment: Deployment, charm: str, number: int) -> None:
    act = read(charm).actions[number]
    answer = deployment.act(deployment.leader(charm), act.run, act.given)
    assert (answer.succeeded, (act.says or act.fails) in answer.text) == (not act.fails, True), answer


@pytest.mark.parametrize("charm", CHARMS)
def test_a_refused_option_fails_plan_and_verify(deployment: Deployment, charm: str) -> None:
    said = read(charm)
    deployment.refuses(charm, said.refused[0])
    sentence = said.refused[0].says
    for action in ("plan", "verify"):
        assert_fails(deployment, deployment.leader(charm), action, sentence)
    deployment.juju.config(charm, reset=said.refused[0].option)
    deployment.settles(said)


def test_the_fabric_charm_asks_for_its_secret_and_follows_it(deployment: Deployment) -> None:
    says, juju = credentials(), deployment.juju
    quick = {"request-timeout": 1, "intent": INTENT.read_text()}
    juju.config(FABRIC, quick)
    deployment.says(FABRIC, "blocked", says["unset"])
    secret = juju.add_secret("fabric", {"user": "cumulus", "password": "one"})
    juju.config(FABRIC, {"credentials": secret})
    deployment.says(FABRIC, "blocked", says["unreadable"])
    juju.grant_secret("fabric", FABRIC)
    juju.config(FABRIC, {"parallel": 32})  # Juju runs no hook for a grant
    deployment.says(FABRIC, "blocked", says["unreachable"])
    juju.update_secret("fabric", {"user": "cumulus"})
    deployment.says(FABRIC, "blocked", says["unusable"])
    juju.update_secret("fabric", {"user": "cumulus", "password": "two"})
    deployment.says(FABRIC, "blocked", says["unreachable"])
    juju.cli("revoke-secret", "fabric", FABRIC)
    assert_fails(deployment, deployment.leader(FABRIC), "plan", says["unreadable"])


def test_the_fabric_charm_audits_and_renders_without_a_switch(deployment: Deployment) -> None:
    leader = deployment.leader(FABRIC)
    answer = deployment.act(leader, "audit", {"format": "json"})
    assert answer.results["sound"] == "true", answer
    answer = deployment.act(leader, "render", {"switch": "Leaf0-1", "dialect": "5.14"})
    assert "nv set interface lo ip address 10.10.10.1/32" in answer.results["rendered"].splitlines(), answer
    assert "Leaf0-1" in deployment.act(leader, "show-fabric").results["fabric"]


def test_the_fabric_charm_goes_back_to_no_intent(deployment: Deployment) -> None:
    deployment.juju.config(FABRIC, reset=["intent", "credentials", "request-timeout", "parallel"])
    deployment.settles(read(FABRIC))


def test_hosts_and_fabric_are_related_and_parted(deployment: Deployment) -> None:
    for _ in range(2):
        deployment.juju.integrate("roce-qos:fabric", f"{FABRIC}:fabric")
        deployment.juju.wait(lambda status: "fabric" in status.apps["roce-qos"].relations, timeout=HOOK)
        deployment.settles(read("roce-qos"))
        deployment.juju.remove_relation("roce-qos:fabric", f"{FABRIC}:fabric")
        deployment.juju.wait(lambda status: "fabric" not in status.apps["roce-qos"].relations, timeout=HOOK)
        for charm, other in (("roce-qos", FABRIC), (FABRIC, "roce-qos")):
            deployment.settles(read(charm))
            lost = uniter.of_a_removed_relation("fabric", len(deployment.units(other)))
            for unit in deployment.units(charm):
                ran = [hook for hook in deployment.hooks_of(unit) if hook.startswith("fabric-relation-")]
                assert ran[-len(lost) :] == lost, unit


@pytest.mark.parametrize("charm", HOST_CHARMS)
def test_a_unit_leaves_nothing_behind_and_returns(deployment: Deployment, charm: str) -> None:
    juju = deployment.juju
    units = deployment.units(charm)
    juju.remove_relation(f"{deployment.PRINCIPAL}:juju-info", f"{charm}:juju-info")
    juju.wait(lambda status: gone(status, charm), timeout=HOOK)
    deployment.wait_until_nothing_is_left_by(charm)  # its last hooks may run later, or not at all
    for unit in units:
        assert [*uniter.contradictions(deployment.hooks_of(unit))] == [], unit
    deployment.relate(charm)
    deployment.settles(read(charm))


def test_a_request_of_another_charm_reboots_its_machine_once(deployment: Deployment) -> None:
    """sriov-switchdev needs no reboot where it selects no port: the test asks for one in its place."""
    unit = deployment.leader("nic-firmware")
    machine = deployment.machine_of(unit)
    others = {each: deployment.boot_id(each) for each in deployment.juju.status().machines if each != machine}
    asker = next(
        each for each in deployment.units("sriov-switchdev") if deployment.machine_of(each) == machine
    )
    request = {"reasons": ["a test asks for it"], "since": int(time.time()), "ready": True}
    told = {"version": 1, "unit": asker, "reboot_owner": "nic-firmware", "reboot": request}
    path = "/run/ovn-offload/sriov-switchdev.json"
    before = deployment.boot_id(machine)
    deployment.on_machine(
        machine,
        f"umask 077; mkdir -p /run/ovn-offload; printf %s '{json.dumps(told)}' > {path}.new; "
        f"mv {path}.new {path}",
    )
    waits = "nothing to approve"
    deadline = time.monotonic() + HOOK
    while waits:  # the .path unit starts a hook, which reads the file
        answer = deployment.act(unit, "approve-reboot")
        waits = "" if answer.succeeded else answer.message
        assert time.monotonic() < deadline, waits
        time.sleep(5 if waits else 0)
    deployment.wait_for_reboot(machine, before)
    deployment.settles(read("nic-firmware"))
    after = deployment.boot_id(machine)
    time.sleep(90)  # a second reboot would have begun by now
    assert deployment.boot_id(machine) == after
    assert {each: deployment.boot_id(each) for each in others} == others
    assert deployment.act(unit, "approve-reboot").message.startswith("nothing to approve")


def test_charms_settle_after_a_reboot_by_hand(deployment: Deployment) -> None:
    machine = sorted(deployment.juju.status().machines)[-1]
    before = deployment.boot_id(machine)
    deployment.on_machine(machine, "systemd-run --on-active=2 systemctl reboot")
    deployment.wait_for_reboot(machine, before)
    for charm in CHARMS:
        deployment.settles(read(charm))
