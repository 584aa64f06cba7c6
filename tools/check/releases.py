# SPDX-License-Identifier: Apache-2.0
"""OpenStack's releases: the tracks of its charms and of OVN's, and the origins of their packages.

Source: canonical/charmed-openstack-upgrader, cou/utils/openstack_to_track_mapping.csv.
"""

import re

from check.facts import BASES

INCLUDED = {"ubuntu@20.04": "ussuri", "ubuntu@22.04": "yoga", "ubuntu@24.04": "2024.1"}
"""Track of the release that each of Ubuntu's own archives has."""
NAMES = {"antelope": "2023.1", "bobcat": "2023.2", "caracal": "2024.1"}
"""Tracks that are not called as their release is in the archive."""
OVN = {"yoga": "22.03", "zed": "22.09", "2023.1": "23.03", "2023.2": "23.09", "2024.1": "24.03"}
"""OVN's track of each release."""
OLDER = dict.fromkeys(("ussuri", "victoria", "wallaby", "xena"), "22.03")
"""The same of releases that may also have an older one."""
_ORDER = (*OLDER, *OVN)
_ORIGIN = re.compile(r"(cloud:)?(?:([a-z]+)(?:-(?:updates|proposed)/|-))?([a-z]+)(?:/[a-z]+)?")
"""The Cloud Archive, the Ubuntu that it is for, the release."""


def installed(origin: str, base: str) -> str:
    """The track of what an origin installs; empty for a mirror, a PPA or a release that is not known."""
    found = _ORIGIN.fullmatch(origin)
    if origin.startswith("distro"):
        return INCLUDED.get(base, "")
    track = NAMES.get(found[3], found[3]) if found else ""
    return track if track in _ORDER else ""


def is_of(origin: str, base: str) -> bool:
    """Whether an origin is not the Cloud Archive of another Ubuntu, which the charms refuse.

    Source: charmhelpers, fetch/ubuntu.py: ``_verify_is_ubuntu_rel``.
    """
    found = _ORIGIN.fullmatch(origin)
    archive, series = (found[1], found[2]) if found else ("", "")
    return not archive or series not in BASES or f"ubuntu@{BASES[series]}" == base


def origin(track: str, base: str) -> str:
    """The origin that installs the release of a track on a base; empty where no archive has it."""
    own = INCLUDED.get(base, "")
    if not {own, track} <= {*_ORDER} or not 0 <= _ORDER.index(track) - _ORDER.index(own) <= 4:
        return ""  # Each Ubuntu LTS gets the four releases of the two years after it.
    name = {track: name for name, track in NAMES.items()}.get(track, track)
    series = {f"ubuntu@{number}": series for series, number in BASES.items()}[base]
    return "distro" if own == track else f"cloud:{series}-{name}"
