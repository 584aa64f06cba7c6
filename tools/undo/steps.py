# SPDX-License-Identifier: Apache-2.0
"""The steps that give a model, or one node, back as it was before these charms. Pure.

Nothing is kept between two runs: what is left to do is read from Juju and from the hosts.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from acceptance.cloud import Clock
from check.facts import own
from converge import Disruption, Finding, Held, Plan, Severity, Step, StepError
from converge.finding import few
from drain import steps as emptying
from drain.compute import Guest
from drain.node import Node
from operate.adopt.hypervisors import NUMVFS
from operate.client import Juju, mapping
from operate.computes import Place
from operate.fleet import own_units
from undo.found import DRIVER, FABRIC, FIRMWARE, QOS, App, Chassis, Firmware, Found

OF_VFS = ("SRIOV_EN", "NUM_OF_VFS", "PF_NUM_OF_VF_VALID", "PF_NUM_OF_VF")
"""Firmware parameters without which the VFs of the next boot are not there."""
EVERY = 10.0
"""Seconds between two looks at an application that goes."""
COMMAND = "pipx run tox -e juju --"


class Desk(Protocol):
    """All that the steps reach; `drain` has the same with Nova."""

    @property
    def juju(self) -> Juju: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def say(self) -> Callable[[str], None]: ...
    @property
    def wait(self) -> float: ...


@dataclass(frozen=True)
class Around:
    """A desk without Nova."""

    juju: Juju
    clock: Clock
    say: Callable[[str], None]  # tells the operator what a step waits for
    wait: float  # seconds for the units of an application to go


def site(model: Found, users: Sequence[tuple[str, Guest]] | None, cloud: str = "") -> Plan[Desk]:
    """Plan the way back of a whole model.

    Args:
        model: as it was read.
        users: instances with a device of their host, with that host, where VFs are not to stay; else None,
            and ovn-chassis creates the VFs from then on.
        cloud: the name of the cloud that has these instances.

    """
    if not model.apps:
        return Plan()
    findings = [*_left(model)]
    if users is None and (unlike := [each for chassis in model.chassis for each in _disagreeing(chassis)]):
        return Plan(findings=tuple(unlike))
    if users is not None:
        findings += [_stays_set(each) for each in model.chassis if each.creates]
    stay = users is None
    steps = [
        *(step for chassis in model.chassis for step in _hand_back(chassis) if stay),
        *(_remove(app, "the running NICs stay as they are") for app in model.of(DRIVER)),
        *(_remove(app, "ports stay lossless until the next boot") for app in model.of(QOS)),
        *(step for each in model.firmware for step in _restore(each, vfs=stay)),
        *(_remove(app, "the next boot has the former values") for app in model.of(FIRMWARE)),
        *(_remove(app, "the switches keep what they run") for app in model.of(FABRIC)),
    ]
    reason, release = _obstacle(model, users, cloud)
    if reason:  # also of what would be harmless: two that create VFs are no state to stay in
        return Plan((), tuple(Held(each, reason, release) for each in steps), tuple(findings))
    return Plan(tuple(steps), findings=tuple(findings))


def node(place: Place, emptied: Node, firmware: Firmware | None) -> Plan[emptying.Clients]:
    """Plan the way back of one node that leaves: empty, out of use, and with its former firmware."""
    before = emptying.plan(place, emptied, keep=True, stop=False)
    if before.blocked:
        return before
    unit = place.units["nova-compute"]
    own = [*_restore(firmware, vfs=False)] if firmware else []
    flash = [*_flash(firmware)] if firmware else []
    if staying := [each for each in emptied.guests if each.stays]:
        reason = f"{few([each.name for each in staying])} runs there, and Nova does not move it"
        release = "have its owner stop it, then run this again"
        held = tuple(Held(each, reason, release) for each in own)
        return Plan(before.steps, held, (*before.findings, *flash))
    what = f"is then empty and out of use; {unit} and the units beside it are still there"
    last = Finding(Severity.INFO, place.host, what, f"before its next boot, run: juju remove-unit {unit}")
    return Plan((*before.steps, *own), findings=(*before.findings, *flash, last))


def _obstacle(model: Found, users: Sequence[tuple[str, Guest]] | None, cloud: str) -> tuple[str, str]:
    """Why nothing may be removed now, and what helps; two empty texts if it may."""
    for app in model.apps:
        if app.lost:
            what = f"the agent of {app.lost[0]} is lost, so that the charm's files would stay on its host"
            return what, f"bring that machine back; see: juju status {app.lost[0]}"
    if users is None and model.bare:
        what = f"no ovn-chassis on {few([*model.bare])} would create its VFs at the next boot"
        return what, "if they are not needed any more, add --without-vfs"
    if users:
        host, guest = users[0]
        what = f"{guest.name} on {host} has a VF, and would have none after the next boot"
        return what, f"{COMMAND} drain {host.partition('.')[0]} --cloud {cloud} --keep --apply"
    return "", ""


def _hand_back(chassis: Chassis) -> Iterator[Step[Desk]]:
    """ovn-chassis gets the VFs that are there, before anything that creates them goes."""
    ours = [f"{port}:{max(counts)}" for port, counts in sorted(chassis.vfs.items())]
    names = {word.partition(":")[0] for word in chassis.entries}
    missing = [word for word in ours if word.partition(":")[0] not in names]
    if missing and not (chassis.creates and not chassis.entries):
        value = " ".join([*chassis.entries, *missing])
        what, why = f"set {NUMVFS}={value} of {chassis.name}", "it creates the VFs from the next boot on"
        yield Step(
            f"{chassis.name}/{NUMVFS}", what, why, Disruption.NONE, SetOption(chassis.name, NUMVFS, value)
        )


def _disagreeing(chassis: Chassis) -> Iterator[Finding]:
    for port, counts in chassis.vfs.items():
        if len(counts) > 1:
            numbers = " and ".join(map(str, sorted(counts)))
            what = f"hosts have {numbers} VFs on {port}, and {NUMVFS} has one number for all"
            remedy = f"set num-vfs of {DRIVER} to one number for them, and reboot them first"
            yield Finding(Severity.BLOCKED, chassis.name, what, remedy)


def _stays_set(chassis: Chassis) -> Finding:
    what = f"its {NUMVFS} is {chassis.numvfs or 'not set'}: it creates VFs at the next boot"
    return Finding(Severity.INFO, chassis.name, what, f"juju config {chassis.name} {NUMVFS}=none:0")


def _remove(app: App, then: str) -> Step[Desk]:
    return Step(
        f"{app.name}/remove", f"remove application {app.name}", then, Disruption.NONE, Remove(app.name)
    )


def _restore(each: Firmware, *, vfs: bool) -> Iterator[Step[Any]]:
    keep = OF_VFS if vfs and each.beside_chassis else ()
    words = {
        port: " ".join(word for word in values.split() if word.partition("=")[0] not in keep)
        for port, values in each.former
    }
    if told := [f"{port}: {values}" for port, values in words.items() if values]:
        what = f"restore the firmware of {each.host}"
        yield Step(f"{each.unit}/restore", what, "; ".join(told), Disruption.NONE, Restore(each.unit, keep))


def _flash(each: Firmware) -> Iterator[Finding]:
    for port, version in each.flash:
        what = f"its flash had {version} before the first burn"
        remedy = (
            f"no step burns; to go back, give that image first: juju run {each.unit} burn allow-older=true"
        )
        yield Finding(Severity.INFO, f"{each.host} {port}", what, remedy)


def _left(model: Found) -> Iterator[Finding]:
    """All that no step touches."""
    for each in model.firmware:
        yield from _flash(each)
    if model.of(FABRIC):
        what = "keep what they run: hosts use them"
        yield Finding(
            Severity.INFO, "switches", what, "docs/how-to/undo.md has what takes one out of the fabric"
        )
    what = "keeps its machines, networks and tags"
    yield Finding(Severity.INFO, "MAAS", what, "docs/how-to/undo.md has the order in which to delete them")


@dataclass(frozen=True)
class SetOption:
    """Set an option of an application, and read it back."""

    application: str
    option: str
    value: str

    def run(self, desk: Desk) -> None:
        desk.juju.call("config", self.application, f"{self.option}={self.value}")
        settings = mapping(desk.juju.data("config", self.application).get("settings"))
        if (now := mapping(settings.get(self.option)).get("value")) != self.value:
            what = f"{self.option} of {self.application} is still {now}"
            raise StepError(what, f"juju config {self.application} {self.option}")


@dataclass(frozen=True)
class Restore:
    """Set what a unit's NICs had before the charm, but these parameters; compare with what it then says."""

    unit: str
    keep: tuple[str, ...]

    def run(self, desk: Desk) -> None:
        keep = [f"keep={' '.join(self.keep)}"] if self.keep else []
        said = desk.juju.results(self.unit, "restore", "before=true", *keep)
        if (left := str(said.get("left-out", "none"))) != "none":
            desk.say(f"{self.unit} has left out: {left}")


@dataclass(frozen=True)
class Remove:
    """Remove an application, and wait until its last unit is gone: its stop hooks clean the hosts."""

    application: str

    def run(self, desk: Desk) -> None:
        desk.juju.call("remove-application", self.application, "--no-prompt")
        end = desk.clock.time() + desk.wait
        while self.application in mapping((status := desk.juju.data("status")).get("applications")):
            if desk.clock.time() >= end:
                units = own_units(status, own()).get(self.application, [])
                what = f"{self.application} still has {few(units) if units else 'no unit, and is there'}"
                raise StepError(what, f"see: juju status {self.application}; then run this again")
            desk.clock.sleep(EVERY)
