# SPDX-License-Identifier: Apache-2.0
"""The checker: a bundle and its overlays, merged as Juju merges them, against every rule."""

import argparse
import shlex
import sys
from pathlib import Path

from maas.sitefile.model import Site
from maas.sitefile.reader import read_site
from yamlfile.values import FileError

from check.merge import merge, parts
from check.model import Bundle
from check.rule import RULES, Finding, is_silenced, listed
from check.rules import fabric, juju, offload, pci, port, relation, space

BUNDLES = Path(__file__).parents[2] / "bundles"

MODULES = (juju, relation, space, offload, port, pci, fabric)
"""The modules of the rules; importing them fills RULES."""


def load(paths: list[Path], site: Site | None = None) -> Bundle:
    """The merged bundle of a base and its overlays. Raises FileError if Juju could not deploy such files."""
    documents = parts(paths)
    for part in documents:
        if {"maas", "networks"} <= part.data.keys():
            what = f"{part.path} is a site file for MAAS, and no part of a bundle: name it with --site"
            raise FileError(f"{what}. `tox -e maas -- overlay` writes the overlay from it")
    merged = merge(documents)
    if not merged.section("applications"):
        raise FileError(f"{paths[0]} has no applications: it is no bundle")
    bundle = Bundle(merged, documents, site)
    if not any(each.charm for each in bundle.applications.values()):
        what = (
            f"{paths[0]} has no charm of {listed(merged.section('applications'))}, so that it is an overlay: "
        )
        raise FileError(f"{what}name its bundle before it, as in my-bundle.yaml --overlay {paths[0]}")
    return bundle


def check(bundle: Bundle) -> list[Finding]:
    """Return the findings of all rules, by place."""
    found = {finding for rule in RULES for finding in rule.findings(bundle)}
    return sorted(found, key=lambda finding: (finding.place, finding.rule, finding.what))


def _unsilenced(findings: list[Finding]) -> list[Finding]:
    """Return the findings that no comment in the file silences."""
    lines = {file: Path(file).read_text().splitlines() for file in {each.place.file for each in findings}}
    return [each for each in findings if not is_silenced(each, lines[each.place.file])]


def parser() -> argparse.ArgumentParser:
    """The command line."""
    about = f"{__doc__} Without a bundle, each of this repository's is checked."
    top = argparse.ArgumentParser(prog="tox -e bundle --", description=about)
    top.add_argument("bundle", type=Path, nargs="?")
    top.add_argument("--rules", action="store_true", help="list the rules")
    top.add_argument("--overlay", type=Path, action="append", default=[], help="as for juju deploy")
    top.add_argument("--site", type=Path, help="the site file of tools/maas")
    return top


def main(arguments: list[str]) -> int:
    """Check what the command line names; 0 when nothing but warnings was found."""
    options = parser().parse_args(arguments)
    if options.rules:
        for rule in sorted(RULES, key=lambda rule: rule.name):
            print(f"{rule.name:22} {rule.about}{' (a warning)' if rule.warning else ''}")
        return 0
    if options.bundle:
        return _report(options.bundle, options.overlay, options.site)
    statuses: list[int] = []
    for bundle in sorted(BUNDLES.glob("*.yaml")):
        print(f"{bundle.name}:")
        statuses.append(_report(bundle, options.overlay, options.site))
    return max(statuses)


def _report(path: Path, overlays: list[Path], against: Path | None) -> int:
    """Print what is found in one bundle; 0 when nothing but warnings was found, 2 if it cannot be read."""
    try:
        site = read_site(against) if against else None
        bundle = load([path, *overlays], site)
    except FileError as error:
        print(error, file=sys.stderr)
        return 2
    every = check(bundle)
    found = _unsilenced(every)
    for finding in found:
        print(finding)
    errors = [finding for finding in found if not finding.warning]
    skipped = [] if site else [rule.name for rule in RULES if rule.site]
    size = f"{len(bundle.applications)} applications, {len(bundle.written)} relations"
    checked = f"{len(RULES) - len(skipped)} rules"
    silenced = f", {len(every) - len(found)} silenced" if len(every) > len(found) else ""
    print(
        f"{size}, {checked}: {len(errors)} errors, {len(found) - len(errors)} warnings{silenced}."
        + (f" Not checked without --site: {', '.join(skipped)}." if skipped else "")
    )
    print(f"Juju says the rest before it deploys anything: {_dry_run([path, *overlays])}")
    return 1 if errors else 0


def _dry_run(paths: list[Path]) -> str:
    """The command with which Juju reads the same files; it takes a path without ./ for a charm's name."""
    bundle, *overlays = (str(path) if path.is_absolute() else f"./{path}" for path in paths)
    return shlex.join(
        ["juju", "deploy", "--dry-run", bundle, *(word for each in overlays for word in ("--overlay", each))]
    )
