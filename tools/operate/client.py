# SPDX-License-Identifier: Apache-2.0
"""Juju's own client, as the operator has it: with that login, and that model unless another is named."""

import json
from typing import Any, cast

from converge import StepError
from operate import private
from operate.process import NotInstalled, Output, Process, last_words, process

MISSING = "sudo snap install juju, or see step 0 of docs/how-to/deploy.md"
READ = 120.0
"""Seconds that the client may take to tell what it or the controller knows, or to tell the controller."""
ACTION = 600.0
"""Seconds that units may take for an action."""
LONGER = 30.0
"""Seconds that the client itself may take besides those that it waits for units."""
JSON = ("--format", "json")
GROUP = "ovn-offload"
"""The scripts' execution group, which --parallel wants."""


def mapping(value: Any) -> dict[str, Any]:
    """A mapping of the client's JSON, which has null or nothing for an empty one.

    Raises StepError if it is something else.
    """
    if value and not isinstance(value, dict):
        raise StepError("juju prints something that this revision cannot read")
    return cast("dict[str, Any]", value or {})


class Juju:
    """The client; `run` starts it.

    `model` is as `-m` takes it: empty for the current model, and for commands that are about none.
    """

    def __init__(self, model: str = "", run: Process = process) -> None:
        self._model = ["-m", model] if model else []
        self._run = run

    def call(self, *words: str, shown: bool = False) -> str:
        """Run a command and return its output; with `shown`, its progress goes to the terminal.

        Only a command that is `shown` has no limit of time: whoever watches it can end it.

        Raises StepError with the client's own reason if it failed.
        """
        command = [words[0], *self._model, *words[1:]]
        done = self._call(command, shown=shown, seconds=None if shown else READ)
        if done.status:
            said = "see above" if shown else _reason(done)
            raise StepError(f"juju {words[0]}: {said}")
        return done.text

    def data(self, *words: str) -> dict[str, Any]:
        """Run a command and return its output as JSON; some print nothing where there is nothing to list."""
        text = self.call(words[0], *JSON, *words[1:])
        try:
            return mapping(json.loads(text) if text.strip() else {})
        except (ValueError, RecursionError):
            raise StepError(f"juju {words[0]} prints something that is not JSON") from None

    def act(
        self, units: list[str], action: str, *parameters: str, wait: float | None = None
    ) -> dict[str, dict[str, Any]]:
        """Run an action on units of one application; return by unit: `status`, `results`, `message`.

        The client fails if the action failed on one of them, and still prints what all of them said; not if
        one did not end it within ``wait`` seconds.
        """
        wait = wait or ACTION
        words = ["run", *self._model, *JSON, *units, action, *parameters]
        return self._tasks([*words, f"--wait={wait:.0f}s"], f"run {' '.join(units)} {action}", wait)

    def results(self, unit: str, action: str, *parameters: str) -> dict[str, Any]:
        """The results of an action on one unit. Raises StepError with the charm's reason if it failed."""
        said = self.act([unit], action, *parameters)
        told = mapping(next(iter(said.values()), None))  # under the unit that leads, for keystone/leader
        if told.get("status") != "completed":
            why = private.without(str(told.get("message") or told.get("status") or "no answer"))
            raise StepError(f"juju run {unit} {action}: {why}", "see: juju debug-log")
        return mapping(told.get("results"))

    def execute(self, unit: str, script: str, *, wait: float) -> dict[str, Any]:
        """Run a root's shell script on a unit's machine and return its `status`, `results`, `message`."""
        # --parallel does not wait for the hooks of the machine's other units.
        words = ["exec", *self._model, *JSON, "--unit", unit, "--parallel", "--execution-group", GROUP]
        said = self._tasks([*words, f"--wait={wait:.0f}s", "--", script], f"exec --unit {unit}", wait)
        return mapping(said.get(unit))

    def _tasks(self, words: list[str], name: str, wait: float) -> dict[str, dict[str, Any]]:
        done = self._call(words, seconds=wait + LONGER)
        try:
            return mapping(json.loads(done.text))
        except (ValueError, RecursionError):
            raise StepError(f"juju {name}: {_reason(done)}") from None

    def _call(self, words: list[str], *, shown: bool = False, seconds: float | None) -> Output:
        try:
            return self._run(["juju", *words], "", seconds, shown=shown)
        except NotInstalled:
            raise StepError("there is no juju client on this machine", MISSING) from None


def _reason(done: Output) -> str:
    """Return the client's words after its last ERROR, which may be several lines; else its last line."""
    _, failed, said = done.error.rpartition("ERROR ")
    return last_words(done._replace(error=" ".join(said.split())) if failed else done)
