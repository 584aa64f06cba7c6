# SPDX-License-Identifier: Apache-2.0
"""Names that MAAS keeps for itself.

Source, in maasserver: validate_fabric_name in models/fabric.py and clean_name in models/space.py.
"""

import re
from collections.abc import Iterator

from converge import Finding, Severity
from maas.client import Objects
from maas.sitefile.model import Site


def kept_by_maas(site: Site, objects: Objects) -> Iterator[Finding]:
    """Names that only MAAS itself gives, of fabrics and spaces that are to be made or renamed."""
    there = {body["name"] for key, body in objects.items() if key.startswith("fabric #")}
    names = [("fabric", name) for name in site.fabrics.values() if name not in there]
    names += [("space", name) for name in site.networks if f"space {name}" not in objects]
    for kind, name in dict.fromkeys(names):
        if re.fullmatch(rf"{kind}-\d+", name):
            what = f"MAAS keeps names like {name} for itself, and has no {kind} of that name"
            remedy = f"write another name for the {kind} in the site file"
            yield Finding(Severity.BLOCKED, f"{kind} {name}", what, remedy)
