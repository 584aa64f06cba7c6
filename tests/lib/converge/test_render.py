# SPDX-License-Identifier: Apache-2.0
"""Plans and findings as people and as programs read them."""

import json
from dataclasses import replace

from converge import Disruption, Finding, Held, Plan, Severity, Step, worst_first
from converge.render import (
    PLAN_WIDTH,
    cut,
    findings_as_json,
    findings_as_table,
    plan_as_json,
    plan_as_table,
    with_differences,
)
from hypothesis import example, given
from hypothesis import strategies as st


class Noop:
    def run(self, system: object, /) -> None: ...


VFS = Step("0000:3b:00.0/vfs", "create 8 VFs on 0000:3b:00.0", "there are none", Disruption.NONE, Noop())
MODE = Step(
    "0000:3b:00.0/eswitch",
    "set switchdev on 0000:3b:00.0",
    "it is legacy",
    Disruption.HOST_NETWORK_CUT,
    Noop(),
)
FLAP = Finding(Severity.WARNING, "enp59s0f1np1", "has no carrier", "see the cable")
THREE = Finding(Severity.BLOCKED, "bond0", "has three members", "remove enp4s0")
PLAN = Plan((VFS,), (Held(MODE, "allow-live is false", "run approve-reboot"),), (FLAP,))


def test_a_plan_as_a_table():
    assert plan_as_table(PLAN).splitlines() == [
        "#  step                          because         disruption",
        "1  create 8 VFs on 0000:3b:00.0  there are none  none",
        "",
        "held because: allow-live is false",
        "what to do:   run approve-reboot",
        "held step                      disruption",
        "set switchdev on 0000:3b:00.0  host-network-cut",
        "",
        "severity  subject       finding         remedy",
        "warning   enp59s0f1np1  has no carrier  see the cable",
    ]


def test_a_wide_plan_is_wrapped():
    wide = replace(VFS, what=f"set {' '.join(f'NAME_{n}=1' for n in range(40))}", why="there is " * 20)
    found = Finding(Severity.BLOCKED, "bond0", "it is " * 30 + "wrong", "mend " * 30 + "it")
    lines = plan_as_table(Plan((wide,), (Held(wide, "x " * 200, "y " * 200),), (found,))).splitlines()

    assert max(map(len, lines)) <= PLAN_WIDTH
    assert all(f"NAME_{n}=1" in "\n".join(lines) for n in range(40))


def test_a_reason_stands_once():
    why = "VFs stay unbound until the NIC is ready"
    steps = [
        replace(VFS, key=str(n), what=f"do {n}", why=each) for n, each in enumerate([why, "no", why, "no"])
    ]
    held = [Held(step, "would cut the network", "run approve-reboot") for step in steps]
    lines = plan_as_table(Plan(tuple(steps), tuple(held))).splitlines()

    assert [line.split("  ")[2].strip() for line in lines[1:5]] == [why, "no", "as step 1", "no"]
    assert "\n".join(lines).count("would cut the network") == 1


def test_the_rows_that_are_cut_are_counted():
    assert cut([1, 2, 3], 2, "steps") == ([1, 2], "1 more steps: --all shows them")
    assert cut([1, 2], 2) == ([1, 2], "")
    assert cut([1, 2, 3], None) == ([1, 2, 3], "")


def test_the_worst_findings_stay_when_a_table_is_cut():
    many = [*(FLAP._replace(subject=f"port{n}") for n in range(9)), THREE]
    lines = findings_as_table(many, most=3, rest="verify shows them").splitlines()

    assert [line.split()[1] for line in lines[1:4]] == ["bond0", "port0", "port1"]
    assert lines[4:] == ["7 more findings: verify shows them"]
    assert len(findings_as_table(many).splitlines()) == 1 + len(many)


def test_each_table_of_a_plan_is_cut_and_steps_refer_to_shown_ones():
    steps = tuple(replace(VFS, key=str(n), what=f"do {n}", why="a reason that is long") for n in range(5))
    held = tuple(Held(step, "would cut the network", "run approve-reboot") for step in steps)
    lines = plan_as_table(Plan(steps, held, (FLAP,) * 5), 2).splitlines()

    assert [line for line in lines if "more" in line] == [
        "3 more steps: --all shows them",
        "3 more held steps: --all shows them",
        "3 more findings: --all shows them",
    ]
    assert lines[2].startswith("2  do 1  as step 1")
    assert sum("has no carrier" in line for line in lines) == 2


