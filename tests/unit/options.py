# SPDX-License-Identifier: Apache-2.0
"""Options that a charm refuses: each wrong value is one sentence, a blocked unit, and no write."""

from typing import Any, ClassVar

import pytest

REBOOT: dict[str, list[Any]] = {
    "reboot-policy": ["", "never", "Manual", "idle", "when_idle", "when idle", "auto", "yes", "rolling", "0"],
    "reboot-settle": [-1, -2, -60, -3600, 3601, 3660, 7200, 86400, 10**9, -(2**31)],
}
VFS: dict[str, list[Any]] = {"num-vfs": [0, -1, -8, 1001, 1024, 4096, 65535, 65536, 10**9, -(2**31)]}
FORMATS = ("", "TABLE", "xml", "csv", "table ", "json,table", "0", "none")


class WrongOptions:
    """A charm's test class derives from it, and has a fixture ``node``, a unit.

    Attributes:
        wrong: by option, ten values that are not allowed.
        told_of: the option that the sentence names, where it is another one.
        actions: those that only read, none of which runs with a wrong option.
        outputs: classes of action parameters with a format.

    """

    wrong: ClassVar[dict[str, list[Any]]]
    told_of: ClassVar[dict[tuple[str, Any], str]] = {}
    actions: ClassVar[tuple[str, ...]]
    outputs: ClassVar[tuple[type, ...]]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "name" in metafunc.fixturenames:
            pairs = [(name, value) for name, values in metafunc.cls.wrong.items() for value in values]
            metafunc.parametrize(("name", "value"), pairs)
        for one, several in (("action", "actions"), ("output", "outputs")):
            if one in metafunc.fixturenames:
                metafunc.parametrize(one, getattr(metafunc.cls, several))

    def assert_untouched(self, node: Any) -> None:
        assert node.writes == []

    def test_a_wrong_value_is_one_sentence_a_blocked_unit_and_no_write(
        self, node: Any, name: str, value: Any
    ) -> None:
        status = node.configure(**{name: value}).emit("config_changed")
        assert status.name == "blocked"
        assert f"option {self.told_of.get((name, value), name)}: " in status.message
        assert "\n" not in status.message
        assert "Traceback" not in node.log
        self.assert_untouched(node)

    def test_an_action_refuses_a_wrong_option_in_one_sentence(self, node: Any, action: str) -> None:
        name, values = next(reversed(self.wrong.items()))
        assert f"option {name}: " in node.configure(**{name: values[0]}).failure(action)

    @pytest.mark.parametrize("text", FORMATS)
    def test_a_wrong_format_is_refused(self, output: type, text: str) -> None:
        with pytest.raises(ValueError, match=r"^format: .* is not allowed; expected "):
            output(format=text)
