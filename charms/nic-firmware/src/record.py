# SPDX-License-Identifier: Apache-2.0
"""Since which boot each parameter waits for its activation: what no NIC can tell, kept across reboots.

It is the loop breaker: what still waits in another boot than the one that it was first seen in has had its
reboot, and is never rebooted for again.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from hostnic.system import System

PATH = "/var/lib/ovn-offload/nic-firmware.json"
VERSION = 1


@dataclass(frozen=True)
class Waiting:
    """A parameter whose next-boot value is not current yet.

    Attributes:
        value: the next-boot value, as mstconfig shows it.
        boot_id: of the boot in which this was first seen.
        power_cycle: the tool said that only a power cycle applies it.

    """

    value: str
    boot_id: str
    power_cycle: bool = False


@dataclass(frozen=True)
class Record:
    """By BDF and parameter; burns by card.

    Attributes:
        waiting: BDF to parameter name to what waits.
        burns: card to the version whose burn was begun and is not known to have ended.
        resets: card to the boot in which a reset of its firmware failed; there is no second one in that boot.

    """

    waiting: Mapping[str, Mapping[str, Waiting]] = field(default_factory=dict[str, Mapping[str, Waiting]])
    burns: Mapping[str, str] = field(default_factory=dict[str, str])
    resets: Mapping[str, str] = field(default_factory=dict[str, str])

    def get(self, bdf: str, name: str) -> Waiting | None:
        """What is known of a parameter."""
        return self.waiting.get(bdf, {}).get(name)

    def power_cycle(self, card: str, boot_id: str) -> bool:
        """The tool said in this boot that only a power cycle applies what waits, of any port of the card.

        The ports share one firmware, and often the setting itself.
        """
        return any(
            each.power_cycle and each.boot_id == boot_id
            for bdf, names in self.waiting.items()
            if bdf.rpartition(".")[0] == card
            for each in names.values()
        )


def read(system: System) -> Record:
    """The record; an empty one where there is none, or one that cannot be read."""
    try:
        raw: object = json.loads(system.read(PATH))
        return _decode(cast("dict[str, Any]", raw))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Record()


def write(system: System, record: Record) -> bool:
    """Write it where it differs from what is there; True when it was written.

    Raises:
        OSError: it cannot be written.

    """
    if record == Record():
        if system.exists(PATH):
            system.remove(PATH)
            return True
        return False
    content: dict[str, Any] = {"version": VERSION, **asdict(record)}
    text = json.dumps(content, sort_keys=True, indent=1) + "\n"
    if system.exists(PATH) and system.read(PATH) == text:
        return False
    system.install(PATH, text.encode(), 0o600)
    return True


def _decode(raw: dict[str, Any]) -> Record:
    if raw["version"] != VERSION:
        return Record()
    waiting = {
        str(bdf): {
            str(name): Waiting(str(item["value"]), str(item["boot_id"]), item["power_cycle"] is True)
            for name, item in names.items()
        }
        for bdf, names in raw["waiting"].items()
    }
    burns, resets = ({str(k): str(v) for k, v in raw[name].items()} for name in ("burns", "resets"))
    return Record(waiting, burns, resets)
