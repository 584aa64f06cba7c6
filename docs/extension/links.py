# SPDX-License-Identifier: Apache-2.0
"""Links from a page to a file of the repository that is no page, such as a charm's README.

A page writes them as relative paths, as GitHub follows them. On the site they lead to the repository that
GitHub builds; in a local build they lead to the file in the clone. A link to a charm's charmcraft.yaml leads
to the page of the reference that is generated from it.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs"
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
GENERATED = PAGES / "reference/generated"
"""Pages that are there only after a build: nothing links to them, since GitHub does not have them."""
OUTSIDE = "https://outside.invalid"
"""Stands for the repository while a page is parsed: Markdown takes no link with the scheme `file`."""

log = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, bool]:
    """Have the links of each page rewritten, before and after it is parsed."""
    app.connect("source-read", _rewrite)
    app.connect("doctree-read", _resolve)
    return {"parallel_read_safe": True}


def source() -> str:
    """Where the repository's files are, as the beginning of a URL."""
    if repository := os.environ.get("GITHUB_REPOSITORY"):
        return f"{os.environ['GITHUB_SERVER_URL']}/{repository}/blob/HEAD"
    return ROOT.as_uri()


def broken(document: Path) -> Iterator[str]:
    """The relative links of a document, as it writes them, that GitHub cannot follow."""
    for found in LINK.finditer(document.read_text()):
        path = _target(document, found[1])
        if GENERATED in path.parents or not path.exists():
            yield found[1]
        elif found[2] and path.suffix == ".md" and found[2][1:] not in _anchors(path):
            yield found[1] + found[2]


def _target(document: Path, link: str) -> Path:
    return (document.parent / link).resolve() if link else document


def _anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub and MyST make them."""
    return {
        re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
        for title in HEADING.findall(document.read_text())
    }


def _rewrite(app: Sphinx, page: str, content: list[str]) -> None:
    document = Path(app.env.doc2path(page))
    if GENERATED in document.parents:
        return
    for link in broken(document):
        log.warning("there is nothing at %r", link, location=page)

    def outside(found: re.Match[str]) -> str:
        path = _target(document, found[1])
        if path.is_relative_to(PAGES):
            return found[0]
        if path.name == "charmcraft.yaml":
            return f"]({os.path.relpath(GENERATED / f'{path.parent.name}.md', document.parent)})"
        return f"]({OUTSIDE}/{path.relative_to(ROOT)}{found[2] or ''})"

    content[0] = LINK.sub(outside, content[0])


def _resolve(_app: Sphinx, tree: nodes.document) -> None:
    for link in tree.findall(nodes.reference):
        if (target := link.get("refuri", "")).startswith(OUTSIDE):
            link["refuri"] = source() + target.removeprefix(OUTSIDE)
