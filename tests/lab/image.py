# SPDX-License-Identifier: Apache-2.0
"""The guests' disk images: packages, the virtual card built for their kernel, a slim initial RAM disk.

Two layers, both cached outside the tree. The *base* is what mmdebstrap made of the package list, and is
redone when that list changes. The *image* adds the files in ``images/root``, the card's module and the Python
packages, and is redone (about half a minute) when one of these changes. ``python -m lab.image`` builds or
finds those of the releases that it is given, or that tests run on, and prints their paths.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab import host, store
from lab.progress import Step
from lab.releases import RELEASES, SWITCHES, Release

HERE = Path(__file__).parent
FILES = HERE / "images"
CARD = Path(os.environ.get("LAB_CARD") or HERE / "card")
REQUIREMENTS = HERE.parent / "requirements" / "guest.txt"

USUAL, OTHERWISE = "jammy", "trixie"
"""Where LAB_RELEASES names no release, guests run the one that most users have, or Debian if that is not
available."""


@dataclass(frozen=True)
class Image:
    """Files that a guest boots from; read-only, shared by all guests."""

    directory: Path

    @property
    def disk(self) -> Path:
        return self.directory / "image.qcow2"

    @property
    def kernel(self) -> Path:
        return self.directory / "vmlinuz"

    @property
    def initrd(self) -> Path:
        return self.directory / "initrd"


def digest(parts: Iterable[str | Path]) -> str:
    """A short hash over texts and files' contents."""
    total = hashlib.sha256()
    for part in parts:
        total.update(part.read_bytes() if isinstance(part, Path) else part.encode())
        total.update(b"\0")
    return total.hexdigest()[:16]


def _tree(directory: Path) -> list[str | Path]:
    sources = sorted(p for p in directory.rglob("*") if p.is_file())
    return [item for path in sources for item in (str(path.relative_to(directory)), path)]


def _card_sources() -> list[Path]:
    sources = [
        path for path in CARD.iterdir() if path.suffix in (".c", ".h") and not path.name.endswith(".mod.c")
    ]
    return sorted([*sources, CARD / "Makefile"])


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file lock, so that of two builds on one host the second finds the first's work."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def run(step: Step, command: list[str], env: dict[str, str] | None = None) -> None:
    """Run a command; its last output line is the step's note, all of it the error's text."""
    output: list[str] = []
    with subprocess.Popen(
        command, text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env={**os.environ, **(env or {})},
    ) as process:  # fmt: skip
        for line in process.stdout or ():
            output.append(line)
            step.note(line.strip()[:60])
    if process.returncode != 0:
        raise host.HostError(f"{command[0]} failed:\n{''.join(output[-30:])}")
    step.note("")


def _base(release: Release) -> Path:
    return store.folder() / f"base-{release.name}-{digest([release.suite, *release.packages])}.tar"


def _asked() -> list[str]:
    """The releases that LAB_RELEASES names."""
    named = os.environ.get("LAB_RELEASES")
    return named.split(",") if named else []


def chosen() -> list[str]:
    """The releases that guests run: those of LAB_RELEASES, or the usual one if its packages are here."""
    return _asked() or [USUAL if _base(RELEASES[USUAL]).exists() else OTHERWISE]


def choose() -> list[str]:
    """The same, once the packages of the usual release were asked for, if it is wanted.

    Without Ubuntu's archive there are none: one line says so, and guests run Debian.
    """
    usual, otherwise = RELEASES[USUAL], RELEASES[OTHERWISE]
    if not _asked():
        host.require()
        try:
            with locked(store.folder() / f"{usual.name}.lock"):
                base(usual)
        except host.HostError as problem:
            why = str(problem).strip().splitlines()[-1]
            print(f"Guests run {otherwise.title}: {usual.title} could not be installed ({why}).")
    return chosen()


def named() -> str:
    """The release of a recording: the first of LAB_RELEASES, or Debian."""
    return next(iter(_asked()), OTHERWISE)


