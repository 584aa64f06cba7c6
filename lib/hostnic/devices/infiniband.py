# SPDX-License-Identifier: Apache-2.0
"""What uses a port as InfiniBand now. Reads sysfs, /proc and the addresses of netdevs; never writes.

A port may carry storage without any netdev, so its addresses alone do not tell. Doubt counts as use. Sources:
Documentation/ABI/stable/sysfs-class-infiniband in the kernel, and ``enum ib_port_state`` in rdma/ib_verbs.h.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from hostnic.devices import pci, users
from hostnic.devices.port import Port
from hostnic.devices.rdma import CLASS
from hostnic.system import System, list_names, read_text

OPENED_AS = ("/sys/class/infiniband_verbs", "/sys/class/infiniband_mad")
"""The character devices below /dev/infiniband, each with the name of its RDMA device in ``ibdev``."""
OWN_DRIVERS = ("mlx5_core", "mlx4_core")
INIT = 2
"""Port state: the cable leads to another InfiniBand port, whose subnet manager has given no LID yet."""


def uses(system: System, ports: Iterable[Port]) -> dict[str, str]:
    """By BDF, what uses each InfiniBand port, in words; Ethernet ports and unused ones are left out."""
    openers = lru_cache(maxsize=1)(lambda: _openers(system))
    found = {port.bdf: " and ".join(_uses(system, port, openers)) for port in ports if port.infiniband}
    return {bdf: words for bdf, words in found.items() if words}


def _uses(system: System, port: Port, openers: Callable[[], Mapping[str, list[str]]]) -> list[str]:
    """Processes are searched only if nothing else is found: there may be thousands."""
    if port.driver is None:
        return []
    if port.driver not in OWN_DRIVERS:
        return [f"{port.driver} has it"]
    devices = list_names(system, pci.attribute(port.bdf, "infiniband"))
    if not devices:
        return ["perhaps somebody, since its RDMA device is not visible here (is mlx5_ib loaded?)"]
    found = [*_of_netdevs(system, port), *(words for name in devices for words in _links(system, name))]
    if port.num_vfs:
        found.append(f"it has {port.num_vfs} VFs")
    return found or [
        f"{device} is open in {', '.join(openers()[device])}" for device in devices if device in openers()
    ]


def _of_netdevs(system: System, port: Port) -> Iterator[str]:
    """IPoIB's netdev, and the ones of further partitions, which have the function as their device, too."""
    names = list_names(system, pci.attribute(port.bdf, "net"))
    for name, used in (users.of_netdevs(system, names) if names else {}).items():
        yield f"{name} carries {' and '.join(used)}"


def _links(system: System, device: str) -> Iterator[str]:
    directory = f"{CLASS}/{device}/ports"
    for number in list_names(system, directory):
        try:
            layer, state, lid = (
                system.files.read(f"{directory}/{number}/{name}").strip()
                for name in ("link_layer", "state", "lid")
            )
            up, identifier = int(state.partition(":")[0]) >= INIT, int(lid, 0)
        except (OSError, ValueError) as error:
            yield f"perhaps port {number} of {device} ({error})"
            continue
        if layer == "InfiniBand" and up:
            word = state.partition(": ")[2]
            has = f"LID {identifier}" if identifier else "no LID yet"
            yield f"the InfiniBand link of {device} is {word} with {has}"


def _openers(system: System) -> dict[str, list[str]]:
    """By RDMA device, the processes that have it open: ``qemu-system-x86 (4242)``."""
    devices: dict[str, str] = {}
    for directory in OPENED_AS:
        for name in list_names(system, directory):
            if device := read_text(system, f"{directory}/{name}/ibdev"):  # abi_version has none
                devices[f"/dev/infiniband/{name}"] = device
    found: dict[str, list[str]] = {}
    for process in filter(str.isdigit, list_names(system, "/proc") if devices else ()):
        for device in sorted({devices[path] for path in _open(system, process) if path in devices}):
            command = read_text(system, f"/proc/{process}/comm") or "a process"
            found.setdefault(device, []).append(f"{command} ({process})")
    return found


def _open(system: System, process: str) -> Iterator[str]:
    directory = f"/proc/{process}/fd"
    for descriptor in list_names(system, directory):
        try:
            yield system.files.readlink(f"{directory}/{descriptor}")
        except OSError:
            continue  # closed meanwhile
