# SPDX-License-Identifier: Apache-2.0
"""Facts that no NIC reports, kept across reboots: since which boot a parameter waits, which burns failed.

They prevent reboot loops: a change that still waits in a later boot than the one of its note has had its
reboot, and never causes another one. An image whose burns failed is not burned again at every hook.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from hostnic.system import UNREADABLE, System, read_own

PATH = "/var/lib/ovn-offload/nic-firmware.json"
VERSION = 1
FIRMWARE = "firmware"
"""The name of the firmware's version among the parameters that wait for a restart."""

T = TypeVar("T")
U = TypeVar("U")


class Waiting(NamedTuple):
    """A parameter whose next-boot value is not current yet."""

    value: str  # the next-boot value, as mstconfig shows it
    boot_id: str  # of the boot in which this was first seen
    power_cycle: bool = False  # the tool said that only a power cycle applies it


class Attempts(NamedTuple):
    """Burns of one image into one NIC, or settings of one value; none is known to have succeeded."""

    version: str  # of the image
    # Burns that were begun, counted before they begin: one that loses power is among them. Of a value, how
    # often the tool has set it
    tries: int
    reason: str = ""  # why the last one failed; empty while it is under way, and when it was interrupted
    # All values of the call that the firmware has refused; empty if it was the value that did not stay
    call: tuple[str, ...] = ()


class Record(NamedTuple):
    """Parameters by BDF and name; resets by BDF; burns and attempts by NIC.

    All of it is about cards, which have these addresses now: see :func:`read`.
    """

    waiting: Mapping[str, Mapping[str, Waiting]] = {}  # BDF to parameter name to what waits
    burns: Mapping[str, str] = {}  # NIC to the version whose burn was begun and is not known to have ended
    # Port to the boot in which a reset of its NIC's firmware was begun that is not known to have succeeded;
    # there is no second one in that boot. Older ones are kept while the port is unusable.
    resets: Mapping[str, str] = {}
    # NIC to an image's sha256 to its burns. They are kept while a NIC is gone: a failed burn may be what took
    # it off the bus. BDF to `NAME=VALUE` to how often it was set, until a boot has it.
    attempts: Mapping[str, Mapping[str, Attempts]] = {}
    cards: Mapping[str, str] = {}  # NIC to which card it is, as `vpd.card_at` tells it; those that are known

    @property
    def nics(self) -> frozenset[str]:
        """The slots of the NICs that it is about."""
        names = (*self.waiting, *self.burns, *self.resets, *self.attempts)
        return frozenset(_slot(name) for name in names)

    def get(self, bdf: str, name: str) -> Waiting | None:
        """Return the note on a parameter."""
        return self.waiting.get(bdf, {}).get(name)

    def tried(self, nic: str, digest: str) -> Attempts | None:
        """The burns of an image into a NIC, or a port's settings of a value; None once one has succeeded."""
        return self.attempts.get(nic, {}).get(digest)

    def with_attempts(self, nic: str, digest: str, attempts: Attempts) -> "Record":
        """This record with the burns of one image into one NIC replaced."""
        of_nic = {**self.attempts.get(nic, {}), digest: attempts}
        return self._replace(attempts={**self.attempts, nic: of_nic})

    def without_attempts(self, nic: str, version: str) -> "Record":
        """This record without burns of a version into a NIC, or, with no version, sets of a port's values."""
        of_nic = {key: each for key, each in self.attempts.get(nic, {}).items() if each.version != version}
        others = {slot: each for slot, each in self.attempts.items() if slot != nic}
        return self._replace(attempts={**others, nic: of_nic} if of_nic else others)

    def with_burn(self, nic: str, version: str | None) -> "Record":
        """This record with the version whose burn into a NIC is not known to have ended; None for none."""
        others = {slot: begun for slot, begun in self.burns.items() if slot != nic}
        return self._replace(burns={**others, nic: version} if version else others)

    def with_waiting(self, bdf: str, more: Mapping[str, Waiting]) -> "Record":
        """This record with more parameters of a port that wait."""
        return self._replace(waiting={**self.waiting, bdf: {**self.waiting.get(bdf, {}), **more}})

    def power_cycle(self, nic: str, boot_id: str) -> bool:
        """The tool said in this boot that only a power cycle applies what waits, of any port of the NIC.

        The ports share one firmware, and often the setting itself.
        """
        return any(
            each.power_cycle and each.boot_id == boot_id
            for bdf, names in self.waiting.items()
            if bdf.rpartition(".")[0] == nic
            for each in names.values()
        )


