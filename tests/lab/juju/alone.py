# SPDX-License-Identifier: Apache-2.0
"""One unit in this process: each hook and action as ops.testing runs it on what the one before left."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeVar

import ops
import pytest
import yaml
from ops import testing
from scenario import _runtime

Unit = TypeVar("Unit", bound="Alone")

KEYS = ("name", "subordinate", "requires", "provides", "peers", "assumes", "resources", "extra-bindings")
"""The keys of charmcraft.yaml that a context takes besides options and actions."""

# Before each hook, ops.testing writes charmcraft.yaml anew: in Python, that is a third of a hook's time. ops
# itself takes libyaml, too, if PyYAML has it; PyYAML as such is left to the code under test.
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_runtime.yaml = SimpleNamespace(safe_dump=partial(yaml.dump, Dumper=_DUMPER))


def context(
    kind: type[ops.CharmBase], declared: Mapping[str, Any], **unit: Any
) -> testing.Context[ops.CharmBase]:
    """Of a charm, with the content of its charmcraft.yaml; ``unit`` has ``app_name`` and ``unit_id``."""
    return testing.Context(
        kind,
        meta={key: declared[key] for key in KEYS if key in declared},
        config=declared["config"],
        actions=declared["actions"],
        juju_version="3.6.0",
        **unit,
    )


class Alone:
    """A unit with its ``context``, and in ``state`` what Juju knows of it."""

    context: testing.Context[ops.CharmBase]
    state: testing.State

    def forget(self) -> None:
        """Before each hook and action: what the one before it has done."""

    def configure(self: Unit, **options: Any) -> Unit:
        """Set options, by their names with ``_`` for ``-``; None unsets."""
        return self.set({name.replace("_", "-"): value for name, value in options.items()})

    def set(self: Unit, given: Mapping[str, Any]) -> Unit:
        """Set options, by their own names."""
        config = {**self.state.config, **given}
        kept = {name: value for name, value in config.items() if value is not None}
        self.state = replace(self.state, config=kept)
        return self

    def emit(self, event: str = "config_changed", *arguments: Any, **named: Any) -> ops.StatusBase:
        """Run one hook."""
        self.forget()
        self.context.juju_log.clear()
        self.state = self.context.run(getattr(self.context.on, event)(*arguments, **named), self.state)
        return self.state.unit_status

    def action(self, name: str, **parameters: Any) -> dict[str, Any]:
        """Run one action; raises ``testing.ActionFailed`` as Juju would say it."""
        self.forget()
        given = {key.replace("_", "-"): value for key, value in parameters.items()}
        self.state = self.context.run(self.context.on.action(name, params=given), self.state)
        return self.context.action_results or {}

    def failure(self, action: str, **parameters: Any) -> str:
        """Run an action that must fail; its one sentence. What it wrote before stays."""
        with pytest.raises(testing.ActionFailed) as failed:
            self.action(action, **parameters)
        assert failed.value.state
        self.state = failed.value.state
        return failed.value.message

    @property
    def log(self) -> str:
        """The log of the last hook or action."""
        return "\n".join(entry.message for entry in self.context.juju_log)
