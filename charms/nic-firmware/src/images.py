# SPDX-License-Identifier: Apache-2.0
"""Firmware images from a URL with its digest or from the charm's resource: one image, or a zip of images.

They are kept under the digest of the file that they came in, with an index of what mstflint reports about
them. The index is written last, when the images are durable. What does not match its index is not there: the
next fetch replaces it.
"""

import json
import re
from typing import Any, cast

from config import Options
from converge import StepError, cause
from digests import Digests
from hostnic.download import FREE, PROGRAM
from hostnic.firmware import mstflint
from hostnic.firmware.mstflint import Image
from hostnic.ops.files import write_own
from hostnic.system import UNREADABLE, CommandError, NotOwnError, System, read_own

DIRECTORY = "/var/lib/ovn-offload/firmware"
PART = ".part"
"""How the names of downloads end."""
FETCH_S = 120.0
"""The seconds that one fetch may take: Juju runs no other hook on the machine meanwhile."""
DOWNLOAD_S = 80.0
"""The download's share of it."""
OVERTIME_S = 20.0
"""The download may wait so much longer for the server; then it is killed."""
MOST, MOST_FILES = 1 << 30, 1000
"""Bytes and files of the images that one file holds, unpacked."""
WITHOUT_CONTENT = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"""The sha256 of an empty file."""
FEWER = "give an archive that has only the images for the NICs of these hosts"
HELPS = "see options firmware-url and firmware-sha256, or resource firmware"


class UnfinishedError(StepError):
    """The download is not complete yet; the next fetch continues it."""


def cached(system: System, options: Options, resource: str | None) -> tuple[Image, ...]:
    """The images that were fetched before, at most one for each PSID; writes nothing.

    Raises StepError if the resource cannot be read.
    """
    digests = Digests(system)
    digest = _digest(options, resource, digests)
    return _known(system, digest, digests)


def _digest(options: Options, resource: str | None, digests: Digests) -> str:
    """The sha256 of the file that the images are in; empty if none is given."""
    if options.firmware_url or not resource:
        return options.firmware_sha256
    found = _sha256(resource, digests)
    # Charmhub wants a revision of every resource: one without content stands for none.
    return "" if found == WITHOUT_CONTENT else _expected(found, options.firmware_sha256 or found)


def fetch(system: System, options: Options, resource: str | None) -> tuple[Image, ...]:
    """The images, fetched if they are not on disk; none without firmware-url and resource.

    It takes :data:`FETCH_S` at most; what was downloaded by then is kept.

    ``resource`` is the path of the charm's resource; None when none is attached.

    Raises UnfinishedError if there was not enough time, and StepError if the file cannot be fetched, has
    another digest, or has no image.
    """
    digests = Digests(system)
    digest = _digest(options, resource, digests)
    found = _known(system, digest, digests)
    if found or not digest or not (options.firmware_url or resource):
        digests.save()
        return found
    end = system.now() + FETCH_S
    try:
        path = _download(system, options.firmware_url, digest) if options.firmware_url else str(resource)
        found = _unpack(system, path, f"{DIRECTORY}/{digest}", end)
    except CommandError as error:
        raise StepError(error.reason, HELPS) from error
    psids = [image.psid for image in found]
    twice = next((psid for psid in psids if psids.count(psid) > 1), None)
    if twice or not psids:
        what = f"the archive has more than one image for {twice}" if twice else "the archive has no .bin file"
        raise StepError(what, "attach one image for each PSID")
    write_own(system, _index(digest), json.dumps(found), _rows, 0o644)
    for image in found:
        digests.note(image.path, image.digest)
    digests.save()
    for name in system.files.listdir(DIRECTORY):
        if name.endswith(PART):
            system.files.remove(f"{DIRECTORY}/{name}")
    return found


def _sha256(path: str, digests: Digests) -> str:
    try:
        return digests.of(path)
    except CommandError as error:
        raise StepError(error.reason, HELPS) from error
    except OSError as error:
        raise StepError(f"{path} cannot be read: {cause(error)}", HELPS) from error


def _expected(found: str, wanted: str) -> str:
    if found != wanted:
        raise StepError(f"the image has sha256 {found}, not {wanted}", HELPS)
    return found


