# SPDX-License-Identifier: Apache-2.0
"""cumulus-fabric on a site: audit, plan, apply and verify on simulated switches.

intent.yaml is the operator's intent; without it, the site has the reference's. switches.yaml says whether
the switches run an intent already, and what each one runs besides.
"""

import json
from typing import Any

from audit import audit
from converge import Severity
from converge.shape import InvalidValue
from intent import expand, schema
from intent.model import Fabric
from lab.nvue import merge
from lab.nvue.fabric import HostPort
from sites.gallery import Found, Seen, Site
from unit.cumulus_fabric.fabrics import data as example
from unit.cumulus_fabric.fabrics import put
from unit.cumulus_fabric.online.site import rack, taking_over, wired
from unit.cumulus_fabric.online.unmanaged import typed
from yamlfile import reader
from yamlfile.values import FileError


def fabric(site: Site, change: dict[str, Any] | None = None) -> Fabric:
    """The site's intent, spelled out, after a change: values by their paths."""
    path = site.folder / "intent.yaml"
    content = reader.read(path.read_text(), str(path), _plain, schema.HOLDS) if path.exists() else example()
    for key, value in (change or {}).items():
        put(content, key, value)
    return expand.expand(schema.INTENT.read("", content))


def _plain(document: Any) -> Any:
    return json.loads(json.dumps(document))


def see(site: Site) -> Seen:
    """Audit, plan, apply and verify; a second apply sends nothing, and what others typed is still there.

    The switches run the intent already where ``applied`` says so, with what each has ``beside`` it; the
    operator then changes the intent as ``then`` says. All switches may be ``called`` the same, as from the
    factory. Hosts at ``silent`` ports have no system yet: they are on, and speak neither LLDP nor LACP.
    ``strict`` switches refuse to open the ranges into which they fold their answers.
    """
    switches = site.data("switches")
    try:
        first, wanted = fabric(site), fabric(site, switches.get("then"))
    except (FileError, InvalidValue) as error:
        return Seen([Found("blocked", "intent", str(error))], [])
    with rack(
        first, release=switches.get("release", "5.9.2"), applied=switches.get("applied", False)
    ) as made:
        for server in made.servers.values():
            server.strict = switches.get("strict", False)
        for name in made.servers if "called" in switches else ():
            typed(made, name, {"system": {"hostname": switches["called"]}})
        made.wires.hosts = {**wired(wanted).hosts, **made.wires.hosts}
        online = taking_over(wanted, made)
        beside = {name: typed(made, name, tree) for name, tree in switches.get("beside", {}).items()}
        for leaf, port in switches.get("silent", ()):
            host = made.wires.hosts[leaf, port]
            made.wires.hosts[leaf, port] = HostPort(host.host, host.mac, speaks=False, bonds=False)
        found = [*audit(wanted), *online.survey().plan.findings]
        blocked = any(each.severity is Severity.BLOCKED for each in found)
        if not blocked:
            report = online.apply()
            assert report.applied, report.reasons
        writes = sorted({line for line in made.writes() if line.endswith(" patch")})
        assert not (blocked and made.writes()), "a blocked plan wrote"
        made.forget()
        found += () if blocked else online.verify()
        assert blocked or online.apply().applied
        assert made.writes() == [], "a second apply sent something"
        for name, tree in beside.items():
            assert merge(made.applied[name], tree) == made.applied[name], f"{name} lost what others typed"
    told = {Found(each.severity.name.lower(), each.subject, each.sentence()) for each in found}
    return Seen(sorted(each for each in told if each.about != "digest"), writes)
