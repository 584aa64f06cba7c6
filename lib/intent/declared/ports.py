# SPDX-License-Identifier: Apache-2.0
"""How front-panel ports are split, and their properties."""

from dataclasses import dataclass
from typing import Annotated

from converge.shape import Boolean, MappingOf, Union

from intent import values
from intent.declared.shapes import Short, record


@dataclass(frozen=True, kw_only=True)
class Split:
    """How front-panel ports are split: ``mode`` 4x makes four ports of each.

    ``lanes`` is the number of lanes that each of these gets, 1, 2, 4 or 8; None divides those of the port.
    """

    mode: Annotated[str, values.SPLIT]
    lanes: Annotated[int | None, values.LANES] = None


_SPLIT = Union[Split]({str: Short("mode", values.SPLIT, Split), dict: record(Split)})
BREAKOUT = MappingOf(values.WHOLE_PORTS, _SPLIT, "ports to split")


@dataclass(frozen=True, kw_only=True)
class DeclaredPort:
    """Properties of ports or lanes, whatever uses them; what is not given stays as the switch has it.

    ``auto_negotiate`` false forces the ``speed``. Releases up to 5.13 force it without that, too, and those
    from 5.14 on offer it to the other end (user guide, "Switch Port Attributes"). ``fec`` is the forward
    error correction. ``shut``: the ports are down on purpose. ``address`` makes a link between switches a
    numbered one, whose other end has the other address of the subnet; without, it has none (unnumbered).
    """

    speed: Annotated[str, values.SPEED] = ""
    fec: Annotated[str, values.FEC] = ""
    auto_negotiate: Annotated[bool | None, Boolean()] = None
    shut: Annotated[bool, Boolean()] = False
    address: Annotated[str, values.LINK_ADDRESS] = ""


PORT_SETTINGS = MappingOf(values.PORTS, record(DeclaredPort), "ports with properties of their own")
