# SPDX-License-Identifier: Apache-2.0
"""Actions: what plan and verify print, how much of it Juju takes, and parameters that are wrong."""

import errno
import json
import subprocess
from typing import Any

import pytest
from charmkit.output import MOST, Table, shortened
from charmkit.reconcile import answer
from converge import Finding, Severity, StepError
from hypothesis import given
from hypothesis import strategies as st
from lib.reconciled import Charm, charm, context, state
from ops import testing

__all__ = ["charm", "context"]


def test_plan_prints_and_changes_no_status(context: testing.Context[Charm], charm: type[Charm]):
    out = context.run(context.on.action("plan"), state())

    assert charm.calls == ["preview"]
    assert context.action_results is not None
    assert context.action_results["plan"].splitlines()[1].split() == (
        ["1", "create", "8", "VFs", "there", "are", "none", "vf-destroying"]
    )
    assert out.unit_status == testing.UnknownStatus()


def test_plan_as_json(context: testing.Context[Charm]):
    context.run(context.on.action("plan", params={"format": "json"}), state())

    assert context.action_results is not None
    assert json.loads(context.action_results["plan"])["steps"][0]["disruption"] == "vf-destroying"


@pytest.mark.parametrize(
    ("severity", "verified"),
    [
        (None, "true"),
        (Severity.INFO, "true"),
        (Severity.WARNING, "true"),
        (Severity.HELD, "false"),
        (Severity.WAITING, "false"),
        (Severity.BLOCKED, "false"),
    ],
)
def test_verify_says_whether_all_holds(
    context: testing.Context[Charm], charm: type[Charm], severity: Severity | None, verified: str
):
    charm.findings = () if severity is None else (Finding(severity, "bond0", "flaps", "see the cable"),)

    context.run(context.on.action("verify", params={"format": "json"}), state())

    assert charm.calls == ["verify"]
    assert context.action_results is not None
    assert context.action_results["verified"] == verified
    assert [item["what"] for item in json.loads(context.action_results["findings"])] == ["flaps"] * len(
        charm.findings
    )


def test_verify_as_a_table(context: testing.Context[Charm], charm: type[Charm]):
    charm.findings = (Finding(Severity.HELD, "bond0", "flaps", "see the cable"),)

    context.run(context.on.action("verify"), state())

    assert context.action_results is not None
    row = context.action_results["findings"].splitlines()[1]
    assert row.split() == ["held", "bond0", "flaps", "see", "the", "cable"]


def taken(results: dict[str, Any] | None) -> bool:
    """Whether the kernel takes these results as arguments, as those of ``action-set``."""
    assert results is not None
    arguments = [f"{name}={value}" for name, value in results.items()]
    try:
        return subprocess.run(["/bin/true", *arguments], check=True).returncode == 0
    except OSError as error:
        assert error.errno == errno.E2BIG
        return False


def test_a_table_that_juju_does_not_take_is_cut_and_says_how_much_is_left_out(
    context: testing.Context[Charm], charm: type[Charm]
):
    charm.findings = [Finding(Severity.HELD, f"port {n}", "flaps … " + "x" * 200, "") for n in range(3000)]

    context.run(context.on.action("verify"), state())

    assert context.action_results is not None
    assert taken(context.action_results)
    assert context.action_results["verified"] == "false"
    *lines, note = context.action_results["findings"].splitlines()[:-4]
    left = 1 + len(charm.findings) - len(lines) - 4
    assert note == f"… {left} more lines, since Juju takes {MOST} bytes; see elsewhere"
    assert "port 2999 " in context.action_results["findings"].splitlines()[-1]
    assert left > 0 < len(lines)


def test_what_is_no_table_is_whole_or_the_action_fails(context: testing.Context[Charm], charm: type[Charm]):
    charm.findings = [Finding(Severity.HELD, f"port {n}", "x" * 200, "") for n in range(3000)]

    with pytest.raises(
        testing.ActionFailed, match=r"the result findings has \d+ bytes, and Juju takes 100000; see"
    ):
        context.run(context.on.action("verify", params={"format": "json"}), state())


