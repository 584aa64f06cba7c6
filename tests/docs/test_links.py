# SPDX-License-Identifier: Apache-2.0
"""Relative links of the pages and of every other document: GitHub and the site follow the same ones."""

import re
from pathlib import Path

import links
import pytest
from links import GENERATED, LINK, ROOT, broken, documents
from sphinx.application import Sphinx

PAGES = [path for path in sorted(links.PAGES.rglob("*.md")) if GENERATED not in path.parents]
DOCUMENTS = [*documents(), *PAGES]

pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated. Check CHANGES for Sphinx API")  # of MyST


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_to_a_file_and_a_heading(document: Path) -> None:
    assert list(broken(document)) == []


def test_a_link_to_what_is_not_there_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One `two`, three\n[a](#one-two-three) [b](#four) [c](other.md) [d](https://x.example)\n"
        'And <a href="made.html">e</a>.\n'
    )
    assert list(broken(page)) == ["made.html", "#four", "other.md"]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a page that links to files outside docs/."""
    monkeypatch.setattr(links, "ROOT", tmp_path)
    monkeypatch.setattr(links, "PAGES", tmp_path / "docs")
    monkeypatch.setattr(links, "GENERATED", tmp_path / "docs/reference/generated")
    monkeypatch.setattr(links, "DOCUMENTS", tmp_path / "docs/reference/generated/documents")
    files = {
        "charms/one/README.md": "# One\n[a](../../docs/index.md) [b](one.yaml)",
        "charms/one/one.yaml": "one: 1",
        "charms/one/charmcraft.yaml": "",
        "docs/conf.py": 'extensions = ["myst_parser", "links"]',
        "docs/index.md": "# Index\n[a](../charms/one/README.md) [b](../charms/one/charmcraft.yaml) "
        "[c](../charms/one/one.yaml)\n",
        "docs/reference/generated/one.md": "# Options of one",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def built(root: Path, page: str = "index") -> list[str]:
    docs, out = root / "docs", root / "out"
    Sphinx(docs, docs, out, out, "html", status=None, warning=None).build()
    found = re.findall(r'href="([^"]*one[^"]*|[./]*index.html)"', (out / f"{page}.html").read_text())
    return list(dict.fromkeys(found))


README = "reference/generated/documents/charms/one/README"
OPTIONS = "reference/generated/one.html"


def test_a_document_outside_docs_is_a_page_and_any_other_file_is_in_the_repository(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://forge.example")
    monkeypatch.setenv("GITHUB_REPOSITORY", "someone/fork")
    file = "https://forge.example/someone/fork/blob/HEAD/charms/one/one.yaml"
    assert {f"{README}.html", OPTIONS, file} <= {*built(site)}
    assert {"../../../../../index.html", file} <= {*built(site, README)}


def test_in_a_local_build_the_site_has_a_copy_of_it(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    (copy,) = [link for link in built(site) if link.endswith("one.yaml")]
    assert (site / "out" / copy).read_text() == "one: 1"


def test_a_page_that_a_program_made_is_at_its_place_in_the_site(site: Path) -> None:
    (site / "docs/how-to").mkdir()
    (site / "docs/how-to/made.html").write_text("<p>made</p>")
    built(site)
    assert (site / "out/how-to/made.html").read_text() == "<p>made</p>"


def test_links_to_other_sites_are_left_alone() -> None:
    assert LINK.findall("[a](https://x.example/y) [b](mailto:a@b.example) [c](d.md#e)") == [("d.md", "#e")]
