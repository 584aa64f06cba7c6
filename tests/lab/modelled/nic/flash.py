# SPDX-License-Identifier: Apache-2.0
"""The modelled NIC's flash, and mstflint, systemd-run and the file tools that a burn needs.

An image is a text file, ``FW <psid> <version>``, with `` damaged`` behind it when its checksums are wrong.
"""

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hostnic.system import failure

if TYPE_CHECKING:
    from lab.modelled.kernel import FakeKernel
    from lab.modelled.nic.model import FakeCard

SECONDS = 20.0
"""A burn takes so long on the model's clock."""


@dataclass
class Burn:
    """A burn under way: it has written all at ``end``."""

    nic: "FakeCard"
    version: str
    end: float
    refusal: str = ""


@dataclass
class FakeFlash:
    """Burns by unit, and what the web has."""

    burns: dict[str, Burn] = field(default_factory=dict[str, Burn])  # by the name of their unit
    web: dict[str, bytes] = field(default_factory=dict[str, bytes])  # content by URL
    speed: int = 1 << 30  # bytes that one run of the download gets
    room: int = 1 << 36  # bytes that are free on the disk
    # Files whose content a power cut takes; `sync` makes them durable
    unsynced: set[str] = field(default_factory=set[str])
    # Versions, in the order in which their burns were begun
    begun: list[str] = field(default_factory=list[str])
    breaks: str = ""  # a fault: the next burn ends with code 1 and this output
    in_vain: bool = False  # a fault: burns end well, and flash keeps what it has


def image(psid: str = "MT_0000000359", version: str = "22.39.1002", damaged: bool = False) -> bytes:
    """An image file's content."""
    return f"FW {psid} {version}{' damaged' if damaged else ''}".encode()


def refused(argv: list[str], what: str) -> Exception:
    """Mstflint's refusal, on standard output."""
    return failure(argv, 1, f"-E- {what}\n", "")


def mstflint(host: "FakeKernel", argv: list[str]) -> str:
    """``mstflint -d BDF -qq query``, ``mstflint -i FILE query|verify``."""
    if "-i" in argv:
        return _of_image(host, argv)
    nic = _nic(host, argv)
    lines = ["Image type:            FS4", f"FW Version:            {nic.flash or nic.version}"]
    if nic.flash and nic.flash != nic.version:
        lines.append(f"FW Version(Running):   {nic.version}")
    lines.append(f"PSID:                  {nic.psid}")
    if nic.orig_psid:
        lines.append(f"Orig PSID:             {nic.orig_psid}")
    return "\n".join(lines) + "\n"


def _nic(host: "FakeKernel", argv: list[str]) -> "FakeCard":
    bdf = argv[argv.index("-d") + 1]
    nic = next((nic for nic in host.cards if any(p.bdf == bdf and not p.gone for p in nic.ports)), None)
    if nic is None or host.locked_down:
        raise failure(
            argv, 1, f"-E- Cannot open Device: {bdf}. No such file or directory. MFE_CR_ERROR\n", ""
        )
    return nic


def _of_image(host: "FakeKernel", argv: list[str]) -> str:
    path = argv[argv.index("-i") + 1]
    words = host.disk.read(path).split()
    if not words or words[0] != "FW":
        raise failure(
            argv, 1, f"-E- Cannot open Image: {path}. Make sure file {path} is in the right format\n", ""
        )
    if "verify" in argv:
        if words[-1] == "damaged":
            raise failure(
                argv, 1, "-E- FW image verification failed: Bad CRC. AN HCA DEVICE CAN NOT BOOT\n", ""
            )
        return "-I- FW image verification succeeded. Image is bootable.\n"
    return (
        f"Image type:            FS4\nFW Version:            {words[2]}\nPSID:                  {words[1]}\n"
    )


def systemd_run(host: "FakeKernel", argv: list[str]) -> str:
    """Start a burn as a unit, or a timer, which never elapses here; nothing else is modelled."""
    if any(word.startswith("--on-active=") for word in argv):
        return ""
    unit = argv[1].partition("=")[2]
    if unit in host.flash.burns:
        said = (
            f"Failed to start transient service unit: Unit {unit} was already loaded or has a fragment file."
        )
        raise failure(argv, 1, "", f"{said}\n")
    command = argv[argv.index("--") + 1 :]
    nic, refusal = _nic(host, command), host.flash.breaks
    _, psid, version, *_ = host.disk.read(command[command.index("-i") + 1]).split()
    if psid != nic.psid:
        differs = f"The PSID on flash ({nic.psid}) differs from the PSID in the given image ({psid})"
        refusal = f"-E- PSID mismatch. {differs}."
    host.flash.burns[unit] = Burn(nic, version, host.clock + SECONDS, refusal)
    host.flash.begun.append(version)
    host.flash.breaks = ""
    return ""


