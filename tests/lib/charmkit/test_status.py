# SPDX-License-Identifier: Apache-2.0
"""A unit's status: the worst finding in words, the others counted, on one line."""

import ops
import pytest
from charmkit.status import LONGEST, unit_status
from converge import Finding, Severity
from hypothesis import given
from hypothesis import strategies as st


def finding(severity: Severity, what: str = "is wrong", remedy: str = "") -> Finding:
    return Finding(severity, "bond0", what, remedy)


@pytest.mark.parametrize(
    ("severities", "status"),
    [
        ((), ops.ActiveStatus("")),
        ((Severity.INFO,), ops.ActiveStatus("")),
        ((Severity.WARNING,), ops.ActiveStatus("bond0: is wrong")),
        ((Severity.WARNING, Severity.INFO), ops.ActiveStatus("bond0: is wrong")),
        ((Severity.HELD,), ops.BlockedStatus("bond0: is wrong")),
        ((Severity.WAITING, Severity.HELD), ops.BlockedStatus("bond0: is wrong (+1 more, see verify)")),
        ((Severity.PLANNED,), ops.WaitingStatus("bond0: is wrong")),
        ((Severity.WAITING, Severity.PLANNED), ops.WaitingStatus("bond0: is wrong (+1 more, see verify)")),
        ((Severity.WAITING, Severity.WARNING), ops.WaitingStatus("bond0: is wrong (+1 more, see verify)")),
        (
            (Severity.WARNING, Severity.BLOCKED, Severity.HELD),
            ops.BlockedStatus("bond0: is wrong (+2 more, see verify)"),
        ),
    ],
)
def test_the_worst_finding_decides(severities: tuple[Severity, ...], status: ops.StatusBase):
    assert unit_status([finding(severity) for severity in severities]) == status


def test_the_first_of_the_worst_is_told_with_its_remedy():
    findings = [
        finding(Severity.WARNING, "flaps"),
        finding(Severity.BLOCKED, "has three members", "remove one"),
        finding(Severity.BLOCKED, "has no partner"),
    ]

    assert unit_status(findings).message == "bond0: has three members; remove one (+2 more, see verify)"


def test_what_the_operator_has_to_do_is_told_while_something_else_waits():
    findings = [
        finding(Severity.WAITING, "forms"),
        finding(Severity.HELD, "needs a reboot", "run approve-reboot"),
    ]

    status = unit_status(findings)

    assert status == ops.BlockedStatus("run approve-reboot; bond0: needs a reboot (+1 more, see verify)")


@pytest.mark.parametrize("remedy", ["run approve-reboot", "run: juju config app option=VALUE"])
def test_a_command_for_the_operator_comes_first_and_whole(remedy: str):
    """A terminal cuts the end of a line."""
    for severity in (Severity.BLOCKED, Severity.HELD):
        assert unit_status([finding(severity, remedy=remedy)]).message == f"{remedy}; bond0: is wrong"
    assert unit_status([finding(Severity.WARNING, remedy=remedy)]).message == f"bond0: is wrong; {remedy}"


def test_of_a_long_remedy_the_first_way_is_shown():
    remedy = "take the port out of option devices; or set it in the BIOS, and power-cycle the machine"
    message = unit_status([finding(Severity.BLOCKED, "has lost its link", remedy)]).message

    assert message == "bond0: has lost its link; take the port out of option devices (see verify)"


def test_the_first_way_comes_before_the_subject_where_the_fact_has_to_be_cut():
    remedy = "take the port out of option devices; or set it in the BIOS, and power-cycle the machine"
    message = unit_status([finding(Severity.BLOCKED, "has lost its link" * 9, remedy)]).message

    assert message.startswith("take the port out of option devices; bond0: has lost its link")
    assert message.endswith("… (see verify)")


def test_the_count_of_the_others_gives_way_to_remedy_and_subject():
    remedy = "run " + "r" * 71
    findings = [finding(Severity.BLOCKED, "x" * 300, remedy), finding(Severity.BLOCKED)]

    assert unit_status(findings).message == f"{remedy}; bond0: xxxxx… (+1 more)"


def test_a_long_sentence_is_cut_and_points_to_verify():
    message = unit_status([finding(Severity.BLOCKED, "x" * 300)]).message

    assert len(message) <= LONGEST
    assert message.endswith("x… (see verify)")


def test_a_remedy_comes_first_and_whole_where_the_fact_has_to_be_cut():
    message = unit_status([finding(Severity.HELD, "x" * 300, "run approve-reboot")]).message

    assert len(message) <= LONGEST
    assert message.startswith("run approve-reboot; bond0: xxx")


@given(st.lists(st.builds(finding, st.sampled_from(Severity), st.text(max_size=300)), max_size=30))
def test_never_longer_than_a_line(findings: list[Finding]):
    assert len(unit_status(findings).message) <= LONGEST
