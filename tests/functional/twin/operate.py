# SPDX-License-Identifier: Apache-2.0
"""Runs where the twin runs: cumulus-fabric's own verbs on its switches.

The intent is that of the file ``INTENT`` if there is one, otherwise the reference design's; either way the
switches get their names.

``apply``, ``verify``, ``drain SWITCH`` and ``undrain SWITCH`` print what the charm's verbs say; ``toll`` what
hosts would lose with an apply, ``toll SWITCH`` with that drain; ``read`` each switch's operational tree,
``read PATH`` the part at that path.
``upgrade URL HOSTS`` approves its own plan for the image and these hosts that it cuts off, and does it.
``patch SWITCH [CONFIRM]`` lays the tree on standard input over what one switch
runs and prints the revision when it has come to rest, or when the switch no longer answers; ``revision
SWITCH ID`` prints it later. All is JSON.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from apply import ApplyPolicy
from attachments.attached import Attached
from attachments.toll import leaving
from converge import Finding
from intent import expand, image, schema
from maintenance import Maintenance
from names import cut_off
from online import Site
from rest.client import Nvue
from rest.connection import Access, Credentials, SwitchError
from rest.fleet import Fleet
from upgrade.run import Upgrade

BUSY = ("pending", "apply", "checking", "ays")
LOOK_S, REQUEST_S = 3600.0, 600.0
POLICY = ApplyPolicy(
    confirm=3600, settle=300.0, deadline=900.0, poll=3.0, announce=lambda line: print(line, file=sys.stderr)
)
"""How long switches may take, by the wall clock, of which a busy machine gives the guest a small part.

The tests' own limits end what does not end, by what the guest was given to work with: see lab/patience.py.
"""

INTENT = Path("/run/intent.yaml")
RDG = Path(__file__).parents[3] / "charms/cumulus-fabric/examples/rdg.yaml"


def site(timeout: float = REQUEST_S) -> Site:
    rack = json.loads(Path("/run/twin.json").read_text())
    ca = Path(rack["certificate"]).read_text()
    access = Access(Credentials("cumulus", "CumulusLinux!"), ca=ca, timeout=timeout, look=LOOK_S)
    intent = INTENT if INTENT.exists() else RDG
    fabric = expand.expand(schema.parse(f"{intent.read_text()}\nhost-names: true\n"))
    addresses = {name: url.split("/")[2].split(":")[0] for name, url in rack["switches"].items()}
    return Site(fabric, Fleet({name: Nvue(name, address, access) for name, address in addresses.items()}))


def told(findings: list[Finding]) -> list[dict[str, str]]:
    return [{"severity": f.severity.name, "subject": f.subject, "what": f.what} for f in findings]


def patch(switch: Nvue, tree: Any, confirm: int) -> Any:
    """Apply a patch without looking at what comes of it, as an operator would."""
    revision = switch.create()
    try:
        switch.patch(revision, tree)
        switch.apply(revision, confirm or None)
        return look(switch, revision)
    except SwitchError as error:
        return {"revision": revision, "state": error.kind, "said": [error.reason]}


def look(switch: Nvue, revision: str) -> Any:
    """The revision when it has come to rest."""
    while (progress := switch.progress(revision)).state in BUSY:
        time.sleep(1)
    return {"revision": revision, "state": progress.state, "said": progress.issues}


def upgrade(here: Site, url: str, hosts: str) -> Any:
    """Bring all switches to the release of an image."""
    work = Upgrade(here, image.read("image", url), lambda: POLICY, cut_off=cut_off(hosts))
    found = work.plan()
    outcome = work.run(found.digest)
    return {
        "waves": found.waves,
        "named": told([*found.shown]),
        "verdict": outcome.verdict,
        "reasons": told([*outcome.reasons]),
    }


def main(verb: str, rest: list[str]) -> Any:
    if verb in ("patch", "revision"):
        switch = site(timeout=8).fleet.switches[rest[0]]
        if verb == "revision":
            return look(switch, rest[1])
        return patch(switch, json.load(sys.stdin), int(rest[1]) if rest[1:] else 0)
    here = site()
    if verb == "apply":
        report = here.apply(policy=POLICY)
        return {"verdict": report.verdict, "applied": report.applied, "reasons": told([*report.reasons])}
    if verb in ("drain", "undrain"):
        report = getattr(Maintenance(here, rest[0], POLICY), verb)()
        return {"verdict": report.verdict, "applied": report.applied, "reasons": told([*report.reasons])}
    if verb == "upgrade":
        return upgrade(here, *rest)
    if verb == "toll":
        survey = here.survey(state=True)
        toll = leaving(Attached(here.fabric, survey.observed.switches), rest[0]) if rest else survey.toll
        return [{**each._asdict(), "loses": each.loses.name} for each in toll.shares]
    if verb == "verify":
        return told(here.verify())
    found, failed = here.fleet.each(here.names, lambda switch: switch.get("".join(rest) or "/"))
    return found | {name: str(error) for name, error in failed.items()}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2:])))
