# SPDX-License-Identifier: Apache-2.0
"""Firmware images and the NIC's flash, through the distribution's ``mstflint`` (4.21 to 4.31).

Flash holds two images, and a burn writes the one that does not run: after an interrupted burn the NIC boots
the old one. What is in flash runs after the next restart of the firmware.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from hostnic.firmware import msterrors
from hostnic.firmware.msterrors import MstError
from hostnic.system import CommandError, System, failure, if_told, read_own

FACT = re.compile(r"^(?P<name>FW Version\(Running\)|FW Version|PSID):[ \t]*(?P<value>[!-~]*)", re.MULTILINE)
"""From the line's beginning: a NIC that was flashed with another vendor's image also has ``Orig PSID:``.

A value may be blank: flash that was never given a PSID has none, or has bytes there that are no text.
"""
DIGEST = re.compile(r"\\?([0-9a-f]{64}) ")
"""A line of sha256sum's output; it begins with a backslash if it escapes the file's name."""
PROGRESS = re.compile(r"(?P<what>[A-Z][A-Za-z0-9_ ]+?)\s*-\s+(?P<done>[0-9]+%|OK)")
STAGE = re.compile(r"^[A-Z][A-Za-z0-9_ ]*-", re.MULTILINE)
"""Mstflint has passed its checks and works: ``Initializing image partition -``, with or without a figure."""
VERDICT = re.compile(
    r"PSID mismatch|is write protected|is not secured|is not signed|Rejected authentication"
    r"|Digest in the signature|key is not applicable|Forbidden version|Invalid security version"
)
"""Messages about an image that is refused. The firmware refuses it before it makes it the image that is
started next, even if all of it was sent first (``burnComponents`` in mstflint's fw_comps_mgr.cpp).
"""
WRITING = re.compile(r"write failed|eras|Flash layout", re.IGNORECASE)
"""Errors of flash itself, which may come before the first stage is printed."""
TIMEOUT_S = 120.0
BURN_TIMEOUT_S = 1800.0
"""A slow flash takes some ten minutes."""
POLL_S = 2.0
LOGS = "/run/ovn-offload/nic-firmware"

VENDORS = {
    "MT": "NVIDIA", "NVD": "NVIDIA", "DEL": "Dell", "HP": "HPE", "LNV": "Lenovo", "SM": "Supermicro",
    "CIS": "Cisco", "IBM": "IBM", "FJT": "Fujitsu", "ORC": "Oracle", "INP": "Inspur", "HUA": "Huawei",
}  # fmt: skip
"""First letters of a PSID, which the vendor of the board chooses."""


class Image(NamedTuple):
    """A firmware image file."""

    path: str  # where it is
    psid: str  # the board that it is for
    version: str  # `22.35.2000`
    digest: str  # the file's sha256, in lower case


class Flash(NamedTuple):
    """The content of a NIC's flash."""

    psid: str  # the board; empty if flash has none
    version: str  # of the image that starts next
    running: str  # of the firmware that runs now

    @property
    def vendor(self) -> str:
        """The vendor of the board, by its PSID."""
        return vendor(self.psid)


class RefusedError(MstError):
    """The image was refused: no burn is under way, and flash starts the same image as before."""


class NotStartedError(RefusedError):
    """mstflint was not started: nothing is known about the image or the NIC."""


def vendor(psid: str) -> str:
    """The vendor of a PSID: ``NVIDIA`` for ``MT_0000000359``. An OEM's NICs only take that OEM's images."""
    return next((name for letters, name in VENDORS.items() if psid.startswith(letters)), "an unknown vendor")


def newer(version: str, than: str) -> bool:
    """Whether a firmware version is newer than another; its parts are numbers."""
    return _parts(version) > _parts(than)


def _parts(version: str) -> tuple[tuple[int, str], ...]:
    """Numbers as their length and digits, which sort alike: Python refuses to read thousands of digits."""
    numbers = (part.lstrip("0") for part in re.findall(r"[0-9]+", version))
    return tuple((len(number), number) for number in numbers)


def read_flash(system: System, bdf: str) -> Flash:
    """Ask the NIC at ``bdf``. Raises MstError if it cannot be asked."""
    facts = _facts(system, ["mstflint", "-d", bdf, "-qq", "query"])
    version = facts["FW Version"]
    return Flash(facts["PSID"], version, facts.get("FW Version(Running)") or version)


def read_image(system: System, path: str) -> Image:
    """Look into an image file. Raises MstError if it is not an image."""
    argv = ["mstflint", "-i", path, "query"]
    facts = _facts(system, argv)
    if not facts["PSID"]:
        raise MstError(CommandError(argv, "mstflint"), f"the image {path} has no PSID", "use another image")
    return Image(path, facts["PSID"], facts["FW Version"], digest(system, path))


def digest(system: System, path: str) -> str:
    """The sha256 of a file, in lower case. Raises MstError if it cannot be read."""
    argv = ["sha256sum", path]
    found = DIGEST.match(msterrors.run(system, system.query, argv, TIMEOUT_S))
    if found is None:
        raise MstError(CommandError(argv, "sha256sum"), f"sha256sum printed no digest of {path}")
    return found[1]


def verify_image(system: System, path: str) -> None:
    """Check every section of an image file. Raises MstError if it is damaged."""
    msterrors.run(system, system.query, ["mstflint", "-i", path, "verify"], TIMEOUT_S)


def under_way(system: System, bdf: str) -> bool:
    """Whether a burn of this NIC was started in this boot, and its result has not been read yet.

    :func:`burn` follows such a burn instead of starting another one. False if systemd cannot be asked.
    """
    state = if_told(lambda: _state(system, _unit(bdf)))
    return state is not None and state["ActiveState"] not in ("inactive", "failed")


def burn(system: System, bdf: str, path: str, progress: Callable[[str], None]) -> None:
    """Burn an image; returns when it is in flash.

    It runs in a systemd unit of its own: a caller that is killed meanwhile finds it again.

    ``progress`` is called with ``Writing Boot image component 40%`` and the like.

    Raises NotStartedError if nothing was started, RefusedError if mstflint or the firmware refused the image,
    and MstError if it failed later, or has not ended in time.
    """
    unit = _unit(bdf)
    log = f"{LOGS}/{unit}.log"
    before = _state(system, unit)["ActiveState"]
    if before == "failed":
        # From a hook that was killed before it read this; systemd-run would refuse: "was already loaded".
        system.run(["systemctl", "reset-failed", unit])
    if before in ("inactive", "failed"):
        system.files.install(log, b"")
        _start(system, unit, log, ["mstflint", "-d", bdf, "-i", path, "-y", "burn"])
    state = _follow(system, unit, log, progress)
    system.run(["systemctl", "stop", unit])
    if state["ActiveState"] == "failed":
        system.run(["systemctl", "reset-failed", unit])
        told, said = state["ExecMainStatus"], read_own(system, log)
        status = int(told) if re.fullmatch("[0-9]{1,3}", told) else 1
        error = msterrors.explain(system, failure(["mstflint", "-d", bdf, "burn"], status, said, ""))
        if state["Result"] == "exit-code" and _is_refusal(said):
            raise RefusedError(error, error.reason, error.remedy)
        raise error


def _unit(bdf: str) -> str:
    """The systemd unit that burns the NIC; the same for all its ports, which share their flash."""
    return f"ovn-offload-burn-{bdf.rpartition('.')[0].replace(':', '-')}.service"


def _start(system: System, unit: str, log: str, argv: list[str]) -> None:
    from hostnic.boot import sandbox  # a plan burns nothing

    output = [f"--property=StandardOutput=append:{log}", "--property=StandardError=inherit"]
    begin = ["systemd-run", f"--unit={unit}", "--property=RemainAfterExit=yes", *output]
    argv = [*begin, *sandbox.properties(sandbox.Does.FIRMWARE), "--", *argv]
    try:
        msterrors.run(system, system.run, argv, TIMEOUT_S)
    except MstError as error:
        if error.returncode is None or _state(system, unit)["ActiveState"] != "inactive":
            raise  # it may have been started
        raise NotStartedError(error, error.reason, error.remedy) from error


def _is_refusal(said: str) -> bool:
    """Whether mstflint, which ended by itself, did not change what flash starts; False if unclear."""
    if VERDICT.search(said):
        return True
    return "-E-" in said and not WRITING.search(said) and not STAGE.search(said.replace("\r", "\n"))


def _follow(system: System, unit: str, log: str, progress: Callable[[str], None]) -> dict[str, str]:
    """Wait for the unit's end, and report progress in steps of ten percent."""
    end, said = system.now() + BURN_TIMEOUT_S, ""
    while True:
        state = _state(system, unit)
        steps = list(PROGRESS.finditer(read_own(system, log)))
        if steps:
            far = steps[-1]["done"]
            tenth = f"{far[:-2] or '0'}0%" if far.endswith("%") and far != "100%" else far
            now = f"{steps[-1]['what'].strip()} {tenth}"
            if now != said:
                progress(now)
                said = now
        if state["ActiveState"] == "failed" or state["SubState"] == "exited":
            return state
        if system.now() > end:
            argv = ["mstflint", "burn"]
            raise MstError(
                CommandError(argv, "mstflint burn"),
                f"the burn has not ended within {BURN_TIMEOUT_S / 60:.0f} min, and continues as {unit}",
                "do not restart the host; see systemctl status of that unit",
            )
        system.sleep(POLL_S)


def _state(system: System, unit: str) -> dict[str, str]:
    shown = system.query(["systemctl", "show", "-p", "ActiveState,SubState,Result,ExecMainStatus", unit])
    pairs = (line.partition("=") for line in shown.splitlines())
    return {
        "ActiveState": "inactive",
        "SubState": "dead",
        "Result": "",
        "ExecMainStatus": "",
        **{k: v for k, _, v in pairs},
    }


def _facts(system: System, argv: list[str]) -> dict[str, str]:
    text = msterrors.run(system, system.query, argv, TIMEOUT_S)
    facts = {match["name"]: match["value"] for match in FACT.finditer(text)}
    if not facts.get("FW Version") or "PSID" not in facts:
        raise MstError(CommandError(argv, "mstflint"), f"mstflint reports no version and PSID of {argv[2]}")
    return facts
