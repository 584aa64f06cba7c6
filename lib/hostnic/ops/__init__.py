# SPDX-License-Identifier: Apache-2.0
"""The changes that a plan's steps make: small frozen values that write, read back, and say why not.

Each ``run(system)`` returns when the machine reads back as asked, without a write when it already
did, and raises :class:`converge.StepError` otherwise. Deadlines are seconds; they are polled
through ``System.sleep``, so that a modelled host spends no real time.
"""

from hostnic.ops.bonding import AwaitLag, AwaitMember, JoinBond, LeaveBond
from hostnic.ops.eswitch import (
    SetDevlinkParam,
    SetEswitchMode,
    SetHwTcOffload,
    SetInlineMode,
    SetSteeringMode,
)
from hostnic.ops.files import InstallFile, RemoveFile, RemoveTree
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
