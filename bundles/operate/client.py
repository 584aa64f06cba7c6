# SPDX-License-Identifier: Apache-2.0
"""Juju's own client, as the operator has it: with that login, and that model unless another is named."""

import json
import shutil
import subprocess
from typing import Any, cast

from converge import StepError

MISSING = "sudo snap install juju, or see the first step of bundles/README.md"


UNREADABLE = "juju printed something that this revision cannot read"


def mapping(value: Any) -> dict[str, Any]:
    """A mapping of the client's JSON, which has null or nothing for an empty one.

    Raises:
        StepError: it is something else.

    """
    if value and not isinstance(value, dict):
        raise StepError(UNREADABLE)
    return cast("dict[str, Any]", value or {})


def parsed(text: str) -> dict[str, Any]:
    """What the client printed as JSON: nothing at all where there is nothing to list.

    Raises:
        StepError: it is not a JSON object.

    """
    try:
        return mapping(json.loads(text) if text.strip() else {})
    except (ValueError, RecursionError):
        raise StepError(UNREADABLE) from None


class Juju:
    """The client; `model` is as `-m` takes it, and empty for the current model."""

    def __init__(self, model: str = "") -> None:
        self._model = ["-m", model] if model else []

    def client(self, *words: str, shown: bool = False) -> str:
        """What a command prints that is about no model; with `shown`, its progress goes to the terminal.

        Raises:
            StepError: it failed; the reason is the client's own last line.

        """
        done = self._call([*words], shown)
        if done.returncode:
            said = (done.stderr or "").strip().splitlines() or ["see above"]
            raise StepError(f"juju {words[0]}: {said[-1].removeprefix('ERROR ')}")
        return done.stdout

    def model(self, *words: str) -> str:
        """The same for a command of the model."""
        return self.client(words[0], *self._model, *words[1:])

    def client_data(self, *words: str) -> dict[str, Any]:
        """What a command prints as JSON that is about no model."""
        return parsed(self.client(*words, "--format", "json"))

    def data(self, *words: str) -> dict[str, Any]:
        """The same for a command of the model."""
        return parsed(self.model(*words, "--format", "json"))

    def act(self, units: list[str], action: str, *parameters: str, wait: str = "10m") -> dict[str, Any]:
        """What an action said on units of one application, by unit: `status`, `results`, `message`.

        The client fails if the action failed on one of them, and still prints what all of them said.
        """
        words = ["run", *self._model, *units, action, *parameters, "--wait", wait, "--format", "json"]
        done = self._call(words, shown=False)
        if done.stdout.lstrip().startswith("{"):
            return parsed(done.stdout)
        said = (done.stderr or "").strip().splitlines() or [f"it ended with {done.returncode}"]
        raise StepError(f"juju run {' '.join(units)} {action}: {said[-1]}")

    @staticmethod
    def _call(words: list[str], shown: bool) -> "subprocess.CompletedProcess[str]":
        path = shutil.which("juju")
        if path is None:
            raise StepError("there is no juju client on this machine", MISSING)
        errors = None if shown else subprocess.PIPE
        return subprocess.run([path, *words], stdout=subprocess.PIPE, stderr=errors, text=True, check=False)
