# SPDX-License-Identifier: Apache-2.0
"""ovs-vswitchd's control socket. Only what :meth:`hostnic.system.System.control` promises."""

import json
import socket
from pathlib import Path
from typing import Any, cast

from converge.bounded import MIB, Meter, Metered

DIRECTORY = Path("/run/openvswitch")


def control(command: str, timeout: float, directory: Path = DIRECTORY) -> str:
    """What ovs-vswitchd answers to one command (ovs-appctl(8); JSON-RPC 1.0, lib/unixctl.c)."""
    number = (directory / "ovs-vswitchd.pid").read_text().strip()
    meter = Meter("ovs-vswitchd", timeout, MIB)
    request: dict[str, Any] = {"id": 0, "method": command, "params": []}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        with meter.waiting(sock):
            sock.connect(str(directory / f"ovs-vswitchd.{number}.ctl"))
        Metered(sock, meter).sendall(json.dumps(request).encode())
        said = b""
        while True:  # the socket stays open: the answer ends with its own last brace
            with meter.waiting(sock):
                part = sock.recv(1 << 16)
            meter.count(len(part))
            said += part
            if not part or part.rstrip().endswith(b"}"):
                if (answer := answered(said)) is not None:
                    return answer
                if not part:
                    raise OSError("ovs-vswitchd does not finish its answer")


def answered(said: bytes) -> str | None:
    """The result in an answer; None as long as it is not whole.

    Raises OSError if ovs-vswitchd refuses the command.
    """
    try:
        found: object = json.loads(said)
    except (ValueError, RecursionError):
        return None
    result: object = cast("dict[str, Any]", found).get("result") if isinstance(found, dict) else None
    if isinstance(result, str):
        return result
    raise OSError(f"ovs-vswitchd refuses the command: {said[:200].decode(errors='replace')}")
