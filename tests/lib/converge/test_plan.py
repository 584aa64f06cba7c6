# SPDX-License-Identifier: Apache-2.0
"""Plans: when there is nothing to do, and what blocks them."""

from dataclasses import dataclass

from converge import Disruption, Finding, Held, Plan, Severity, Step


@dataclass(frozen=True)
class Note:
    """An operation that writes its name down."""

    name: str

    def run(self, system: list[str], /) -> None:
        system.append(self.name)


def step(key: str) -> Step[list[str]]:
    return Step(key, f"do {key}", "it is not done", Disruption.NONE, Note(key))


BLOCKED = Finding(Severity.BLOCKED, "bond0", "has three members")
HELD = Finding(Severity.HELD, "bond0", "waits")
REASON, RELEASE = "reboot-policy is manual", "approve-reboot"


def test_a_plan_without_steps_is_empty_whatever_it_found():
    assert Plan().empty
    assert Plan(findings=(BLOCKED,)).empty
    assert not Plan((step("a"),)).empty
    assert not Plan(held=(Held(step("a"), REASON, RELEASE),)).empty


def test_only_what_the_operator_must_mend_blocks():
    assert Plan(findings=(HELD, BLOCKED)).blocked
    assert not Plan(findings=(HELD,)).blocked


def test_disruptions_are_ordered_by_what_they_cost():
    assert [disruption.label for disruption in sorted(Disruption)] == [
        "none",
        "link-flap",
        "host-network-cut",
        "vf-destroying",
        "reboot",
        "power-cycle",
    ]
