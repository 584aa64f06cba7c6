# SPDX-License-Identifier: Apache-2.0
"""Hooks: what the unit's status says, and that only an apply writes to a switch."""

import json
from dataclasses import replace
from typing import Any

import ops
import pytest
from charmkit.fabric import Host, Marking, Neighbour, Policy, PortReport
from lab.nvue import Certificate, Fault
from ops import testing
from unit.cumulus_fabric.online.site import PASSWORD
from unit.cumulus_fabric.online.unit import Unit, intent, site

EVENTS = ("start", "config_changed", "update_status", "upgrade_charm", "leader_elected")


@pytest.mark.parametrize("event", EVENTS)
def test_every_hook_reports_drift_and_writes_nothing_under_the_manual_policy(fresh: Unit, event: str) -> None:
    status = fresh.emit(event)
    assert status.name == "blocked"
    assert "settings differ from the intent: " in status.message
    assert fresh.writes == []


@pytest.mark.parametrize("event", EVENTS)
def test_every_hook_on_a_fabric_that_runs_the_intent_is_active(running: Unit, event: str) -> None:
    assert running.emit(event) == ops.ActiveStatus()
    assert running.writes == []


@pytest.mark.filterwarnings("ignore:.*-series-upgrade events:DeprecationWarning")
def test_an_upgrade_of_the_units_machine_leaves_status_and_switches(running: Unit) -> None:
    status = running.emit("update_status")
    for event in ("pre_series_upgrade", "post_series_upgrade", "start", "upgrade_charm", "config_changed"):
        assert running.emit(event) == status
        assert running.writes == []


def test_a_changed_secret_and_a_changed_host_report_are_verified(running: Unit) -> None:
    assert running.emit("secret_changed", running.secret) == ops.ActiveStatus()
    for event in ("relation_created", "relation_changed", "relation_broken"):
        relation = running.state.get_relation(running.relation.id)
        assert running.emit(event, relation) == ops.ActiveStatus()


def test_a_fabric_that_the_command_line_applied_is_adopted_with_an_empty_plan(running: Unit) -> None:
    assert running.action("plan")["plan"].startswith("Nothing to do: ")
    assert running.action("apply")["result"] == "fully applied: 0 switches changed"
    assert running.writes == []


def test_the_auto_policy_applies_in_the_hook_of_a_change(fresh: Unit) -> None:
    assert fresh.configure(apply_policy="auto").emit() == ops.ActiveStatus()
    assert {write.split()[0] for write in fresh.writes} == {"Spine0", "Leaf0-1", "Leaf0-2"}
    assert fresh.emit() == ops.ActiveStatus()
    assert fresh.writes == []


def test_update_status_reports_drift_and_never_writes(running: Unit) -> None:
    running.configure(apply_policy="auto")
    box = running.rack.servers["Leaf0-1"].switch
    box.applied["interface"]["bond1"]["link"]["mtu"] = 1500
    box.backend.apply(box.applied)
    status = running.emit("update_status")
    assert status.name == "blocked"
    assert "Leaf0-1" in status.message
    assert running.writes == []


def test_only_the_leader_acts(fresh: Unit) -> None:
    fresh.state = replace(fresh.state, leader=False)
    fresh.configure(apply_policy="auto")
    assert fresh.emit() == ops.ActiveStatus()
    assert all(not server.calls for server in fresh.rack.servers.values())
    assert "run this action on the leader" in fresh.failure("apply")
    assert "run this action on the leader" in fresh.failure("rollback")


def test_removal_says_that_the_switches_stay(running: Unit) -> None:
    assert running.emit("stop") == ops.MaintenanceStatus("removed; the switches keep their configuration")
    assert running.writes == []


def broken_vlan(content: dict[str, Any]) -> None:
    content["networks"]["oam"]["vlan"] = 4095


def twice_the_same_port(content: dict[str, Any]) -> None:
    content["racks"][0]["single-homed"] = {"juju": {"leaf": 1, "port": "swp9"}}


