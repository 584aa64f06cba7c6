# SPDX-License-Identifier: Apache-2.0
"""The charm's code says what the integration tests expect of it: both read tests/integration/said.yaml."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pytest
from charmkit.status import LONGEST
from integration.said import Act, Said, Value, read
from ops import testing

Fresh = Sequence[tuple[Callable[[], Any], str]]

TEN = 10
"""Values of each kind that the integration tests set on each charm, at least."""


class OnAMachineWithoutConnectX:
    """A charm's test class derives from it, names its charm, and has a fixture ``unit``.

    The unit has ``set`` (options by their own names), ``emit`` and ``action``. ``fresh`` makes units on other
    machines of a new site, and says how the message of each begins.
    """

    charm: ClassVar[str]
    metadata: ClassVar[dict[str, Any]]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        said = read(metafunc.cls.charm)
        for name, values in (("accepted", said.accepted), ("refused", said.refused), ("act", said.actions)):
            if name in metafunc.fixturenames:
                metafunc.parametrize(name, values, ids=lambda each: str(each[0]))

    @property
    def said(self) -> Said:
        return read(self.charm)

    def test_it_says_so(self, unit: Any) -> None:
        status = unit.emit("config_changed")
        assert (status.name, status.message[: len(self.said.says)]) == (self.said.status, self.said.says)

    def test_on_a_fresh_site_the_next_command_comes_first_and_nothing_is_cut(
        self, unit: Any, fresh: Fresh
    ) -> None:
        """With no option set. Where no command helps, since there is no NIC, the fact comes first."""
        for make, begins in ((lambda: unit, self.said.says), *fresh):
            new = make()
            assert new.state.config == {}
            new.emit("install")
            message = new.emit("config_changed").message
            assert message.startswith(begins)
            assert bool(message) == bool(begins), "nothing is left to do, and nothing is said"
            assert len(message) <= LONGEST
            assert "…" not in message

    def test_an_accepted_value(self, unit: Any, accepted: Value) -> None:
        status = unit.set({accepted.option: accepted.value}).emit("config_changed")
        says = accepted.says or self.said.says
        assert (status.name, status.message[: len(says)]) == (self.said.status, says)

    def test_a_refused_value(self, unit: Any, refused: Value) -> None:
        status = unit.set({refused.option: refused.value}).emit("config_changed")
        assert (status.name, status.message[: len(refused.says)]) == ("blocked", refused.says)
        assert not refused.says.startswith(self.said.says)

    def test_an_action(self, unit: Any, act: Act) -> None:
        unit.emit("config_changed")
        self.answers(unit, act)

    def test_an_action_before_the_first_hook(self, unit: Any, act: Act) -> None:
        """Juju runs an action as soon as the unit's agent is there."""
        early = "this unit has not run a hook since the host booted; try again in a minute"
        self.answers(unit, act._replace(fails=early) if act.run == "approve-reboot" else act)

    def answers(self, unit: Any, act: Act) -> None:
        if act.fails:
            with pytest.raises(testing.ActionFailed) as failed:
                unit.action(act.run, **act.given)
            assert act.fails in failed.value.message
        else:
            assert act.says in "\n".join(unit.action(act.run, **act.given).values())

    def test_the_table_has_ten_values_of_each_kind_and_every_action(self) -> None:
        for values in (self.said.accepted, self.said.refused):
            assert len({(value.option, repr(value.value)) for value in values}) >= TEN
        assert sorted(act.run for act in self.said.actions) == sorted(self.metadata["actions"])

    def test_juju_takes_every_value_of_the_table(self) -> None:
        """Of the type that charmcraft.yaml declares; others are refused before the charm sees them."""
        kinds = {"string": str, "int": int, "boolean": bool}
        options = self.metadata["config"]["options"]
        for value in (*self.said.accepted, *self.said.refused):
            assert type(value.value) is kinds[options[value.option]["type"]], value
            # Juju reads an empty value as none, one that begins with @ as a file's name.
            assert not isinstance(value.value, str) or value.value.strip("@ ") == value.value != ""
