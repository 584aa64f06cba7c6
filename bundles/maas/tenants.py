# SPDX-License-Identifier: Apache-2.0
"""The VLANs that Neutron may give to tenants, as the fabric's intent has them. Pure.

The intent is their one home: overlays write vlan-ranges from it, and the bundle checker compares the two.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

_RANGE = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?", re.ASCII)


def provider_vlans(intent: Mapping[str, Any]) -> set[int]:
    """The VLANs of ``provider-vlans``; none if it is not as the charm's schema has it."""
    declared: object = intent.get("provider-vlans")
    if isinstance(declared, dict):
        declared = cast("dict[str, object]", declared).get("vlans")
    found: set[int] = set()
    for item in str(declared or "").split(","):
        if match := _RANGE.fullmatch(item):
            found |= {*range(int(match[1]), int(match[2] or match[1]) + 1)}
    return found


def tenant_vlans(intent: Mapping[str, Any]) -> set[int]:
    """The provider VLANs, and those of networks without a space, which no host uses itself."""
    networks: object = intent.get("networks")
    each = cast("dict[str, object]", networks).values() if isinstance(networks, dict) else ()
    bodies = [cast("dict[str, Any]", body) for body in each if isinstance(body, dict)]
    alone = {body["vlan"] for body in bodies if "space" not in body and isinstance(body.get("vlan"), int)}
    return provider_vlans(intent) | alone


def runs(vlans: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The first and the last VLAN of each run of consecutive ones."""
    known = set(vlans)
    ordered = sorted(known)
    yield from zip((v for v in ordered if v - 1 not in known), (v for v in ordered if v + 1 not in known))
