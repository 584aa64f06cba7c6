# SPDX-License-Identifier: Apache-2.0
"""The test machine's prerequisites: tools from the distribution, a cache directory, KVM or not."""

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from lab.patience import Patience
from lab.progress import Step

TOOLS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "mmdebstrap": "mmdebstrap",
    "mke2fs": "e2fsprogs",
    "/usr/share/keyrings/debian-archive-keyring.gpg": "debian-archive-keyring",
}
"""Program or file, and the Debian and Ubuntu package that brings it."""

USER_TOOLS = {"newuidmap": "uidmap"}
"""Needed besides when the image is built without root, in a user namespace."""

LOCKED = 1800.0
"""Seconds for which another apt or dpkg may hold its locks."""
PAUSE = 3.0
"""Seconds between two looks at them."""


# Where chroot and mke2fs are; Debian's users do not have it on their PATH.
os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


class HostError(RuntimeError):
    """The host lacks something; the message is one sentence that says what to do."""


def cache() -> Path:
    """Directory for images, outside the source tree."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    path = Path(base) / "charmed-ovn-offload"
    path.mkdir(parents=True, exist_ok=True)
    return path


KEEP = 2
"""Files of earlier recipes that stay in the cache besides the current one: other trees of this host
may be in the middle of a run with them."""


def earlier(pattern: str, current: Path | None = None) -> list[Path]:
    """List the files that the cache may drop: all that match `pattern` but `current` and the newest few."""
    found = [path for path in cache().glob(pattern) if path != current]
    return sorted(found, key=lambda path: path.stat().st_mtime)[:-KEEP]


def _present(tool: str) -> bool:
    return Path(tool).exists() if tool.startswith("/") else shutil.which(tool) is not None


def missing_packages() -> list[str]:
    """Distribution packages to install before an image can be built and booted."""
    tools = TOOLS if os.geteuid() == 0 else {**TOOLS, **USER_TOOLS}
    return sorted({package for tool, package in tools.items() if not _present(tool)})


def install_command(packages: list[str]) -> str:
    """Return the command that a person types to install them: a root shell often has no sudo."""
    return f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install -y {' '.join(packages)}"


def require() -> None:
    """Install what is missing through apt-get, with sudo where needed.

    Raises:
        HostError: something is missing and may not be installed from here.

    """
    packages = missing_packages()
    if not packages:
        return
    command = install_command(packages)
    if not _present("apt-get"):
        raise HostError(f"The test machine needs {', '.join(packages)} from a Debian or Ubuntu host.")
    prefix = [] if os.geteuid() == 0 else ["sudo"] if sys.stdin.isatty() else ["sudo", "-n"]
    if prefix and not _present("sudo"):
        raise HostError(f"Missing on this host: {', '.join(packages)}. Install them as root and start again.")
    install = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    with Step(f"Installing {', '.join(packages)}") as step:
        updated = _unlocked([*install, "update"], step)
        done = _unlocked([*install, "install", "-y", "--no-install-recommends", *packages], step)
        if done.returncode != 0:
            reason = (done.stderr or updated.stderr).strip().splitlines()
            raise HostError(
                f"Missing on this host, run: {command} ({reason[-1] if reason else 'apt-get failed'})"
            )


def _unlocked(command: list[str], step: Step) -> subprocess.CompletedProcess[str]:
    """Run a command of apt-get once no other apt or dpkg holds a lock.

    A fresh Ubuntu updates itself in its first minutes (apt-daily.service). apt's own
    DPkg::Lock::Timeout does not wait for the lists' lock.
    """
    patience = Patience(LOCKED)
    while True:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0 or "Could not get lock" not in done.stderr or patience.over():
            return done
        step.note("waits for another apt or dpkg to end")
        time.sleep(PAUSE)


def sweep_guests() -> None:
    """Remove directories of guests that a killed run left; a living one holds a lock on its own."""
    for directory in cache().glob("guest-*"):
        with contextlib.suppress(OSError), (directory / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(directory)
