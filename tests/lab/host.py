# SPDX-License-Identifier: Apache-2.0
"""The test machine's prerequisites: tools from the distribution, and no guests of killed runs."""

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from lab import store
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
HELD = re.compile(
    r"Could not get lock (?P<lock>\S*[^\s.])"
    r"(?:\. It is held by process (?P<process>\d+) \((?P<name>[^)\n]*)\))?"
)
"""apt's words for a lock that another process holds, which it names since 1.9.11 if it sees it."""


# Where chroot and mke2fs are; Debian's users do not have it on their PATH.
os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


class HostError(RuntimeError):
    """The host lacks something; the message is one sentence that says what to do."""


def _present(tool: str) -> bool:
    return Path(tool).exists() if tool.startswith("/") else shutil.which(tool) is not None


def _tools() -> dict[str, str]:
    """The programs and files that this user needs, and the package of each."""
    return TOOLS if os.geteuid() == 0 else {**TOOLS, **USER_TOOLS}


def missing_packages() -> list[str]:
    """Distribution packages to install before an image can be built and booted."""
    return sorted({package for tool, package in _tools().items() if not _present(tool)})


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
    # LC_ALL: a held lock is known by apt's words for it.
    install = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", "apt-get", "-qq"]
    with Step(f"Installing {', '.join(packages)}") as step:
        updated = _unlocked([*install, "update"], step)
        done = _unlocked([*install, "install", "-y", "--no-install-recommends", *packages], step)
        reason = (done.stderr or updated.stderr).strip().splitlines()
        if done.returncode != 0:
            raise HostError(
                f"Missing on this host, run: {command} ({reason[-1] if reason else 'apt-get failed'})"
            )
        if missing := missing_packages():
            tools = ", ".join(tool for tool, package in _tools().items() if package in missing)
            raise HostError(
                f"apt-get has installed {', '.join(missing)}, and there still is no {tools}; "
                f"run: {install_command(missing)}"
            )


def _unlocked(command: list[str], step: Step) -> subprocess.CompletedProcess[str]:
    """Run a command of apt-get once no other apt or dpkg holds a lock.

    A fresh Ubuntu updates itself in its first minutes (apt-daily.service). apt's own
    DPkg::Lock::Timeout does not wait for the lists' lock.
    """
    patience = Patience(LOCKED)
    while True:
        done = subprocess.run(command, capture_output=True, text=True)
        held = HELD.search(done.stderr)
        if done.returncode == 0 or not held or patience.over():
            step.note("")
            return done
        step.waits(_holder(held))
        time.sleep(PAUSE)


def _holder(held: re.Match[str]) -> str:
    """Who holds a lock of apt or dpkg, since when it runs, and which lock."""
    who, since = "another apt or dpkg", ""
    if held["process"]:
        who = f"{held['name']} (process {held['process']})"
        with contextlib.suppress(OSError, ValueError, IndexError):  # it may have ended since apt has looked
            began = time.time() - _age(int(held["process"]))
            since = f", which runs since {time.strftime('%H:%M:%S', time.localtime(began))}"
    return f"waits for {who}{since}, to release {held['lock']}"


def _age(process: int) -> float:
    """Seconds for which a process has run (proc_pid_stat(5), field 22)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    return uptime - int(fields[19]) / os.sysconf("SC_CLK_TCK")


def sweep_guests() -> None:
    """Remove directories of guests that a killed run left; a living one holds a lock on its own."""
    for directory in store.folder().glob("guest-*"):
        with contextlib.suppress(OSError), (directory / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(directory)
