# SPDX-License-Identifier: Apache-2.0
"""Drain and roll, killed at each of their steps and led on by the same command: where a cloud is after each.

It ends where it would without an interruption: the instance is on the other node, the node has rebooted once,
and Nova uses it again, unless somebody else disabled it meanwhile.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from acceptance.asking import asking
from drain.compute import MARK

from lab.checks import Check, equal
from lab.rack.killed import Moment, Verbs

OTHERS = "bad memory, ask Eve"
"""The reason of somebody else who disables a node's service."""


class Site(NamedTuple):
    """A cloud whose nodes ask for a reboot, and an instance that holds VFs of the one that is drained.

    Attributes:
        area: of the checks.
        connection: openstacksdk's, of an administrator.
        verbs: the operator's commands.
        instance: its name.
        boots: how often a node has booted.
        away: whether a node reboots, or is about to.
        heard: whether nova-compute of a node has reported since its last boot. Nova's API calls it to enable
            or to disable its service, and waits for minutes for one that does not answer.
        until: wait until something holds; False if it does not in time.

    """

    area: str
    connection: Any
    verbs: Verbs
    instance: str
    boots: Callable[[str], int]
    away: Callable[[str], bool]
    heard: Callable[[str], bool]
    until: Callable[[Callable[[], bool]], bool]

    def service(self, node: str) -> Any:
        """Nova's service of a node, as openstacksdk has it."""
        with asking("compute services"):
            every = list(self.connection.compute.services(binary="nova-compute"))
        return next(each for each in every if each.host.partition(".")[0] == node)

    def use(self, node: str) -> str:
        """How Nova uses a node: `enabled`, `emptied` by this project's tool, or somebody's reason."""
        service = self.service(node)
        if service.status == "enabled":
            return "enabled"
        reason = service.disabled_reason or "no reason"
        return "emptied" if reason.startswith(MARK) else reason

    def placed(self) -> str:
        """Where the instance is, and its status."""
        with asking("servers"):
            every = list(self.connection.compute.servers(all_projects=True))
            found = [each for each in every if each.name == self.instance]
        return ", ".join(f"{each.compute_host.partition('.')[0]} {each.status}" for each in found)

    def disable(self, node: str) -> None:
        """Somebody else has Nova place nothing on a node."""
        self.until(lambda: self.heard(node))
        service = self.service(node)
        with asking("compute services"):
            self.connection.compute.update_service(service.id, status="disabled", disabled_reason=OTHERS)

    def enable(self, *nodes: str) -> None:
        """Whoever disabled these nodes takes them into use again."""
        for service in (self.service(node) for node in nodes if self.use(node) != "enabled"):
            with asking("compute services"):
                self.connection.compute.update_service(service.id, status="enabled")


class Cut(NamedTuple):
    """A run that is killed.

    Attributes:
        when: in words.
        at: the moment.
        use, place, boots: of the node, the instance and the node afterwards.

    """

    when: str
    at: Moment
    use: str
    place: str
    boots: int


def drained(site: Site, node: str, other: str) -> list[Check]:
    """Drain a node, killed five times; the instance goes to the other node."""
    arrived = f"{other} VERIFY_RESIZE"
    there = f"{other} ACTIVE"
    cuts = [
        Cut("before its instance moves", Moment("move"), "emptied", f"{node} ACTIVE", 0),
        Cut("while its instance moves", Moment("move", lambda: True), "emptied", arrived, 0),
        Cut("before the approval", Moment("approve"), "emptied", there, 0),
        Cut("while it reboots", Moment("wait", lambda: site.away(node)), "emptied", there, 0),
        Cut("before it is used again", Moment("enable"), "emptied", there, 1),
    ]
    before = site.boots(node)
    found = _killed(site, ["drain", node], node, cuts, before)
    if all(check.holds for check in found):
        site.until(lambda: site.heard(node))
        ran = site.verbs.run("drain", node)
        found.append(Check(site.area, f"drain {node}, led on", "exit status 0", ran.ended, ran.status == 0))
        found.append(_state(site, node, "drained", ("enabled", there, 1), before))
    return found


def rolled(site: Site, node: str, other: str) -> list[Check]:
    """Roll over the node that is left, killed once; then somebody else disables it while it reboots."""
    there = f"{other} ACTIVE"
    cuts = [Cut("before it waits", Moment("wait"), "emptied", there, 0)]
    before, others = site.boots(node), site.boots(other)
    found = _killed(site, ["roll"], node, cuts, before)
    if all(check.holds for check in found):
        ran = site.verbs.run("roll", at=Moment("enable"), then=lambda: site.disable(node))
        told = f"somebody else disabled Nova's service on {site.service(node).host}: {OTHERS}"
        good = ran.status == 1 and ran.reached and told in ran.said
        found.append(Check(site.area, f"roll, {node} disabled meanwhile", f"1, {told}", ran.ended, good))
        found.append(_state(site, node, "rolled", (OTHERS, there, 1), before))
    again = str(site.boots(other) - others)
    found.append(equal(site.area, f"{other}, which asked for no reboot any more: boots", "0", again))
    return found


def _killed(site: Site, words: list[str], node: str, cuts: list[Cut], before: int) -> list[Check]:
    """The same command, killed at each of these; it ends at the first one after which something is wrong."""
    found: list[Check] = []
    for cut in cuts:
        what = f"{' '.join(words)}, killed {cut.when}"
        ran = site.verbs.run(*words, at=cut.at)
        found.append(Check(site.area, what, "killed", ran.ended, ran.status is None and ran.reached))
        if not found[-1].holds:
            break
        # Nova goes on with what it has begun.
        if cut.place != site.placed():
            site.until(lambda place=cut.place: site.placed() == place)
        found.append(_state(site, node, what, (cut.use, cut.place, cut.boots), before))
        if not found[-1].holds:
            break
    return found


def _state(site: Site, node: str, what: str, wanted: tuple[str, str, int], before: int) -> Check:
    """Check how Nova uses a node, where the instance is, and how often the node has booted."""
    said = "Nova's service {}; the instance {}; {} boots".format
    now = (site.use(node), site.placed(), site.boots(node) - before)
    return equal(site.area, f"{what}: {node}", said(*wanted), said(*now))
