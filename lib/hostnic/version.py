# SPDX-License-Identifier: Apache-2.0
"""The drivers or the firmware of a host's NICs in one line, as ``juju status`` shows it."""

from collections.abc import Iterable

from hostnic.devices.lag import OSRELEASE
from hostnic.devices.port import Nic, Port
from hostnic.system import System, read_text

MODULES = "/sys/module"
"""Loaded modules. They have ``version`` if their source has MODULE_VERSION (ABI/stable/sysfs-module):
those of MLNX_OFED and DOCA do, the kernel's own mlx5_core does not."""


def of_drivers(system: System, ports: Iterable[Port]) -> str:
    """``mlx5_core, kernel 6.8.0-45-generic``; a driver from outside the kernel with its own version.

    Empty where no port has a driver.

    Raises OSError if the kernel does not tell.
    """
    names = sorted({port.driver for port in ports if port.driver})
    shown = [_with_version(system, name) for name in names]
    return ", ".join([*shown, f"kernel {system.files.read(OSRELEASE).strip()}"]) if shown else ""


def of_firmware(system: System, nics: Iterable[Nic]) -> str:
    """The firmware that the NICs run: ``22.39.1002``, or several. NICs that do not tell are left out."""
    found: set[str] = set()
    for nic in nics:
        try:
            found.add(system.devlink.info(nic.ports[0].bdf).firmware or "")
        except OSError:
            continue  # it has no driver, or the driver has no devlink
    return ", ".join(sorted(found - {""}))


def _with_version(system: System, driver: str) -> str:
    own = read_text(system, f"{MODULES}/{driver}/version")
    return f"{driver} {own}" if own else driver