def one_vlan_twice(content: dict[str, Any]) -> None:
    content["networks"]["storage"] = {"vlan": 9, "vni": 50}


TROUBLE = {
    "no intent": (
        {"intent": ""},
        "run: juju config cumulus-fabric intent=@FILE; option intent",
    ),
    "no YAML": ({"intent": "networks: [oh"}, "intent"),
    "a wrong value": ({"intent": intent(broken_vlan)}, "networks.oam.vlan: 4095 is not allowed"),
    "an audit": ({"intent": intent(twice_the_same_port), "apply_policy": "auto"}, "swp9"),
    "a VLAN twice": ({"intent": intent(one_vlan_twice), "apply_policy": "auto"}, "VLAN 9"),
    "no management": (
        {"intent": intent(lambda content: content["spines"].pop("management"))},
        "Spine0: has no management address",
    ),
    "a strange canary": ({"canary": "Leaf9-9"}, "option canary: Leaf9-9 is not a switch of the intent; the"),
    "no credentials": ({"credentials": None}, "run: juju config cumulus-fabric credentials=ID"),
    "no such secret": (
        {"credentials": "secret:d0erdgfmp25c762i8np0"},
        "option credentials: the secret cannot be read",
    ),
    "no CA": ({"ca_certificate": ""}, "ca-certificate"),
    "a strange pin": ({"pinned_certificates": f"Leaf0-1={'0' * 64}"}, "it is not the pinned one"),
}


@pytest.mark.parametrize(("options", "said"), TROUBLE.values(), ids=TROUBLE)
def test_each_failure_gets_one_sentence_a_blocked_unit_and_no_write(
    fresh: Unit, options: dict[str, Any], said: str
) -> None:
    fresh.configure(apply_policy="auto").configure(**options)
    status = fresh.emit()
    assert status.name == "blocked"
    assert said in fresh.log + status.message
    assert "\n" not in status.message
    assert fresh.writes == []
    assert "Traceback" not in fresh.log


def test_switches_that_do_not_answer_are_named(fresh: Unit) -> None:
    fresh.rack.servers["Leaf0-1"].inject(Fault("reset", times=0))
    assert "Leaf0-1" in fresh.emit().message
    assert fresh.writes == []


def test_a_wrong_password_and_an_unchanged_factory_password(fresh: Unit) -> None:
    fresh.rack.servers["Leaf0-1"].password = "something else"
    fresh.emit()
    assert "Leaf0-1: the switch refused user cumulus; correct the user or password in the secret" in fresh.log
    for server in fresh.rack.servers.values():
        server.password = "cumulus"
    secret = testing.Secret({"password": "cumulus"})
    fresh.state = replace(fresh.state, secrets={secret})
    fresh.configure(credentials=secret.id).emit()
    assert "Leaf0-1: the default password has not been changed; log in to the switch once" in fresh.log
    assert fresh.writes == []


@pytest.mark.parametrize(
    "content", [{"user": "cumulus"}, {"password": "two\nlines"}, {"user": "a:b", "password": "x"}]
)
def test_a_secret_without_a_usable_password(fresh: Unit, content: dict[str, str]) -> None:
    secret = testing.Secret(content)
    fresh.state = replace(fresh.state, secrets={secret})
    assert "has no usable user or password" in fresh.configure(credentials=secret.id).emit().message


@pytest.mark.parametrize("release", ["4.4.0", "5.3.1", "6.0.0"])
def test_an_unsupported_release_is_recognised(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch, release: str
) -> None:
    with site(certificate, monkeypatch, release=release) as unit:
        unit.emit()
        assert (
            f"Cumulus Linux {release} is not supported; install Cumulus Linux 5.5 or a later 5.x" in unit.log
        )


def test_pinned_certificates_replace_the_authority(running: Unit, certificate: Certificate) -> None:
    pinned = " ".join(f"{name}={certificate.fingerprint}" for name in running.rack.servers)
    running.configure(ca_certificate="", pinned_certificates=pinned)
    assert running.emit() == ops.ActiveStatus()


