# SPDX-License-Identifier: Apache-2.0
"""Prometheus and Alertmanager as processes of their own, on loopback, for as long as a ``with`` lasts."""

import json
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from lab.patience import Patience
from lab.process import die_with_parent

from cos.tools import tool

START = 120.0
"""Seconds until a server must be ready, as lab.patience counts them."""


class ServerError(Exception):
    """A server ended or was not ready in time; the text has what it said last."""


class Server:
    """A server that answers on loopback.

    Args:
        port: where it listens.

    """

    def __init__(self, port: int) -> None:
        self._port = port

    def get(self, path: str, **parameters: Any) -> Any:
        """The JSON answer of a path.

        Raises:
            OSError: it does not answer.
            ServerError: it refuses.

        """
        return json.loads(self.ask("GET", f"{path}?{urlencode(parameters)}"))

    def ask(self, method: str, path: str, body: object = None) -> str:
        """The answer to a request; raises the same."""
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            said = answer.read().decode()
        finally:
            connection.close()
        if answer.status != HTTPStatus.OK:
            raise ServerError(f"{path}: {answer.status} {said[:500]}")
        return said

    def query(self, expression: str, **parameters: Any) -> list[dict[str, Any]]:
        """Make an instant query and return its series, each with its labels and value."""
        return self.get("/api/v1/query", query=expression, **parameters)["data"]["result"]

    def alerts(self) -> list[dict[str, Any]]:
        """Alertmanager's alerts, those that are muted, too."""
        return self.get("/api/v2/alerts")

    def raise_alerts(self, alerts: Iterable[Mapping[str, str]]) -> None:
        """Tell Alertmanager of alerts with these labels."""
        self.ask("POST", "/api/v2/alerts", [{"labels": each} for each in alerts])


def free_port() -> int:
    """A port on loopback that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def prometheus(directory: Path, configuration: str) -> Iterator[Server]:
    """Prometheus with this configuration; its series are in ``directory``/data, before it too."""
    path = directory / "prometheus.yaml"
    path.write_text(configuration)
    options = [
        f"--config.file={path}",
        f"--storage.tsdb.path={directory / 'data'}",
        "--storage.tsdb.retention.time=100y",
    ]
    with _running(free_port(), directory / "prometheus.log", "prometheus", *options) as server:
        yield server


@contextmanager
def alertmanager(directory: Path, configuration: Path, port: int) -> Iterator[Server]:
    """Alertmanager with this configuration, alone: it looks for no others."""
    options = [
        f"--config.file={configuration}",
        f"--storage.path={directory / 'alerts'}",
        "--cluster.listen-address=",
    ]
    with _running(port, directory / "alertmanager.log", "alertmanager", *options) as server:
        yield server


@contextmanager
def _running(port: int, log: Path, program: str, *options: str) -> Iterator[Server]:
    path = tool(program)
    command = [path, *options, f"--web.listen-address=127.0.0.1:{port}"]
    # Debian's Alertmanager reads files of its package relative to the folder that it runs in.
    with (
        log.open("w") as said,
        subprocess.Popen(
            command, cwd=path.parents[1], stdout=said, stderr=said, preexec_fn=die_with_parent
        ) as ran,
    ):
        try:
            yield _ready(port, ran, log)
        finally:
            ran.terminate()


def _ready(port: int, ran: subprocess.Popen[bytes], log: Path) -> Server:
    server, patience = Server(port), Patience(START, lambda: [ran.pid])
    while ran.poll() is None and not patience.over():
        try:
            server.ask("GET", "/-/ready")
        except (OSError, ServerError):
            time.sleep(0.2)
        else:
            return server
    raise ServerError(f"it is not ready; it said last:\n{log.read_text()[-1000:]}")
