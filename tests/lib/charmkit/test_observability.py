# SPDX-License-Identifier: Apache-2.0
"""A charm's databags for Canonical's observability stack, as Juju's events change them.

tests/cos compares it with what Canonical's libraries write and read.
"""

import base64
import json
import lzma
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import ops
import pytest
from charmkit import observability
from charmkit.observability import Observability
from ops import testing

META = {
    "name": "sriov-switchdev",
    "provides": {
        "cos-agent": {"interface": "cos_agent", "limit": 1},
        "metrics-endpoint": {"interface": "prometheus_scrape"},
    },
}
MODEL = testing.Model("site", uuid="0123abcd-0000-4000-8000-000000000000")


class Charm(ops.CharmBase):
    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self.observability = Observability(self, lambda: "node-1")


class OfTheFabric(ops.CharmBase):
    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        self.observability = Observability(self)


AGENT = testing.Relation("cos-agent", remote_app_name="otelcol")
ENDPOINT = testing.Relation("metrics-endpoint", remote_app_name="prometheus")


def context(unit: int = 0, app: str = "sriov-switchdev") -> testing.Context[Charm]:
    return testing.Context(Charm, meta=META, app_name=app, unit_id=unit, juju_version="3.6.0")


def published(relation: testing.Relation, event: str = "config_changed", **given: Any) -> testing.Relation:
    """The relation after one hook of a unit."""
    unit, app = given.pop("unit", 0), given.pop("app", "sriov-switchdev")
    found = context(unit, app)
    state = testing.State(relations={relation}, model=MODEL, **given)
    return found.run(getattr(found.on, event)(), state).get_relation(relation.id)


def agents(relation: testing.Relation) -> dict[str, Any]:
    return json.loads(relation.local_unit_data["config"])


def test_the_collector_is_told_all_five_keys() -> None:
    told = agents(published(AGENT))
    assert set(told) == {
        "metrics_alert_rules",
        "log_alert_rules",
        "dashboards",
        "metrics_scrape_jobs",
        "log_slots",
    }
    (job,) = told["metrics_scrape_jobs"]
    assert job["static_configs"] == [{"targets": ["localhost:19560"], "labels": {"instance": "node-1"}}]
    assert job["metrics_path"] == "/metrics"


DOCUMENTED = "https://forge.example/me/fork/blob/HEAD/charms/sriov-switchdev/README.md"


@pytest.mark.parametrize(
    ("links", "address"),
    [
        ({}, ""),
        ({"documentation": DOCUMENTED}, "https://forge.example/me/fork/blob/HEAD/"),
        ({"documentation": "https://forge.example/elsewhere"}, ""),
    ],
)
def test_dashboards_lead_to_the_documents_of_the_clone_that_was_packed(
    links: dict[str, str], address: str
) -> None:
    found = testing.Context(Charm, meta={**META, "links": links}, juju_version="3.6.0")
    after = found.run(found.on.config_changed(), testing.State(relations={AGENT}, model=MODEL))
    told = agents(after.get_relation(AGENT.id))["dashboards"]
    boards = [json.loads(lzma.decompress(base64.b64decode(each))) for each in told]
    assert len(boards) == 3
    for board in boards:
        (documents,) = (each for each in board["templating"]["list"] if each["name"] == "documents")
        assert (documents["query"], documents["current"]["value"]) == (address, address)


def test_the_jobs_name_stays_because_a_new_one_would_leave_a_series_that_is_down() -> None:
    assert (
        agents(published(AGENT))["metrics_scrape_jobs"][0]["job_name"] == "sriov-switchdev_default_8cdaba4d"
    )


def test_rules_have_the_topology_and_are_the_same_on_all_units() -> None:
    first, second = (agents(published(AGENT, unit=unit)) for unit in (0, 7))
    for key in "metrics_alert_rules", "log_alert_rules":
        assert first[key] == second[key]
        assert first[key]["groups"]
        for group in first[key]["groups"]:
            assert group["name"].startswith("site_0123abcd_sriov_switchdev_")
            assert group["name"].endswith("_rules")
    labels = {
        "juju_model": "site",
        "juju_model_uuid": MODEL.uuid,
        "juju_application": "sriov-switchdev",
        "juju_charm": "sriov-switchdev",
    }
    for group in first["metrics_alert_rules"]["groups"]:
        for rule in group["rules"]:
            assert labels.items() <= rule["labels"].items()


