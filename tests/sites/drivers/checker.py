# SPDX-License-Identifier: Apache-2.0
"""The checker and `adopt` on a site: overlay.yaml on the Caracal bundle, bundle.yaml, or running.yaml.

With maas.yaml, the checker is given the site file, too.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from check import checker
from check.merge import Part, merge, parse, parts
from check.model import Bundle
from lab import maassite
from lab.juju import deployed
from maas.sitefile.reader import read_site
from operate import running
from operate.adopt.adoption import adoption
from operate.client import Juju
from sites.gallery import Found, Seen, Site

BUNDLES = Path(__file__).parents[3] / "bundles"
BUNDLE = BUNDLES / "ovn-offload-jammy-caracal.yaml"
OURS = dict.fromkeys(("nic-firmware", "sriov-switchdev", "roce-qos", "cumulus-fabric"))
"""The applications that a cloud lacks before it adopts these charms, as an overlay that removes them."""


def see(site: Site) -> Seen:
    """Return the checker's findings. It never writes."""
    own = site.folder / "bundle.yaml"
    paths = [own if own.exists() else BUNDLE, *list(_overlays(site))[:1]]
    with TemporaryDirectory() as folder:
        file = read_site(maassite.edited(Path(folder), site.data("maas"))) if site.has("maas") else None
    return Seen(_found(checker.check(checker.load(paths, file))), [])


def _overlays(site: Site) -> Iterator[Path]:
    """Return the overlays on the Caracal bundle. The checker takes the first.

    With running.yaml alone, the operator adds these charms to a running cloud and changes nothing else.
    """
    return (site.folder / f"{name}.yaml" for name in ("overlay", "running") if site.has(name))


def adopt(site: Site) -> Seen:
    """Return the findings of `adopt` in the site's model, recorded from running.yaml on the Caracal bundle.

    What these charms own, or would own, is information. With the overlay that it prints, the checker must
    find nothing that it did not name; what it finds is here, too.
    """
    model = _model(site)
    found = adoption(running.read(Juju(run=deployed.Here(model, access="read"))))
    after = [*_parts(model["export"]), *_parts(found.overlay)]
    findings = {
        *_found(found.findings),
        *_found(checker.check(Bundle(merge(after), after))),
        *(Found("info", what, why) for what, why in found.stays),
        *(Found("info", f"owned by {charm}", f"{what}; today: {who}") for charm, what, who in found.owned),
    }
    options = [
        f"{name} {key}={value}"
        for part in _parts(found.overlay)
        for name, body in part.data.section("applications").items()
        for key, value in (body or {}).get("options", {}).items()
    ]
    return Seen(sorted(findings), sorted(options))


def _model(site):
    texts = (yaml.safe_dump({"applications": OURS}), *(path.read_text() for path in _overlays(site)))
    documents = [*parts([BUNDLE]), *(each for text in texts for each in _parts(text))]
    return deployed.recorded(Bundle(merge(documents), documents))


def _parts(text):
    return [Part(BUNDLE, each) for each in parse(text, "x")] if text else []


def _found(findings):
    return [Found("warning" if each.warning else "error", each.rule, each.what) for each in findings]
