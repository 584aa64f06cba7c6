# SPDX-License-Identifier: Apache-2.0
"""What of the host's own network stands on a netdev: devices on top, addresses, routes.

Whoever takes such a netdev away, or its link down, takes the host off that network, so what cannot be read
counts as use. IPv6's link-local addresses and routes do not count: the kernel gives them to each netdev that
is up. Nothing here starts a process.
"""

from collections.abc import Iterable, Iterator

from hostnic import routes
from hostnic.system import System


def of_netdevs(system: System, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """What of this host uses each of the netdevs ``names``, in words; those that are free are left out.

    Asks netlink for addresses: /proc/net/route has none of an address without a subnet (/32).
    """
    leads = routes.through(system)
    found: dict[str, tuple[str, ...]] = {}
    for name in names:
        route = (f"the route to {leads[name]}",) if name in leads else ()
        if users := (*_uppers(system, name), *_addresses(system, name)) or route:
            found[name] = users
    return found


def _uppers(system: System, netdev: str) -> Iterator[str]:
    """VLANs, macvtaps, a bond or a bridge: ``upper_<name>`` in sysfs."""
    try:
        names = sorted(system.listdir(f"/sys/class/net/{netdev}"))
    except OSError as error:
        yield f"perhaps a device on top ({error.strerror or error})"
        return
    yield from (name.removeprefix("upper_") for name in names if name.startswith("upper_"))


def _addresses(system: System, netdev: str) -> Iterator[str]:
    try:
        yield from (each for each in system.addresses(netdev) if not each.startswith(routes.LINK_LOCAL))
    except OSError as error:
        yield f"perhaps an address ({error.strerror or error})"
