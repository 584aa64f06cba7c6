# SPDX-License-Identifier: Apache-2.0
"""The executor: in order, one after the other, and no further than the first failure."""

import errno
from dataclasses import dataclass, field, replace

import pytest
from converge import Disruption, Finding, Plan, Severity, Step, StepError
from converge.execute import Outcome, execute


@dataclass
class Machine:
    """Remembers what was done; a fault is an exception by name."""

    done: list[str] = field(default_factory=list)
    faults: dict[str, Exception] = field(default_factory=dict)


@dataclass(frozen=True)
class Do:
    name: str

    def run(self, system: Machine, /) -> None:
        if self.name in system.faults:
            raise system.faults[self.name]
        system.done.append(self.name)


def step(name: str) -> Step[Machine]:
    return Step(name, f"set {name}", "it is not set", Disruption.NONE, Do(name))


PLAN = Plan((step("a"), step("b"), step("c")))


def test_steps_run_in_order():
    machine = Machine()

    outcome = execute(PLAN, machine)

    assert machine.done == ["a", "b", "c"]
    assert outcome == Outcome(PLAN.steps)
    assert outcome.finding is None


def test_an_empty_plan_does_nothing():
    assert execute(Plan[Machine](), Machine()) == Outcome()


@pytest.mark.parametrize("at", ["a", "b", "c"])
def test_it_stops_at_the_first_failure_and_says_where(at: str):
    machine = Machine(faults={at: StepError("the kernel says no", "unbind the VFs")})

    outcome = execute(PLAN, machine)

    before = [name for name in "abc" if name < at]
    assert machine.done == before
    assert [done.key for done in outcome.done] == before
    assert outcome.failed == step(at)
    assert outcome.finding == Finding(
        Severity.BLOCKED, at, f"failed to set {at}: the kernel says no", "unbind the VFs"
    )


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.EBUSY, "Device or resource busy"), "Device or resource busy"),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "/sys/x"),
            "No such file or directory (/sys/x)",
        ),
        (OSError("netlink is closed"), "netlink is closed"),
        (OSError(errno.EBUSY, "Rate node(s) exists."), "Rate node(s) exists"),
    ],
)
def test_an_error_of_the_kernels_is_a_failure_of_the_step(error: OSError, words: str):
    finding = execute(PLAN, Machine(faults={"b": error})).finding

    assert finding is not None
    assert finding.sentence() == f"b: failed to set b: {words}"


def test_a_mistake_in_the_code_is_not_taken_for_a_failure_of_the_machine():
    with pytest.raises(ZeroDivisionError):
        execute(PLAN, Machine(faults={"b": ZeroDivisionError()}))


def test_a_blocked_plan_is_never_run():
    machine = Machine()
    blocked = Plan(PLAN.steps, findings=(Finding(Severity.BLOCKED, "bond0", "has three members"),))

    with pytest.raises(ValueError, match="a blocked plan must not be run"):
        execute(blocked, machine)

    assert machine.done == []


def test_each_step_is_announced_before_it_runs():
    machine = Machine(faults={"b": StepError("no")})
    heard: list[tuple[str, list[str]]] = []

    execute(PLAN, machine, lambda announced: heard.append((announced.key, list(machine.done))))

    assert heard == [("a", []), ("b", ["a"])]


def of_part(key: str):
    """A step about the part that its key begins with."""
    return replace(step(key), part=key[:1])


def test_a_failure_stops_its_own_part_of_the_machine_and_no_other():
    machine = Machine(faults={"x1": StepError("no"), "y1": OSError(errno.EIO, "Input/output error")})
    planned = Plan(tuple(map(of_part, ("x1", "x2", "y1", "y2", "z1", ""))))

    outcome = execute(planned, machine)

    assert machine.done == ["z1", ""]
    assert [finding.subject for finding in outcome.findings] == ["x1", "y1"]


def test_a_failure_of_the_whole_machine_stops_everything():
    machine = Machine(faults={"x1": StepError("no"), "": StepError("no")})
    planned = Plan(tuple(map(of_part, ("x1", "", "y1"))))

    outcome = execute(planned, machine)

    assert machine.done == []
    assert [finding.subject for finding in outcome.findings] == ["x1", ""]
