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
from converge import Severity, StepError
from converge.execute import execute
from converge.render import findings_as_table, plan_as_table
from maas.client import Maas
from maas.plan import observe, plan
from maas.sitefile import Site, SiteError
from maas.verify import verify


def overlay(site: Site) -> dict[str, Any]:
    """The overlay: the machines of each tag with a bond, in the file's order of tags: compute first."""
    tags = [tag for tag in site.tags.values() if tag.bond]
    kinds = [tag for tag in tags for machine in site.machines.values() if machine.tag == tag.name]
    constraints = [f"tags={tag.name} spaces={','.join(tag.networks)}" for tag in kinds]
    machines = {str(number): {"constraints": each} for number, each in enumerate(constraints)}
    dedicated = {tag.dedicated_cpus for tag in kinds if tag.dedicated_cpus}
    nova = {"nova-compute": {"options": {"cpu-dedicated-set": "".join(dedicated)}}}
    return {"machines": machines, **({"applications": nova} if len(dedicated) == 1 else {})}


def main(arguments: list[str]) -> int:
    """Run one verb; 0 when MAAS is as the file says, or was made so."""
    parser = argparse.ArgumentParser(
        prog="tox -e maas --", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("verb", choices=("plan", "apply", "verify", "overlay"))
    parser.add_argument("site", type=Path)
    options = parser.parse_args(arguments)
    try:
        return _run(options.verb, Site.read(options.site))
    except (SiteError, StepError) as error:
        print("; ".join([str(error), *filter(None, [getattr(error, "remedy", "")])]), file=sys.stderr)
        return 2


def _run(verb: str, site: Site) -> int:
    if verb == "overlay":
        print("# Printed by `tox -e maas -- overlay`: machines of the bundle, and what hangs on their tags.")
        print(yaml.safe_dump(overlay(site), sort_keys=False), end="")
        return 0
    maas = Maas(site.maas, site.api_key.read())
    if verb == "plan":
        print(plan_as_table(plan(site, observe(maas, site))))
        return 0
    if verb == "apply":
        outcome = execute(plan(site, observe(maas, site)), maas, lambda step: print(step.what, flush=True))
        if outcome.finding:
            print(outcome.finding.sentence(), file=sys.stderr)
            return 1
        print(f"{len(outcome.done)} steps done.")
    found = verify(maas, site)
    print(findings_as_table(found).replace("the machine is as declared", "MAAS is as the site file says"))
    return 1 if any(finding.severity > Severity.WARNING for finding in found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
