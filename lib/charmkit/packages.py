# SPDX-License-Identifier: Apache-2.0
"""The one module that installs packages. charmhelpers is imported where it is needed: it takes long."""

import importlib.util
import logging
import re
import subprocess
import sys
from collections.abc import Mapping
from types import ModuleType

from converge import words
from hostnic.system import System

logger = logging.getLogger(__name__)


def ensure(system: System, needed: Mapping[str, str], *, each_hook: bool) -> None:
    """Install the packages whose file is missing, from fresh lists: a new machine may have none.

    A package that cannot be installed is a warning in the log: what cannot be read without it is in the
    unit's status. Costs one look for each package when all are there.

    ``needed`` has the package by the path of a file in it. With ``each_hook`` it is called in each hook, so
    that the next one tries again; else a locked apt is waited for.
    """
    if not _missing(system, needed):
        return
    _provide_distutils()
    from charmhelpers.fetch import apt_install, apt_update

    why = "; tried again at the next hook"
    try:
        apt_update(fatal=False)
        # Fatal: charmhelpers tries again for minutes.
        apt_install(_missing(system, needed), fatal=not each_hook)
    except (subprocess.CalledProcessError, OSError) as error:
        why = f": {words(error)}"
    if still := _missing(system, needed):
        logger.warning("%s cannot be installed now%s", " ".join(still), why)


def _missing(system: System, needed: Mapping[str, str]) -> list[str]:
    return [package for path, package in needed.items() if not system.files.exists(path)]


def _provide_distutils() -> None:
    """Let charmhelpers be imported on Python 3.12, which has no distutils.

    charmhelpers 1.2.1 imports one name of it, LooseVersion in core/hookenv.py, and uses that only to compare
    versions of Juju.
    """
    if importlib.util.find_spec("distutils") is None:
        module = ModuleType("distutils.version")
        vars(module)["LooseVersion"] = _numbers
        sys.modules[module.__name__] = module


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))
