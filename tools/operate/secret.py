# SPDX-License-Identifier: Apache-2.0
"""The secret of cumulus-fabric in one go: made or renewed, granted, and named in the charm's options."""

from collections.abc import Sequence
from pathlib import Path

import yaml
from converge import StepError
from converge.shape import InvalidValue
from intent import pins
from operate import private
from operate.client import Juju, mapping
from yamlfile import logins, reader

CHARM = "cumulus-fabric"


def pinned(path: Path | None, words: Sequence[str]) -> str:
    """The charm's option pinned-certificates: of a file, and of the command line.

    Raises StepError if the file cannot be read, or a pair is not right.
    """
    try:
        kept, more = pins.given(path.read_text() if path else "", words)
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", "it is not UTF-8 text")
        raise StepError(f"{path} cannot be read: {said}", "name the file with --pins") from None
    except InvalidValue as error:
        raise StepError(f"{error.where}: {error.shown} is not allowed; give {error.allowed}") from None
    return " ".join(f"{name}={digits}" for name, digits in (kept | more).items())


def give(juju: Juju, name: str, application: str, credentials: Path, options: list[str]) -> str:
    """Give the application the users and passwords of a file; `options` are set together with the secret.

    Returns the secret's URI. Raises StepError if the file or the application is not right, or Juju's client
    failed.
    """
    try:
        (user, password), others = logins.read(reader.private(credentials))
    except ValueError as error:
        raise StepError(f"{credentials} {error}", "write one line user:password into it") from None
    content = {"user": user, "password": password}
    if others:
        content["switches"] = "\n".join(f"{name} {':'.join(login)}" for name, login in others.items())
    for _, secret in ((user, password), *others.values()):
        private.keep(secret)
    if application not in mapping(juju.data("status").get("applications")):
        raise StepError(f"the model has no application {application}", "name it with --application")
    secrets = mapping(juju.data("secrets"))
    known = next((key for key, body in secrets.items() if body.get("name") == name), None)
    with private.passing(yaml.safe_dump(content)) as path:
        if known:
            juju.call("update-secret", name, "--file", path)
        else:
            known = juju.call("add-secret", name, "--file", path).strip().removeprefix("secret:")
    juju.call("grant-secret", name, application)
    juju.call("config", application, f"credentials=secret:{known}", *options)
    return f"secret:{known}"
