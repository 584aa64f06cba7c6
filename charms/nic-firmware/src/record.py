# SPDX-License-Identifier: Apache-2.0
"""What no NIC can tell, kept across reboots: since which boot a parameter waits, and which burns failed.

It is the loop breaker. What still waits in another boot than the one that it was first seen in has had its
reboot, and is never rebooted for again. An image whose burns failed is not burned again at every hook.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
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
class Attempts:
    """Burns of one image into one NIC, none of which is known to have succeeded.

    Attributes:
        version: of the image.
        count: burns that were begun, counted before they begin: one that loses power is among them.
        reason: why the last one failed; empty while it goes on, and when it was cut off.

    """

    version: str
    count: int
    reason: str = ""


@dataclass(frozen=True)
class Record:
    """By BDF and parameter; burns by NIC.

    Attributes:
        waiting: BDF to parameter name to what waits.
        burns: NIC to the version whose burn was begun and is not known to have ended.
        resets: NIC to the boot in which a reset of its firmware failed; there is no second one in that boot.
        attempts: NIC to an image's sha256 to its burns. They stay while a NIC is gone: a failed burn may be
            what took it off the bus.

    """

    waiting: Mapping[str, Mapping[str, Waiting]] = field(default_factory=dict[str, Mapping[str, Waiting]])
    burns: Mapping[str, str] = field(default_factory=dict[str, str])
    resets: Mapping[str, str] = field(default_factory=dict[str, str])
    attempts: Mapping[str, Mapping[str, Attempts]] = field(default_factory=dict[str, Mapping[str, Attempts]])

    def get(self, bdf: str, name: str) -> Waiting | None:
        """What is known of a parameter."""
        return self.waiting.get(bdf, {}).get(name)

    def tried(self, nic: str, digest: str) -> Attempts | None:
        """The burns of an image into a NIC; None when there was none, or the last one succeeded."""
        return self.attempts.get(nic, {}).get(digest)

    def with_attempts(self, nic: str, digest: str, attempts: Attempts) -> "Record":
        """This record with the burns of one image into one NIC replaced."""
        of_card = {**self.attempts.get(nic, {}), digest: attempts}
        return replace(self, attempts={**self.attempts, nic: of_card})

    def without_attempts(self, nic: str, version: str) -> "Record":
        """This record without burns of a version into a NIC: one of them succeeded."""
        of_card = {key: each for key, each in self.attempts.get(nic, {}).items() if each.version != version}
        others = {slot: each for slot, each in self.attempts.items() if slot != nic}
        return replace(self, attempts={**others, nic: of_card} if of_card else others)

    def with_burn(self, nic: str, version: str | None) -> "Record":
        """This record with the version whose burn into a NIC is not known to have ended; None for none."""
        others = {slot: begun for slot, begun in self.burns.items() if slot != nic}
        return replace(self, burns={**others, nic: version} if version else others)

    def with_waiting(self, bdf: str, name: str, waiting: Waiting) -> "Record":
        """This record with one more parameter of a port that waits."""
        names = {**self.waiting.get(bdf, {}), name: waiting}
        return replace(self, waiting={**self.waiting, bdf: names})

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
    """The record; an empty one where there is none, or one that cannot be read."""
    try:
        raw: object = json.loads(system.files.read(PATH))
        return _decode(cast("dict[str, Any]", raw))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return Record()


def write(system: System, record: Record) -> bool:
    """Write it where it differs from what is there; True when it was written.

    Raises:
        OSError: it cannot be written.

    """
    if record == Record():
        if system.files.exists(PATH):
            system.files.remove(PATH)
            return True
        return False
    content: dict[str, Any] = {"version": VERSION, **asdict(record)}
    text = json.dumps(content, sort_keys=True, indent=1) + "\n"
    if system.files.exists(PATH) and system.files.read(PATH) == text:
        return False
    system.files.install(PATH, text.encode(), 0o600)
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
    attempts = {
        str(nic): {
            str(digest): Attempts(str(item["version"]), int(item["count"]), str(item["reason"]))
            for digest, item in images.items()
        }
        for nic, images in raw.get("attempts", {}).items()  # not in the record of earlier releases
    }
    return Record(waiting, burns, resets, attempts)
