# SPDX-License-Identifier: Apache-2.0
"""Configures the Onyx and Comware switches of a fabric one after the other, after all other switches."""

from collections.abc import Callable, Collection, Sequence

from converge import Finding, Severity, StepError
from intent.model import Fabric
from standalone.scripts import script_for, switches

from cli import ssh


def apply(
    fabric: Fabric,
    names: Collection[str],
    login: ssh.Login,
    audit: Sequence[Finding] = (),
    announce: Callable[[str], None] = lambda _: None,
) -> list[Finding]:
    """Send each switch its script; a switch that refuses a command does not stop the others.

    These switches have no diff: every run sends all commands, and those that are set already change nothing.

    Returns what failed, and where the scripts differ from their guide. Nothing is sent if the audit blocks.
    """
    found = [each for each in audit if each.severity is Severity.BLOCKED]
    if found:
        return found
    for switch in switches(fabric, names):
        script = script_for(fabric, switch)
        found += [Finding(Severity.INFO, switch.name, note) for note in script.notes]
        if not switch.management:
            what = "has no management address"
            found.append(Finding(Severity.BLOCKED, switch.name, what, f"give {switch.path}.management"))
            continue
        announce(f"{switch.name}: typing {len(script.lines)} commands")
        try:
            ssh.push_config(switch.platform, switch.management, script, login)
        except StepError as error:
            found.append(Finding(Severity.BLOCKED, switch.name, error.reason, error.remedy))
    return found
