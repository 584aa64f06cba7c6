# SPDX-License-Identifier: Apache-2.0
"""Audit of who the switches are: by what they are, say and run, not by the address where they answer. Pure.

A switch at the wrong management address would get the AS, the loopback and the segments of another one.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from converge import Finding, Severity
from intent.model import Fabric, Switch, plain_name, same_system
from observe import Observed, SwitchState
from rest.connection import SwitchError
from tree import Tree, get_path, get_tree
from tree.diff import GLOBALLY, IN_VRF
from tree.foreign import ADDRESSES
from tree.record import UNKNOWN, Box

FACTORY_NAME = "cumulus"
"""The name of every switch until it gets one."""


class _Numbers(NamedTuple):
    """The numbers by which BGP and VXLAN tell a switch from all others."""

    asn: object
    loopbacks: frozenset[str]

    def of(self, switch: Switch) -> bool:
        """Whether the intent gives these to a switch."""
        return switch.asn == self.asn and switch.loopback in self.loopbacks


def told_apart(fabric: Fabric, observed: Observed, boxes: Mapping[str, Box]) -> Observed:
    """Return the observed switches, where a switch that is another one counts as one that does not answer.

    ``boxes`` are the devices that ran the intent last. A device does not change, while a name may be that of
    the address: DHCP can give it.
    """
    twins = _twins(fabric, observed.switches)
    others = {**_mistaken(fabric, observed.switches), **_exchanged(fabric, observed.switches, boxes), **twins}
    errors = {name: SwitchError("identity", *told) for name, told in others.items()}
    right = {name: seen for name, seen in observed.switches.items() if name not in others}
    return Observed(right, {**observed.errors, **errors})


def _exchanged(
    fabric: Fabric, seen: Mapping[str, SwitchState], boxes: Mapping[str, Box]
) -> dict[str, tuple[str, str]]:
    """The switches that are another device than ran the intent: what shows it, and the remedy."""
    found: dict[str, tuple[str, str]] = {}
    for name, state in seen.items():
        before = boxes.get(name)
        if state.box == UNKNOWN or (before and not state.box.is_other(before)):
            continue
        same = [other for other in boxes if other != name and _is_same(boxes[other], state.box)]
        other = next((other for other in same if fabric.switch(other)), "")
        if not (before or other):
            continue
        known = f"which is that of {other}" if other else f"and {name} had {before.said if before else ''}"
        both = f"{name} and {other}" if other else name
        replaced = ",".join(filter(None, (name, other)))
        what = f"the switch at {_address(fabric, name)} has the {state.box.said}, {known}"
        remedy = f"correct the management address of {both}; if the device was replaced, "
        found[name] = what, f"{remedy}run plan and apply with replaced={replaced}"
    return found


def _twins(fabric: Fabric, seen: Mapping[str, SwitchState]) -> dict[str, tuple[str, str]]:
    """Switches of the intent that are one device, which answers at both addresses."""
    found: dict[str, tuple[str, str]] = {}
    names: dict[Box, str] = {}
    for name, state in seen.items():
        if all(state.box) and (first := names.setdefault(state.box, name)) != name:
            for one, other in ((first, name), (name, first)):
                what = f"the switch at {_address(fabric, one)} has the {state.box.said}, and so has {other}"
                found[one] = what, f"correct the management addresses of {one} and {other}"
    return found


def _is_same(one: Box, other: Box) -> bool:
    known = (one.serial and other.serial) or (one.mac and other.mac)
    return bool(known) and not one.is_other(other)


def _address(fabric: Fabric, name: str) -> str:
    switch = fabric.switch(name)
    return (switch.management if switch else "") or "its address"


def _mistaken(fabric: Fabric, seen: Mapping[str, SwitchState]) -> dict[str, tuple[str, str]]:
    """The switches that are another switch of the intent: what shows it, and the remedy.

    The name decides. One without a name, or with one that the intent does not have, is told by its numbers.
    """
    found: dict[str, tuple[str, str]] = {}
    for name, state in seen.items():
        switch = fabric.switch(name)
        if switch is None or same_system(state.hostname, name):
            continue
        if other := _named(fabric, state.hostname):
            what = f"the switch at {switch.management or 'its address'} calls itself {other.name}"
            rename = f"if it is {name}, run nv set system hostname {name} and nv config apply on it"
        elif other := _numbered(fabric, switch, numbers(state.applied)):
            what = f"the switch at {switch.management or 'its address'} has the AS {other.asn} and the "
            what += f"loopback {other.loopback} of {other.name}"
            rename = f"if it is {name}, give it its name: nv set system hostname {name}, nv config apply"
        else:
            continue
        found[name] = what, f"correct the management addresses of {name} and {other.name}; {rename}"
    return found


def exchanged(fabric: Fabric, seen: Mapping[str, SwitchState]) -> Iterator[Finding]:
    """Switches that run the numbers which the intent gives to another one: both would have them at once."""
    for name, state in seen.items():
        switch = fabric.switch(name)
        if switch and (other := _numbered(fabric, switch, runs := numbers(state.applied))):
            what = f"runs AS {runs.asn} and loopback {other.loopback}, which the intent gives to {other.name}"
            keep = f"set switches.{name}.asn to {runs.asn} and switches.{name}.loopback to {other.loopback}"
            remedy = f"keep its numbers in the intent; {keep}, "
            remedy += "or give the racks their numbers again (racks[].number); to exchange them, "
            yield Finding(Severity.BLOCKED, name, what, f"{remedy}first apply numbers that no switch has")


def numbers(applied: Tree) -> _Numbers:
    """The AS number and the loopback's addresses that a switch runs."""
    asns = (get_path(applied, (*above, "autonomous-system")) for above in (IN_VRF, GLOBALLY))
    lo = get_tree(applied, "interface", "lo")
    found = (address for key in ADDRESSES for address in get_tree(lo, key, "address"))
    return _Numbers(next((asn for asn in asns if isinstance(asn, int)), None), frozenset(map(_host, found)))


def _host(address: str) -> str:
    return address.partition("/")[0]


def _named(fabric: Fabric, hostname: str) -> Switch | None:
    """The switch of the intent that has this name."""
    return None if plain_name(hostname) in ("", FACTORY_NAME) else fabric.of_system(hostname)


def _numbered(fabric: Fabric, switch: Switch, runs: _Numbers) -> Switch | None:
    """The other switch of the intent that has these numbers, if this one has not."""
    if switch.loopback in runs.loopbacks:
        return None
    return next((other for other in fabric.switches if other is not switch and runs.of(other)), None)
