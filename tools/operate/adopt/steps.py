# SPDX-License-Identifier: Apache-2.0
"""The steps to a cloud in which these charms own what ovn-chassis has set up, in their order. Pure.

The checker judges the result: which ports ovn-chassis has to give up is what its rule `vf-owner` asks for.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import yaml
from check.model import Application, Bundle, pairs
from check.rules.offload import SENTINEL, left_to
from converge.shape import InvalidValue
from hostnic.devices import selector
from operate.adopt.hypervisors import DRIVER, FIRMWARE, NUMVFS, OFFLOAD, Group, Vfs, listed

LOOK = "grep -H . /sys/class/net/*/device/sriov_numvfs"
"""Shows how many VFs each port of a host has."""
_PRINTED = re.compile(rf'{NUMVFS}=(?:"((?:[\w.-]+:\d+ ?)+)"|({SENTINEL})(?![\w:]))')
"""The whole value in a status of sriov-switchdev (its preflight.py); one that was cut has no second quote."""
Commands = tuple[tuple[str, ...], ...]
_AGAIN = ("pipx", "run", "tox", "-e", "juju", "--", "adopt")
Said = Iterable[tuple[str, str]]
"""Units of these charms, and what each says."""


class Step(NamedTuple):
    """One step: why, the commands that the operator types, and what an overlay says in their place."""

    why: str
    commands: Commands = ()
    applications: Mapping[str, Any] = {}
    relations: tuple[tuple[str, str], ...] = ()


def read_first(group: Group) -> Step:
    """Return the step that reads the VFs' numbers where ovn-chassis does not have them."""
    names = listed(each.name for each in group.chassis)
    why = f"{NUMVFS} of {names} does not say how many VFs a port has. Read the numbers, and name the "
    why += "ports of ConnectX NICs on all hypervisors with theirs: steps and overlay follow from that."
    return Step(why, (*looks(group), _again("PORT:COUNT PORT:COUNT")))


def _again(vfs: str) -> tuple[str, ...]:
    return (*_AGAIN, "--vfs", vfs)


def mend_first(failed: Iterable[tuple[str, str]]) -> Step:
    """Return the step that mends units: Juju runs no hook of a unit in error, or whose agent is lost."""
    units = [f"{unit} ({message})" for unit, message in failed]
    named = ", ".join(units[:3]) + (" and others" if units[3:] else "")
    why = (
        f"Mend the units that run no hooks: {named}. Until then, what the next steps set does not reach them."
    )
    return Step(why, tuple(("juju", "show-status-log", unit) for unit, _ in [*failed][:3]))


def looks(group: Group) -> Commands:
    """Commands that show how many VFs the ports have."""
    return tuple(("juju", "exec", "--application", each.name, "--", LOOK) for each in group.computes)


def driver(bundle: Bundle, group: Group) -> Iterator[Step]:
    """sriov-switchdev comes first: it says on each host what ovn-chassis has to leave to it."""
    ours, vfs = group.ours(bundle, DRIVER), group.vfs
    devices = {"devices": " ".join(f"{port}:{count}" for port, count in vfs.ports)} if vfs.ports else {}
    options: dict[str, Any] = {"num-vfs": vfs.most, **devices}
    if ours is None:
        why = "Take the ports as they are. While anything else sets VFs too, the units only say so."
        if not vfs.ports:
            why += " This takes all ConnectX ports that are in a bond: adopt --vfs names ports instead."
        elif len(vfs.ports) == 1:
            why += " Only one port is named: if VF-LAG is active, the unit asks for the other one, with :0."
        if unlisted := group.unlisted:
            computes = listed(each.name for each in group.computes)
            other = (
                f"The whitelist of {computes} names no {listed(unlisted)}. If that is no ConnectX port, do "
            )
            other += "not start: ask again for the others, and it stays with ovn-chassis."
            rest = [f"{port}:{count}" for port, count in vfs.ports if port not in unlisted]
            yield Step(other, (_again(" ".join(rest)),))
        yield _deploy(bundle, DRIVER, group, options, why)
        return
    if vfs.most and not _same(ours, vfs):
        yield _set(ours.name, options, f"{ours.name} is to have the VFs that are there.")
    yield from _relate(bundle, ours, group)


def _same(ours: Application, vfs: Vfs) -> bool:
    """Whether sriov-switchdev's options ask for these VFs, as far as the names of ports can tell."""
    count, wanted = ours.option("num-vfs"), dict(vfs.ports)
    try:
        entries = selector.parse(str(ours.option("devices")))
    except InvalidValue:
        return False
    asked = {entry.name: count if entry.vfs is None else entry.vfs for entry in entries}
    if asked and wanted:
        return not asked.keys() <= wanted.keys() or asked == wanted
    return ({*asked.values()} or {count}) == ({*wanted.values()} or {vfs.each})


def left(bundle: Bundle, group: Group, chassis: Application, said: Said) -> str | None:
    """Return the value for `sriov-numvfs`; empty if it may stay, None if only the units can tell.

    The checker has the value until the units of sriov-switchdev print it: they read it on their hosts.
    """
    value, name = left_to(bundle, chassis.name), group.name(bundle, DRIVER)
    told = [each for unit, each in said if unit.startswith(f"{name}/")]
    values = [found[1] or found[2] for each in told if (found := _PRINTED.search(each))]
    if value is not None:
        values.append(value)
    kept = {pair for each in values if each != SENTINEL for pair in pairs(each)}
    if value == "" or not values or len(dict(kept)) < len(kept):
        return "" if value == "" else None
    return " ".join(f"{port}:{count}" for port, count in sorted(kept)) or SENTINEL


