# SPDX-License-Identifier: Apache-2.0
"""Commissioning through the command: machines are powered on when that is asked for, and not before."""

import pytest
from lab.maassite import equip, forget, interfaces, machine, writes
from maas import commission as code


@pytest.fixture(autouse=True)
def hardware(maas, monkeypatch):
    """The hardware that commissioning finds on each machine; looks follow each other without a pause."""
    equip(maas)
    monkeypatch.setattr(code, "POLL", 0)


def test_without_being_asked_it_powers_nothing_on(maas, run):
    run("apply")
    maas.requests.clear()
    said = run("commission")
    for name in ("controller", "node1", "node2", "node3"):
        assert f"power {name} on and commission it" in said
    assert "Nothing was powered on: add --power-on to do that." in said
    assert writes(maas) == []


def test_machines_that_maas_does_not_know_are_to_be_applied_first(maas, run, site):
    said = run("commission")
    assert "waiting   node1       MAAS does not know it" in said
    assert "run apply first" in said
    assert "has seen every machine" not in said
    said = run("commission", "--power-on")
    assert said.endswith(f"MAAS knows no machine of the site; next: pipx run tox -e maas -- apply {site}\n")


def test_asked_it_commissions_every_machine_and_waits_until_they_are_ready(maas, run, site):
    said = run("apply")
    assert said.endswith(f"4 machines are New; next: pipx run tox -e maas -- commission {site} --power-on\n")
    assert "severity" not in said
    maas.requests.clear()
    said = run("commission", "--power-on")
    assert [path.split("/")[0] for _, path, _ in writes(maas)] == ["machines"] * 4
    at = [said.index(f"node1: {status}") for status in ("Testing", "Ready")]
    assert at == sorted(at)
    assert said.endswith(f"4 machines are Ready; next: pipx run tox -e maas -- apply {site}\n")
    assert "severity" not in said
    assert "not yet: create node1/bond0" in run("verify", expected=1)
    said = run("apply")
    assert "No finding: MAAS is as the site file says." in said
    assert said.endswith(
        f"4 machines are Ready; next: pipx run tox -e maas -- overlay {site} --output site-overlay.yaml\n"
    )


def test_apply_then_finishes_the_network_and_a_second_run_commissions_nothing(maas, run):
    run("apply")
    run("commission", "--power-on")
    run("apply")
    assert "br-nvda.40" in interfaces(maas, "node1")
    maas.requests.clear()
    assert "0 steps done" in run("commission", "--power-on")
    assert writes(maas) == []


def test_a_machine_that_failed_is_told_and_taken_up_by_the_next_run(maas, run):
    run("apply")
    found = maas.hardware.pop("node2")
    said = run("commission", "--power-on", expected=1)
    assert "node2: Failed commissioning" in said
    failed = (
        "it is Failed commissioning  see its results and its log in MAAS, mend it, and commission it again"
    )
    assert f"held      node2    {failed}" in said
    assert said.endswith("3 machines are Ready, 1 machine is Failed commissioning\n")
    maas.hardware["node2"] = found
    maas.requests.clear()
    assert "1 steps done" in run("commission", "--power-on")
    assert len(writes(maas)) == 1


@pytest.mark.parametrize("status", ["Ready", "Deployed", "Allocated"])
def test_a_machine_that_maas_has_seen_is_left_alone(built, run, status):
    machine(built, "node1")["status_name"] = status
    built.requests.clear()
    run("commission", "--power-on")
    assert writes(built) == []


def test_a_ready_machine_of_which_maas_knows_no_port_is_commissioned_again(built, run, site):
    """Somebody has deleted its interfaces, or commissioned it without a look at its network."""
    forget(built, "node1")
    said = run("apply", expected=1)
    why = "it is Ready, and MAAS knows none of its ports"
    helps = "commission it: pipx run tox -e maas -- commission SITE --power-on; if MAAS then"
    assert f"held      node1    {why}  {helps}" in said
    assert "next:" not in said
    assert f"power node1 on and commission it  {why}" in run("commission")
    built.requests.clear()
    said = run("commission", "--power-on")
    assert [path for _, path, _ in writes(built)] == [f"machines/{machine(built, 'node1')['system_id']}/"]
    assert said.endswith(f"4 machines are Ready; next: pipx run tox -e maas -- apply {site}\n")


def test_a_ready_machine_of_which_commissioning_found_no_port_stays_held(built, run):
    forget(built, "node1")
    built.hardware["node1"] = lambda: machine(built, "node1").update(status_name="Ready")
    said = " ".join(run("commission", "--power-on", expected=1).split())
    assert "if MAAS then still knows none, see in MAAS what its commissioning printed" in said


@pytest.mark.parametrize("status", ["Deployed", "Allocated"])
def test_a_machine_that_somebody_has_is_not_to_be_commissioned_for_its_ports(built, run, status):
    """MAAS also takes machines that others have deployed, whose interfaces it does not know."""
    forget(built, "node1")
    machine(built, "node1")["status_name"] = status
    said = run("verify")
    assert f"warning   node1    it is {status}, and MAAS knows none of its ports" in said
    assert "commission it: " not in said
    assert "power node1 on" not in run("commission")


@pytest.mark.parametrize("status", ["Failed testing", "Broken"])
def test_a_machine_that_juju_cannot_get_is_held(built, run, status):
    machine(built, "node2")["status_name"] = status
    assert f"held      node2    it is {status}" in run("apply", expected=1)


def test_a_machine_that_never_becomes_ready_ends_the_wait(maas, run, monkeypatch):
    run("apply")
    monkeypatch.setattr(code, "PATIENCE", -1)
    said = run("commission", "--power-on", expected=2)
    assert "did not become Ready; see its log in MAAS, then repeat" in said
