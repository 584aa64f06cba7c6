# SPDX-License-Identifier: Apache-2.0
"""Canonical's libraries for cos_agent and prometheus_scrape read what the charms publish, and write the same.

They are not in this repository. ``python -m cos.libraries`` fetches them, pinned by revision and digest, or
takes them from the folder that COS_LIBRARIES names; it fails unless the real requirers read the databags, and
the real providers, given the same rules, write what the charms write. What each read and wrote is kept in
recording.json with ``--record``; test_recording.py holds the databags against it where the libraries cannot
be fetched.
"""

import argparse
import hashlib
import json
import os
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ops
from exporter.catalogue import PORT
from ops import testing

from cos.promtool import APP, MODEL, published
from cos.recorded import RECORDING, Read, of_agent, of_endpoint

SOURCE = "https://raw.githubusercontent.com/canonical/opentelemetry-collector-operator"
REVISION = "0357b4b2da3e496a5fb9d40f28a86cfedc1c8dae"
LIBRARIES = {
    "charms/grafana_agent/v0/cos_agent.py": (
        "95e2144b70da6cfcd633f37b6f572b907011b80f688fcc0c10dc311440dba76b"
    ),
    "charms/prometheus_k8s/v0/prometheus_scrape.py": (
        "64cec5697d5d8a233ddc4e71866eb10853f29cdc2a1508c9dfec9294cdbdb010"
    ),
}
"""Each library's path under lib/ of the collector's charm, and its SHA-256."""
RULES = Path(__file__).parents[2] / "lib/exporter/cos"
MOST = 1 << 20
"""Bytes that are read of a library at most."""


def fetch(folder: Path) -> None:
    """Have all libraries in ``folder``, each with its digest."""
    for name, digest in LIBRARIES.items():
        path = folder / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            address = f"{SOURCE}/{REVISION}/lib/{name}"
            try:
                with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310 - a constant
                    path.write_bytes(answer.read(MOST))
            except OSError as error:
                raise SystemExit(f"{address} cannot be fetched: {error}; set COS_LIBRARIES") from None
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != digest:
            raise SystemExit(f"{path} has the SHA-256 {found}, and {digest} is wanted")


@contextmanager
def _folders() -> Iterator[dict[str, str]]:
    """The rules in folders, as the libraries' providers take them."""
    with tempfile.TemporaryDirectory() as name:
        folders = {kind: Path(name) / kind for kind in ("alerts", "logs", "dashboards")}
        for kind, folder in folders.items():
            folder.mkdir()
            if kind != "dashboards":
                (folder / "ours.rules").write_text((RULES / f"{kind}.json").read_text())
        yield {kind: str(folder) for kind, folder in folders.items()}


def written_by_provider() -> Read:
    """Return the databag of the real provider of cos_agent, given the same rules and the same port."""
    from charms.grafana_agent.v0.cos_agent import COSAgentProvider

    with _folders() as folders:

        class Provider(ops.CharmBase):
            def __init__(self, framework: ops.Framework) -> None:
                super().__init__(framework)
                self.provider = COSAgentProvider(
                    self,
                    metrics_endpoints=[{"path": "/metrics", "port": PORT}],
                    metrics_rules_dir=folders["alerts"],
                    logs_rules_dir=folders["logs"],
                    dashboard_dirs=[folders["dashboards"]],
                )

        return of_agent(json.loads(published("cos-agent", Provider).local_unit_data["config"]))


