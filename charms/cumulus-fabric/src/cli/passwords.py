# SPDX-License-Identifier: Apache-2.0
"""Sets the first password of switches that still have the factory's, over SSH.

Only SSH does it: NVUE's REST API refuses the factory's password, and is off on 5.5. That password has
expired, so that sshd runs passwd on the terminal of any session, and then ends the session; a session without
a terminal it refuses. Where it has not expired, the command passwd asks the same.
"""

import enum
import logging
import math
import re
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import paramiko
from converge import words
from converge.bounded import LateError, Meter
from rest.connection import SwitchError

USER, FACTORY = "cumulus", "cumulus"
"""Who may log in to a switch as it comes, and with what."""

PORT = 22
MOST = 1 << 16
"""Bytes that a switch may say in one session."""

ASKS = {
    "current": re.compile(r"(?im)^\(?current\)?(?: unix)? password: *$"),
    "new": re.compile(r"(?im)^(?:enter )?new (?:unix )?password: *$"),
    "again": re.compile(r"(?im)^retype new (?:unix )?password: *$"),
}
"""passwd's questions, in the words of Debian 10 and 12, and of older ones."""

_QUESTION, _SENTENCE = 256, 200
"""Characters at the end of what was said that may be a question, and those of a refusal that are repeated."""

REACH = "check that it is on, has this address, and answers: ssh {user}@{address}"

logging.getLogger("paramiko").addHandler(logging.NullHandler())  # it would print what it raises, too


class Outcome(enum.Enum):
    """The outcome for the password of a switch, as a sentence's end."""

    SET = "has the new password"
    SAME = "had this password already"
    OTHER = "has a password that is neither the factory's nor this one; left as it is"


class UnknownKeyError(SwitchError):
    """A switch has a host key that is not among the known ones; ``name`` is what known_hosts calls it."""

    def __init__(self, name: str, key: paramiko.PKey) -> None:
        remedy = (
            "compare it with ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub on the switch, and run this again"
        )
        super().__init__("key", f"its host key {key.fingerprint} is not known", remedy)
        self.key = key
        self.line = f"{name} {key.get_name()} {key.get_base64()}\n"


class _StrangeError(Exception):
    """The password is not the switch's."""


class Session(Protocol):
    """The methods of paramiko's channel that passwd's questions need."""

    def settimeout(self, timeout: float, /) -> None: ...

    def recv(self, nbytes: int, /) -> bytes: ...

    def sendall(self, s: bytes, /) -> None: ...

    def recv_exit_status(self) -> int: ...


class _Strict(paramiko.MissingHostKeyPolicy):
    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:
        del client
        raise UnknownKeyError(hostname, key)


