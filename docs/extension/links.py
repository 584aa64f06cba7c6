# SPDX-License-Identifier: Apache-2.0
"""Links to files of the repository that do not stand in docs/, and those of these files that are documents.

All are written as relative paths, as GitHub follows them. Documents of the whole repository, such as a
charm's README, are pages of the site. A link to a charm's charmcraft.yaml leads to the page of the reference
that is generated from it; to any other file, to the repository that GitHub builds, and in a local build to a
copy of the file. A page that a program of ours made, such as an example of a report, stands in docs/ as HTML,
is copied to the same place in the site, and is linked by `<a href>`: Sphinx would offer it as a download.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs"
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)")
MADE = re.compile(r'<a href="(?!https?:)([^"#]+)"')
"""A link to a page that is HTML in docs/."""
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
GENERATED = PAGES / "reference/generated"
"""Pages that are there only after a build: nothing links to them, since GitHub does not have them."""
DOCUMENTS = GENERATED / "documents"
"""Copies of the documents outside docs/, by their place in the repository."""
PATTERNS = (
    *("*.md", "bundles/*.md", "overlays/*.md", "bundles/terraform/*.md", "charms/*/*.md"),
    *("lib/**/*.md", "tests/**/*.md", "tools/**/*.md"),
)
DEVELOPERS = ("CONTRIBUTING.md", "lib/", "tests/")
"""Documents that the search leaves out: an operator looks for other answers."""
PICTURES = (".png", ".svg")
"""Sphinx copies these into the site itself."""

log = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, bool]:
    """Have documents copied, and the links of each page rewritten, before it is parsed."""
    app.connect("builder-inited", _copy)
    app.connect("source-read", _rewrite)
    app.connect("build-finished", _copy_made)
    return {"parallel_read_safe": True}


def documents() -> list[Path]:
    """The repository's documents outside docs/."""
    return [path for pattern in PATTERNS for path in sorted(ROOT.glob(pattern))]


def _copy(_app: Sphinx) -> None:
    for path in documents():
        name = path.relative_to(ROOT).as_posix()
        head = "nosearch: true\n" if name.startswith(DEVELOPERS) else ""
        text = f"---\norphan: true\n{head}---\n{path.read_text()}"
        copy = DOCUMENTS / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.exists() or copy.read_text() != text:  # an unchanged page is not read again
            copy.write_text(text)


def _copy_made(app: Sphinx, problem: Exception | None) -> None:
    if problem is None and app.builder.format == "html":
        for path in PAGES.rglob("*.html"):
            place = Path(app.outdir) / path.relative_to(PAGES)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)


def broken(document: Path) -> Iterator[str]:
    """The relative links of a document, as it writes them, that GitHub cannot follow."""
    text = document.read_text()
    yield from (made for made in MADE.findall(text) if not _target(document, made).exists())
    for found in LINK.finditer(text):
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
    copied = document.is_relative_to(DOCUMENTS)
    if GENERATED in document.parents and not copied:
        return
    written = ROOT / document.relative_to(DOCUMENTS) if copied else document
    for link in broken(written):
        log.warning("there is nothing at %r", link, location=page)

    def followed(found: re.Match[str]) -> str:
        path = _target(written, found[1])
        anchor = found[2] or ""
        if not found[1]:
            return found[0]
        if path.name == "charmcraft.yaml":
            path, anchor = GENERATED / f"{path.parent.name}.md", ""
        elif path.suffix == ".md" and not path.is_relative_to(PAGES):
            path = DOCUMENTS / path.relative_to(ROOT)
        elif not path.is_relative_to(PAGES) and path.suffix not in PICTURES and (forge := source()):
            return f"]({forge}/{path.relative_to(ROOT).as_posix()}{anchor})"
        return f"]({os.path.relpath(path, document.parent)}{anchor})"

    content[0] = LINK.sub(followed, content[0])


def source() -> str:
    """Where the repository's files are, as the beginning of a URL; "" in a local build."""
    if repository := os.environ.get("GITHUB_REPOSITORY"):
        return f"{os.environ['GITHUB_SERVER_URL']}/{repository}/blob/HEAD"
    return ""
