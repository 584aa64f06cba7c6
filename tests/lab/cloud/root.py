# SPDX-License-Identifier: Apache-2.0
"""The disk of the cloud: a distribution with its OpenStack's services, and the services' databases.

Both are cached beside the guests' images, for each release. The *root* is what mmdebstrap made of the
packages of :mod:`lab.cloud.openstacks`, unpacked; it is redone when that list changes. The *state* has the
databases as the services' own tools create them, with users and catalog; it is redone when the root or one
of :data:`STATE_SOURCES` changes.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from lab import host, store
from lab.cloud import openstacks
from lab.cloud.configuration import RABBIT_URL, database
from lab.image import digest, locked, run
from lab.progress import Step

HERE = Path(__file__).parent

STATE_SOURCES = ("addresses.py", "initialize.sh", "catalog.py")

# Each of 600 packages would compile its own Python files, in a process of its own: that is most of the time.
_DIVERT = "dpkg-divert --local --rename --quiet"
_HOOKS = [
    f'--essential-hook=chroot "$1" {_DIVERT} --add /usr/bin/py3compile',
    '--essential-hook=ln -s true "$1/usr/bin/py3compile"',
    f'--customize-hook=rm "$1/usr/bin/py3compile"; chroot "$1" {_DIVERT} --remove /usr/bin/py3compile',
    # A package's tests and templates are not all Python.
    '--customize-hook=chroot "$1" python3 -m compileall -q -j 0 /usr/lib/python3/dist-packages || true',
]

OUTER = [] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--map-auto"]
"""The command by which a user who is not root becomes root of an own user namespace."""

NAMESPACES = [
    *(OUTER or ["unshare"]),
    *("--mount", "--net", "--pid", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc"),
]


def require() -> None:
    """Check that this user may make the namespaces that the cloud runs in, and a network interface there.

    Raises:
        HostError: the user may not.

    """
    host.require()
    command = [*NAMESPACES, "sh", "-c", "exec 3<>/dev/net/tun"]
    tried = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if tried.returncode:
        said = (tried.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise host.HostError(
            f"The cloud runs in namespaces with a tap interface, which this user may not create ({said}): "
            "run this as root, or allow user namespaces, ids in /etc/subuid and /dev/net/tun to the user."
        )


def root() -> Path:
    """The directory with the services of the release in use, built now if the cache has none of this recipe.

    Raises:
        HostError: the host lacks a tool, a build step failed, or the release has no OpenStack here.

    """
    release, openstack = openstacks.taken()
    with locked(store.folder() / f"cloud-root-{release.suite}.lock"):
        path = store.folder() / f"cloud-root-{release.suite}-{digest([*openstack.packages, *_HOOKS])}"
        if not path.exists():
            _remove(f"cloud-root-{release.suite}-*/")
            _remove(f"cloud-state-{release.suite}-*.tar")
            with (
                tempfile.TemporaryDirectory(prefix="ovn-lab-", dir=store.folder()) as work,
                Step(f"OpenStack {openstack.title}: installing packages into a new base system") as step,
            ):
                archive, tree = Path(work) / "root.tar", Path(work) / "root"
                without = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale")]
                more = [*without, '--aptopt=APT::Install-Recommends "false"', *_HOOKS]
                more += [f"--include={','.join(openstack.packages)}", *release.mmdebstrap]
                run(
                    step,
                    ["mmdebstrap", "--variant=apt", *more, release.suite, str(archive)],
                    env={"INITRD": "No"},
                )
                step.note("unpacking")
                tree.mkdir()
                run(step, [*OUTER, "tar", "-C", str(tree), "--exclude", "./dev/*", "-xf", str(archive)])
                tree.rename(path)
        return path


def disk(base: Path) -> Path:
    """The root as a file system for compute nodes, labelled `cloud`; made now unless the cache has it."""
    name = base.name.replace("root", "disk")
    path = store.folder() / f"{name}.ext4"
    with locked(store.folder() / f"{name.rpartition('-')[0]}.lock"):
        if not path.exists():
            _remove(f"{name.rpartition('-')[0]}-*.ext4")
            partial = path.with_suffix(".partial")
            with Step("OpenStack: writing the compute nodes' disk") as step:
                how = ["-t", "ext4", "-O", "^has_journal", "-L", "cloud", "-d", str(base), str(partial), "3G"]
                run(step, [*OUTER, "mke2fs", "-q", "-F", *how])
            partial.rename(path)
    return path


def state(base: Path) -> Path:
    """The archive with the databases for this root, whether or not it exists."""
    sources = [HERE / name for name in STATE_SOURCES]
    # What Nova's cell says of the database and of RabbitMQ.
    cell = database("nova"), RABBIT_URL
    name = base.name.replace("root", "state").rpartition("-")[0]
    return store.folder() / f"{name}-{digest([base.name, *cell, *sources])}.tar"


def forget_states(current: Path) -> None:
    """Delete the archives of this release's earlier recipes."""
    _remove(f"{current.stem.rpartition('-')[0]}-*.tar")


def _remove(pattern: str) -> None:
    for old in store.earlier(pattern):
        if old.is_dir() and OUTER:
            subprocess.run([*OUTER, "rm", "-rf", "--one-file-system", str(old)], check=True)
        elif old.is_dir():
            shutil.rmtree(old)
        else:
            old.unlink()