@dataclass(frozen=True)
class Door:
    """The way to one switch. Neither ``repr`` nor ``str`` shows the password."""

    address: str  # of its management port
    password: str = field(repr=False)  # that it shall have
    keys: str  # the file of known host keys; one that is not in there is refused before any password is sent
    seconds: float = 30.0  # for each session, from connecting to its end

    def set_first(self) -> Outcome:
        """Replace the factory's password, and log in with the new one.

        Raises SwitchError if it cannot be reached, its host key is unknown or another one, or it refuses the
        password.
        """
        try:
            with self._session(FACTORY, "passwd", terminal=True) as (channel, meter):
                converse(channel, meter, self.password)
        except _StrangeError:
            return Outcome.SAME if self._opens() else Outcome.OTHER
        if not self._opens():
            by_hand = f"log in and change it: ssh {USER}@{self.address}"
            raise SwitchError("refused", "does not take the password that it has accepted", by_hand)
        return Outcome.SET

    def _opens(self) -> bool:
        """Whether the new password opens the switch, and need not be changed."""
        try:
            with self._session(self.password, "true") as (channel, meter):
                channel.settimeout(meter.left())
                while data := channel.recv(MOST):
                    meter.count(len(data))
                return channel.recv_exit_status() == 0
        except _StrangeError:
            return False

    @contextmanager
    def _session(
        self, password: str, command: str, *, terminal: bool = False
    ) -> Generator[tuple[paramiko.Channel, Meter]]:
        """A session that runs ``command``; it ends with its time, whatever the switch does."""
        meter = Meter(self.address, self.seconds, MOST)
        try:
            with socket.create_connection((self.address, PORT), meter.left()) as sock:
                timer = threading.Timer(meter.left(), _cut, [sock])
                timer.start()
                try:
                    with paramiko.SSHClient() as client:
                        yield self._opened(client, sock, meter, password, command, terminal), meter
                finally:
                    timer.cancel()
        except paramiko.BadAuthenticationType:
            what = "takes no password by SSH"
            raise SwitchError("refused", what, "set its password on its console") from None
        except paramiko.AuthenticationException:
            raise _StrangeError from None
        except paramiko.BadHostKeyException as error:
            what = f"presents the host key {error.key.fingerprint}, which differs from the one in {self.keys}"
            remedy = "check that it is the switch; if it was installed anew, remove the old key: "
            raise SwitchError("key", what, f"{remedy}ssh-keygen -R {self.address} -f {self.keys}") from None
        except (paramiko.SSHException, OSError, EOFError, ValueError) as error:
            self._unreachable(meter, error)

    def _unreachable(self, meter: Meter, error: Exception) -> None:
        try:
            meter.left()
            said = words(error).partition("\n")[0]
        except LateError as late:
            said = str(late)
        remedy = REACH.format(user=USER, address=self.address)
        raise SwitchError(
            "unreachable", f"cannot be reached by SSH at {self.address}: {said}", remedy
        ) from None

    def _opened(
        self,
        client: paramiko.SSHClient,
        sock: socket.socket,
        meter: Meter,
        password: str,
        command: str,
        terminal: bool,
    ) -> paramiko.Channel:
        if (keys := Path(self.keys).expanduser()).exists():
            client.load_host_keys(str(keys))
        client.set_missing_host_key_policy(_Strict())
        client.connect(
            self.address,
            PORT,
            USER,
            password,
            sock=sock,
            allow_agent=False,
            look_for_keys=False,
            # The session's own limit ends it: of two that are alike either might come first.
            banner_timeout=math.inf,
            auth_timeout=math.inf,
        )
        transport = client.get_transport()
        if transport is None:
            raise EOFError("the connection was closed")
        channel = transport.open_session(timeout=meter.left())
        if terminal:
            channel.get_pty()
        channel.exec_command(command)
        return channel


def converse(channel: Session, meter: Meter, password: str) -> None:
    """Answer the questions of passwd, once each.

    Raises SwitchError if it asks again, ends before it has asked all, or fails, and OSError if it says too
    much, or takes too long.
    """
    answers = {"current": FACTORY, "new": password, "again": password}
    said, heard = "", ""
    while data := _heard(channel, meter):
        said += data
        end = said[-_QUESTION:]
        question = next((name for name, asks in ASKS.items() if asks.search(end)), None)
        if question and question not in answers:
            break  # it asks again for what it has refused
        if question:
            channel.sendall(f"{answers.pop(question)}\n".encode())
            said, heard = "", said
    else:
        if channel.recv_exit_status() == 0 and not answers:
            return
    lines = [line.strip() for line in (said or heard).splitlines()]
    told = next((line for line in lines if line and not _asks(line)), "it gives no reason")
    told = told.replace(password, "…")[:_SENTENCE]
    raise SwitchError("refused", f"refuses the password: {told}", "run this again with another password")


def _heard(channel: Session, meter: Meter) -> str:
    channel.settimeout(meter.left())
    data = channel.recv(4096)
    meter.count(len(data))
    return data.decode(errors="replace").replace("\r", "")


def _asks(line: str) -> bool:
    return any(asks.search(line) for asks in ASKS.values())


def _cut(sock: socket.socket) -> None:
    with suppress(OSError):  # it is closed already
        sock.shutdown(socket.SHUT_RDWR)
