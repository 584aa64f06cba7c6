# SPDX-License-Identifier: Apache-2.0
"""Gives the hosts that a rack lists by ports fixed numbers, in the text of the intent. Pure."""

from collections.abc import Mapping
from dataclasses import replace

from converge.shape import at
from yamlfile.values import FileError

from intent import expand, ports, schema
from intent.attach import UNKNOWN
from intent.declaration import Hosts, Rack
from intent.model import Bond, Fabric, Role
from intent.rewrite import Members, with_members

Keep = Mapping[str, Mapping[str, int]]
"""By leaf, the numbers that ports have, whatever their place in the list."""


class NumbersError(ValueError):
    """The numbers cannot be fixed; one sentence says why."""


def fixed(text: str, before: Fabric, keep: Keep) -> str:
    """The intent with a fixed number for each host: those of today, or those in ``keep``.

    ``before`` is the fabric that the intent in ``text`` describes.

    With ``keep``, only the racks of these leaves are rewritten, and a port of them that is not in ``keep``
    keeps its place in the list as its number if no other host has it.

    Raises NumbersError if the intent has no such leaf or port, or is written in a way that cannot be
    rewritten.
    """
    intent = schema.parse(text)
    rewritten: dict[int, Members] = {}
    for number, rack in enumerate(intent.racks):
        known = _known(before, at("racks", number), rack, keep)
        if rack.hosts and rack.hosts.ports and (known or not keep):
            rewritten[number] = _members(rack, rack.hosts, known)
    _unknown_leaves(before, keep)
    new = with_members(text, rewritten)
    try:
        after = expand.read(new)
    except FileError:
        after = None
    if after is None or _alike(after, keep) != _alike(before, keep):
        raise NumbersError("the hosts are written in a way that cannot be rewritten, such as with an anchor")
    return new


def _known(fabric: Fabric, path: str, rack: Rack, keep: Keep) -> dict[str, int]:
    """The numbers in ``keep`` for the rack, or racks, of one entry."""
    known: dict[str, int] = {}
    for leaf in fabric.by_role(Role.LEAF):
        if leaf.path == path and leaf.name in keep:
            listed = ports.expand(path, rack.hosts.ports) if rack.hosts and rack.hosts.ports else ()
            for port, number in keep[leaf.name].items():
                if port not in listed:
                    raise NumbersError(f"{path} does not list {port} under hosts.ports")
                if known.setdefault(port, number) != number:
                    raise NumbersError(f"{port} has two numbers in {path}: {known[port]} and {number}")
    return known


def _unknown_leaves(fabric: Fabric, keep: Keep) -> None:
    leaves = [leaf.name for leaf in fabric.by_role(Role.LEAF)]
    for name in keep:
        if name not in leaves:
            raise NumbersError(f"the intent has no leaf {name}")


def _members(rack: Rack, hosts: Hosts, known: Mapping[str, int]) -> Members:
    listed = ports.expand("", hosts.ports)
    numbers = _numbers(listed, known, {bond.local_id for bond in rack.bonds.values()})
    if len(set(numbers.values())) < len(numbers):
        raise NumbersError("two ports of a rack would have the same number")
    made: dict[str, Mapping[str, str | int]] = {}
    for place, port in enumerate(listed):
        entry: dict[str, str | int] = {"port": port, "local-id": numbers[port]}
        if hosts.names:
            made[hosts.names[place]] = entry
        else:
            made[hosts.bond.format(n=numbers[port]).replace("_", "-")] = {**entry, "host": UNKNOWN}
    if len(made) < len(listed):
        raise NumbersError(f"the names of the hosts are not all different: {', '.join(hosts.names)}")
    return made


def _numbers(listed: tuple[str, ...], known: Mapping[str, int], bonds: set[int]) -> dict[str, int]:
    """The number of each port: the known one, its place in the list, or the lowest that is free."""
    places = {port: place for place, port in enumerate(listed, 1) if port not in known}
    if not known:
        return places
    used = {*known.values(), *bonds}
    stay = {port: place for port, place in places.items() if place not in used}
    free = (number for number in range(1, 1 << 24) if number not in {*used, *stay.values()})
    return {port: known.get(port) or stay.get(port) or next(free) for port in listed}


def _alike(fabric: Fabric, keep: Keep) -> dict[tuple[str, tuple[str, ...]], Bond]:
    """Each bond by its leaf and its ports, without what may differ: with ``keep``, the numbers too."""
    found: dict[tuple[str, tuple[str, ...]], Bond] = {}
    leaves = fabric.by_role(Role.LEAF)
    renumbered = {leaf.path for leaf in leaves if leaf.name in keep}
    for leaf in leaves:
        for bond in leaf.bonds:
            same = replace(bond, path="", counted=False)
            if leaf.path in renumbered:
                same = replace(same, name="", segment=replace(bond.segment, local_id=0))
            found[leaf.name, bond.members] = same
    return found
