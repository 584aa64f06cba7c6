# SPDX-License-Identifier: Apache-2.0
"""Which external network is used, where the cloud has others that could be meant. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from converge import Finding, Severity
from converge.finding import few

from acceptance.kinds import Object
from acceptance.sitefile import Public
from acceptance.wanted import NAMED


def findings(public: Public, networks: Sequence[Object], objects: Mapping[str, Object]) -> Iterator[Finding]:
    """The networks that are not used, if nobody has chosen among them.

    Args:
        public: what the site file says, or nothing.
        networks: all that the cloud has.
        objects: those that were found, by key.

    """
    key = f"network {public.name}"
    there = [each for each in networks if each["is_router_external"]]
    names = sorted({each["name"] or each["id"] for each in there})
    same = [each["id"] for each in there if each["name"] == public.name]
    if there and public == Public() and key not in objects:
        what = f"it is to be created, and the cloud has external networks already: {few(names, NAMED)}"
        yield Finding(Severity.INFO, key, what, "to use one of them, set public.name in the site file")
    elif same[1:]:
        used = objects[key]["id"]
        others = few([each for each in same if each != used], NAMED)
        what = f"several external networks have this name: {used} is used, {others} is not"
        yield Finding(Severity.INFO, key, what, "set public.name in the site file to the id of the right one")
