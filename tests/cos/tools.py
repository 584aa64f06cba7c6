# SPDX-License-Identifier: Apache-2.0
"""Prometheus' and Alertmanager's programs, from the distribution's packages, without root.

``python -m cos.tools`` fetches them into the cache of the test machine and prints where they are.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lab import store
from lab.host import HostError, install_command
from lab.image import locked

PACKAGES = {
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "alertmanager": "prometheus-alertmanager",
    "amtool": "prometheus-alertmanager",
}
"""The package, of Debian and Ubuntu, that has each program."""
PROGRAMS = {"alertmanager": "prometheus-alertmanager"}
"""The name of a package's program, where it is not the usual one."""
TEMPLATES = b"/usr/share/prometheus/alertmanager"
"""Where Debian's Alertmanager has its templates: the path is in the program."""


def tool(name: str) -> Path:
    """The path of a program: an installed one, else one from the cache, to which it is fetched once.

    Start Alertmanager in the folder above that of the program: it finds its templates from there.

    Raises:
        HostError: it cannot be fetched; the sentence names the package to install.

    """
    package, program = PACKAGES[name], PROGRAMS.get(name, name)
    if installed := shutil.which(program) or shutil.which(name):
        return Path(installed)
    home = store.folder() / f"package-{package}"
    with locked(store.folder() / f"package-{package}.lock"):
        if not home.exists():
            _fetch(package, home)
    return home / "usr/bin" / program


def _fetch(package: str, home: Path) -> None:
    """Download a package and unpack it to ``home``, which is there only if all of it is."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise HostError(f"Install {package}: there is no apt-get here to fetch it with.")
    with tempfile.TemporaryDirectory(dir=home.parent, prefix="package-") as name:
        work = Path(name)
        # The host's package lists may be missing, as in a container: then those of this folder are used.
        for folder in "lists/partial", "cache/archives/partial":
            (work / folder).mkdir(parents=True)
        own = [f"--option=Dir::State::Lists={work / 'lists'}", f"--option=Dir::Cache={work / 'cache'}"]
        for options in [], own:
            if options and (failed := _run(work, "apt-get", *options, "--quiet=2", "update")):
                break
            if not (failed := _run(work, "apt-get", *options, "--quiet=2", "download", package)):
                break
        archives = [*work.glob(f"{package}_*.deb")]
        failed = failed or _run(work, "dpkg-deb", "--extract", *map(str, archives), "files")
        if failed:
            raise HostError(f"{package} cannot be fetched ({failed}); run: {install_command([package])}")
        if (program := work / "files/usr/bin/prometheus-alertmanager").exists():
            relative = TEMPLATES.removeprefix(b"/usr/").rjust(len(TEMPLATES), b"/").replace(b"/", b".", 1)
            program.write_bytes(program.read_bytes().replace(TEMPLATES, relative))
        (work / "files").rename(home)


def _run(work: Path, *command: str) -> str:
    """Run a command; why it failed, or nothing."""
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, env=environment)
    said = done.stderr.strip().splitlines()
    return "" if done.returncode == 0 else said[-1] if said else f"{command[0]} failed"


if __name__ == "__main__":
    try:
        for each in PACKAGES:
            print(tool(each))
    except HostError as error:
        sys.exit(str(error))
