# SPDX-License-Identifier: Apache-2.0
"""The charm's options and action parameters: a wrong value is refused in one sentence."""

from dataclasses import dataclass

from charmkit.options import option
from charmkit.output import Output
from charmkit.reboot.policy import RebootOptions
from hostnic.cpus import MAX_QUEUES
from hostnic.devices import selector
from hostnic.devices.pci import MAX_VFS


@dataclass(frozen=True)
class Options(RebootOptions):
    """The options of ``charmcraft.yaml``, with ``-`` spelled ``_``."""

    devices: str = option("auto")
    num_vfs: int = option(8, minimum=1, maximum=MAX_VFS)
    vf_lag: str = option("auto", choices=("auto", "required", "disabled"))
    steering_mode: str = option("keep", choices=("keep", "smfs", "dmfs"))
    uplink_queues: int = option(0, minimum=0, maximum=MAX_QUEUES)
    follow_uplink: bool = option(False)
    allow_live: bool = option(False)

    def __post_init__(self) -> None:
        super().__post_init__()
        selector.parse(self.devices)

    @property
    def selected(self) -> tuple[selector.Entry, ...]:
        """The entries of ``devices``; empty for ``auto``."""
        return selector.parse(self.devices)


@dataclass(frozen=True)
class Watching(Output):
    """The parameters of ``show-health``."""

    seconds: int = option(5, minimum=1, maximum=60)
