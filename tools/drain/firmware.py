# SPDX-License-Identifier: Apache-2.0
"""The firmware of all NICs against a baseline, and the rollout of images: a canary, then stage by stage."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple

from converge import StepError
from converge.finding import few
from converge.render import cut_table
from converge.shape import MappingOf, Text
from drain import node
from drain.rolling import Turn, looked, ordered, take, turn
from drain.steps import EVERY, Clients
from hostnic.firmware.mstflint import newer
from operate import fleet
from operate.client import Juju
from yamlfile import reader
from yamlfile.values import FileError

CHARM, ACTION = "nic-firmware", "list-firmware"
_KEYS = ("nic", "psid", "running", "flash", "image")
AS_WANTED, WAITS, BEHIND, AHEAD, NONE = "as wanted", "needs a restart", "behind", "ahead", "no baseline"
_STAGES = (BEHIND, AHEAD, WAITS, NONE, AS_WANTED)
_HOLDS = "a baseline is a mapping of boards (PSID) and versions, such as MT_0000000359: 22.39.1002"
_BASELINE = MappingOf(
    Text(r"[A-Z0-9_]{3,16}", "a PSID such as MT_0000000359"),
    Text(r"[0-9]{1,3}(\.[0-9]{1,5}){2}", "a version such as 22.39.1002"),
    "boards and versions",
)
_GIVE = "set firmware-url and firmware-sha256 of nic-firmware to the image of the baseline"
ASKED_WITHIN = 15 * 60.0
"""Seconds for the hooks after a burn to ask for the reboot: three of Juju's update-status."""


class Card(NamedTuple):
    """A NIC as the action list-firmware has it."""

    unit: str
    nic: str
    psid: str
    running: str
    flash: str  # what runs after the next restart, or why flash cannot be read
    image: str  # the version of the image that the charm has for this board; `-` if it has none


def cards(juju: Juju) -> list[Card]:
    """Every NIC of every node. Raises StepError if a unit does not say, since a rollout needs them all."""
    return [card for report in fleet.ask(juju, {CHARM: ACTION}, (CHARM,)) for card in _cards(report)]


def _cards(report: fleet.UnitReport) -> list[Card]:
    if report.results is None:
        raise StepError(f"{report.unit}: {report.instead}", report.more)
    return [Card(report.unit, *row) for row in report.rows("firmware", _KEYS)]


def baseline(path: Path | None, known: Iterable[Card]) -> dict[str, str]:
    """By PSID, the version that is wanted: of a file, else those of the images that the charm has.

    Raises StepError if the file is no mapping of PSIDs and versions.
    """
    if path is None:
        return {each.psid: each.image for each in known if each.image != "-"}
    try:
        return reader.read(reader.text_of(path), str(path), lambda found: _BASELINE.read("", found), _HOLDS)
    except FileError as error:
        raise StepError(str(error)) from None


def state(card: Card, wanted: Mapping[str, str]) -> str:
    """How a NIC stands to the baseline."""
    version = wanted.get(card.psid)
    if version is None:
        return NONE
    if card.flash == version:
        return AS_WANTED if card.running == version else WAITS
    return AHEAD if newer(card.flash, version) else BEHIND


def table(known: Sequence[Card], wanted: Mapping[str, str], most: int | None) -> str:
    """Return the table of firmware: one row for NICs that are alike, those with something to do first."""

    def key(card: Card) -> tuple[int, str, str, str]:
        return _STAGES.index(state(card, wanted)), card.psid, card.running, card.flash

    rows = list[tuple[str, ...]]()
    for (stage, psid, running, flash), alike in groupby(sorted(known, key=key), key):
        units = few(sorted({each.unit for each in alike}))
        rows.append((psid, running, flash, wanted.get(psid, "-"), _STAGES[stage], units))
    return cut_table(("board", "running", "in flash", "wanted", "state", "units"), rows, most)


class Rollout(NamedTuple):
    """The nodes whose firmware changes, in order, and what each of them needs."""

    stages: Sequence[Sequence[Turn]]  # nodes that burn together; they reboot one after the other
    burns: Mapping[str, bool]  # units that burn an image, each with whether it is an older one
    wanted: Mapping[str, str]


