# SPDX-License-Identifier: Apache-2.0
"""JSON over a socket to QEMU's monitor (QMP) and to the agent inside the guest."""

import base64
import contextlib
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from lab.patience import STALLED, Patience

_SLICE = 1.0  # seconds between two looks at what a deadline has counted


class ChannelError(RuntimeError):
    """The other side closed the channel, refused the command, or did not answer in time."""


class NoAnswer(ChannelError):
    """The other side did not answer in time."""


class Channel:
    """One JSON value per line, both ways, over a socket that QEMU holds the other end of.

    Args:
        sock: this end.
        patience: makes a deadline of seconds.

    """

    who = "the other side"

    def __init__(self, sock: socket.socket, patience: Callable[[float], Patience] = Patience) -> None:
        self._sock = sock
        self.patience = patience
        self._buffer = b""
        self._turn = threading.Lock()

    def close(self) -> None:
        self._sock.close()

    def send(self, message: dict[str, Any], prefix: bytes = b"") -> None:
        rest = memoryview(prefix + json.dumps(message).encode() + b"\n")
        patience = self.patience(STALLED)
        while rest:
            rest = rest[self._wait(self._sock.send, rest, patience) :]

    def receive(self, patience: Patience) -> dict[str, Any]:
        """The next message, or :class:`NoAnswer` when the patience is over."""
        while True:
            line, found, rest = self._buffer.partition(b"\n")
            if found:
                self._buffer = rest
                # The agent's delimiter of a resynchronisation is one byte 0xff.
                with contextlib.suppress(ValueError):
                    message = json.loads(line.rpartition(b"\xff")[2])
                    if isinstance(message, dict):
                        return message
                continue
            data = self._wait(self._sock.recv, 1 << 20, patience)
            if not data:
                raise ChannelError("QEMU closed the channel")
            self._buffer += data

    def call(self, command: str, arguments: dict[str, Any] | None = None, timeout: float = STALLED) -> Any:
        """Run one command and return its answer; events that come first are dropped.

        Several threads may do so: each waits for the answer to the one before.
        """
        with self._turn:
            self.send({"execute": command, **({"arguments": arguments} if arguments else {})})
            patience = self.patience(timeout)
            while True:
                message = self.receive(patience)
                if "error" in message:
                    raise ChannelError(f"{command}: {message['error'].get('desc')}")
                if "return" in message:
                    return message["return"]

    def _wait(self, act: Callable[[Any], Any], argument: Any, patience: Patience) -> Any:
        """Send or receive as soon as the socket is ready for it."""
        while True:
            self._sock.settimeout(min(_SLICE, max(0.01, patience.limit - patience.spent)))
            try:
                return act(argument)
            except TimeoutError:
                if patience.over():
                    raise NoAnswer(f"{self.who} has not answered for {patience.limit:.0f} s") from None
            except OSError as error:
                raise ChannelError(f"QEMU is gone: {error}") from error


class Monitor(Channel):
    """QEMU's own monitor: power, snapshots."""

    who = "QEMU"

    def __init__(self, sock: socket.socket, patience: Callable[[float], Patience] = Patience) -> None:
        super().__init__(sock, patience)
        self.receive(patience(STALLED))  # the greeting
        self.call("qmp_capabilities")

    def operations(self) -> int:
        """How often the guest has read or written its disks."""
        stats = (device["stats"] for device in self.call("query-blockstats"))
        return sum(each["rd_operations"] + each["wr_operations"] for each in stats)

    def human(self, command: str, timeout: float = 300) -> str:
        """A command of the human monitor; it reports errors as text only."""
        answer = str(self.call("human-monitor-command", {"command-line": command}, timeout))
        if "rror" in answer:
            raise ChannelError(f"{command}: {answer.strip()}")
        return answer


class Agent(Channel):
    """qemu-guest-agent: processes inside the guest."""

    who = "the guest's agent"

    def sync(self, timeout: float) -> bool:
        """Resynchronise, which drops whatever came before; False when nobody answers in time."""
        token = secrets.randbits(31)
        try:
            self.send({"execute": "guest-sync-delimited", "arguments": {"id": token}}, prefix=b"\xff")
            patience = self.patience(timeout)
            while self.receive(patience).get("return") != token:
                pass
        except NoAnswer:
            return False
        return True

    def run(
        self, argv: list[str], stdin: bytes | None, env: list[str], timeout: float
    ) -> tuple[int, bytes, bytes]:
        """Run a process to its end; returns its status (128 + signal if killed) and both outputs."""
        arguments: dict[str, Any] = {"path": argv[0], "arg": argv[1:], "env": env, "capture-output": True}
        if stdin is not None:
            arguments["input-data"] = base64.b64encode(stdin).decode()
        began = time.monotonic()
        patience = self.patience(timeout)
        pid = self.call("guest-exec", arguments)["pid"]
        pause = 0.03
        while True:
            time.sleep(pause)
            state = self.call("guest-exec-status", {"pid": pid})
            if state["exited"]:
                break
            if patience.over():
                self.call("guest-exec", {"path": "/bin/kill", "arg": [str(pid)]})
                raise ChannelError(f"still running after {timeout:.0f} s: {' '.join(argv)[:300]}")
            # Each question costs the guest time, too: the longer it takes, the less often it is asked.
            pause = min(pause * 1.5, max(0.2, (time.monotonic() - began) / 30))
        status = state["exitcode"] if "exitcode" in state else 128 + state.get("signal", 0)
        out, err = (base64.b64decode(state.get(key, "")) for key in ("out-data", "err-data"))
        return status, out, err
