# SPDX-License-Identifier: Apache-2.0
"""Reads what opens the switches: credentials, a new password, and certificates."""

import getpass
import ssl
import sys
import warnings
from dataclasses import replace
from pathlib import Path

from converge import StepError
from rest.connection import Credentials
from yamlfile import reader

from cli import inputs
from cli.arguments import CREDENTIALS
from cli.inputs import UsageError


def credentials(name: str, previous: str = "") -> Credentials:
    """Who logs in, from a private file or, for ``-``, from the first line of standard input.

    ``previous`` names a file with the password that some switches still have.

    Raises UsageError if one cannot be read, others can read it, or it holds no user and password, or more.
    """
    found = _credentials("--credentials", name)
    if not previous:
        return found
    earlier = _credentials("--previous-credentials", previous)
    if earlier.user != found.user:
        raise UsageError(f"--previous-credentials: {previous} is of another user than --credentials")
    return replace(found, previous=earlier.password)


def _credentials(option: str, name: str) -> Credentials:
    try:
        with inputs.accessing(f"{option}: standard input"):
            line = sys.stdin.readline() if name == "-" else reader.private(Path(name).expanduser())
        found = Credentials(*reader.login(line))
    except StepError as error:
        raise UsageError("; ".join(filter(None, (f"{option}: {error}", error.remedy)))) from None
    except ValueError as error:
        raise UsageError(f"{option}: {name} {error}; give {CREDENTIALS}") from None
    if not found.usable:
        raise UsageError(f"{option}: {name} has no usable credentials; give {CREDENTIALS}")
    return found


def new_password(user: str, refused: str) -> str:
    """A password that the operator types twice at the terminal, where nothing of it is shown.

    Raises UsageError if there is no terminal, or it is not the same twice, or none for ``user``, or
    ``refused``.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)
            password = getpass.getpass(f"New password of {user} on the switches: ")
            again = getpass.getpass("The same once more: ")
    except (getpass.GetPassWarning, EOFError, OSError):
        raise UsageError("the password is asked for at the terminal, and there is none") from None
    except KeyboardInterrupt:
        raise UsageError("stopped; no switch was asked anything") from None
    if password != again:
        raise UsageError("the two passwords differ; no switch was asked anything")
    if password == refused or not Credentials(user, password).usable:
        raise UsageError("give a password of printable characters that is not the factory's")
    return password


def authorities(name: str | None) -> str:
    """The certificates in this file, in PEM form; nothing without a file.

    Raises UsageError if it cannot be read, or holds no certificate.
    """
    if name is None:
        return ""
    pem = inputs.text("--ca", name)
    try:
        ssl.create_default_context(cadata=pem)
    except (ssl.SSLError, ValueError):
        raise UsageError(f"--ca: {name} holds no certificate in PEM form") from None
    return pem
