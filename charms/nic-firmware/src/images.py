# SPDX-License-Identifier: Apache-2.0
"""Firmware images from a URL with its digest or from the charm's resource: one image, or a zip of images."""

import json
from collections.abc import Iterator
from typing import Any

from config import Options
from converge import StepError
from hostnic.firmware import mstflint
from hostnic.firmware.mstflint import Image
from hostnic.process import CommandError
from hostnic.system import System

DIRECTORY = "/var/lib/ovn-offload/firmware"
DOWNLOAD = f"{DIRECTORY}/download"
FETCH = (
    "import shutil, sys, urllib.request\n"
    "with urllib.request.urlopen(sys.argv[1], timeout=60) as source, open(sys.argv[2], 'wb') as target:\n"
    "    shutil.copyfileobj(source, target)\n"
)
"""Runs in a process of its own, which is killed at its deadline."""
HELPS = "see options firmware-url and firmware-sha256, or resource firmware"


def at_hand(system: System, options: Options, resource: str | None) -> tuple[Image, ...]:
    """The images that were fetched before, at most one for each PSID; writes nothing.

    Raises:
        StepError: the resource, or an image, cannot be read.

    """
    digest = options.firmware_sha256
    if resource and not options.firmware_url:
        digest = _digest(system, resource, digest)
    return _known(system, digest) if digest and system.files.exists(_index(digest)) else ()


def fetch(system: System, options: Options, resource: str | None) -> tuple[Image, ...]:
    """The images, fetched if they are not on disk; none without firmware-url and resource.

    They are kept under the digest of the file, with what mstflint reports about them.

    Args:
        system: the host.
        options: the charm's.
        resource: path of the charm's resource; None when none is attached.

    Raises:
        StepError: the file cannot be fetched, has another digest, or has no image.

    """
    found = at_hand(system, options, resource)
    if found or not (options.firmware_url or resource):
        return found
    try:
        path = _download(system, options.firmware_url) if options.firmware_url else str(resource)
        digest = _digest(system, path, options.firmware_sha256)
        found = tuple(_look(system, path, f"{DIRECTORY}/{digest}"))
    except CommandError as error:
        raise StepError(error.reason, HELPS) from error
    psids = [image.psid for image in found]
    twice = next((psid for psid in psids if psids.count(psid) > 1), None)
    if twice or not psids:
        what = f"the archive has more than one image for {twice}" if twice else "the archive has no .bin file"
        raise StepError(what, "attach one image for each PSID")
    rows = [[image.path, image.psid, image.version, image.digest] for image in found]
    system.files.install(_index(digest), json.dumps(rows).encode())
    return found


def _digest(system: System, path: str, wanted: str) -> str:
    """The file's sha256, which must be ``wanted`` unless that is empty."""
    try:
        found = mstflint.digest(system, path)
    except CommandError as error:
        raise StepError(error.reason, HELPS) from error
    if wanted and found != wanted:
        raise StepError(f"the image has sha256 {found}, not {wanted}", HELPS)
    return found


def _index(digest: str) -> str:
    return f"{DIRECTORY}/{digest}.json"


def _known(system: System, digest: str) -> tuple[Image, ...]:
    """The images of an index. Indexes of earlier releases do not have the images' digests."""
    rows: list[list[Any]] = json.loads(system.files.read(_index(digest)))
    found = ([str(cell) for cell in row] for row in rows)
    return tuple(Image(*row[:3], digest=row[3] if row[3:] else _digest(system, row[0], "")) for row in found)


def _download(system: System, url: str) -> str:
    system.files.install(DOWNLOAD, b"")
    system.run(["python3", "-I", "-c", FETCH, url, DOWNLOAD], timeout=960)
    return DOWNLOAD


def _look(system: System, path: str, directory: str) -> Iterator[Image]:
    """Each image of a zip, or the file as the only image; copied so that the next download keeps it."""
    try:
        system.query(["python3", "-m", "zipfile", "-t", path])
    except CommandError:
        target = f"{directory}/image.bin"
        system.files.install(target, b"")
        system.run(["cp", path, target])
        yield mstflint.read_image(system, target)
        return
    system.run(["python3", "-m", "zipfile", "-e", path, directory], timeout=300)
    for name in sorted(system.files.listdir(directory)) if system.files.exists(directory) else ():
        if name.endswith(".bin"):
            yield mstflint.read_image(system, f"{directory}/{name}")
