# SPDX-License-Identifier: Apache-2.0
"""What was read of a host, as plain values. :mod:`observe` reads them."""

from collections.abc import Mapping
from typing import NamedTuple

from converge import Finding
from hostnic.devices.port import Nic
from hostnic.firmware import mstconfig
from hostnic.firmware.mstconfig import Parameter
from hostnic.firmware.mstflint import Flash, Image
from record import Record

ENGINE = "INTERNAL_CPU_OFFLOAD_ENGINE"


class Answer(NamedTuple):
    """What the firmware of one port answered to a query of its parameters.

    Attributes:
        parameters: those that were asked for and that it has.
        reason: why there is no answer, in one sentence; empty when there is one.
        remedy: what helps.

    """

    parameters: Mapping[str, Parameter] = {}
    reason: str = ""
    remedy: str = ""

    @property
    def dpu(self) -> bool:
        """A BlueField in DPU mode: its own system runs the NIC."""
        engine = self.parameters.get(ENGINE)
        return engine is not None and mstconfig.number(engine.current) == 0


class Observed(NamedTuple):
    """The host.

    Attributes:
        nics: its Mellanox NICs.
        boot_id: of this boot.
        record: what waits for its activation, and since when; without burns of NICs that are gone.
        answers: by BDF, of the ports that were asked.
        images: firmware images that the charm has on disk.
        flashes: by NIC, what flash has, or why it cannot be asked; only of NICs for which that matters.
        burning: NICs that are being burned since an earlier hook.
        vf_users: by BDF, which of a port's VFs are in use and by whom.
        host_uses: by BDF, how the host's own network uses a port; only of ports for which that matters.
        infiniband: by BDF, what uses a port as InfiniBand, in words.
        lockdown: the kernel's lockdown mode; empty when there is none.
        findings: what could not be read.

    """

    nics: tuple[Nic, ...] = ()
    boot_id: str = ""
    record: Record = Record()
    answers: Mapping[str, Answer] = {}
    images: tuple[Image, ...] = ()
    flashes: Mapping[str, Flash | str] = {}
    burning: frozenset[str] = frozenset()
    vf_users: Mapping[str, str] = {}
    host_uses: Mapping[str, str] = {}
    infiniband: Mapping[str, str] = {}
    lockdown: str = ""
    findings: tuple[Finding, ...] = ()
