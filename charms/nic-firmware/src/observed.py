# SPDX-License-Identifier: Apache-2.0
"""The state of a host as plain values. :mod:`observe` reads them."""

from collections.abc import Mapping
from typing import NamedTuple

from converge import Finding
from hostnic.devices.port import Nic
from hostnic.firmware import mstconfig
from hostnic.firmware.mstconfig import Parameter
from hostnic.firmware.mstflint import Flash, Image
from record import Record

ENGINE = "INTERNAL_CPU_OFFLOAD_ENGINE"
MODEL = "INTERNAL_CPU_MODEL"


class FirmwareAnswer(NamedTuple):
    """The answer of one port's firmware to a query of its parameters."""

    parameters: Mapping[str, Parameter] = {}  # those that were asked for and that it has
    reason: str = ""  # why there is no answer, in one sentence; empty when there is one
    remedy: str = ""  # what helps

    @property
    def dpu(self) -> bool:
        """A BlueField in DPU mode: its own system runs the NIC. BlueField-1 has the model only."""
        engine, model = self.parameters.get(ENGINE), self.parameters.get(MODEL)
        if engine is None:
            return model is not None and mstconfig.number(model.current) == 1
        return mstconfig.number(engine.current) == 0


class Observed(NamedTuple):
    """The host."""

    nics: tuple[Nic, ...] = ()  # its Mellanox NICs
    boot_id: str = ""  # of this boot
    # What waits for its activation, and since when; without burns of NICs that are gone
    record: Record = Record()
    answers: Mapping[str, FirmwareAnswer] = {}  # by BDF, of the ports that were asked
    images: tuple[Image, ...] = ()  # firmware images that the charm has on disk
    # By NIC, what flash has, or why it cannot be asked; only of NICs for which that matters
    flashes: Mapping[str, Flash | str] = {}
    burning: frozenset[str] = frozenset()  # NICs that are being burned since an earlier hook
    vf_users: Mapping[str, str] = {}  # by BDF, which of a port's VFs are in use and by whom
    # By BDF, how the host's own network uses a port; only of ports for which that matters
    host_uses: Mapping[str, str] = {}
    infiniband: Mapping[str, str] = {}  # by BDF, what uses a port as InfiniBand, in words
    given_back: bool = False  # the operator had the former values restored, and hooks leave them until a boot
    lockdown: str = ""  # the kernel's lockdown mode; empty when there is none
    findings: tuple[Finding, ...] = ()  # what could not be read