def plan_of(
    clients: Clients, known: Sequence[Card], wanted: Mapping[str, str], canary: str, percent: int
) -> Rollout:
    """The nodes with a NIC that is not as the baseline wants it, a canary first.

    Where the charm has not downloaded an image yet, its version is known after the burn, and compared then.

    Raises StepError if there is no baseline, or the charm has an image of another version for one of them.
    """
    if not wanted:
        what = "there is no baseline: nic-firmware has downloaded no image"
        raise StepError(what, "give one with --baseline FILE")
    units, burns = set[str](), dict[str, bool]()
    for card in known:
        stage = state(card, wanted)
        if stage in (AS_WANTED, NONE):
            continue
        units.add(card.unit)
        if stage == WAITS:
            continue
        version = wanted[card.psid]
        if card.image not in ("-", version):
            what = f"{card.unit} has image {card.image} for {card.psid}, and the baseline is {version}"
            raise StepError(what, _GIVE)
        burns[card.unit] = burns.get(card.unit, False) or stage == AHEAD
    places = [each for each in node.places(clients.juju.data("status")) if each.units.get(CHARM) in units]
    services = clients.compute.services()
    every = ordered([turn(clients.compute, each, node.service_of(each, services)) for each in places])
    first = every[:1]
    if canary and every:
        chosen = node.find(places, canary)
        first = [each for each in every if each.place == chosen]
    rest = [each for each in every if each not in first]
    size = max(1, len(every) * percent // 100)
    stages = [first, *(rest[at : at + size] for at in range(0, len(rest), size))]
    return Rollout([each for each in stages if each], burns, wanted)


def roll_out(clients: Clients, todo: Rollout, *, stop: bool) -> None:
    """Burn and reboot stage by stage. Raises StepError at the first finding, before the next node begins."""
    done, every = 0, sum(map(len, todo.stages))
    for stage in todo.stages:
        for each in stage:
            unit = each.place.units[CHARM]
            if unit in todo.burns:
                clients.say(f"burn the image on {each.place.host}")
                older = ["allow-older=true"] if todo.burns[unit] else []
                clients.juju.results(unit, "burn", *older)
                _compare(clients, unit, todo.wanted, "flash")
        for each in stage:
            done += 1
            clients.say(f"{each.place.host}, node {done} of {every}")
            _restart(clients, each, todo, stop=stop)


def _restart(clients: Clients, each: Turn, todo: Rollout, *, stop: bool) -> None:
    """Empty a node, reboot it, and see that it runs what is wanted.

    A node that asks for no reboot yet is waited for, unless an earlier run has rebooted it already.
    """
    place, end = each.place, clients.clock.time() + ASKED_WITHIN
    begun = node.service_of(place, clients.compute.services()).ours
    firmware = place.units[CHARM]
    while not (unit := looked(clients, place)).needs:
        if begun and (not unit.answers or not _differs(clients, firmware, todo.wanted, "running")):
            break
        if clients.clock.time() >= end:
            raise StepError(f"{place.host} asks for no reboot after the burn", f"juju run {unit.name} plan")
        clients.clock.sleep(EVERY)
    outcome = take(clients, place, unit, stop=stop)
    if outcome.error is not None:
        raise outcome.error
    _compare(clients, firmware, todo.wanted, "running")


Where = Literal["flash", "running"]
"""Of an image: after a burn it is in flash, after a restart it runs."""


def _compare(clients: Clients, unit: str, wanted: Mapping[str, str], where: Where) -> None:
    """Read back. Raises StepError if a NIC has another version than is wanted."""
    if why := _differs(clients, unit, wanted, where):
        raise StepError(why, _GIVE)


def _differs(clients: Clients, unit: str, wanted: Mapping[str, str], where: Where) -> str:
    """The NIC that has another version than is wanted, in a sentence; empty if none has."""
    (report,) = fleet.Call([unit], CHARM, ACTION).answers(clients.juju, None)
    for card in _cards(report):
        found = card.flash if where == "flash" else card.running
        if wanted.get(card.psid, found) != found:
            verb = "has in flash" if where == "flash" else "runs"
            return f"{card.nic} of {unit} {verb} {found}, and not {wanted[card.psid]}"
    return ""
