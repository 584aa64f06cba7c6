# SPDX-License-Identifier: Apache-2.0
"""The sockets of Open vSwitch's daemons. Only what :class:`hostnic.system.System` promises of them."""

import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from converge.bounded import MIB, Meter, Metered

DIRECTORY = Path("/run/openvswitch")
DATABASE = "Open_vSwitch"


def control(command: str, timeout: float, directory: Path = DIRECTORY) -> str:
    """Return ovs-vswitchd's answer to one command (ovs-appctl(8); JSON-RPC 1.0, lib/unixctl.c)."""
    number = (directory / "ovs-vswitchd.pid").read_text().strip()
    path = directory / f"ovs-vswitchd.{number}.ctl"
    found = _ask("ovs-vswitchd", path, command, [], timeout)
    if isinstance(found, str):
        return found
    raise OSError("ovs-vswitchd refuses the command: its answer is not text")


def select(table: str, columns: Sequence[str], timeout: float, directory: Path = DIRECTORY) -> str:
    """All rows of a table of Open vSwitch's database, as JSON (RFC 7047, section 5.2.2)."""
    operation = {"op": "select", "table": table, "where": [], "columns": [*columns]}
    found = _ask("ovsdb-server", directory / "db.sock", "transact", [DATABASE, operation], timeout)
    answers = cast("list[Any]", found) if isinstance(found, list) else []
    answer: object = answers[0] if len(answers) == 1 else None  # a second one tells of an error
    rows: object = cast("dict[str, Any]", answer).get("rows") if isinstance(answer, dict) else None
    if isinstance(rows, list):
        return json.dumps(rows)
    raise OSError(f"ovsdb-server does not tell {table}: {json.dumps(found)[:200]}")


def _ask(daemon: str, path: Path, method: str, params: Sequence[object], timeout: float) -> object:
    meter = Meter(daemon, timeout, MIB)
    request: dict[str, Any] = {"id": 0, "method": method, "params": params}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        with meter.waiting(sock):
            sock.connect(str(path))
        Metered(sock, meter).sendall(json.dumps(request).encode())
        said = b""
        while True:  # the socket stays open: the answer ends with its own last brace
            with meter.waiting(sock):
                part = sock.recv(1 << 16)
            meter.count(len(part))
            said += part
            if not part or part.rstrip().endswith(b"}"):
                if (answer := answered(said, daemon)) is not None:
                    return answer
                if not part:
                    raise OSError(f"{daemon} does not finish its answer")


def answered(said: bytes, daemon: str = "ovs-vswitchd") -> object:
    """The result in an answer; None as long as it is not whole.

    Raises OSError if the daemon refuses the command.
    """
    try:
        found: object = json.loads(said)
    except (ValueError, RecursionError):
        return None
    result: object = cast("dict[str, Any]", found).get("result") if isinstance(found, dict) else None
    if result is not None:
        return result
    raise OSError(f"{daemon} refuses the command: {said[:200].decode(errors='replace')}")
