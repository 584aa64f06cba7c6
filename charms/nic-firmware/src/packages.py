# SPDX-License-Identifier: Apache-2.0
"""The one module that installs packages. charmhelpers is imported where it is needed: it takes long."""

import logging
import subprocess

from hostnic.system import System

NEEDED = {"/usr/bin/mstconfig": "mstflint", "/usr/bin/setpci": "pciutils"}

logger = logging.getLogger(__name__)


def ensure_tools(system: System) -> None:
    """Install the tools that are missing; without mstflint the status says what cannot be asked."""
    missing = [package for path, package in NEEDED.items() if not system.exists(path)]
    if not missing:
        return
    from charmhelpers.fetch import apt_install

    try:
        apt_install(missing, fatal=True)
    except (subprocess.CalledProcessError, OSError) as error:
        logger.warning("%s cannot be installed: %s", " ".join(missing), error)
