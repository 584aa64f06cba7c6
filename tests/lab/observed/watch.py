# SPDX-License-Identifier: Apache-2.0
"""Prometheus and Alertmanager on this machine, which watch the exporters of guests.

A guest has no network to its host. Its agent carries each scrape of the exporter's loopback address: it
stands for the collector, which is on the machine of the exporter, too.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple, Protocol

from cos.server import Server, alertmanager, free_port, prometheus

from lab.guest import Guest, GuestError
from lab.observed import scaled

INHIBITION = Path(__file__).parents[3] / "docs/how-to/alertmanager.yaml"
ASK = "busybox wget -q -O - http://127.0.0.1:19560/metrics"
TRIALS = 3
"""Scrapes of each exporter, of which the slowest decides how often it is asked: a late one counts as down."""
MODEL = {"juju_model": "lab", "juju_model_uuid": "0123abcd-0000-4000-8000-000000000000"}


class Target(NamedTuple):
    """An exporter.

    Attributes:
        host: the name of its machine.
        unit: of the charm whose relation tells of it.
        guest: the machine.

    """

    host: str
    unit: str
    guest: Guest


class Lab(Protocol):
    """Where the faults are."""

    def run(self, machine: str, script: str) -> object:
        """Run a command on a machine, whether or not it fails."""
        ...

    def until(self, holds: Callable[[], bool], limit: float) -> bool:
        """Whether something comes to hold in so many seconds, as the guests could use them."""
        ...


STANDING = "OffloadWarned"
"""The alert, of severity info, that a charm has warned of something for a day.

In the rack two charms always do: of the MAC addresses of the reference design's intent, and of nodes without
IOMMU groups.
"""


class Watch:
    """Exporters that are scraped, and the alerts that fire.

    Args:
        lab: where they are.
        hosts: the names of their machines.
        alerts: Alertmanager.
        series: Prometheus.
        factor: by which the rules' durations are divided.

    """

    def __init__(self, lab: Lab, hosts: Sequence[str], alerts: Server, series: Server, factor: int) -> None:
        self.lab, self.series, self.factor = lab, series, factor
        self._hosts, self._alerts = hosts, alerts

    def firing(self) -> set[tuple[str, str]]:
        """The alerts that page somebody now, each with what it is about."""
        return {
            (each["labels"]["alertname"], about(each["labels"]))
            for each in self._alerts.alerts()
            if each["status"]["state"] == "active"
            and each["receivers"] != [{"name": "nobody"}]
            and each["labels"]["alertname"] != STANDING
        }

    def quiet(self) -> bool:
        """Whether all exporters answer, and no alert fires or waits."""
        return not self.restless()

    def restless(self) -> list[str]:
        """Why it is not quiet: each exporter that does not answer, each other alert that fires or waits."""
        answers = {each["metric"]["instance"] for each in self.series.query("up == 1")}
        silent = [f"the exporter of {host} does not answer" for host in self._hosts if host not in answers]
        alerts = (each["metric"] for each in self.series.query(f'ALERTS{{alertname!="{STANDING}"}}'))
        told = [f"{each['alertname']} {about(each)}".strip() + f" is {each['alertstate']}" for each in alerts]
        return [*silent, *sorted(told)]


def about(labels: dict[str, str]) -> str:
    """The host of an alert, and the port, switch or unit there."""
    part = next((labels[name] for name in ("port", "switch", "unit") if name in labels), "")
    return f"{labels.get('instance', '')} {part}".strip()


@contextmanager
def watching(lab: Lab, targets: Sequence[Target], directory: Path, turn: float = 0.0) -> Iterator[Watch]:
    """Scrape guests, and judge what they say by the charms' rules in :mod:`lab.observed.scaled`'s time.

    ``turn`` is how many seconds a node may hold the reboot lock here.
    """
    alerts = free_port()
    interval = scaled.interval(max(_takes(target.guest) for target in targets for _ in range(TRIALS)))
    factor = 60 // interval
    (directory / "rules.yaml").write_text(json.dumps(scaled.rules(factor, MODEL, turn)))
    with ExitStack() as stack:
        jobs = [_job(target, stack.enter_context(_collector(target.guest))) for target in targets]
        paged = stack.enter_context(alertmanager(directory, INHIBITION, alerts))
        configuration = {
            "global": {
                "scrape_interval": f"{interval}s",
                "scrape_timeout": f"{interval}s",
                "evaluation_interval": "1s",
            },
            "rule_files": [str(directory / "rules.yaml")],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{alerts}"]}]}]},
            "scrape_configs": jobs,
        }
        series = stack.enter_context(prometheus(directory, json.dumps(configuration)))
        yield Watch(lab, [target.host for target in targets], paged, series, factor)


def _takes(guest: Guest) -> float:
    began = time.monotonic()
    guest.run(ASK, timeout=120)
    return time.monotonic() - began


def _job(target: Target, port: int) -> dict[str, object]:
    application = target.unit.partition("/")[0]
    labels = {**MODEL, "juju_application": application, "juju_unit": target.unit, "instance": target.host}
    # A job of its own for each, but with the name that a relation gives all units of the application.
    relabelled = [{"target_label": "job", "replacement": application}]
    return {
        "job_name": target.unit,
        "static_configs": [{"targets": [f"127.0.0.1:{port}"], "labels": labels}],
        "relabel_configs": relabelled,
    }


@contextmanager
def _collector(guest: Guest) -> Iterator[int]:
    """A server that answers with what the guest's exporter says; its port."""

    class Scraped(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # http.server's name
            try:
                done = guest.run(ASK, check=False, timeout=30)
                said = done.stdout if done.returncode == 0 else ""
            except GuestError:  # it has no power
                said = ""
            try:
                self.send_response(HTTPStatus.OK if said else HTTPStatus.BAD_GATEWAY)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(said.encode())
            except OSError:  # Prometheus waits no longer
                pass

        def log_message(self, *_: object) -> None:
            """Nothing: the table tells what matters."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Scraped)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
