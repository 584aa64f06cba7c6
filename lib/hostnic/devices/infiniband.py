# SPDX-License-Identifier: Apache-2.0
"""The users of a port as InfiniBand now. Reads sysfs, /proc and the addresses of netdevs; never writes.

A port may carry storage without any netdev, so its addresses alone do not tell. Doubt counts as use. Sources:
Documentation/ABI/stable/sysfs-class-infiniband in the kernel, and ``enum ib_port_state`` in rdma/ib_verbs.h.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from converge import words

from hostnic.devices import pci, users
from hostnic.devices.port import MLX5, Port
from hostnic.devices.rdma import CLASS, openers
from hostnic.system import System, list_names

OWN_DRIVERS = (MLX5, "mlx4_core")
INIT = 2
"""Port state: the cable leads to another InfiniBand port, whose subnet manager has given no LID yet."""


def uses(system: System, ports: Iterable[Port]) -> dict[str, str]:
    """Name the users of each InfiniBand port, by BDF; Ethernet ports and unused ones are left out."""
    opened = lru_cache(maxsize=1)(lambda: openers(system))
    found = {port.bdf: " and ".join(_uses(system, port, opened)) for port in ports if port.infiniband}
    return {bdf: words for bdf, words in found.items() if words}


def _uses(system: System, port: Port, opened: Callable[[], Mapping[str, list[str]]]) -> list[str]:
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
        f"{device} is open in {', '.join(opened()[device])}" for device in devices if device in opened()
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
            yield f"perhaps port {number} of {device} ({words(error)})"
            continue
        if layer == "InfiniBand" and up:
            word = state.partition(": ")[2]
            has = f"LID {identifier}" if identifier else "no LID yet"
            yield f"the InfiniBand link of {device} is {word} with {has}"
