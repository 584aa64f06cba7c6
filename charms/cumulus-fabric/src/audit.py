# SPDX-License-Identifier: Apache-2.0
"""Everything that can be wrong with a fabric before a byte is sent to a switch. Pure.

A blocking finding keeps ``apply`` from writing anything. A finding's subject is the path in the intent that
has to change.
"""

from collections.abc import Callable, Iterator, Sequence

import audit_addresses
import audit_attachments
import audit_hosts
import audit_networks
import audit_roce
from charmkit.fabric import Host
from converge import Finding, worst_first
from intent.model import Fabric

CHECKS: tuple[Callable[[Fabric], Iterator[Finding]], ...] = (
    audit_attachments.duplicate_segments,
    audit_attachments.ports_used_twice,
    audit_attachments.ports_beyond_the_switch,
    audit_attachments.uplinks_without_tracking,
    audit_attachments.segment_macs,
    audit_attachments.equal_preferences,
    audit_addresses.as_numbers,
    audit_addresses.addresses,
    audit_networks.vlans_and_vnis,
    audit_networks.mtu_chain,
    audit_networks.without_effect,
    audit_roce.everywhere_or_nowhere,
    audit_roce.what_cumulus_can,
    audit_roce.marks,
)


def audit(fabric: Fabric, hosts: Sequence[Host] = ()) -> list[Finding]:
    """Every finding, worst first.

    Args:
        fabric: what shall be.
        hosts: what hosts report through relation ``fabric``; none when nothing is known.

    """
    found = [finding for check in CHECKS for finding in check(fabric)]
    return worst_first([*found, *audit_hosts.hosts(fabric, hosts)])
