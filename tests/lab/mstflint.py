#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stands in for ``mstflint`` on the virtual card, which has no flash: query, verify and burn.

Command line, messages and exit codes are those of mstflint 4.21 to 4.31, as far as nic-firmware uses them.
The flash of a card is a file in ``LAB_FLASH`` with two images, as on a ConnectX: a burn writes the one that
does not run, slowly (``LAB_BURN_SECONDS``), and makes it the one that starts next only at its end. A new boot
runs the image that starts next. ``image()`` makes an image file.
"""

import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

FLASH = Path(os.environ.get("LAB_FLASH", "/var/lib/lab/flash"))
BURN_SECONDS = float(os.environ.get("LAB_BURN_SECONDS", "10"))
BOOT_ID = Path(os.environ.get("LAB_BOOT_ID", "/proc/sys/kernel/random/boot_id"))
MAGIC = b"LABFW\n"
FACTORY = ("MT_0000000359", "22.35.2000")


def image(psid: str, version: str, payload: bytes = b"\x90" * 4096, *, damaged: bool = False) -> bytes:
    """An image file's content."""
    digest = hashlib.sha256(payload + b"x" * damaged).hexdigest()
    head = json.dumps({"psid": psid, "version": version, "sha256": digest})
    return MAGIC + head.encode() + b"\n" + payload


class RefusedError(Exception):
    """The tool's output behind ``-E-``."""


def open_image(path: str) -> dict[str, Any]:
    """The image's head, and whether its content is whole.

    Raises:
        RefusedError: there is no image in this file.

    """
    try:
        content = Path(path).read_bytes()
        if not content.startswith(MAGIC):
            raise ValueError
        head, _, payload = content[len(MAGIC) :].partition(b"\n")
        found: dict[str, Any] = json.loads(head)
    except (OSError, ValueError):
        raise RefusedError(
            f"Cannot open Image: {path}. Make sure file {path} is in the right format (binary image)"
        ) from None
    found["whole"] = hashlib.sha256(payload).hexdigest() == found["sha256"]
    return found


class Flash:
    """The two images of a card, in a file that is replaced as a whole."""

    def __init__(self, bdf: str) -> None:
        function = bdf if bdf.count(":") == 2 else f"0000:{bdf}"
        if not Path(f"/sys/bus/pci/devices/{function}").exists() and "LAB_BOOT_ID" not in os.environ:
            raise RefusedError(f"Cannot open Device: {bdf}. No such file or directory. MFE_CR_ERROR")
        self._path = FLASH / f"{function.rpartition('.')[0].replace(':', '-')}.json"
        psid, version = FACTORY
        self.content: dict[str, Any] = {
            "psid": psid,
            "images": [{"version": version, "whole": True}, None],
            "next": 0,
            "running": version,
            "boot": self._boot(),
        }
        if self._path.exists():
            self.content = json.loads(self._path.read_text())
        if self.content["boot"] != self._boot():
            self.content["running"], self.content["boot"] = self.version, self._boot()
            self.keep()

    def _boot(self) -> str:
        return BOOT_ID.read_text().strip()

    @property
    def version(self) -> str:
        """Of the image that starts next."""
        return self.content["images"][self.content["next"]]["version"]

    def keep(self) -> None:
        FLASH.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_suffix(".new")
        draft.write_text(json.dumps(self.content))
        draft.rename(self._path)

    def burn(self, new: dict[str, Any]) -> None:
        """Write the image that does not run; cut off before the end, it stays without effect."""
        if new["psid"] != self.content["psid"]:
            differs = f"The PSID on flash ({self.content['psid']}) differs from the PSID in the given image"
            raise RefusedError(f"PSID mismatch. {differs} ({new['psid']}).")
        print(f"    Current FW version on flash:  {self.version}")
        print(f"    New FW version:               {new['version']}\n")
        if new["version"] == self.version:
            print("    Note: The new FW version is the same as the current FW version on flash.")
        if not new["whole"]:
            raise RefusedError("Burning FS4 image failed: Bad CRC")
        other = 1 - self.content["next"]
        self.content["images"][other] = {"version": new["version"], "whole": False}
        self.keep()
        print("Initializing image partition -   OK", flush=True)
        for percent in range(101):
            print(f"\rWriting Boot image component - {percent:3}%", end="", flush=True)
            time.sleep(BURN_SECONDS / 101)
        self.content["images"][other]["whole"] = True
        self.content["next"] = other
        self.keep()
        print("\rWriting Boot image component -   OK\n-I- To load new FW run mstfwreset or reboot machine.")


def main(arguments: list[str]) -> int:
    """Run; exit codes as the tool's: 0 done, 1 failed, 5 wrong usage."""
    words = [word for word in arguments if word not in ("-y", "--yes", "-qq", "--qq")]
    given = {words[n]: words[n + 1] for n in range(0, len(words) - 1, 2)}
    verb = words[-1] if words and len(words) % 2 else ""
    device, path = given.get("-d"), given.get("-i")
    try:
        if verb in ("query", "q") and device and not path:
            flash = Flash(device)
            _print("FS4", flash.version, flash.content["running"], flash.content["psid"])
        elif verb in ("query", "q") and path:
            found = open_image(path)
            _print("FS4", found["version"], found["version"], found["psid"])
        elif verb in ("verify", "v") and path:
            if not open_image(path)["whole"]:
                raise RefusedError("FW image verification failed: Bad CRC. AN HCA DEVICE CAN NOT BOOT")
            print("-I- FW image verification succeeded. Image is bootable.")
        elif verb in ("burn", "b") and device and path:
            Flash(device).burn(open_image(path))
        else:
            print("-E- Invalid command line", file=sys.stderr)
            return 5
    except RefusedError as refused:
        print(f"-E- {refused}")
        return 1
    return 0


def _print(kind: str, version: str, running: str, psid: str) -> None:
    print(f"Image type:            {kind}\nFW Version:            {version}")
    if running != version:
        print(f"FW Version(Running):   {running}")
    print(f"PSID:                  {psid}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
