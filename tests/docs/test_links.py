# SPDX-License-Identifier: Apache-2.0
"""Relative links of the pages and of every other document: GitHub and the site follow the same ones."""

from pathlib import Path

import pytest
from links import GENERATED, LINK, ROOT, broken, source

DOCUMENTS = [
    path
    for pattern in ("*.md", "bundles/*.md", "overlays/*.md", "charms/*/*.md", "docs/**/*.md", "tests/**/*.md")
    for path in sorted(ROOT.glob(pattern))
    if GENERATED not in path.parents
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_leads_to_a_file_and_a_heading(document: Path) -> None:
    assert list(broken(document)) == []


def test_a_link_to_what_is_not_there_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One `two`, three\n[a](#one-two-three) [b](#four) [c](other.md) [d](https://x.example)\n"
    )
    assert list(broken(page)) == ["#four", "other.md"]


def test_outside_the_site_a_link_leads_to_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://forge.example")
    monkeypatch.setenv("GITHUB_REPOSITORY", "someone/fork")
    assert source() == "https://forge.example/someone/fork/blob/HEAD"
    monkeypatch.delenv("GITHUB_REPOSITORY")
    assert source() == ROOT.as_uri()


def test_links_to_other_sites_are_left_alone() -> None:
    assert LINK.findall("[a](https://x.example/y) [b](mailto:a@b.example) [c](d.md#e)") == [("d.md", "#e")]
