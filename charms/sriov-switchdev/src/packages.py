# SPDX-License-Identifier: Apache-2.0
"""The one module that installs packages. charmhelpers is imported where it is needed: it takes long."""

import logging
import subprocess

from hostnic.system import System

MSTCONFIG = "/usr/bin/mstconfig"

logger = logging.getLogger(__name__)


def ensure_mstflint(system: System) -> None:
    """Install mstflint, with which the firmware is asked what it offers after the next boot.

    Without it the charm still works where the firmware offers enough VFs now; where it does not, the
    status says that the firmware cannot be asked.
    """
    if system.exists(MSTCONFIG):
        return
    from charmhelpers.fetch import apt_install, apt_update

    try:
        apt_update(fatal=False)  # a new machine may have no list of packages
        apt_install(["mstflint"], fatal=True)
    except (subprocess.CalledProcessError, OSError) as error:
        logger.warning("mstflint cannot be installed: %s", error)
