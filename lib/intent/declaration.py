# SPDX-License-Identifier: Apache-2.0
"""The intent as the operator writes it: short where the fabric is regular, explicit where it is not.

Each field has the shape that its value must have, and the default. ``expand.expand`` turns these dataclasses
into switches and ports; it and ``audit`` check how values fit together. The order of the fields is the one in
which sentences and the JSON Schema name the keys.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from converge.shape import Boolean, Integer, ListOf

from intent import values
from intent.declared.networks import NETWORKS, PROVIDER_VLANS, DeclaredNetwork, ProviderVlans
from intent.declared.racks import Rack
from intent.declared.routing import (
    PREFIX_LISTS,
    ROUTE_MAPS,
    VRFS,
    DeclaredPrefix,
    DeclaredRule,
    DeclaredVrf,
)
from intent.declared.settings import Mtu, Roce, Underlay
from intent.declared.shapes import record
from intent.declared.switches import (
    STANDALONE,
    SWITCHES,
    DeclaredUnmanaged,
    Leaves,
    Override,
    Spines,
    Standalone,
)


@dataclass(frozen=True, kw_only=True)
class Intent:
    """The whole document. ``host_names``: the switches get their names in the intent as host names."""

    version: Annotated[int, Integer(1, 1, "the version")] = 1
    name: Annotated[str, values.NAME] = "fabric"
    networks: Annotated[Mapping[str, DeclaredNetwork], NETWORKS]
    mtu: Annotated[Mtu, record(Mtu)] = field(default_factory=Mtu)
    roce: Annotated[Roce, record(Roce)] = field(default_factory=Roce)
    dialect: Annotated[str, values.DIALECT] = "auto"
    host_names: Annotated[bool, Boolean()] = False
    underlay: Annotated[Underlay, record(Underlay)] = field(default_factory=Underlay)
    provider_vlans: Annotated[ProviderVlans | None, PROVIDER_VLANS] = None
    vrfs: Annotated[Mapping[str, DeclaredVrf], VRFS] = field(default_factory=dict[str, DeclaredVrf])
    prefix_lists: Annotated[Mapping[str, tuple[DeclaredPrefix, ...]], PREFIX_LISTS] = field(
        default_factory=dict[str, tuple[DeclaredPrefix, ...]]
    )
    route_maps: Annotated[Mapping[str, tuple[DeclaredRule, ...]], ROUTE_MAPS] = field(
        default_factory=dict[str, tuple[DeclaredRule, ...]]
    )
    unmanaged: Annotated[DeclaredUnmanaged, record(DeclaredUnmanaged)] = field(
        default_factory=DeclaredUnmanaged
    )
    spines: Annotated[Spines | None, record(Spines)] = None
    leaves: Annotated[Leaves | None, record(Leaves)] = None
    racks: Annotated[tuple[Rack, ...], ListOf(record(Rack), "racks")] = ()
    switches: Annotated[Mapping[str, Override], SWITCHES] = field(default_factory=dict[str, Override])
    standalone: Annotated[Mapping[str, Standalone], STANDALONE] = field(default_factory=dict[str, Standalone])
