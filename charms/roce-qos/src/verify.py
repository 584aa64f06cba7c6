# SPDX-License-Identifier: Apache-2.0
"""What still differs from the declared state, as findings for the operator. Pure."""

from collections.abc import Iterator

from charmkit.output import NEXT_HOOK
from converge import Finding, Plan, Severity
from desired import Desired
from hostnic.system import System
from observed import Observed

GONE = (
    "see the kernel log, and lspci -k for the driver that has it; if the NIC was removed, name the remaining "
    "ports in option devices, such as bond0"
)


def verify(wanted: Desired, observed: Observed, plan: Plan[System]) -> tuple[Finding, ...]:
    """What the plan would still do, what it holds, what blocks it, and what went wrong in the boot units."""
    left = [*_left(wanted, observed, plan)]
    boot = [Finding(Severity.WARNING, "boot", problem) for problem in observed.boot.problems] if left else []
    return (*plan.findings, *left, *boot)


def _left(wanted: Desired, observed: Observed, plan: Plan[System]) -> Iterator[Finding]:
    unreadable = {finding.subject for finding in observed.findings}
    for bdf in wanted.ports:
        if observed.port(bdf) is None and bdf not in unreadable:
            yield Finding(Severity.BLOCKED, bdf, "the port has no netdev", GONE)
    for step in plan.steps:
        # The wait after a change is not a difference.
        if not step.key.endswith("/member"):
            yield Finding(Severity.WAITING, step.key, f"to do: {step.what}; {step.why}", NEXT_HOOK)
    for item in plan.held:
        yield Finding(Severity.HELD, item.step.key, f"{item.step.what}: {item.reason}", item.release)
