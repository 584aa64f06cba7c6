# SPDX-License-Identifier: Apache-2.0
"""A PF's driver goes away and comes back; what udev, networkd and systemd make of it.

As mlx5_core of Linux 6.1 and 6.12 does it (drivers/net/ethernet/mellanox/mlx5/core):

- Health recovery (health.c: mlx5_health_try_recover), a PCI error (main.c: mlx5_pci_err_detected,
  mlx5_pci_resume), a firmware reset (fw_reset.c: mlx5_fw_reset_complete_reload) and ``devlink dev reload``
  (devlink.c: mlx5_devlink_reload_down, refused while a LAG is active) all unload and load one PF
  (mlx5_unload_one, mlx5_load_one). mlx5_eswitch_disable ends switchdev mode and takes the LAG down, which
  fails while VFs are bound. mlx5_detach_device deletes the auxiliary devices, so that the netdev and the RDMA
  device are new ones, in no bond, with the NIC profile (_mlx5e_remove, _mlx5e_probe in en_main.c).
  mlx5_sriov_detach and mlx5_sriov_attach (sriov.c) leave the VFs' PCI functions and drivers alone, and give
  them a legacy switch.
- An unbind of the PF (main.c: remove_one) calls mlx5_sriov_disable first: its VFs are gone.
- Of the data centre bridging the port's registers stay (PFC, trust, DSCP map), unless the firmware itself
  started anew; shares, cable length and DCBX begin anew each time (en_dcbnl.c: mlx5e_dcbnl_initialize).
"""

import errno
import re
from collections.abc import Callable, Sequence

from lab.modelled.host import FakeHost
from lab.modelled.nic import mlx5, vflag
from lab.modelled.nic.model import FakePort

Event = Callable[[FakeHost], None]
RULES = "/etc/udev/rules.d/"
UNITS = "/etc/systemd/system/"


def health_recovery(host: FakeHost, *bdfs: str) -> None:
    """The firmware of these PFs has a fatal error, and devlink's health reporter recovers them."""
    _cycle(host, bdfs, _firmware_starts_anew)


def driver_reload(host: FakeHost, bdf: str) -> None:
    """``devlink dev reload``."""
    port = host.port(bdf)
    if host.card_of(port).lag:
        raise mlx5.refuse(errno.EOPNOTSUPP, "mlx5_core: reload is unsupported in Lag mode")
    _cycle(host, [bdf], lambda _, port: port.dcb.driver_restarts())


def rebind(host: FakeHost, *bdfs: str) -> None:
    """The PFs are unbound from mlx5_core, and bound again."""
    for bdf in bdfs:
        host.port(bdf).vfs.clear()
    _cycle(host, bdfs, _begins_anew)


def _cycle(host: FakeHost, bdfs: Sequence[str], load: Callable[[FakeHost, FakePort], None]) -> None:
    ports = [host.port(bdf) for bdf in bdfs]
    for port in ports:
        _unload(host, port)
    for port in ports:
        load(host, port)
        host.rdma.re_add_those_of(host.network, port.bdf)
    host.sleep(0.5)
    _networkd(host, ports)
    _udev(host, ports)


def _unload(host: FakeHost, port: FakePort) -> None:
    nic = host.card_of(port)
    vflag.dissolve(nic, host.saying(nic))
    port.eswitch_mode = "legacy" if port.vfs else port.mode_at_start
    port.inline_mode, port.hw_tc_offload, port.rules, port.changing = "none", False, 0, None
    port.nic_profile()
    host.network.down.add(port.netdev)
    if bond := host.network.bond_of(port.netdev):
        bond.members.remove(port.netdev)
    host.members_changed()


def _firmware_starts_anew(host: FakeHost, port: FakePort) -> None:
    host.card_of(port).lag_in_firmware = False
    port.pause = True
    port.dcb.power_on()


def _begins_anew(host: FakeHost, port: FakePort) -> None:
    """Nothing is left of the old device: mlx5 chooses its steering mode again."""
    if all(other.eswitch_mode != "switchdev" for other in host.card_of(port).ports):
        host.card_of(port).lag_in_firmware = False
    port.steering_mode = "smfs"
    port.dcb.driver_restarts()


def _networkd(host: FakeHost, ports: Sequence[FakePort]) -> None:
    """It puts a new netdev into the bond that its configuration names."""
    for port in ports:
        bond = next((bond for bond in host.network.bonds.values() if port.netdev in bond.declared), None)
        if bond and host.networkd:
            host.network.set_master(port.netdev, bond.name, host.clock)
            host.members_changed()


def _udev(host: FakeHost, ports: Sequence[FakePort]) -> None:
    """Start what the installed rules want for the new netdevs, each unit once, in the order of ``After=``.

    systemd starts units without an order at the same time. Here the last one begins: what relied on the
    others by chance fails.
    """
    wanted: list[str] = []
    for port in ports:
        wanted += [unit for unit in _wants(host, port) if unit not in wanted]
    for unit in [*wanted]:
        wanted += [other for other in _named(host, unit, "Wants") if other not in wanted]
    while wanted:
        first = next(unit for unit in reversed(wanted) if not set(_named(host, unit, "After")) & set(wanted))
        wanted.remove(first)
        host.start(first)


def _wants(host: FakeHost, port: FakePort) -> list[str]:
    rules = [host.disk.read(path) for path in sorted(host.disk.content) if path.startswith(RULES)]
    found: list[str] = []
    for line in "".join(rules).splitlines():
        tests = re.findall(r'TEST=="([^"]+)"', line)
        own = f'KERNELS=="{port.bdf}"' in line and 'SUBSYSTEM=="net"' in line and "add" in line
        if own and all(host.files.exists(path) for path in tests):
            found += re.findall(r'SYSTEMD_WANTS}\+="([^"]+)"', line)
    return found


def _named(host: FakeHost, unit: str, key: str) -> list[str]:
    """The units that ``key`` of the unit's file names."""
    text = host.disk.content.get(UNITS + unit, b"").decode()
    return [
        name
        for line in text.splitlines()
        if line.startswith(f"{key}=")
        for name in line.split("=")[1].split()
    ]
