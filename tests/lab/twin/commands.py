# SPDX-License-Identifier: Apache-2.0
"""Processes of one switch: iproute2 in its namespace."""

import json
import subprocess
from typing import Any


class CommandError(RuntimeError):
    """A command failed; the message is what it said."""


def run(argv: list[str], stdin: str | None = None) -> str:
    """Run a command to its end and return its output."""
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise CommandError(f"{' '.join(argv)}: {said or f'exit status {done.returncode}'}")
    return done.stdout


def batch(namespace: str, tool: str, lines: list[str]) -> None:
    """Several commands of ip, bridge or tc in one process; the first that fails ends it."""
    if lines:
        try:
            run([tool, "-n", namespace, "-batch", "-"], "\n".join(lines) + "\n")
        except CommandError as problem:  # says "Command failed -:<line>"
            number = str(problem).rpartition("Command failed -:")[2].strip()
            line = lines[int(number) - 1] if number.isdecimal() else ""
            raise CommandError(f"{problem} ({tool} {line})") from None


def listed(namespace: str, tool: str, *args: str) -> list[dict[str, Any]]:
    """Return the list that ip, bridge or tc prints as JSON."""
    found = json.loads(run([tool, "-n", namespace, "-j", *args]) or "[]")
    return [item for item in found if item]  # ip leaves an empty object for each link that it filters out


def rename(process: subprocess.Popen[bytes], hostname: str) -> None:
    """Give a daemon another host name."""
    run(["nsenter", "--target", str(process.pid), "--uts", "hostname", hostname])


def daemon(name: str, argv: list[str], hostname: str = "") -> subprocess.Popen[bytes]:
    """A daemon in the namespace ``name``; quiet, and our child. Its host name is the same, if not given."""
    renamed = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', hostname or name]
    return subprocess.Popen(
        ["ip", "netns", "exec", name, *renamed, *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
