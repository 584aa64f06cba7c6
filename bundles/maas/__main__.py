# SPDX-License-Identifier: Apache-2.0
"""`tox -e maas -- VERB SITE`: make MAAS what a site file says.

plan     show what is missing; writes nothing
apply    do it, in order; stops at the first failure, and may be run again
verify   say what still differs, and whether the tagged machines are what they should be
overlay  print the overlay with the bundle's machines and dedicated CPUs; asks MAAS nothing
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import yaml
from converge import Severity, StepError, execute, findings_as_table, plan_as_table
from maas.client import Maas
from maas.plan import observe, plan
from maas.sitefile import Site, SiteError, secret
from maas.verify import verify

HEADER = (
    "# Printed by `tox -e maas -- overlay {}`; the machines of the bundle, and what depends on their tags.\n"
)


def overlay(site: Site) -> dict[str, Any]:
    """The overlay: the machines of each role with a bond, in the file's order of roles: compute first."""
    machines: dict[str, Any] = {}
    dedicated: set[str] = set()
    for role in site.roles.values():
        for machine in site.machines.values():
            if machine.role == role.name and role.bond:
                constraints = f"tags={role.tag} spaces={','.join(role.networks)}"
                machines[str(len(machines))] = {"constraints": constraints}
                dedicated |= {site.tags[role.tag].dedicated_cpus} - {""}
    if len(dedicated) != 1:
        return {"machines": machines}
    options = {"cpu-dedicated-set": dedicated.pop()}
    return {"machines": machines, "applications": {"nova-compute": {"options": options}}}


def main(arguments: list[str]) -> int:
    """Run one verb; 0 when MAAS is as the file says, or was made so."""
    parser = argparse.ArgumentParser(
        prog="tox -e maas --", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("verb", choices=("plan", "apply", "verify", "overlay"))
    parser.add_argument("site", type=Path)
    options = parser.parse_args(arguments)
    try:
        site = Site.read(options.site)
        if options.verb == "overlay":
            print(HEADER.format(options.site) + yaml.safe_dump(overlay(site), sort_keys=False), end="")
            return 0
        return _run(options.verb, site)
    except (SiteError, StepError) as error:
        remedy = getattr(error, "remedy", "")
        print(f"{error}{f'; {remedy}' if remedy else ''}", file=sys.stderr)
        return 2


def _run(verb: str, site: Site) -> int:
    maas = Maas(site.maas, secret(site.api_key, "api-key"))
    observed = observe(maas, site)
    wanted = plan(site, observed)
    if verb == "plan":
        print(plan_as_table(wanted))
        return 0
    if verb == "apply":
        outcome = execute(wanted, maas, lambda step: print(step.what, flush=True))
        if outcome.finding:
            print(f"{outcome.finding.sentence()}", file=sys.stderr)
            return 1
        print(f"{len(outcome.done)} steps done.")
        observed = observe(maas, site)
        wanted = plan(site, observed)
    devices = {
        name: maas.get(f"nodes/{observed.machines[name]['system_id']}/devices/")
        for name in site.machines
        if name in observed.machines
    }
    found = verify(site, observed, wanted, devices)
    print(findings_as_table(found).replace("the machine is as declared", "MAAS is as the site file says"))
    return 1 if any(finding.severity > Severity.WARNING for finding in found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
