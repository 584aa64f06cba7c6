# SPDX-License-Identifier: Apache-2.0
"""Names of switches that an operator gives, and what the intent lacks to reach them. Pure."""

from collections.abc import Collection, Iterable

from converge import Finding, Severity
from intent import ports
from intent.model import Fabric, Role, Switch


def unknown_switch(fabric: Fabric, names: Iterable[str], subject: str) -> Finding | None:
    """A finding for the first of these names that is not a switch of the fabric.

    Its subject is the option or parameter that has the names.
    """
    known = [switch.name for switch in fabric.switches]
    for name in names:
        if name not in known:
            those = f"the intent has {', '.join(known[:6])}{', …' if len(known) > 6 else ''}"
            return Finding(Severity.BLOCKED, subject, f"{name} is not a switch of the intent", those)
    return None


def without_address(fabric: Fabric, names: Collection[str] = ()) -> Finding | None:
    """A finding for the first of these switches, or of all, without a management address in the intent."""
    for each in fabric.switches:
        if each.platform == "cumulus" and not each.management and (not names or each.name in names):
            remedy = "set spines.management and leaves.management, or switches.<name>.management"
            return Finding(Severity.BLOCKED, each.name, "has no management address", remedy)
    return None


def cut_off(text: str) -> frozenset[str]:
    """Who may lose the network, from a list such as ``swp23 bond1-4,node7``: legs, hosts and leaves."""
    items = text.replace(",", " ").split()
    return frozenset(name for item in items for name in (item, *ports.names(item)))


def by_command_line(fabric: Fabric) -> list[Finding]:
    """A remark for each switch without NVUE: the charm does not configure it, and the command that does."""
    return [
        Finding(Severity.INFO, each.name, *_left_to_the_command_line(each))
        for each in fabric.by_role(Role.STANDALONE)
    ]


def not_by_the_charm(fabric: Fabric, names: Collection[str], subject: str) -> Finding | None:
    """A finding for the first of these names that is a switch without NVUE; subject as above."""
    for each in fabric.by_role(Role.STANDALONE):
        if each.name in names:
            what, remedy = _left_to_the_command_line(each)
            return Finding(Severity.BLOCKED, subject, f"{each.name} {what}", remedy)
    return None


def _left_to_the_command_line(switch: Switch) -> tuple[str, str]:
    given = f"--intent FILE --credentials FILE --known-hosts FILE --switch {switch.name}"
    return (
        f"runs {switch.platform}, which only the command line configures",
        f"apply it from the command line; run pipx run tox -e fabric -- apply {given}",
    )
