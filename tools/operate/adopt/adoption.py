# SPDX-License-Identifier: Apache-2.0
"""Adopting a cloud that offloads already: what the charms would own, what stays, and the way there. Pure."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from check.model import Application, Bundle
from check.rule import RULES, Finding
from check.rules import offload, pci, port
from converge import StepError
from operate.adopt import steps
from operate.adopt.hypervisors import DRIVER, FIRMWARE, NUMVFS, OFFLOAD, Group, Vfs, creates_vfs, find, listed
from operate.adopt.steps import Step
from operate.running import Running

BESIDE = (
    ("nic-firmware", "firmware parameters, if you add it: docs/how-to/adopt.md"),
    ("roce-qos", "QoS of running ports, if you add it: docs/how-to/set-up-roce.md"),
    (
        "cumulus-fabric",
        "what its intent says of the switches, if you add it: docs/explanation/fabric-ownership.md",
    ),
)
"""The charms that no step deploys, and what they would own."""
VICTIMS = {
    "vault": "a Vault is sealed after a reboot, unless it unseals itself. Have its keys ready, and reboot no "
    "second machine of these before it is unsealed.",
    **dict.fromkeys(
        ("ceph-osd", "microceph"),
        "without noout, Ceph moves the data of OSDs that are down. Set it before the first reboot, such as "
        "with juju run ceph-mon/leader set-noout, unset it after the last one, and wait between two until "
        "all OSDs are up and no data is degraded.",
    ),
}
"""The further effects of a reboot of a charm's machine, by charm."""
ABOUT_OFFLOAD = (offload.__name__, pci.__name__, port.__name__)
"""The modules of the rules that are asked."""


class Adoption(NamedTuple):
    """The output of the command."""

    # Charm, what it owns or would own, and who has that today; empty if no hypervisor offloads
    owned: tuple[tuple[str, str, str], ...]
    said: tuple[tuple[str, str], ...]  # what units of these charms say now, and which ones do
    stays: tuple[tuple[str, str], ...]  # what no step touches, and why
    steps: tuple[Step, ...]  # in their order; empty if nothing is left to do
    overlay: str  # what the steps do, as YAML; empty if there is none yet
    reboot: tuple[str, ...]  # what the first reboot of a node changes; empty if nothing is left to do
    unseen: tuple[Step, ...]  # what Juju does not know, and the commands that show it
    findings: tuple[Finding, ...]  # what the checker finds with the overlay


def adoption(running: Running, given: Vfs | None = None) -> Adoption:
    """Compare a model with what the charms need.

    Args:
        running: the model.
        given: ports and their VFs, where sriov-numvfs does not say them or names other NICs, too.

    Raises:
        StepError: the model has no hypervisor, or an option cannot be read.

    """
    bundle = running.bundle()
    if not bundle.of("nova-compute"):
        raise StepError(f"{running.name} has no nova-compute", "name the cloud's model with --model")
    groups, stays = find(bundle, given)
    unknown = [each for each in groups if each.vfs.most is None and not each.ours(bundle, DRIVER)]
    planned = [steps.read_first(group) for group in unknown] or _planned(running, groups)
    if running.failed and planned:
        planned = [steps.mend_first(running.failed), *planned]
    overlay = "" if unknown else steps.overlay(planned)
    return Adoption(
        (*(row for group in groups for row in _owned(bundle, group)), *(_beside(bundle) if groups else ())),
        tuple(_said(running)),
        (*stays, *dict.fromkeys(row for group in groups for row in _kept(group))),
        (*planned, steps.check(bundle, groups)) if overlay else tuple(planned),
        overlay,
        tuple(_reboot(bundle, groups)) if planned else (),
        tuple(_unseen(bundle, groups)),
        tuple(_findings(running, running.bundle(overlay), groups)) if groups and not unknown else (),
    )


def _planned(running: Running, groups: list[Group]) -> list[Step]:
    found: list[Step] = []
    for act in (steps.driver, partial(steps.leave, said=running.said), steps.firmware):
        so_far = running.bundle(steps.overlay(found))
        found += [step for group in groups for step in act(so_far, group)]
    return [*found, *(steps.neutron(running.bundle()) if groups else ())]


def _findings(running: Running, bundle: Bundle, groups: list[Group]) -> list[Finding]:
    """Return the findings of the rules on offload and ports: the others look at options that were not read.

    Where only the units know which VFs ovn-chassis has to leave, a step asks them in place of the checker.
    """
    asked = any(
        steps.left(bundle, group, bundle.applications[each.name], running.said) is None
        for group in groups
        for each in group.chassis
    )
    return [
        finding
        for rule in RULES
        if rule.check.__module__ in ABOUT_OFFLOAD
        for finding in rule.findings(bundle)
        if not (asked and rule.check is offload.vf_owner)
    ]


