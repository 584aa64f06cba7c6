# SPDX-License-Identifier: Apache-2.0
"""Steps' operations that only this charm needs: all VFs of a port at once."""

from dataclasses import dataclass

from converge import StepError
from hostnic.devices import pci
from hostnic.ops.vf import BindVf, UnbindVf
from hostnic.system import System


@dataclass(frozen=True)
class UnbindVfs:
    """Take every VF of ``bdf`` from whatever driver has it."""

    bdf: str

    def run(self, system: System) -> None:
        """Unbind in order of index."""
        for address in pci.vf_addresses(system, self.bdf).values():
            UnbindVf(address).run(system)


@dataclass(frozen=True)
class BindVfs:
    """Bind every VF of ``bdf`` that has no driver to mlx5_core.

    Attributes:
        bdf: the PF.
        deadline: seconds per VF.

    """

    bdf: str
    deadline: float = 60.0

    def run(self, system: System) -> None:
        """Bind in order of index; a VF that an instance took meanwhile keeps its driver.

        Raises:
            StepError: names each VF that stays unbound; all others are bound.

        """
        refused: list[StepError] = []
        for address in pci.vf_addresses(system, self.bdf).values():
            if pci.driver(system, address) is None:
                try:
                    BindVf(address, self.deadline).run(system)
                except StepError as error:
                    refused.append(error)
        if refused:
            raise StepError("; ".join(error.reason for error in refused), refused[0].remedy)
