# SPDX-License-Identifier: Apache-2.0
"""Reads what opens the switches: credentials, a new password, and certificates."""

import argparse
import getpass
import ssl
import sys
import warnings
from pathlib import Path

from converge import StepError
from intent import places
from intent.model import Fabric
from logins.paired import LoginError, paired
from rest.connection import Credentials, Logins
from rest.identity import Identity, IdentityError
from yamlfile import reader
from yamlfile.logins import Logins as Read
from yamlfile.logins import read

from cli import inputs
from cli.arguments import CREDENTIALS
from cli.inputs import UsageError


def logins(options: argparse.Namespace, fabric: Fabric) -> Logins:
    """Who logs in to each switch, from a private file or, for ``-``, from standard input.

    The passwords that some switches still have are in another one; if no option names it, that is said on
    standard error.

    Raises UsageError if one cannot be read, others can read it, or it does not have the lines that it should.
    """
    found = _read("--credentials", options.credentials)
    previous = places.previous(options.previous_credentials, options.credentials)
    earlier = previous and _read("--previous-credentials", previous)
    if earlier and options.previous_credentials is None:
        said = (
            f"takes the earlier passwords of {previous} where a switch refuses those of {options.credentials}"
        )
        print(said, file=sys.stderr)
    try:
        return paired(found, earlier or None, [switch.name for switch in fabric.switches])
    except LoginError as error:
        name = previous if error.earlier else options.credentials
        option = "--previous-credentials" if error.earlier else "--credentials"
        raise UsageError(f"{option}: {name} {error}; {error.remedy or f'give {CREDENTIALS}'}") from None


def _read(option: str, name: str) -> Read:
    try:
        with inputs.accessing(f"{option}: standard input"):
            text = sys.stdin.read() if name == "-" else reader.private(Path(name).expanduser())
        return read(text)
    except StepError as error:
        raise UsageError("; ".join(filter(None, (f"{option}: {error}", error.remedy)))) from None
    except ValueError as error:
        raise UsageError(f"{option}: {name} {error}; give {CREDENTIALS}") from None


def identity(options: argparse.Namespace) -> Identity | None:
    """The certificate and key that prove this client to switches; None without these options.

    Raises UsageError if one is missing, cannot be read or used, or others can read the key.
    """
    pair = options.client_certificate, options.client_key
    if not any(pair):
        return None
    if not all(pair):
        raise UsageError("--client-certificate and --client-key: one is of no use without the other")
    certificate = inputs.text("--client-certificate", pair[0])
    try:
        found = Identity(certificate, reader.private(Path(pair[1]).expanduser()))
        found.check()
    except StepError as error:
        raise UsageError("; ".join(filter(None, (f"--client-key: {error}", error.remedy)))) from None
    except IdentityError as error:
        raise UsageError(f"--client-certificate {pair[0]} and --client-key {pair[1]}: {error}") from None
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
