# SPDX-License-Identifier: Apache-2.0
"""A host's shell over SSH. Nothing of the code is written to the host: it is the command's argument."""

import shlex
import subprocess

from lab.calibrate.shell import CardError
from lab.guest import Completed

OPTIONS = (
    "BatchMode=yes",
    "LogLevel=ERROR",
    "ConnectTimeout=15",
    "ServerAliveInterval=10",
    "ServerAliveCountMax=3",
)
"""No questions and no banners; a host that is silent for half a minute is lost."""
BEGUN = "== begun ==\n"
"""Printed first: what comes before it is of the login shell's own files, such as ``.bashrc``."""
ENDED = "\n== ended == "
GRACE = 30.0
"""Seconds that the connection gets beyond the command's own limit."""


class SshError(CardError):
    """The host cannot be reached, or the connection was lost; one sentence."""


class SshShell:
    """The shell of root on a host that ssh reaches without questions.

    Args:
        host: as ssh takes it, such as ``root@server``.

    """

    def __init__(self, host: str) -> None:
        self.host = host

    def run(self, script: str, timeout: float) -> Completed:
        """Run a script of bash to its end.

        Raises:
            SshError: it did not end, or nobody can tell whether it did.

        """
        bash = shlex.join(["timeout", "-k", "10", f"{timeout:.0f}", "bash", "-c", script])
        words = [word for option in OPTIONS for word in ("-o", option)]
        begun = f"printf {shlex.quote(BEGUN)}"
        remote = f"{begun}; {begun} >&2; {bash}; printf {shlex.quote(ENDED)}%s $?"
        command = ["ssh", *words, "--", self.host, remote]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout + GRACE,
                check=False,
            )
        except FileNotFoundError:
            raise SshError("ssh is not installed") from None
        except subprocess.TimeoutExpired:
            raise SshError(f"{self.host} has not answered for {timeout + GRACE:.0f} s") from None
        output, ended, status = done.stdout.rpartition(ENDED)
        before, begun, message = done.stderr.partition(BEGUN)
        if not ended:
            said = (message or before).strip().rpartition("\n")[2] or f"ssh ended with {done.returncode}"
            what = "the connection was lost to" if begun else "no connection to"
            raise SshError(f"{what} {self.host}: {said}")
        if status == "124":
            raise SshError(f"a command on {self.host} did not end within {timeout:.0f} s")
        return Completed(int(status), output.partition(BEGUN)[2], message)