def read(system: System) -> Record:
    """The record; an empty one where there is none, or one that cannot be read.

    What is noted of a card is found where the card is now. That of a card in whose slot another one is, and
    that is in no other, is left out.
    """
    stored = _stored(system)
    return Record() if stored is None else _placed(system, stored)


def _stored(system: System) -> Record | None:
    try:
        return _decode(read_own(system, PATH))
    except UNREADABLE:
        return None


def _placed(system: System, stored: Record) -> Record:
    from hostnic.firmware import vpd  # a hook without a record does without it

    if all(vpd.card_at(system, slot) == card for slot, card in stored.cards.items()):
        return stored
    there = vpd.cards(system)
    moves: dict[str, str | None] = {}
    for card in set(stored.cards.values()):
        before, now = ({slot for slot, each in of.items() if each == card} for of in (stored.cards, there))
        old, new = sorted(before - now), sorted(now - before)
        if len(old) == len(new):
            moves.update(zip(old, new, strict=True))
        else:  # it is gone, or several cards say that they are this one
            moves.update({slot: None if slot in there else slot for slot in old})
    return _moved(stored, moves)


def _moved(stored: Record, moves: Mapping[str, str | None]) -> Record:
    """``stored`` with other slots, without what is noted of a slot that becomes None or another card's."""
    taken = set(moves.values()) - moves.keys()

    def of(noted: Mapping[str, T]) -> dict[str, T]:
        found: dict[str, T] = {}
        for name, each in noted.items():
            slot = _slot(name)
            to = moves.get(slot, None if slot in taken else slot)
            if to is not None:
                found[to + name.removeprefix(slot)] = each
        return found

    return Record(
        of(stored.waiting), of(stored.burns), of(stored.resets), of(stored.attempts), of(stored.cards)
    )


def _slot(name: str) -> str:
    """The slot of a NIC that is named by it, or by the BDF of one of its ports."""
    return name.rpartition(".")[0] or name


def write(system: System, record: Record) -> None:
    """Write it where it differs from what is there. Raises OSError if it cannot be written."""
    if record.nics:
        from hostnic.firmware import vpd  # a hook without a record does without it

        cards = {slot: record.cards.get(slot) or vpd.card_at(system, slot) for slot in sorted(record.nics)}
        record = record._replace(cards={slot: card for slot, card in cards.items() if card})
    else:
        record = Record()
    if record == Record():
        if system.files.exists(PATH):
            system.files.remove(PATH)
    elif record != _stored(system):
        text = json.dumps(_encode(record), sort_keys=True, indent=1) + "\n"
        _decode(text)  # nothing is written that could not be read again
        system.files.install(PATH, text.encode(), 0o600)


def _encode(record: Record) -> dict[str, Any]:
    def tried(each: Attempts) -> dict[str, Any]:
        told: dict[str, Any] = {"version": each.version, "count": each.tries, "reason": each.reason}
        return told | ({"call": list(each.call)} if each.call else {})

    return {
        "version": VERSION,
        "waiting": _inner(record.waiting, Waiting._asdict),
        "burns": dict(record.burns),
        "resets": dict(record.resets),
        "attempts": _inner(record.attempts, tried),
        "cards": dict(record.cards),
    }


def _decode(text: str) -> Record:
    raw: dict[str, Any] = json.loads(text)

    def waits(item: dict[str, Any]) -> Waiting:
        return Waiting(str(item["value"]), str(item["boot_id"]), item["power_cycle"] is True)

    def tried(item: dict[str, Any]) -> Attempts:
        call = tuple(map(str, item.get("call", ())))
        return Attempts(str(item["version"]), int(item["count"]), str(item["reason"]), call)

    if raw["version"] != VERSION:
        return Record()
    burns, resets = ({str(k): str(v) for k, v in raw[name].items()} for name in ("burns", "resets"))
    cards = {str(k): str(v) for k, v in raw.get("cards", {}).items()}  # 1.0.0 has written none
    return Record(_inner(raw["waiting"], waits), burns, resets, _inner(raw["attempts"], tried), cards)


def _inner(nested: Mapping[str, Mapping[str, T]], change: Callable[[T], U]) -> dict[str, dict[str, U]]:
    """A mapping of mappings with each inner value changed."""
    return {outer: {name: change(each) for name, each in of.items()} for outer, of in nested.items()}
