# SPDX-License-Identifier: Apache-2.0
"""What this host's ports shall be: decided in a hook, kept in a file, brought about again at each boot."""

import json
import re
from typing import Any, NamedTuple, cast

from hostnic import bootfile

PATH = "/etc/ovn-offload/sriov-switchdev.json"
VERSION = 1

_BDF = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")
_NAME = re.compile(r"[^\s/:]{1,15}")


class Port(NamedTuple):
    """One PF as it shall be.

    Attributes:
        bdf: PCI address with domain.
        netdev: the name that its uplink keeps.
        num_vfs: VFs, all bound once the port is converged.
        bond: the kernel bond that it belongs in, or None.
        lag: VF-LAG is to be active when both ports of the NIC are in that bond.

    """

    bdf: str
    netdev: str
    num_vfs: int
    bond: str | None = None
    lag: bool = False

    @property
    def nic(self) -> str:
        """Domain, bus and slot, which the ports of one NIC share."""
        return self.bdf.rpartition(".")[0]


class Desired(NamedTuple):
    """All ports, by BDF, and what they have in common.

    Attributes:
        ports: by BDF.
        steering_mode: ``smfs``, ``dmfs``, or None for the driver's choice.
        lag_required: VFs stay unbound until VF-LAG is active.

    """

    ports: tuple[Port, ...] = ()
    steering_mode: str | None = None
    lag_required: bool = False

    def port(self, bdf: str) -> Port | None:
        """The port with this PCI address, or None."""
        return next((port for port in self.ports if port.bdf == bdf), None)

    def nics(self) -> dict[str, tuple[Port, ...]]:
        """The ports of each NIC, by the NIC's PCI slot."""
        nics: dict[str, tuple[Port, ...]] = {}
        for port in self.ports:
            nics[port.nic] = (*nics.get(port.nic, ()), port)
        return nics

    def to_json(self) -> str:
        """The text of the file at ``PATH``."""
        content = {**self._asdict(), "version": VERSION, "ports": [port._asdict() for port in self.ports]}
        return json.dumps(content, indent=1, sort_keys=True) + "\n"


def from_json(text: str) -> Desired:
    """Read what :meth:`Desired.to_json` wrote; fields that this version does not know are passed over.

    Raises:
        ValueError: one sentence that says what is wrong with the text.

    """
    data = bootfile.parse(text, VERSION)
    listed = data.get("ports")
    if not isinstance(listed, list):
        raise ValueError("has no list of ports")
    ports = tuple(_port(item) for item in cast("list[Any]", listed))
    if len({port.bdf for port in ports}) != len(ports):
        raise ValueError("names a port twice")
    steering = data.get("steering_mode")
    if steering not in (None, "smfs", "dmfs"):
        raise ValueError(f"has steering_mode {steering!r}; allowed: smfs, dmfs, null")
    required = data.get("lag_required", False)
    if not isinstance(required, bool):
        raise ValueError(f"has lag_required {required!r}; allowed: true, false")
    return Desired(ports, steering, required)


def _port(raw: object) -> Port:
    if not isinstance(raw, dict):
        raise ValueError("has a port that is not a JSON object")
    item = cast("dict[str, Any]", raw)
    bdf, netdev, count = item.get("bdf"), item.get("netdev"), item.get("num_vfs")
    bond, lag = item.get("bond"), item.get("lag", False)
    if not isinstance(bdf, str) or not _BDF.fullmatch(bdf):
        raise ValueError(f"has a port with PCI address {bdf!r}")
    if not isinstance(netdev, str) or not _NAME.fullmatch(netdev):
        raise ValueError(f"has port {bdf} with netdev {netdev!r}")
    if not isinstance(count, int) or isinstance(count, bool) or not 0 < count <= 0xFFFF:
        raise ValueError(f"has port {bdf} with num_vfs {count!r}")
    if bond is not None and (not isinstance(bond, str) or not _NAME.fullmatch(bond)):
        raise ValueError(f"has port {bdf} with bond {bond!r}")
    if not isinstance(lag, bool):
        raise ValueError(f"has port {bdf} with lag {lag!r}")
    return Port(bdf, netdev, count, bond, lag)