def test_a_log_has_the_collectors_labels_so_that_its_rules_name_no_application() -> None:
    for group in agents(published(AGENT))["log_alert_rules"]["groups"]:
        for rule in group["rules"]:
            assert {"juju_model", "juju_model_uuid", "severity"} == set(rule["labels"])


def test_another_applications_rules_are_others() -> None:
    told = agents(published(AGENT, app="gpu-nodes"))["metrics_alert_rules"]["groups"]
    assert told[0]["name"].startswith("site_0123abcd_gpu_nodes_")
    assert told[0]["rules"][0]["labels"]["juju_application"] == "gpu-nodes"


def test_prometheus_is_told_the_units_address_and_by_the_leader_the_rest() -> None:
    led = published(ENDPOINT, leader=True)
    assert led.local_unit_data["prometheus_scrape_unit_address"] == "192.0.2.0"
    assert led.local_unit_data["prometheus_scrape_unit_name"] == "sriov-switchdev/0"
    assert set(led.local_app_data) == {"scrape_metadata", "scrape_jobs", "alert_rules"}
    assert json.loads(led.local_app_data["scrape_jobs"])[0]["static_configs"] == [{"targets": ["*:19560"]}]
    assert published(ENDPOINT).local_app_data == {}


def test_a_second_hook_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    relations = {published(AGENT), published(ENDPOINT, leader=True)}
    wrote = list[str]()
    monkeypatch.setattr(ops.RelationDataContent, "__setitem__", lambda self, key, value: wrote.append(key))
    found = context()
    state = testing.State(relations=relations, model=MODEL, leader=True)
    found.run(found.on.config_changed(), state)
    found.run(found.on.update_status(), state)
    assert wrote == []


@pytest.mark.parametrize("event", ["config_changed", "upgrade_charm", "leader_elected"])
def test_what_may_change_it_writes_it(event: str) -> None:
    assert published(AGENT, event, leader=event == "leader_elected").local_unit_data["config"]


def test_a_new_relation_is_told_at_once() -> None:
    found = context()
    state = testing.State(relations={AGENT}, model=MODEL)
    after = found.run(found.on.relation_created(AGENT), state)
    assert after.get_relation(AGENT.id).local_unit_data["config"]


def address(relation: testing.Relation | None, *, broken: bool = False, **given: Any) -> str:
    """Where the exporter is to serve besides loopback, in one hook."""
    found = context()
    state = testing.State(relations={relation} if relation else set(), model=MODEL, **given)
    event = found.on.relation_broken(relation) if broken and relation else found.on.update_status()
    with found(event, state) as manager:
        return manager.charm.observability.address()


def test_an_address_is_served_only_while_prometheus_scrapes_it() -> None:
    assert address(None) == ""
    assert address(AGENT) == ""
    assert address(ENDPOINT) == "192.0.2.0"
    assert address(ENDPOINT, broken=True) == ""


def test_an_address_that_juju_does_not_know_yet_is_told_nobody() -> None:
    unknown = testing.Network("metrics-endpoint", bind_addresses=[], ingress_addresses=[])
    assert address(ENDPOINT, networks={unknown}) == ""
    assert published(ENDPOINT, networks={unknown}).local_unit_data == replace(ENDPOINT).local_unit_data


def test_an_idle_hook_loads_nothing_to_publish_with() -> None:
    code = "import sys, charmkit.observability; print('importlib.resources' in sys.modules)"
    library = Path(observability.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=library, capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


def test_a_charm_without_a_relation_to_the_collector_serves_prometheus_alone() -> None:
    meta = {"name": "cumulus-fabric", "provides": {"metrics-endpoint": META["provides"]["metrics-endpoint"]}}
    found = testing.Context(OfTheFabric, meta=meta, juju_version="3.6.0")
    state = testing.State(relations={ENDPOINT}, model=MODEL, leader=True)
    after = found.run(found.on.config_changed(), state).get_relation(ENDPOINT.id)
    assert json.loads(after.local_app_data["scrape_jobs"])[0]["static_configs"] == [{"targets": ["*:19560"]}]