def _owned(bundle: Bundle, group: Group) -> Iterator[tuple[str, str, str]]:
    vfs, driver = group.vfs, group.ours(bundle, DRIVER)
    on = " and ".join(each.name for each in group.computes)
    if vfs.most is None:
        ports = "as its options say" if driver else "as they are, once their number is known"
    elif vfs.ports:
        ports = listed(f"{name} with {count} VFs" for name, count in vfs.ports)
    else:
        ports = f"ConnectX ports in a bond, each with {vfs.most} VFs"
    machines = listed(each for one in group.computes for each in _machines(bundle, one))
    creators = listed(each.name for each in group.chassis if creates_vfs(each))
    for what, today in (
        (f"VFs, eswitch modes and queues on {on}: {ports}", creators or "the operator"),
        ("the order at boot: switchdev, bond, VF-LAG, VFs, Nova", "netplan"),
        (f"reboots after approve-reboot, of machines {machines}", "the operator"),
    ):
        yield group.name(bundle, DRIVER), what, driver.name if driver else today


def _beside(bundle: Bundle) -> Iterator[tuple[str, str, str]]:
    for charm, what in BESIDE:
        names = [each.name for each in bundle.of(charm)]
        yield from ((name, what.partition(",")[0], name) for name in names)
        if not names:
            yield charm, what, "the operator"


def _said(running: Running) -> Iterator[tuple[str, str]]:
    """Hundreds of units may say the same."""
    for message in dict.fromkeys(message for _, message in running.said if message):
        first, *others = (unit for unit, each in running.said if each == message)
        yield f"{first} and {len(others)} more" if others else first, message


def _kept(group: Group) -> Iterator[tuple[str, str]]:
    for chassis in group.chassis:
        yield f"other options of {chassis.name}", "it owns Open vSwitch, and the bridges"
    for compute in group.computes:
        whitelist = compute.option(pci.WHITELIST)
        yield f"{pci.WHITELIST} of {compute.name}", str(whitelist or "it is not set")
    yield "VFs, and instances on them", "no step changes a VF, and none in use is ever destroyed"


def _reboot(bundle: Bundle, groups: list[Group]) -> Iterator[str]:
    yield f"{DRIVER} creates the VFs from then on, as many as there are now, whatever the reboot's reason."
    yield "Ports go to switchdev mode before the bond is up, and VFs are bound after VF-LAG, before Nova."
    yield "Uplinks get a queue for each CPU; until then they keep the one that the change to switchdev left."
    if any(group.ours(bundle, FIRMWARE) for group in groups):
        yield f"What {FIRMWARE} has set in the firmware takes effect."
    yield f"Ports of other NICs have the VFs that {NUMVFS} then names, and no others."
    beside: dict[tuple[str, str], list[str]] = {}
    computes = [each for group in groups for each in group.computes]
    for machine in (each for one in computes for each in _machines(bundle, one)):
        there = [*bundle.on_machine(machine)]
        inside = sorted({each.name for each, container in there if container})
        others = sorted({each.name for each, container in there if not container and each.targets})
        others = [name for name in others if name not in {each.name for each in computes}]
        beside.setdefault((listed(inside), listed(others)), []).append(machine)
    for (inside, others), machines in beside.items():
        for what, names in (("Containers", inside), ("Other units", others)):
            if names:
                yield f"{what} of {names} are on machines {listed(machines)}: they stop and start with them."
    rebooting = {machine for one in computes for machine in _machines(bundle, one)}
    for charm, what in VICTIMS.items():
        for each in bundle.of(charm):
            if machines := [machine for machine in _machines(bundle, each) if machine in rebooting]:
                yield f"{each.name} on machines {listed(machines)}: {what}"


def _unseen(bundle: Bundle, groups: list[Group]) -> Iterator[Step]:
    for group in groups:
        driver, *firmware = group.here(bundle)
        yield Step("How many VFs each port has now:", steps.looks(group))
        why = "NICs, bonds, VF-LAG, who uses a VF, what else sets VFs. Once deployed, on each unit:"
        shown = ((driver, "list-devices"), (driver, "plan"), *((name, "plan") for name in firmware))
        yield Step(why, tuple(("juju", "run", f"{name}/leader", action) for name, action in shown))
    if groups and not bundle.of("neutron-api"):
        yield Step(f"neutron-api is in another model: its {OFFLOAD} has to be true there.")


def _machines(bundle: Bundle, application: Application) -> list[str]:
    return sorted({unit.machine for unit in bundle.units(application)}, key=lambda name: (len(name), name))
