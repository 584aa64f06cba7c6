# SPDX-License-Identifier: Apache-2.0
"""The form in which databags of the observability stack are recorded and compared."""

import hashlib
import json
from pathlib import Path
from typing import Any

from ops import testing

RECORDING = Path(__file__).with_name("recording.json")

Read = dict[str, Any]
GENERIC = "HostHealth"
"""Part of the name of a group that the libraries add: HostDown and HostMetricsMissing of the application.
The collector and Prometheus bring them for each unit, so that the charms leave them out."""
OF_THE_COLLECTOR = ("juju_application", "juju_charm")
"""Labels of a log rule that the charms leave to the collector, whose logs they are."""


def of_agent(databag: Read) -> Read:
    """Rules by group with a digest of each, and the jobs without what Juju adds to their labels."""
    return {
        "alerts": _rules(databag["metrics_alert_rules"]),
        "logs": _rules(databag["log_alert_rules"], OF_THE_COLLECTOR),
        "jobs": [_job(job) for job in databag["metrics_scrape_jobs"]],
        "slots": databag["log_slots"],
    }


def of_endpoint(relation: testing.Relation) -> Read:
    """The same of the databags that Prometheus reads."""
    app = {name: json.loads(text) for name, text in relation.local_app_data.items()}
    unit = {
        name: text for name, text in relation.local_unit_data.items() if name.endswith(("address", "name"))
    }
    return {
        "alerts": _rules(app["alert_rules"]),
        "jobs": [_job(job) for job in app["scrape_jobs"]],
        "metadata": app["scrape_metadata"],
        "unit": {name: text for name, text in unit.items() if name.startswith("prometheus_scrape")},
    }


def _rules(rules: Read, left: tuple[str, ...] = ()) -> Read:
    found: Read = {}
    for group in rules["groups"]:
        if GENERIC in group["name"]:
            continue
        for rule in group["rules"]:
            kept = {name: value for name, value in rule["labels"].items() if name not in left}
            text = json.dumps({**rule, "labels": kept}, sort_keys=True)
            digest = hashlib.sha256(text.encode()).hexdigest()[:16]
            found.setdefault(group["name"], {})[rule["alert"]] = digest
    return found


def _job(job: Read) -> Read:
    configs = [{"targets": config["targets"]} for config in job["static_configs"]]
    return {**job, "static_configs": configs}