def test_a_converged_machine():
    assert plan_as_table(Plan()) == "Nothing to do: everything is as declared."
    assert findings_as_table(()) == "No finding: everything is as declared."


def test_a_blocked_plan_does_not_claim_that_all_is_well():
    assert plan_as_table(Plan(findings=(THREE,))).splitlines() == [
        "severity  subject  finding            remedy",
        "blocked   bond0    has three members  remove enp4s0",
    ]


def test_a_plan_without_steps_does_not_claim_more_than_its_findings():
    waits = Finding(Severity.WAITING, "boot", "the boot units are still at work")

    assert "Nothing to do" not in plan_as_table(Plan(findings=(waits,)))
    assert plan_as_table(Plan(findings=(FLAP,))).startswith("Nothing to do: everything is as declared.")


def test_a_plan_is_shown_with_what_verify_says_of_it():
    lowered = THREE._replace(severity=Severity.WARNING, remedy="")
    waits = Finding(Severity.WAITING, VFS.key, "0 of 8 VFs")

    assert with_differences(Plan((VFS,), (), (lowered, FLAP)), (FLAP, THREE, waits)) == Plan(
        (VFS,), (), (THREE, FLAP)
    )
    assert with_differences(Plan(), (FLAP, THREE, waits)) == Plan((), (), (THREE, waits))
    assert with_differences(Plan(), (FLAP,)) == Plan()


def test_the_worst_finding_comes_first_and_equals_keep_their_order():
    other = Finding(Severity.WARNING, "bond0", "has no partner")

    assert worst_first([FLAP, other, THREE]) == [THREE, FLAP, other]
    assert [line.split()[0] for line in findings_as_table([FLAP, THREE]).splitlines()] == [
        "severity",
        "blocked",
        "warning",
    ]
    assert [item["severity"] for item in findings_as_json([FLAP, THREE])] == ["blocked", "warning"]


def test_a_plan_as_json():
    assert json.loads(json.dumps(plan_as_json(PLAN))) == {
        "steps": [
            {
                "key": "0000:3b:00.0/vfs",
                "what": "create 8 VFs on 0000:3b:00.0",
                "why": "there are none",
                "disruption": "none",
            }
        ],
        "held": [
            {
                "key": "0000:3b:00.0/eswitch",
                "what": "set switchdev on 0000:3b:00.0",
                "why": "it is legacy",
                "disruption": "host-network-cut",
                "reason": "allow-live is false",
                "release": "run approve-reboot",
            }
        ],
        "findings": [
            {
                "severity": "warning",
                "subject": "enp59s0f1np1",
                "what": "has no carrier",
                "remedy": "see the cable",
            }
        ],
    }


def test_a_finding_as_one_sentence():
    assert THREE.sentence() == "bond0: has three members; remove enp4s0"
    assert Finding(Severity.INFO, "", "all is well").sentence() == "all is well"


HOSTILE = "leaf\0\ud800\x1b[2J\r\nfake: row"
"""A name that a neighbour may have in LLDP, or a broken NIC's board. No argument of a command has such
characters: Juju's commands would not be started."""


@given(st.text() | st.just(HOSTILE), st.text(), st.text())
@example(HOSTILE, HOSTILE, HOSTILE)
def test_a_finding_is_one_printable_line_whatever_others_call_themselves(subject, what, remedy):
    finding = Finding(Severity.BLOCKED, subject, what, remedy)
    assert finding.sentence().isprintable()
    assert finding.phrase().isprintable()
    assert all(line.isprintable() for line in findings_as_table([finding]).split("\n"))
    assert findings_as_table([finding]).count("\n") == 1


def test_what_cannot_be_printed_is_seen():
    finding = Finding(Severity.BLOCKED, "swp1", f"is wired to {HOSTILE}")
    assert finding.sentence() == "swp1: is wired to leaf\ufffd\ufffd\ufffd[2J fake: row"