def leave(bundle: Bundle, group: Group, said: Said) -> Iterator[Step]:
    """ovn-chassis gives up the ports that sriov-switchdev may have, and keeps the others."""
    name = group.name(bundle, DRIVER)
    for chassis in group.chassis:
        value = left(bundle, group, chassis, said)
        if value == "":
            continue
        why = f"Wait until the status of each unit of {name} names ovn-chassis. "
        if value is None:
            why += (
                f"Type the command that it has: {NUMVFS} of {chassis.name} names no ports, so only the hosts "
            )
            why += (
                "know which other NICs have VFs, which the command leaves to ovn-chassis. Where hosts print "
            )
            why += "other ports, name those of all in it. Then ask adopt again, for the overlay."
        else:
            why += "It prints the value to set here, in which the ports of other NICs stay; if it prints "
            why += "another one, type that."
        why += " Existing VFs stay as well. Do not run netplan apply: it can destroy live VFs. Reboot no "
        why += "host before the units no longer name ovn-chassis, within five minutes: it would come up "
        why += "without VFs."
        command = _set(chassis.name, {NUMVFS: value}, why) if value else Step(why, (_AGAIN,))
        yield command._replace(commands=(("juju", "status", name), *command.commands))


def firmware(bundle: Bundle, group: Group) -> Iterator[Step]:
    """A nic-firmware that is there counts the VFs that sriov-switchdev does, and leaves the reboots to it.

    None is added: what offloads already works with the firmware as it is.
    """
    ours, other = group.ours(bundle, FIRMWARE), group.ours(bundle, DRIVER)
    options: dict[str, Any] = {
        "num-vfs": other.option("num-vfs") if other else group.vfs.most,
        "reboot-owner": DRIVER,
    }
    if ours is None or not any(bundle.places(ours) & bundle.places(each) for each in group.computes):
        return
    if wrong := {name: value for name, value in options.items() if ours.option(name) != value}:
        why = f"{ours.name} is beside {DRIVER}, which counts the VFs, and requests one reboot for both."
        today = listed(f"{name} is {ours.option(name)}" for name in wrong)
        why += f" Now {today}; its action query shows the value of each NIC beside that of the next boot."
        yield _set(ours.name, wrong, why)


def neutron(bundle: Bundle) -> Iterator[Step]:
    """Yield the steps that the charm guide asks for besides ovn-chassis' option."""
    for api in bundle.of("neutron-api"):
        if api.option(OFFLOAD) is not True:
            yield _set(api.name, {OFFLOAD: True}, "Neutron and Nova have to know of the offload, too.")


def check(bundle: Bundle, groups: Iterable[Group]) -> Step:
    """How the operator sees that the steps changed nothing."""
    why = (
        "See that only files are planned, and for the next boot queues, on the leader's host and then on all."
    )
    plans: list[tuple[str, ...]] = []
    for group in groups:
        plans += [("juju", "run", f"{name}/leader", "plan") for name in group.here(bundle)]
        policy = ours.option("reboot-policy") if (ours := group.ours(bundle, DRIVER)) else "manual"
        ends = "no node reboots without approve-reboot" if policy == "manual" else "nodes may reboot"
        why += f" {group.name(bundle, DRIVER)} has reboot-policy={policy}: {ends}."
    return Step(why, (*plans, ("pipx", "run", "tox", "-e", "juju", "--", "verify")))


def overlay(steps: Iterable[Step]) -> str:
    """Return the steps' settings as an overlay; empty where they set nothing."""
    applications: dict[str, Any] = {}
    relations: list[list[str]] = []
    for step in steps:
        for name, body in step.applications.items():
            applications[name] = {**applications.get(name, {}), **body}
        for ends in step.relations:
            relations.append([*ends])
            for end in ends:  # An overlay relates only applications that it names, or the base does.
                applications.setdefault(end.partition(":")[0], {})
    if not applications:
        return ""
    found = {"applications": applications, **({"relations": relations} if relations else {})}
    text = yaml.safe_dump(found, sort_keys=False, width=110, default_flow_style=None)
    return text.replace("{? '' : ", '{"": ')  # The same, as people write it.


def _deploy(bundle: Bundle, charm: str, group: Group, options: Mapping[str, Any], why: str) -> Step:
    compute, name = group.computes[0], group.name(bundle, charm)
    arch = {bundle.machine_constraints(unit.machine).get("arch", "amd64") for unit in bundle.units(compute)}
    path = f"./build/{charm}_{compute.base}-{min(arch, default='amd64')}.charm"
    space = compute.space("")
    bound = space not in ("", "alpha")
    settings = [word for option, value in options.items() for word in ("--config", f"{option}={value}")]
    return Step(
        why,
        (
            ("juju", "deploy", path, name, *settings, *(("--bind", space) if bound else ())),
            *(("juju", "integrate", name, each.name) for each in group.computes),
        ),
        {name: {"charm": path, "options": dict(options), **({"bindings": {"": space}} if bound else {})}},
        tuple((f"{name}:juju-info", f"{each.name}:juju-info") for each in group.computes),
    )


def _relate(bundle: Bundle, ours: Application, group: Group) -> Iterator[Step]:
    for compute in group.computes:
        # Where it is with another application of the machine, a second unit would do the same.
        if not bundle.places(ours) & bundle.places(compute):
            ends = (f"{ours.name}:juju-info", f"{compute.name}:juju-info")
            command = ("juju", "integrate", ours.name, compute.name)
            yield Step(f"{ours.name} has to be on {compute.name}.", (command,), {}, (ends,))


def _set(application: str, options: Mapping[str, Any], why: str) -> Step:
    words = [f"{name}={'true' if value is True else value}" for name, value in options.items()]
    return Step(why, (("juju", "config", application, *words),), {application: {"options": dict(options)}})
