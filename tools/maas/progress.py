# SPDX-License-Identifier: Apache-2.0
"""How far the machines of a site are, and the operator's next command. Pure."""

from collections import Counter
from pathlib import Path

from converge import Plan
from maas.client import Maas, Objects
from maas.deployed import LEAVING
from maas.sitefile.model import Site
from maas.unmanaged import BUSY, settled, unseen

COMMAND = "pipx run tox -e maas --"


def states(site: Site, objects: Objects) -> str:
    """`3 machines are Ready, 1 machine is New`: the machines of the site that MAAS knows."""
    found = Counter(
        objects[f"machine {name}"]["status_name"] for name in site.machines if f"machine {name}" in objects
    )
    words = [
        f"{count} machine{'s are' if count > 1 else ' is'} {status}" for status, count in found.most_common()
    ]
    return ", ".join(words) or "MAAS knows no machine of the site"


def following(site: Site, objects: Objects, wanted: Plan[Maas], file: Path) -> str:
    """The command that brings the site on, if there is one; `wanted` is what is still to be written."""
    if any(f"machine {name}" not in objects for name in site.machines):
        return f"{COMMAND} apply {file}"
    bodies = [objects[f"machine {name}"] for name in site.machines]
    statuses = {body["status_name"] for body in bodies}
    if any(map(unseen, bodies)):
        return f"{COMMAND} commission {file} --power-on"
    if not statuses.isdisjoint(BUSY):
        return f"{COMMAND} commission {file} --power-on, which waits until they are done"
    if wanted.steps:
        return f"{COMMAND} apply {file}"
    if not statuses.isdisjoint(LEAVING):
        return f"{COMMAND} apply {file}, once that has ended"
    if all(settled(status) for status in statuses):
        return ""
    return f"{COMMAND} overlay {file} --output site-overlay.yaml"