class Asked:
    """An action's event, and what was answered."""

    def __init__(self, style: str) -> None:
        self.params = {"format": style}
        self.results: dict[str, str] = {}
        self.failure = ""

    def set_results(self, results: dict[str, str]) -> None:
        self.results = results

    def fail(self, why: str) -> None:
        self.failure = why


@pytest.mark.parametrize(
    ("style", "is_cut"), [("table", True), ("text", True), ("svg", False), ("json", False)]
)
def test_lines_are_left_out_of_tables_and_text_alone(style: str, is_cut: bool):
    event: Any = Asked(style)

    assert answer(event, lambda: {"fabric": "x" * 99 + "\n" * 2 * MOST}) is is_cut
    assert ("more lines" in event.results.get("fabric", ""), "Juju takes" in event.failure) == (
        is_cut,
        not is_cut,
    )


def test_a_step_that_failed_is_said_with_what_helps():
    event: Any = Asked("table")

    def act() -> dict[str, str]:
        raise StepError("the NIC is gone", "see the kernel log")

    assert not answer(event, act)
    assert event.failure == "the NIC is gone; see the kernel log"


def test_a_line_that_just_fits_is_kept():
    end = "a\nb\nc\nd"
    note = len(f"… 2 more lines, since Juju takes {MOST} bytes\n{end}\n".encode())
    line = "x" * (MOST - note - 1)

    assert shortened(f"{line}\ny\n{end}", "").startswith(f"{line}\n… 1 more lines")
    assert shortened(f"{line}x\ny\n{end}", "").startswith("… 2 more lines")


def test_a_table_of_one_row():
    assert Table([{"port": "p0"}], "none").text().split() == ["port", "p0"]
    assert Table([], "none").text() == "none"


@given(st.integers(MOST - 40, MOST + 40), st.integers(1, 300), st.text(min_size=0, max_size=20))
def test_a_result_is_as_long_as_juju_takes(size: int, width: int, last: str):
    text = "\n".join(["é" * width] * (size // (2 * width + 1))) + f"\n{last}"

    assert len(shortened(text, "see elsewhere").encode()) <= MOST
    assert shortened(text, "").endswith(f"\n{last}")


def test_an_action_with_a_wrong_option_fails_with_the_same_sentence(context: testing.Context[Charm]):
    with pytest.raises(testing.ActionFailed, match="option num-vfs: 0 is not allowed"):
        context.run(context.on.action("plan"), state(**{"num-vfs": 0}))


@pytest.mark.parametrize("action", ["plan", "verify"])
def test_a_format_that_nobody_offers(context: testing.Context[Charm], charm: type[Charm], action: str):
    sentence = "parameter format: 'yaml' is not allowed; set table or json"
    with pytest.raises(testing.ActionFailed, match=sentence):
        context.run(context.on.action(action, params={"format": "yaml"}), state())

    assert charm.calls == []


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({}, "parameter image: is not set; it has no default"),
        ({"image": "fw.txt"}, "parameter image: 'fw.txt' is not allowed; set the name of a .bin file"),
    ],
)
def test_a_wrong_action_parameter(context: testing.Context[Charm], params: dict[str, str], sentence: str):
    with pytest.raises(testing.ActionFailed, match=sentence):
        context.run(context.on.action("burn", params=params), state())


def test_a_tool_s_last_words_fail_an_action_in_one_printable_line(
    context: testing.Context[Charm], charm: type[Charm]
):
    """Others would be no argument of Juju's command."""
    charm.unreadable = OSError("mstconfig failed (3): \0\ud800\nno device")

    with pytest.raises(testing.ActionFailed) as failed:
        context.run(context.on.action("verify"), state())

    assert failed.value.message == "mstconfig failed (3): \ufffd\ufffd no device"
