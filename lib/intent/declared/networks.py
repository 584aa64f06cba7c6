# SPDX-License-Identifier: Apache-2.0
"""Layer 2 networks, and the VLANs that others carry through the fabric."""

from dataclasses import dataclass
from typing import Annotated

from converge.shape import Boolean, Integer, ListOf, MappingOf, Union

from intent import values
from intent.declared.routing import Gateway
from intent.declared.shapes import Short, record


@dataclass(frozen=True, kw_only=True)
class DeclaredNetwork:
    """One layer 2 network."""

    vlan: Annotated[int, values.VLAN]  # VLAN on bridge br_default
    vni: Annotated[int | None, values.VNI] = None  # of its VXLAN; by default the VLAN's number
    untagged: Annotated[bool, Boolean()] = False  # whether hosts get it untagged by default (PXE)
    space: Annotated[str, values.NAME] = ""  # its Juju space, for people and audits
    subnets: Annotated[tuple[str, ...], ListOf(values.SUBNET, "subnets")] = ()
    gateway: Annotated[Gateway | None, record(Gateway)] = None


@dataclass(frozen=True, kw_only=True)
class ProviderVlans:
    """The VLANs that Neutron gives to its provider networks, as in neutron-api's option vlan-ranges.

    Hosts of the racks carry them, unless their entry lists its networks; other ports do if they list
    ``provider-vlans``. ``vlans`` are ranges such as 1001-1100,1200. The VNI of a VLAN is its number plus
    ``vni_base``.
    """

    vlans: Annotated[str | int, values.VLANS]
    vni_base: Annotated[int, Integer(0, 16773121)] = 0


NETWORKS = MappingOf(values.NETWORK_NAME, record(DeclaredNetwork), "networks", least=1)
PROVIDER_VLANS = Union[ProviderVlans](
    {
        str: Short("vlans", values.VLANS, ProviderVlans),
        int: Short("vlans", values.VLAN, ProviderVlans),
        dict: record(ProviderVlans),
    }
)
