# SPDX-License-Identifier: Apache-2.0
"""Gives racks, and the hosts that a rack lists by ports, fixed numbers in the text of the intent. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from converge.shape import at
from yamlfile.values import FileError

from intent import expand, ports, schema
from intent.attach import UNKNOWN
from intent.declaration import Intent
from intent.declared.racks import Hosts, Rack
from intent.model import Bond, Fabric, Role
from intent.rewrite import Fixed, Members, with_numbers

Keep = Mapping[str, Mapping[str, int]]
"""The numbers of ports, by leaf, whatever their place in the list."""


class NumbersError(ValueError):
    """The numbers cannot be fixed; one sentence says why."""


def fixed(text: str, before: Fabric, keep: Keep, racks: Sequence[int] = ()) -> str:
    """The intent with a fixed number for each rack and each host: those of today, or those given.

    Args:
        text: the intent.
        before: the fabric that it describes.
        keep: numbers of hosts. A port of such a rack that is not in ``keep`` has its place in the list as its
            number if no other host has it.
        racks: the numbers of the racks, in the order of the list.

    With ``keep`` or ``racks``, only these are written, and of the hosts only those of the racks in ``keep``.

    Raises NumbersError if the intent has no such leaf, port or rack, has numbers already, or is written in a
    way that cannot be rewritten.

    """
    intent = schema.parse(text)
    numbers = dict(enumerate(_racks(intent, racks))) if racks or not keep else {}
    first_leaves = _first_leaves(intent, numbers)
    rewritten: dict[int, Fixed] = {}
    for entry, rack in enumerate(intent.racks):
        known = _known(before, at("racks", entry), rack, keep)
        listed = rack.hosts and rack.hosts.ports and (known or not (keep or racks))
        members = _members(rack, rack.hosts, known) if rack.hosts and listed else None
        rewritten[entry] = Fixed(numbers.get(entry), first_leaves.get(entry), members)
    _unknown_leaves(before, keep)
    new = with_numbers(text, rewritten)
    try:
        after = expand.read(new)
    except FileError as error:
        if racks:
            raise NumbersError(f"--racks: with these numbers, {error.what}") from None
        after = None
    if after is None or (not racks and not _same(before, after, keep)):
        raise NumbersError("the racks are written in a way that cannot be rewritten, such as with an anchor")
    return new


def _racks(intent: Intent, given: Sequence[int]) -> Iterator[int]:
    """The number of each entry of the list that gets one: its place, or the one that is ``given``."""
    if any(rack.number is not None for rack in intent.racks):
        if given:
            raise NumbersError("--racks: the racks of the intent have numbers already; change them there")
        return
    if given and len(given) != len(intent.racks):
        raise NumbersError(f"--racks: give {len(intent.racks)} numbers, one for each entry of racks")
    place = 0
    for entry, rack in enumerate(intent.racks):
        yield given[entry] if given else place
        place += rack.count


def _first_leaves(intent: Intent, numbers: Mapping[int, int]) -> dict[int, int]:
    """Return the number of an entry's first leaf, by entry, where it does not follow from the rack's number.

    Without numbers, leaves count up through the racks, however many each has. A number that no entry has is
    that of a rack with the usual number of leaves.
    """
    usual = intent.leaves.per_rack if intent.leaves else 0
    found: dict[int, int] = {}
    rack = leaf = 0
    for entry, number in sorted(numbers.items(), key=lambda each: each[1]):
        leaf += max(0, number - rack) * usual
        if leaf != number * usual:
            found[entry] = leaf
        declared = intent.racks[entry]
        rack = number + declared.count
        leaf += declared.count * (len(declared.leaves) or usual)
    return found


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


def _same(before: Fabric, after: Fabric, keep: Keep) -> bool:
    """Whether all leaves have the addresses, links and bonds that they had, but for what ``keep`` gives."""
    for leaf in before.by_role(Role.LEAF):
        new = after.switch(leaf.name)
        if new is None or replace(new, counted=leaf.counted, bonds=leaf.bonds) != leaf:
            return False
    return _alike(after, keep) == _alike(before, keep)


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
