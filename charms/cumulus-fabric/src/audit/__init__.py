# SPDX-License-Identifier: Apache-2.0
"""Checks a fabric before anything is sent to a switch. Pure.

A blocking finding prevents ``apply`` from writing. The subject of a finding is the path in the intent that
must change.
"""

from collections.abc import Callable, Iterator, Sequence

from charmkit.fabric import Host
from converge import Finding, worst_first
from intent.model import Fabric

from audit import addresses, attachments, macs, networks, roce, routing
from audit import hosts as against_hosts
from audit.ports import breakouts, settings

CHECKS: tuple[Callable[[Fabric], Iterator[Finding]], ...] = (
    attachments.duplicate_segments,
    attachments.ports_used_twice,
    attachments.unmanaged,
    attachments.ports_beyond_the_switch,
    breakouts.lanes,
    breakouts.unlike_leaves,
    settings.existing,
    settings.unlike_ends,
    settings.unlike_members,
    settings.all_links_shut,
    settings.link_addresses,
    attachments.uplinks_without_tracking,
    macs.segment_macs,
    macs.anycast_mac,
    attachments.equal_preferences,
    attachments.unused_preferences,
    attachments.hosts_named_twice,
    addresses.as_numbers,
    addresses.addresses,
    addresses.racks_by_place,
    addresses.unusable_loopbacks,
    networks.vlans_and_vnis,
    networks.host_bits,
    networks.mtu_chain,
    networks.without_effect,
    routing.vrf_numbers,
    routing.gateways,
    routing.peers,
    roce.everywhere_or_nowhere,
    roce.what_cumulus_can,
    roce.marks,
)


def audit(fabric: Fabric, hosts: Sequence[Host] = ()) -> list[Finding]:
    """Every finding, worst first.

    ``hosts`` has what hosts report through relation ``fabric``, if anything.
    """
    found = [finding for check in CHECKS for finding in check(fabric)]
    return worst_first([*found, *against_hosts.hosts(fabric, hosts)])
