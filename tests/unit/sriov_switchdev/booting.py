# SPDX-License-Identifier: Apache-2.0
"""The common parts of the tests of the boot units."""

import record
from boot import main
from lab.modelled import FakeHost
from unit.sriov_switchdev.node import PF0


def modes(host: FakeHost) -> list[tuple[str, int]]:
    """Of each port: mode and number of VFs."""
    return [(port.eswitch_mode, len(port.vfs)) for port in host.network.ports()]


def half_of_early(host: FakeHost, fallback: bool = True) -> None:
    record.write_boot(host, "early", "running")
    host.files.write(f"/sys/bus/pci/devices/{PF0}/sriov_drivers_autoprobe", "0")
    host.files.write(f"/sys/bus/pci/devices/{PF0}/sriov_numvfs", "2")
    host.devlink.set_eswitch_mode(PF0, "switchdev")
    if fallback:
        main.fallback(host)
