# SPDX-License-Identifier: Apache-2.0
"""cumulus-fabric on a site: audit, plan, apply and verify on simulated switches.

intent.yaml is the operator's intent; without it, the site has the reference's. switches.yaml says whether
the switches run an intent already, and what each one runs besides.
"""

import json

from audit import audit
from converge import Severity
from intent import expand, schema
from intent.model import Fabric
from lab.nvue import merge
from sites.gallery import Found, Seen, Site
from unit.cumulus_fabric.fabrics import data as example
from unit.cumulus_fabric.online.site import Rack, rack
from unit.cumulus_fabric.online.unmanaged import typed
from yamlfile import reader


def fabric(site: Site) -> Fabric:
    """The site's intent, spelled out."""
    path = site.folder / "intent.yaml"
    if not path.exists():
        return expand.expand(schema.INTENT.read("", example()))
    content = reader.read(
        path.read_text(), str(path), lambda document: json.loads(json.dumps(document)), schema.HOLDS
    )
    return expand.expand(schema.INTENT.read("", content))


def see(site: Site) -> Seen:
    """Audit, plan, apply and verify; a second apply sends nothing, and what others typed is still there."""
    wanted, switches = fabric(site), site.data("switches")
    release = switches.get("release", "5.9.2")
    with rack(wanted, release=release, applied=switches.get("applied", False)) as made:
        beside = {name: typed(made, name, tree) for name, tree in switches.get("beside", {}).items()}
        found = [*audit(wanted), *made.site.survey().plan.findings]
        if not any(each.severity is Severity.BLOCKED for each in found):
            report = made.site.apply()
            found += report.reasons
        writes = _writes(made)
        made.forget()
        found += made.site.verify()
        if report_applied := not any(each.severity is Severity.BLOCKED for each in found):
            assert made.site.apply().applied
        assert made.writes() == [], "a second apply sent something"
        for name, tree in beside.items():
            assert merge(made.applied[name], tree) == made.applied[name], f"{name} lost what others typed"
        assert report_applied or writes == [], "a blocked plan wrote"
    told = {Found(each.severity.name.lower(), each.subject, each.sentence()) for each in found}
    return Seen(sorted(each for each in told if each.about != "digest"), writes)


def _writes(made: Rack) -> list[str]:
    """Which switches were patched."""
    return sorted({line for line in made.writes() if "patch" in line.lower()})
