# SPDX-License-Identifier: Apache-2.0
"""A boot without the charms: with the kernel argument ``ovn-offload=off``, no unit or hook changes the host.

It is for the console of a node that does not come back: typed once in the boot loader, gone at the next boot.
"""

from converge import Finding, Severity

from hostnic.system import System, read_text

ARGUMENT = "ovn-offload=off"
CONDITION = f"ConditionKernelCommandLine=!{ARGUMENT}"
"""In section [Unit] of each unit that changes the host at boot, or later (systemd.unit(5))."""


def refused(system: System) -> tuple[Finding, ...]:
    """Why nothing is converged in this boot; empty if it was begun as usual."""
    if ARGUMENT not in (read_text(system, "/proc/cmdline") or "").split():
        return ()
    what, remedy = "no charm changes its NICs in this boot", f"reboot without the kernel argument {ARGUMENT}"
    return (Finding(Severity.BLOCKED, "this host", what, remedy),)
