# SPDX-License-Identifier: Apache-2.0
"""Configures the Onyx and Comware switches of a fabric through netmiko.

These switches have no revisions, so there is no diff and no rollback. A refused command stops the script and
nothing is saved, so that a reboot of the switch restores its saved configuration.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import netmiko
import paramiko
from converge import Finding, Severity, StepError, words
from converge.bounded import MIB, Meter
from intent.model import Fabric, Switch
from netmiko.session_log import SessionLog
from standalone import Script, Startup
from standalone.scripts import script_for

DRIVERS = {"onyx": "mellanox_mlnxos", "comware": "hp_comware"}
"""netmiko's name of each platform."""

REFUSED = r"^\s*%.*$"
"""Both platforms start an error with a percent sign."""

QUESTION = r"\[Y/N\]:?\s*$"
MAX_QUESTIONS = 4
"""Questions that saving may ask: to continue, to overwrite."""

MOST = 16 * MIB
SESSION_S = 1800.0
"""Bytes and seconds that one session with a switch may take; a line of a script takes less than a second."""


@dataclass(frozen=True)
class Login:
    """How to log in by SSH. Neither ``repr`` nor ``str`` shows the password."""

    user: str  # a user who may configure the switch
    password: str = field(repr=False)  # of the user
    # A file with the switches' host keys; ~/.ssh/known_hosts if empty. A switch whose key is not in it is
    # refused.
    known_hosts: str = ""
    port: int = 22  # of SSH
    timeout: float = 30.0  # seconds to connect, and for each command


def apply(
    fabric: Fabric,
    switches: Iterable[Switch],
    login: Callable[[str], Login],
    announce: Callable[[str], None],
) -> list[Finding]:
    """Send each switch its script, one after the other; one that refuses a command does not stop the others.

    These switches have no diff: every run sends all commands, and those that are set already change nothing.
    ``login`` says how to log in to a switch, by its name.

    Returns what failed, and where the scripts differ from their guide.
    """
    found: list[Finding] = []
    for switch in switches:
        script = script_for(fabric, switch)
        found += [Finding(Severity.INFO, switch.name, note) for note in script.notes]
        if not switch.management:
            what = "has no management address"
            found.append(Finding(Severity.BLOCKED, switch.name, what, f"give {switch.path}.management"))
            continue
        announce(f"{switch.name}: typing {len(script.lines)} commands")
        try:
            push_config(switch.platform, switch.management, script, login(switch.name))
        except StepError as error:
            found.append(Finding(Severity.BLOCKED, switch.name, error.reason, error.remedy))
    return found


def push_config(platform: str, address: str, script: Script, login: Login) -> None:
    """Log in to ``address``, send the script, and save.

    Raises StepError if the switch is unreachable, or refused a command; with the command and the answer.
    """
    try:
        with netmiko.ConnectHandler(**_parameters(platform, address, login)) as connection:
            connection.enable()
            connection.send_config_set(
                script.lines, error_pattern=REFUSED, read_timeout=login.timeout, exit_config_mode=False
            )
            _refuse_error(_answered(connection, script.save, login.timeout))
            connection.exit_config_mode()
            if script.startup:
                _make_startup(connection, script.startup, login.timeout)
    except netmiko.NetmikoAuthenticationException:
        remedy = "correct the user or the password"
        raise StepError(f"{address} refused the login of {login.user}", remedy) from None
    except netmiko.ConfigInvalidException as error:
        command, _, answer = (
            str(error).removeprefix("Invalid input detected at command: ").partition(", matched")
        )
        remedy = "nothing was saved; correct the intent, or the switch, and apply again"
        said = answer.removeprefix(" error: ").strip()
        raise StepError(f"{address} refused '{command}': {said}", remedy) from None
    except (netmiko.NetmikoBaseException, paramiko.SSHException, OSError, ValueError) as error:
        if "known_hosts" in str(error) or isinstance(error, paramiko.BadHostKeyException):
            reason = f"{address} presents a host key that differs from the known one"
            raise StepError(reason, "check the key at the switch, then add it to the known hosts") from None
        said = words(error).strip().partition("\n")[0]
        raise StepError(f"{address} cannot be configured: {said}", "check that it answers by SSH") from None


def _parameters(platform: str, address: str, login: Login) -> dict[str, Any]:
    return {
        "device_type": DRIVERS[platform],
        "host": address,
        "port": login.port,
        "username": login.user,
        "password": login.password,
        "conn_timeout": login.timeout,
        "ssh_strict": True,
        "system_host_keys": not login.known_hosts,
        "alt_host_keys": bool(login.known_hosts),
        "alt_key_file": login.known_hosts,
        "session_log": _Metered(Meter(address, SESSION_S, MOST)),
        "allow_agent": False,
        "use_keys": False,
        # Wait for the echo of each command, so that an error is seen before the next one is sent.
        "global_cmd_verify": True,
    }


class _Metered(SessionLog):
    """A log of a session that keeps nothing, but is told of everything that is read, as it is read."""

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter

    def write(self, data: str) -> None:
        self._meter.count(len(data.encode()))
        self._meter.left()


class _Connection(Protocol):
    def send_command(
        self, command_string: str, *, expect_string: str, read_timeout: float, strip_prompt: bool
    ) -> object: ...


def _make_startup(connection: _Connection, startup: Startup, timeout: float) -> None:
    """Let the switch boot with the saved file, and read back that it will."""
    said = _answered(connection, startup.command, timeout)
    _refuse_error(said)
    if not re.search(startup.expected, _answered(connection, startup.show, timeout)):
        words = next((line.strip() for line in reversed(said.splitlines()[:-1]) if line.strip()), "no reason")
        what = f"the saved configuration is not the one that it boots with: {words}"
        raise StepError(what, f"run {startup.command} on the switch")


def _answered(connection: _Connection, command: str, timeout: float) -> str:
    """Return the switch's answer to a command, after its questions were answered with yes."""

    def say(line: str) -> str:
        prompt = rf"[>\]#]\s*$|{QUESTION}"
        return str(
            connection.send_command(line, expect_string=prompt, read_timeout=timeout, strip_prompt=False)
        )

    answer = say(command)
    for _ in range(MAX_QUESTIONS):
        if not _asks(answer):
            break
        answer = say("Y")
    return answer


def _refuse_error(answer: str) -> None:
    if refusal := next((line for line in answer.splitlines() if line.lstrip().startswith("%")), None):
        raise StepError(f"the configuration could not be saved: {refusal.strip()}", "save it on the switch")


def _asks(answer: str) -> bool:
    return answer.rstrip().rstrip(":").endswith("[Y/N]")
