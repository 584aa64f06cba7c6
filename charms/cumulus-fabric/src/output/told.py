# SPDX-License-Identifier: Apache-2.0
"""All that is told of a fabric besides its intent, for its text and its picture. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from converge import Severity
from intent.model import Bond, Fabric, Switch, SwitchPort
from tree.seen import Neighbour

DRAINED = "drained"


@dataclass(frozen=True)
class Told:
    """A fabric, and what is known of it.

    Attributes:
        fabric: the intent.
        health: the worst finding about a switch (`Leaf0-1`), a port or a bond (`Leaf0-1 swp31`); None if
            nobody has looked.
        toll: the fate of a leg (`Leaf0-1 bond1`) with an apply, as attachments.toll has it.
        ends: the host and its port at the other end of a leaf's port (`Leaf0-1 swp9`), as LLDP or the host
            tells.
        drained: the switches that are out of use.

    """

    fabric: Fabric
    health: Mapping[str, Severity] | None = None
    toll: Mapping[str, str] = field(default_factory=dict[str, str])
    ends: Mapping[str, Neighbour] = field(default_factory=dict[str, Neighbour])
    drained: Collection[str] = ()

    def worst(self, *subjects: str) -> Severity:
        """The worst finding about any of these."""
        known = self.health or {}
        return max((known.get(subject, Severity.INFO) for subject in subjects), default=Severity.INFO)

    def word(self, *subjects: str) -> str:
        """The severity of the worst finding about any of these; empty if all is as intended."""
        worst = self.worst(*subjects)
        return "" if worst is Severity.INFO else worst.name.lower()

    def state(self, switch: str) -> str:
        """The word or words about a switch."""
        return ", ".join(filter(None, (DRAINED if switch in self.drained else "", self.word(switch))))

    def host(self, switch: Switch, port: SwitchPort) -> str:
        """Who is at a port: by the intent, by LLDP or the host, or by its description; empty if unknown."""
        bond = switch.bond(port.name) if isinstance(port, Bond) else None
        names = bond.members if bond else (port.name,)
        seen = [
            self.ends[end].name for end in (f"{switch.name} {name}" for name in names) if end in self.ends
        ]
        return next(filter(None, (port.host, *seen, port.description)), "")


def attached(rack: tuple[Switch, ...]) -> dict[str, SwitchPort]:
    """Return the attachments of a rack's leaves, by bond or by leaf and port, as on the first leaf."""
    found: dict[str, SwitchPort] = {}
    for leaf in rack:
        for bond in leaf.bonds:
            found.setdefault(bond.name, bond)
        for port in leaf.single_homed:
            found[f"{leaf.name} {port.name}"] = port
    return found