def base(release: Release) -> Path:
    """The release with its packages, as a tar archive.

    Raises:
        HostError: it could not be installed; the last line says why.

    """
    path = _base(release)
    if path.exists():
        return path
    for old in store.earlier(f"base-{release.name}-*.tar"):
        old.unlink()
    with (
        tempfile.TemporaryDirectory(prefix="ovn-lab-", dir=store.folder()) as work,
        Step(f"{release.title}: installing packages into a new base system") as step,
    ):
        partial = Path(work) / "base.tar"
        without = ("doc", "man", "locale")
        run(
            step,
            [
                "mmdebstrap", "--variant=apt", *(f"--include={package}" for package in release.packages),
                *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in without),
                *release.mmdebstrap, release.suite, str(partial),
            ],
            env={"INITRD": "No"},  # the image brings its own
        )  # fmt: skip
        partial.rename(path)
    return path


def _python_packages(release: Release) -> Path:
    """Pinned Python packages for the release's own Python, whatever the host's is."""
    path = store.folder() / f"python-{release.python}-{digest([REQUIREMENTS])}"
    if path.exists():
        return path
    for old in store.earlier(f"python-{release.python}-*"):
        shutil.rmtree(old)
    with (
        tempfile.TemporaryDirectory(prefix="ovn-lab-", dir=store.folder()) as work,
        Step(f"Python packages for the guest's Python {release.python}") as step,
    ):
        partial = Path(work) / "packages"
        platforms = [f"--platform=manylinux{tag}_x86_64" for tag in ("2014", "_2_17", "_2_28")]
        run(
            step,
            [
                sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--require-hashes", "--no-compile",
                "--implementation=cp", f"--python-version={release.python}", *platforms,
                f"--target={partial}", f"--requirement={REQUIREMENTS}",
            ],
        )  # fmt: skip
        partial.rename(path)
    return path


def _assemble(release: Release, target: Path) -> None:
    system, packages = base(release), _python_packages(release)
    # Not in the cache: under a user namespace other user ids must reach and write this directory.
    with (
        tempfile.TemporaryDirectory(prefix="ovn-lab-", dir="/var/tmp") as name,
        Step(f"{release.title}: building the virtual card and the disk image") as step,
    ):
        work = Path(name)
        work.chmod(0o777)
        shutil.copy(system, work / "base.tar")
        files = work / "files"
        shutil.copytree(FILES / "root", files)
        for script in ("init", "customize.sh"):
            shutil.copy(FILES / script, files / "usr/lib/lab" / script)
        shutil.copytree(packages, files / "opt/site-packages")
        (files / "usr/src/card").mkdir(parents=True)
        for source in _card_sources():
            shutil.copy(source, files / "usr/src/card")
        namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["mmdebstrap", "--unshare-helper"]
        try:
            run(step, [*namespace, "/bin/sh", str(FILES / "assemble.sh"), str(work)])
        finally:  # after a failure: what other user ids own in there
            subprocess.run(
                [*namespace, "/bin/rm", "-rf", "--one-file-system", str(work / "root")], check=False
            )
        partial = target.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        for boot in ("vmlinuz", "initrd"):
            shutil.copy(work / boot, partial / boot)
        step.note("converting")
        run(
            step,
            ["qemu-img", "convert", "-O", "qcow2", str(work / "image.ext4"), str(partial / "image.qcow2")],
        )
        partial.rename(target)


def _prune(release: Release, current: Path) -> None:
    """Drop old images that no guest uses; a guest holds a shared lock on its image's kernel."""
    for path in store.earlier(f"image-{release.name}-*/image.qcow2", current / "image.qcow2"):
        with (path.parent / "vmlinuz").open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            shutil.rmtree(path.parent)


def image(name: str) -> Image:
    """The image of a release, built now if the cache has none of this recipe.

    Raises:
        HostError: the host lacks a tool, or a build step failed.

    """
    release = RELEASES[name]
    host.require()
    with locked(store.folder() / f"{release.name}.lock"):
        key = digest([repr(release), *release.packages, REQUIREMENTS, *_tree(FILES), *_card_sources()])
        target = store.folder() / f"image-{release.name}-{key}"
        if not target.exists():
            _assemble(release, target)
        os.utime(target)
        _prune(release, target)
    return Image(target)


if __name__ == "__main__":
    try:
        for arg in sys.argv[1:] or dict.fromkeys([*choose(), SWITCHES]):
            print(image(arg).disk)
    except host.HostError as problem:
        sys.exit(str(problem))
