# SPDX-License-Identifier: Apache-2.0
"""The changes that a plan's steps make: small frozen values that write, read back, and say why not.

Each ``run(system)`` returns when the machine reads back as asked, without a write when it already
did, and raises :class:`converge.StepError` otherwise. Deadlines are seconds; they are polled
through ``System.sleep``, so that a modelled host spends no real time.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hostnic.ops.bonding import AwaitLag, JoinBond, LeaveBond, LeaveToOthers
    from hostnic.ops.eswitch import (
        SetDevlinkParam,
        SetEswitchMode,
        SetHwTcOffload,
        SetInlineMode,
        SetSteeringMode,
    )
    from hostnic.ops.files import InstallFile, RemoveFile, RemoveTree
    from hostnic.ops.members import AwaitMember
    from hostnic.ops.services import DisableUnit, EnableUnit
    from hostnic.ops.vf import BindVf, CreateVfs, DestroyVfs, SetAutoprobe, UnbindVf

__all__ = [
    "AwaitLag",
    "AwaitMember",
    "BindVf",
    "CreateVfs",
    "DestroyVfs",
    "DisableUnit",
    "EnableUnit",
    "InstallFile",
    "JoinBond",
    "LeaveBond",
    "LeaveToOthers",
    "RemoveFile",
    "RemoveTree",
    "SetAutoprobe",
    "SetDevlinkParam",
    "SetEswitchMode",
    "SetHwTcOffload",
    "SetInlineMode",
    "SetSteeringMode",
    "UnbindVf",
]

_HOMES = {
    "bonding": (
        "AwaitLag",
        "JoinBond",
        "LeaveBond",
        "LeaveToOthers",
    ),
    "eswitch": (
        "SetDevlinkParam",
        "SetEswitchMode",
        "SetHwTcOffload",
        "SetInlineMode",
        "SetSteeringMode",
    ),
    "files": (
        "InstallFile",
        "RemoveFile",
        "RemoveTree",
    ),
    "members": ("AwaitMember",),
    "services": (
        "DisableUnit",
        "EnableUnit",
    ),
    "vf": (
        "BindVf",
        "CreateVfs",
        "DestroyVfs",
        "SetAutoprobe",
        "UnbindVf",
    ),
}


def __getattr__(name: str) -> object:
    """Import an operation's module when it is first used: a hook that changes nothing uses none."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"hostnic.ops.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