def read_by_requirer() -> Read:
    """Return the collector's reading of the charms' databag; it must not refuse it."""
    from charms.grafana_agent.v0.cos_agent import COSAgentRequirer

    refused: list[str] = []

    class Requirer(ops.CharmBase):
        def __init__(self, framework: ops.Framework) -> None:
            super().__init__(framework)
            self.requirer = COSAgentRequirer(self, is_tracing_ready=lambda: True)
            framework.observe(self.requirer.on.validation_error, self._on_refused)

        def _on_refused(self, event: Any) -> None:
            refused.append(event.message)

    meta = {
        "name": "opentelemetry-collector",
        "subordinate": True,
        "requires": {"cos-agent": {"interface": "cos_agent", "scope": "container"}},
        "peers": {"peers": {"interface": "otelcol_replica"}},
    }
    ours = published("cos-agent").local_unit_data
    relation = testing.SubordinateRelation("cos-agent", remote_app_name=APP, remote_unit_data=ours)
    context = testing.Context(Requirer, meta=meta, juju_version="3.6.0")
    state = testing.State(relations={relation, testing.PeerRelation("peers")}, model=MODEL, leader=True)
    with context(context.on.relation_changed(relation, remote_unit=0), state) as manager:
        manager.run()
        assert refused == [], refused
        requirer = manager.charm.requirer
        (alerts,), (logs,) = requirer.metrics_alerts.values(), requirer.logs_alerts.values()
        read = of_agent(
            {
                "metrics_alert_rules": alerts,
                "log_alert_rules": logs,
                "metrics_scrape_jobs": requirer.metrics_jobs,
                "log_slots": requirer.snap_log_endpoints,
                "dashboards": [],
            }
        )
        shipped = list((RULES / "dashboards").glob("*.json"))
        assert len(requirer.dashboards) == len(shipped), "a dashboard was not read"
    return read


def written_by_endpoint_provider() -> Read:
    """Return the databag of the real provider of prometheus_scrape."""
    from charms.prometheus_k8s.v0.prometheus_scrape import MetricsEndpointProvider

    with _folders() as folders:

        class Provider(ops.CharmBase):
            def __init__(self, framework: ops.Framework) -> None:
                super().__init__(framework)
                self.provider = MetricsEndpointProvider(
                    self,
                    jobs=[{"metrics_path": "/metrics", "static_configs": [{"targets": [f"*:{PORT}"]}]}],
                    alert_rules_path=folders["alerts"],
                    refresh_event=self.on.config_changed,
                )

        return of_endpoint(published("metrics-endpoint", Provider))


def read_by_consumer() -> dict[str, Any]:
    """The jobs and alerts that Prometheus' charm makes of the charms' databags."""
    from charms.prometheus_k8s.v0.prometheus_scrape import MetricsEndpointConsumer

    class Consumer(ops.CharmBase):
        def __init__(self, framework: ops.Framework) -> None:
            super().__init__(framework)
            self.consumer = MetricsEndpointConsumer(self)

    meta = {"name": "prometheus", "requires": {"metrics-endpoint": {"interface": "prometheus_scrape"}}}
    ours = published("metrics-endpoint")
    relation = testing.Relation(
        "metrics-endpoint",
        remote_app_name=APP,
        remote_app_data=ours.local_app_data,
        remote_units_data={0: ours.local_unit_data},
    )
    context = testing.Context(Consumer, meta=meta, juju_version="3.6.0")
    with context(context.on.update_status(), testing.State(relations={relation}, model=MODEL)) as manager:
        manager.run()
        (alerts,) = manager.charm.consumer.alerts.values()
        targets = [
            target
            for job in manager.charm.consumer.jobs()
            for config in job["static_configs"]
            for target in config["targets"]
        ]
    names = sorted(rule["alert"] for group in alerts["groups"] for rule in group["rules"])
    return {"targets": targets, "alerts": names}


READERS: dict[str, Callable[[], Any]] = {
    "cos_agent requirer": read_by_requirer,
    "cos_agent provider": written_by_provider,
    "prometheus_scrape provider": written_by_endpoint_provider,
    "prometheus_scrape consumer": read_by_consumer,
}


def main(arguments: list[str]) -> int:
    """Compare, or record; 1 if a library reads or writes something else than is recorded."""
    parser = argparse.ArgumentParser(prog="tox -e cosl --", description=__doc__)
    parser.add_argument("--record", action="store_true", help=f"keep what they do in {RECORDING.name}")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(os.environ.get("COS_LIBRARIES") or scratch)
        fetch(folder)
        sys.path.insert(0, str(folder))
        found = {name: read() for name, read in READERS.items()}
    found["libraries"] = dict(LIBRARIES)
    text = json.dumps(found, indent=1, sort_keys=True) + "\n"
    if options.record:
        RECORDING.write_text(text)
    recorded = json.loads(RECORDING.read_text())
    for name, value in json.loads(text).items():
        print(f"{name}: {'as recorded' if value == recorded.get(name) else 'differs from the recording'}")
    return int(json.loads(text) != recorded)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
