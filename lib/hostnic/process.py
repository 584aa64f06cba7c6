# SPDX-License-Identifier: Apache-2.0
"""Child processes: how they are run, and how their failures read."""

import os
from collections.abc import Sequence

from hostnic.system import CommandError


def failure(argv: Sequence[str], returncode: int, stdout: str, stderr: str) -> CommandError:
    """The error of a command that ended with ``returncode``: its last words make the sentence."""
    said = (stderr.strip() or stdout.strip()).splitlines()
    last = said[-1].strip() if said else "no message"
    return CommandError(argv, f"{argv[0]} failed ({returncode}): {last}", returncode, stdout, stderr)


def run(argv: Sequence[str], timeout: float = 60.0) -> str:
    """Run ``argv`` without a shell, in the C locale, and return its standard output.

    Args:
        argv: the command and its arguments.
        timeout: seconds after which it is killed.

    Raises:
        CommandError: it could not be started, ran too long, or ended with a code other than 0.

    """
    import subprocess  # a boot that goes well runs no process, and the network waits for it

    try:
        done = subprocess.run(
            list(argv),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )
    except FileNotFoundError as error:
        raise CommandError(argv, f"{argv[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise CommandError(argv, f"{argv[0]} did not end within {timeout:g} s") from error
    except OSError as error:
        raise CommandError(argv, f"{argv[0]} could not be started: {error.strerror}") from error
    except ValueError as error:  # a NUL byte, or half of a surrogate pair
        why = error.reason if isinstance(error, UnicodeEncodeError) else error
        raise CommandError(argv, f"{argv[0]} could not be started: {why}") from error
    if done.returncode:
        raise failure(argv, done.returncode, done.stdout, done.stderr)
    return done.stdout
