# SPDX-License-Identifier: Apache-2.0
"""The one module that installs packages. charmhelpers is imported where it is needed: it takes long."""

import logging
import subprocess
from collections.abc import Mapping

from hostnic.system import System

logger = logging.getLogger(__name__)


def ensure(system: System, needed: Mapping[str, str], *, each_hook: bool) -> None:
    """Install the packages whose file is missing, from fresh lists: a new machine may have none.

    A package that cannot be installed is a warning in the log: what cannot be read without it is in the
    unit's status. Costs one look for each package when all are there.

    Args:
        system: the host.
        needed: path of a file to the package that has it.
        each_hook: called in each hook, so that the next one tries again. Else a locked apt is waited for.

    """
    if not _missing(system, needed):
        return
    from charmhelpers.fetch import apt_install, apt_update

    why = "; tried again at the next hook"
    try:
        apt_update(fatal=False)
        # Fatal: charmhelpers tries again for minutes.
        apt_install(_missing(system, needed), fatal=not each_hook)
    except (subprocess.CalledProcessError, OSError) as error:
        why = f": {error}"
    if still := _missing(system, needed):
        logger.warning("%s cannot be installed now%s", " ".join(still), why)


def _missing(system: System, needed: Mapping[str, str]) -> list[str]:
    return [package for path, package in needed.items() if not system.files.exists(path)]
