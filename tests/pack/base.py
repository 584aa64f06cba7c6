# SPDX-License-Identifier: Apache-2.0
"""Run charmcraft where it sees the charm's base.

``pack --destructive-mode`` needs no LXD, but refuses a host that is not the base. In a mount namespace of its
own, with the base's os-release bound over the host's, it packs in seconds on any Debian or Ubuntu.
"""

import os
import platform as host
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from lab.host import install_command
from stage import BUILD, Platform

PACKAGES = ("python3-apt", "python3-dev", "python3-venv")
"""The packages that charmcraft needs before the uv plugin packs, and the bindings with which it looks."""

APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
"""Ubuntu's switch, 1 from 24.04 on: only root has namespaces."""

CODENAMES = {"22.04": "jammy", "24.04": "noble"}


class PackError(RuntimeError):
    """Nothing could be packed; the message is one sentence."""


def unfit() -> str | None:
    """Why this machine cannot pack, in one sentence; None where it can."""
    query = ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n", *PACKAGES]
    shown = subprocess.run(query, capture_output=True, text=True, check=False).stdout.splitlines()
    missing = [package for package in PACKAGES if f"{package} installed" not in shown]
    if missing:
        return f"Packing needs more of the distribution; run: {install_command(missing)}"
    if subprocess.run([*_namespace(), "true"], capture_output=True, check=False).returncode != 0:
        if os.geteuid() != 0 and APPARMOR.exists() and APPARMOR.read_text().strip() == "1":
            return (
                "Packing needs a mount namespace, which AppArmor refuses users here; to allow it until the "
                f"next boot, run: sudo sysctl kernel.{APPARMOR.name}=0"
            )
        return (
            "Packing needs a mount namespace, which this machine refuses: pack on another, in a clone of "
            "this commit, and copy its build/*.charm here."
        )
    return None


def pack(directory: Path, platform: Platform) -> Path:
    """Pack a staged charm for one platform and return the artifact.

    Raises:
        PackError: charmcraft failed, with the end of its output.

    """
    charmcraft = [
        str(Path(sys.executable).with_name("charmcraft")),
        "pack",
        "--destructive-mode",
        "--verbosity=verbose",
    ]
    environment = {**os.environ, "PYTHONPATH": str(_apt_modules())}
    done = subprocess.run(
        [*command(platform.version, {}), *charmcraft, f"--platform={platform.name}"],
        cwd=directory,
        env=environment,
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    artifacts = sorted(directory.glob("*.charm"))
    if done.returncode != 0 or len(artifacts) != 1:
        raise PackError(
            f"{done.stdout[-4000:]}\ncharmcraft could not pack {directory.name} for {platform.name}."
        )
    return artifacts[0]


def command(version: str, files: Mapping[Path, str]) -> list[str]:
    """The beginning of a command: the rest sees a base's os-release, and files in the place of others."""
    release = BUILD / version / "os-release"
    release.parent.mkdir(parents=True, exist_ok=True)
    release.write_text(_os_release(version))
    binds = {release: "/etc/os-release", **files}
    mount = 'set -e; while [ "$1" != -- ]; do mount --bind "$1" "$2"; shift 2; done; shift; exec "$@"'
    return [
        *_namespace(),
        "sh",
        "-c",
        mount,
        "sh",
        *(str(end) for bind in binds.items() for end in bind),
        "--",
    ]


def _namespace() -> list[str]:
    return ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]


def _os_release(version: str) -> str:
    current = host.freedesktop_os_release()
    if current.get("ID") == "ubuntu" and current.get("VERSION_ID") == version:
        return Path("/etc/os-release").read_text()
    codename = CODENAMES[version]
    return (
        f'NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID="{version}"\nVERSION_CODENAME={codename}\n'
        f'UBUNTU_CODENAME={codename}\nPRETTY_NAME="Ubuntu {version} LTS"\n'
    )


def _apt_modules() -> Path:
    """A directory with nothing but the distribution's apt bindings, which PyPI does not have."""
    directory = BUILD / "apt"
    directory.mkdir(parents=True, exist_ok=True)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    for name in ("apt", "aptsources", f"apt_pkg{suffix}"):
        source = Path("/usr/lib/python3/dist-packages") / name
        if not source.exists():
            raise PackError(f"{source} does not exist: run tox with the distribution's own Python.")
        link = directory / name
        link.unlink(missing_ok=True)
        link.symlink_to(source)
    return directory
