# SPDX-License-Identifier: Apache-2.0
"""JSON over a socket to QEMU's monitor (QMP) and to the agent inside the guest."""

import base64
import contextlib
import json
import secrets
import socket
import time
from typing import Any


class ChannelError(RuntimeError):
    """The other side closed the channel, refused the command, or did not answer in time."""


class Channel:
    """One JSON value per line, both ways, over a socket that QEMU holds the other end of."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._buffer = b""

    def close(self) -> None:
        self._sock.close()

    def send(self, message: dict[str, Any], prefix: bytes = b"") -> None:
        self._sock.settimeout(60)  # not what an earlier receive() left
        try:
            self._sock.sendall(prefix + json.dumps(message).encode() + b"\n")
        except TimeoutError:
            raise ChannelError("no answer in time") from None
        except OSError as error:
            raise ChannelError(f"QEMU is gone: {error}") from error

    def receive(self, deadline: float) -> dict[str, Any]:
        """The next message, or :class:`ChannelError` when ``time.monotonic()`` passes the deadline."""
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
            self._sock.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                data = self._sock.recv(1 << 20)
            except TimeoutError:
                raise ChannelError("no answer in time") from None
            except OSError as error:
                raise ChannelError(f"QEMU is gone: {error}") from error
            if not data:
                raise ChannelError("QEMU closed the channel")
            self._buffer += data

    def call(self, command: str, arguments: dict[str, Any] | None = None, timeout: float = 60) -> Any:
        """Run one command and return its answer; events that come first are dropped."""
        self.send({"execute": command, **({"arguments": arguments} if arguments else {})})
        deadline = time.monotonic() + timeout
        while True:
            message = self.receive(deadline)
            if "error" in message:
                raise ChannelError(f"{command}: {message['error'].get('desc')}")
            if "return" in message:
                return message["return"]


class Monitor(Channel):
    """QEMU's own monitor: power, snapshots."""

    def __init__(self, sock: socket.socket, timeout: float = 30) -> None:
        super().__init__(sock)
        self.receive(time.monotonic() + timeout)  # the greeting
        self.call("qmp_capabilities")

    def human(self, command: str, timeout: float = 120) -> str:
        """A command of the human monitor; it reports errors as text only."""
        answer = str(self.call("human-monitor-command", {"command-line": command}, timeout))
        if "rror" in answer:
            raise ChannelError(f"{command}: {answer.strip()}")
        return answer


class Agent(Channel):
    """qemu-guest-agent: processes inside the guest."""

    def sync(self, timeout: float) -> bool:
        """Resynchronise, which drops whatever came before; False when nobody answers in time."""
        token = secrets.randbits(31)
        try:
            self.send({"execute": "guest-sync-delimited", "arguments": {"id": token}}, prefix=b"\xff")
            deadline = time.monotonic() + timeout
            while self.receive(deadline).get("return") != token:
                pass
        except ChannelError as error:
            if "in time" in str(error):
                return False
            raise
        return True

    def run(
        self, argv: list[str], stdin: bytes | None, env: list[str], timeout: float
    ) -> tuple[int, bytes, bytes]:
        """Run a process to its end; returns its status (128 + signal if killed) and both outputs."""
        arguments: dict[str, Any] = {"path": argv[0], "arg": argv[1:], "env": env, "capture-output": True}
        if stdin is not None:
            arguments["input-data"] = base64.b64encode(stdin).decode()
        began = time.monotonic()
        deadline = began + timeout
        pid = self.call("guest-exec", arguments, timeout=30)["pid"]
        pause = 0.03
        while True:
            time.sleep(pause)
            state = self.call("guest-exec-status", {"pid": pid}, timeout=30)
            if state["exited"]:
                break
            if time.monotonic() > deadline:
                raise ChannelError(f"still running after {timeout:.0f} s: {' '.join(argv)[:300]}")
            # Each question costs the guest time, too: the longer it takes, the less often it is asked.
            pause = min(pause * 1.5, max(0.2, (time.monotonic() - began) / 30))
        status = state["exitcode"] if "exitcode" in state else 128 + state.get("signal", 0)
        out, err = (base64.b64decode(state.get(key, "")) for key in ("out-data", "err-data"))
        return status, out, err
