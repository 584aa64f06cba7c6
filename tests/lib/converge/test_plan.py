# SPDX-License-Identifier: Apache-2.0
"""Plans: what blocks them, what a policy holds, and what a held step keeps from running."""

from dataclasses import dataclass

from converge import Disruption, Finding, Held, Plan, Severity, Step
from hypothesis import given
from hypothesis import strategies as st


@dataclass(frozen=True)
class Note:
    """An operation that writes its name down."""

    name: str

    def run(self, system: list[str], /) -> None:
        system.append(self.name)


def step(key: str, disruption: Disruption = Disruption.NONE, needs: tuple[str, ...] = ()) -> Step[list[str]]:
    return Step(key, f"do {key}", "it is not done", disruption, Note(key), needs)


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


def test_what_costs_more_than_allowed_is_held_and_says_why():
    cheap, dear = step("cheap", Disruption.LINK_FLAP), step("dear", Disruption.VF_DESTROYING)

    plan = Plan((cheap, dear)).within(Disruption.LINK_FLAP, REASON, RELEASE)

    assert plan == Plan((cheap,), (Held(dear, REASON, RELEASE),))


def test_what_needs_a_held_step_is_held_too_however_far_behind():
    dear = step("dear", Disruption.REBOOT)
    child = step("child", needs=("dear",))
    grandchild = step("grandchild", needs=("child",))
    other = step("other")

    plan = Plan((dear, child, other, grandchild)).within(Disruption.NONE, REASON, RELEASE)

    assert plan.steps == (other,)
    assert [held.step for held in plan.held] == [dear, child, grandchild]


def test_what_needs_a_step_that_was_held_before_is_held_too():
    before = Held(step("before"), "VFs are in use", "migrate the instances")

    plan = Plan((step("after", needs=("before",)),), (before,)).within(Disruption.NONE, REASON, RELEASE)

    assert plan.steps == ()
    assert plan.held == (before, Held(step("after", needs=("before",)), REASON, RELEASE))


@given(
    st.lists(st.tuples(st.sampled_from(Disruption), st.sets(st.integers(0, 7))), max_size=8),
    st.sampled_from(Disruption),
)
def test_nothing_is_lost_no_order_is_broken_and_no_limit_passed(
    drawn: list[tuple[Disruption, set[int]]], limit: Disruption
):
    steps = tuple(
        step(str(n), disruption, tuple(str(m) for m in sorted(needs) if m < n))
        for n, (disruption, needs) in enumerate(drawn)
    )

    plan = Plan(steps).within(limit, REASON, RELEASE)

    assert sorted([s.key for s in plan.steps] + [h.step.key for h in plan.held]) == [s.key for s in steps]
    assert [s for s in steps if s in plan.steps] == list(plan.steps)
    assert all(s.disruption <= limit for s in plan.steps)
    running = {s.key for s in plan.steps}
    assert all(set(s.needs) <= running for s in plan.steps)
    assert plan.within(limit, "other", "other") == plan