def test_jujus_proxies_reach_the_client(running: Unit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUJU_CHARM_HTTPS_PROXY", "http://squid.internal:3128")
    monkeypatch.setenv("JUJU_CHARM_NO_PROXY", "127.0.0.0/8")
    assert running.emit() == ops.ActiveStatus()
    assert running.access is not None
    assert running.access.proxy == "http://squid.internal:3128"


def test_the_intent_may_be_a_resource(running: Unit, tmp_path: Any) -> None:
    path = tmp_path / "intent.yaml"
    path.write_text(intent())
    running.state = replace(running.state, resources={testing.Resource(name="intent", path=path)})
    assert running.configure(intent="").emit() == ops.ActiveStatus()


def test_the_password_is_in_requests_only(fresh: Unit) -> None:
    for server in fresh.rack.servers.values():
        server.password = "changed meanwhile"
    said = [str(fresh.emit("update_status")), fresh.log]
    said += [fresh.failure("apply"), fresh.log, str(fresh.action("verify")), fresh.log, repr(fresh.access)]
    assert PASSWORD not in "\n".join(said)


# -- hosts


def report(**changes: Any) -> str:
    """node1 as it should be: both ports on bond1 of its rack, everything as the fabric says."""
    ports = tuple(
        PortReport(
            netdev=f"enp59s0f{n}np{n}",
            bdf=f"0000:3b:00.{n}",
            mac=f"b8:3f:d2:00:00:0{n}",
            mtu=9000,
            bond="bond0",
            partner_mac="44:38:39:ff:00:01",
            neighbour=Neighbour("44:38:39:00:00:01", "swp9", f"Leaf0-{n + 1}"),
        )
        for n in (0, 1)
    )
    return Host(
        "node1", tuple(replace(port, **changes) if port.bdf.endswith("1") else port for port in ports)
    ).to_json()


def test_the_policy_is_published_to_hosts(running: Unit) -> None:
    running.emit()
    told = Policy.from_json(running.state.get_relation(running.relation.id).local_app_data["policy"])
    assert told.segment_macs == {"rack0": "44:38:39:ff:00:01"}
    assert told.mtu.host == 9000
    assert told.qos is not None
    assert (told.qos.pfc, told.qos.roce, told.qos.ets) == ((3,), Marking(26, 3), {0: 50, 3: 50, 6: "strict"})
    assert {vlan.id for vlan in told.vlans} == {0, 9, 10, 40, 101}


def test_a_host_with_correct_cables_and_settings(running: Unit) -> None:
    assert running.hosts(report()).emit() == ops.ActiveStatus()


HOSTS = {
    "another rack's partner": ({"partner_mac": "44:38:39:ff:00:02"}, "LACP partner", "blocked"),
    "another host's port": (
        {"neighbour": Neighbour("44:38:39:00:00:01", "swp10", "Leaf0-2")},
        "enp59s0f1np1 is wired to Leaf0-2 bond2, the intent has node2 there",
        "blocked",
    ),
    "another host's port of a switch with a domain": (
        {"neighbour": Neighbour("44:38:39:00:00:01", "swp10", "leaf0-2.example.com")},
        "enp59s0f1np1 is wired to Leaf0-2 bond2, the intent has node2 there",
        "blocked",
    ),
    "an MTU of its own": ({"mtu": 1500}, "MTU 1500, the fabric expects 9000", "waiting"),
}


@pytest.mark.parametrize(("change", "said", "status"), HOSTS.values(), ids=HOSTS)
def test_a_host_with_wrong_cables_or_settings(
    running: Unit, change: dict[str, Any], said: str, status: str
) -> None:
    assert running.hosts(report(**change)).emit().name == status
    assert said in running.log
    assert "node1" in running.log
    assert json.loads(running.action("verify", format="json")["findings"])
    assert running.action("verify")["verified"] == "false"


def test_an_unreadable_host_report_is_named_and_skipped(running: Unit) -> None:
    status = running.hosts('{"version": 1, "hostname": 7}').emit()
    assert status.name == "active"
    assert "roce-qos/0: host.hostname: 7 is not allowed" in status.message
