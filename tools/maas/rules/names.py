# SPDX-License-Identifier: Apache-2.0
"""Names that MAAS takes, and those that it keeps for itself.

Source, in maasserver: validate_fabric_name and clean_name in models/fabric.py and models/space.py,
MODEL_NAME_VALIDATOR in fields.py for VLANs, SUBNET_NAME_VALIDATOR in models/subnet.py, INTERFACE_NAME_REGEXP
in models/interface.py, and IP_BASED_HOSTNAME_REGEXP in forms/__init__.py. A form cuts spaces at the ends of
any text. Digits alone are taken for the id of a space (SpecifierOrModelChoiceField in fields.py).
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from converge import Finding, Severity
from intent.attach import NETDEV_NAME_LENGTH

if TYPE_CHECKING:
    from maas.client import Objects
    from maas.sitefile import Site

FABRIC = r"[\w-]{1,256}", "letters, digits, - and _, as MAAS has them in fabrics"
VLAN = r"\w[ \w-]{0,255}(?<! )", "letters, digits, spaces, - and _, as MAAS has them in VLANs"
SUBNET = r"(?! )[.: \w/-]{1,255}(?<! )", "letters, digits, spaces and . : / - _, as MAAS has them in subnets"
SPACE = (
    r"(?!undefined$|\d+$|.{257})[A-Za-z0-9]+(-[A-Za-z0-9]+)*",
    "a space that Juju takes, too: letters, digits, single -, but not digits alone, nor undefined",
)
NETDEV = (
    rf"(?!\.{{1,2}}$)[\w.-]{{1,{NETDEV_NAME_LENGTH}}}",
    f"a netdev's name of {NETDEV_NAME_LENGTH} characters at most: letters, digits and - _ .",
)
HOST = (
    r"(?!\d{1,3}(-\d{1,3}){3}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?",
    "a host name without its domain, such as node1, and not an address such as 192-168-25-7",
)


def kept_by_maas(site: "Site", objects: "Objects") -> Iterator[Finding]:
    """Names that only MAAS itself gives, of fabrics and spaces that are to be made or renamed."""
    there = {body["name"] for key, body in objects.items() if key.startswith("fabric #")}
    names = [("fabric", name) for name in site.fabrics.values() if name not in there]
    names += [("space", name) for name in site.networks if f"space {name}" not in objects]
    for kind, name in dict.fromkeys(names):
        if re.fullmatch(rf"{kind}-\d+", name):
            what = f"MAAS keeps names like {name} for itself, and has no {kind} of that name"
            remedy = f"write another name for the {kind} in the site file"
            yield Finding(Severity.BLOCKED, f"{kind} {name}", what, remedy)
