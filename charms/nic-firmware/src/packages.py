# SPDX-License-Identifier: Apache-2.0
"""The one module that installs packages. charmhelpers is imported where it is needed: it takes long."""

import logging

from hostnic.system import System

NEEDED = {"/usr/bin/mstconfig": "mstflint", "/usr/bin/setpci": "pciutils"}

logger = logging.getLogger(__name__)


def ensure_tools(system: System) -> None:
    """Install the tools that are missing, from fresh lists of packages: a new machine may have none.

    Called in each hook, since apt may be locked or its mirror away in one of them; without mstflint the
    status says what cannot be asked. Costs one look for each tool when all are there.
    """
    if not _missing(system):
        return
    from charmhelpers.fetch import apt_install, apt_update

    # Not fatal: charmhelpers would try again for minutes, where the next hook does.
    apt_update(fatal=False)
    apt_install(_missing(system), fatal=False)
    if still := _missing(system):
        logger.warning("%s cannot be installed now; tried again at the next hook", " ".join(still))


def _missing(system: System) -> list[str]:
    return [package for path, package in NEEDED.items() if not system.exists(path)]
