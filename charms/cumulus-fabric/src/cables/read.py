# SPDX-License-Identifier: Apache-2.0
"""Reads what is at the ports of switches; writes nothing.

Each answer is bounded in bytes and time by the client. A switch that does not answer takes nothing from the
others, and neither does a part that a switch does not have.
"""

from collections.abc import Collection, Mapping

from intent.model import Fabric
from rest.client import Nvue
from rest.connection import SwitchError
from rest.fleet import Fleet
from tree import Tree, nodes
from tree.render import BRIDGE

from cables.rows import Seen, silent

PARTS = ("type", "link/speed", "link/fec", "link/state", "link/oper-status", "link/mac", "link/mac-address")
LLDP = "lldp/neighbor"

OWN = "permanent"
"""Entries of the MAC table with a switch's own addresses.

Those of hosts that an Ethernet segment's other leaf has learnt are static.
"""


def read(fleet: Fleet, fabric: Fabric, names: Collection[str]) -> tuple[dict[str, Seen], dict[str, str]]:
    """The answers of these switches, and why the others have none, by name."""

    def look(nvue: Nvue) -> Seen:
        with nvue.looked_at():
            state = {"interface": nvue.get("/interface", include=[f"/*/{part}" for part in (*PARTS, LLDP)])}
            modules = _part(nvue, "/platform/transceiver")
            switch = fabric.switch(nvue.name)
            asks = switch is not None and silent(switch, state)
            table = _part(nvue, f"/bridge/domain/{BRIDGE}/mac-table") if asks else {}
            return Seen(state, modules, _learnt(table))

    reached = [name for name in names if name in fleet.switches]
    seen, errors = fleet.each(reached, look)
    why = {name: error.reason for name, error in errors.items()}
    return seen, why | {name: "has no management address" for name in names if name not in reached}


def _part(nvue: Nvue, path: str) -> Tree:
    """A part without which the report still tells something: a switch may lack it, or have too much of it."""
    try:
        return nvue.get(path)
    except SwitchError:
        return {}


def _learnt(table: Tree) -> Mapping[str, list[str]]:
    """The MAC addresses that a switch has learnt, by bond or port."""
    found: dict[str, list[str]] = {}
    for _, entry in nodes(table):
        if entry.get("entry-type") == OWN:
            continue
        found.setdefault(str(entry.get("interface")), []).append(str(entry.get("mac")))
    return {name: sorted(set(macs)) for name, macs in found.items()}