def systemctl(host: "FakeKernel", verb: str, unit: str) -> str:
    """``systemctl show|stop|reset-failed`` of a burn's unit; its log grows with the model's clock."""
    burn = host.flash.burns.get(unit)
    if verb == "show":
        return _show(host, unit, burn)
    if burn is not None and bool(burn.refusal) == (verb == "reset-failed"):
        del host.flash.burns[unit]  # a transient unit that has ended, or failed and was reset, is unloaded
    return ""


def _show(host: "FakeKernel", unit: str, burn: Burn | None) -> str:
    if burn is None:
        return "ActiveState=inactive\nSubState=dead\nResult=success\nExecMainStatus=0\n"
    log = f"/run/ovn-offload/nic-firmware/{unit}.log"
    far = min(int(100 - 100 * (burn.end - host.clock) / SECONDS), 100)
    text = f"Initializing image partition -   OK\nWriting Boot image component - {far:3}%"
    if burn.refusal:
        host.disk.install(log, f"{burn.refusal}\n".encode(), 0o644)
        return "ActiveState=failed\nSubState=failed\nResult=exit-code\nExecMainStatus=1\n"
    host.disk.install(log, text.encode(), 0o644)
    if far < 100:
        return "ActiveState=active\nSubState=running\nResult=success\nExecMainStatus=0\n"
    if not host.flash.in_vain:
        burn.nic.flash = burn.version
    return "ActiveState=active\nSubState=exited\nResult=success\nExecMainStatus=0\n"


def download(host: "FakeKernel", argv: list[str]) -> str:
    """``python3 -I download.py FILE SECONDS`` (:mod:`hostnic.download`), with a server of byte ranges."""
    url, target = host.given, argv[3]
    if url not in host.flash.web:
        raise failure(argv, 1, "", "HTTP Error 404: Not Found")
    whole, had = host.flash.web[url], host.disk.content[target]
    now = had + whole[len(had) :][: host.flash.speed]
    host.disk.install(target, now, 0o644)
    return f"{'all' if len(now) >= len(whole) else 'part'} {len(now)}\n"


def sha256sum(host: "FakeKernel", argv: list[str]) -> str:
    """``sha256sum FILE``."""
    if argv[1] not in host.disk.content:
        raise failure(argv, 1, "", f"sha256sum: {argv[1]}: No such file or directory")
    return f"{hashlib.sha256(host.disk.content[argv[1]]).hexdigest()}  {argv[1]}\n"


def copy(host: "FakeKernel", argv: list[str]) -> str:
    """``cp FROM TO``, which does not call fsync."""
    host.disk.install(argv[2], host.disk.content[argv[1]], 0o644)
    host.flash.unsynced.add(argv[2])
    return ""


def make_directory(host: "FakeKernel", argv: list[str]) -> str:
    """``install -d -m MODE DIR``."""
    host.disk.directories.add(argv[4])
    return ""


def sync(host: "FakeKernel", argv: list[str]) -> str:
    """``sync FILE …``."""
    host.flash.unsynced.difference_update(argv[1:])
    return ""


def lose_power(host: "FakeKernel") -> None:
    """Files that were not synchronised are empty, as ext4 leaves them."""
    for path in host.flash.unsynced & set(host.disk.content):
        host.disk.content[path] = b""
    host.flash.unsynced.clear()


def unzip(host: "FakeKernel", argv: list[str]) -> str:
    """``python3 -m zipfile -l|-e FILE DIR`` of an archive that is ``PK`` and one image for each line."""
    text = host.disk.read(argv[4])
    if not text.startswith("PK"):
        raise failure(argv, 1, "", "zipfile.BadZipFile: File is not a zip file")
    said = ["File Name                                             Modified             Size"]
    for number, line in enumerate(text.splitlines()[1:]):
        said.append(f"{f'fw-{number}.bin':46} 2026-01-02 03:04:06 {len(line.encode()):12}")
        if argv[3] == "-e":
            host.disk.install(f"{argv[5]}/fw-{number}.bin", line.encode(), 0o644)
            host.flash.unsynced.add(f"{argv[5]}/fw-{number}.bin")
    return "\n".join([*said, ""]) if argv[3] == "-l" else ""


def free(host: "FakeKernel", _: list[str]) -> str:
    """``df --output=avail --block-size=1 DIR``."""
    return f"       Avail\n{host.flash.room}\n"