def _index(digest: str) -> str:
    return f"{DIRECTORY}/{digest}.json"


def _known(system: System, digest: str, digests: Digests) -> tuple[Image, ...]:
    """The images of an index whose files are as they were; none if anything differs, or there is no index.

    A row has path, PSID, version, and the image's sha256.
    """
    images = list[Image]()
    try:
        for image in _rows(read_own(system, _index(digest))):
            if image.path.rpartition("/")[0] != f"{DIRECTORY}/{digest}":
                return ()
            system.files.check_own(image.path)
            if digests.of(image.path) != image.digest:
                return ()
            images.append(image)
    except UNREADABLE:
        return ()
    return tuple(images)


def _rows(text: str) -> list[Image]:
    rows = cast("list[list[Any]]", json.loads(text))
    if not all(isinstance(cell, str) and cell for row in rows for cell in row):
        raise ValueError("an image without one of its texts")
    return [Image(*row) for row in rows]


def _download(system: System, url: str, digest: str) -> str:
    """The complete file. What is there of it belongs to this digest: another one has another name."""
    path = f"{DIRECTORY}/{digest}{PART}"
    try:
        system.files.check_own(path)
        if mstflint.digest(system, path) == digest:
            return path
    except (FileNotFoundError, NotOwnError):
        system.files.install(path, b"")
    argv = ["python3", "-I", PROGRAM, path, f"{DOWNLOAD_S:g}"]
    # Whoever may list processes would see a token in the query of the address.
    said = system.run(argv, DOWNLOAD_S + OVERTIME_S, given=url).split()
    if said[:1] != ["all"]:
        size = int(said[1]) / 1e6 if len(said) > 1 and said[1].isdecimal() else 0
        raise UnfinishedError(f"{size:.0f} MB have arrived", "the next hook continues it")
    try:
        _expected(_sha256(path, Digests(system)), digest)
    except StepError:
        system.files.remove(path)
        raise
    return path


def _unpack(system: System, path: str, directory: str, end: float) -> tuple[Image, ...]:
    """The images of a zip, or the file as the only image; copied and durable before ``end``."""

    def run(*argv: str) -> None:
        system.run(argv, timeout=max(end - system.now(), 1.0))

    try:
        listed = system.query(["python3", "-m", "zipfile", "-l", path], timeout=max(end - system.now(), 1.0))
    except CommandError as error:
        if error.returncode is None:
            raise
        paths = [f"{directory}/image.bin"]
        system.files.install(paths[0], b"")
        _check_room(system, directory, system.files.stat(path).size)
        run("cp", path, paths[0])
    else:
        # zipfile would create the directory as the hook's umask says.
        run("install", "-d", "-m", "755", directory)
        system.files.check_own(directory)  # zipfile would write through links in it
        sizes = re.findall(r" ([0-9]+)$", listed, re.MULTILINE)  # zipfile unpacks no more than it lists
        if len(sizes) > MOST_FILES:
            raise StepError(f"the archive has {len(sizes)} files, and may have {MOST_FILES}", FEWER)
        _check_room(system, directory, sum(map(int, sizes)))
        run("python3", "-m", "zipfile", "-e", path, directory)
        names = sorted(system.files.listdir(directory)) if system.files.exists(directory) else []
        paths = [f"{directory}/{name}" for name in names if name.endswith(".bin")]
    if paths:
        run("sync", *paths, directory)  # fsync for each of its arguments, since coreutils 8.24
    return tuple(mstflint.read_image(system, each) for each in paths)


def _check_room(system: System, directory: str, size: int) -> None:
    """Whether so many bytes may be written below ``directory``.

    Raises StepError if they are too many, or would leave too little of the file system.
    """
    if size > MOST:
        raise StepError(f"the images have {size >> 20} MiB, and may have {MOST >> 20} MiB", FEWER)
    free = int(system.query(["df", "--output=avail", "--block-size=1", directory]).split()[-1])
    if free - size < FREE:
        room = f"{directory} has {free >> 20} MiB of room: {size >> 20} MiB do not fit"
        raise StepError(f"{room}, since {FREE >> 20} MiB have to stay free", "make room on the disk")
