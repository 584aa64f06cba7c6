# SPDX-License-Identifier: Apache-2.0
"""The pages of the site, as a reader finds them: commands to take, boxes, drawings, and groups of pages."""

import re
from pathlib import Path

import commands
import pytest
import tables
from links import PAGES

pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated. Check CHANGES for Sphinx API")  # of MyST

DRAWN = ("boot", "reboots", "fabric-ownership")
"""Explanations that a drawing sums up."""
PHONE = 51
"""Columns of a drawing that a phone of 390 pixels shows at once."""


def drawing(name: str) -> str:
    (found,) = re.findall(r"```text\n(.+?)```", (PAGES / f"explanation/{name}.md").read_text(), re.DOTALL)
    return found


def test_each_command_of_a_block_stands_alone_with_its_comments() -> None:
    lines = [
        "# once",
        "juju status",
        "for host in a b; do",
        "    ssh $host",
        "done",
        "cp a \\",
        "    b     # c",
    ]
    assert [*commands.divided(lines)] == [
        "# once\njuju status",
        "for host in a b; do\n    ssh $host\ndone",
        "cp a \\\n    b  # c",
    ]


def test_a_button_takes_one_command(site: Path) -> None:
    page = (site / "how-to/deploy.html").read_text()
    blocks = re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL)
    texts = [re.sub("<[^>]*>", "", block) for block in blocks]
    assert [text for text in texts if text.count("pipx run tox") > 1] == []
    assert sum("pipx run tox" in text for text in texts) > 10
    assert "copybutton.js" in page


@pytest.mark.parametrize("name", DRAWN)
def test_the_explanation_has_a_drawing(name: str, site: Path) -> None:
    assert max(map(len, drawing(name).splitlines())) <= PHONE
    assert "highlight-text" in (site / f"explanation/{name}.html").read_text()


def test_a_cell_has_the_name_of_its_column_where_a_phone_lists_the_rows(site: Path) -> None:
    page = (site / "reference/connections.html").read_text()
    assert 'class="stacked docutils' in page
    row = page.partition("<tbody>")[2].partition("</tr>")[0]
    assert re.findall(r'data-label="([^"]+)"', row) == ["from", "to", "port", "account, and what it may do"]


@pytest.mark.parametrize(
    ("page", "columns"),
    [
        ("reference/generated/cumulus-fabric", ["message", "what helps"]),
        ("how-to/when-vfs-fail", ["the status names", "do"]),
    ],
)
def test_two_columns_of_sentences_or_long_names_are_listed_too(
    site: Path, page: str, columns: list[str]
) -> None:
    text = (site / f"{page}.html").read_text()
    tables = re.findall(r"<table.*?</table>", text, re.DOTALL)
    labels = [re.findall(r'data-label="([^"]+)"', table.partition("</tr>")[2]) for table in tables]
    assert [found[:2] for found in labels if found[:2] == columns]
    assert not [
        table for table, found in zip(tables, labels, strict=True) if bool(found) != ("stacked" in table)
    ]


@pytest.mark.parametrize(
    ("rows", "wide"),
    [
        ([["swp9", "a port of the leaf, which the sentence here describes at some length"]], False),
        ([["x" * 20, "y"]], False),
        ([["a sentence that takes four lines of half a phone", "wait"]], True),
        ([["port", "docs/how-to/" + "x" * 21]], True),
        ([["port", "ovn_offload_reboot_needed_since_seconds"]], False),  # it can be broken after each _
        ([["a", "b", "c"]], True),
    ],
)
def test_a_table_is_wide_by_its_columns_its_first_cells_or_its_names(
    rows: list[list[str]], wide: bool
) -> None:
    assert tables.is_wide(rows) is wide


def test_a_table_of_two_columns_stays_one(site: Path) -> None:
    page = (site / "explanation/reboots.html").read_text()
    assert "<table" in page
    assert "stacked" not in page


def test_a_long_name_can_be_broken_and_a_tag_cannot(site: Path) -> None:
    page = (site / "reference/generated/metrics.html").read_text()
    assert '<span class="pre">ovn_<wbr>offload_<wbr>reboot_<wbr>needed</span>' in page
    assert tables.BREAK.sub("|", "tests/a.py::test_b</span>") == "tests/|a.py::|test_|b</span>"
    assert tables.BREAK.sub("|", "--known-hosts ~/.ssh") == "--known-hosts ~/.ssh"


def test_a_warning_is_a_box(site: Path) -> None:
    page = (site / "how-to/refresh.html").read_text()
    assert re.search(r'class="admonition[^"]*warning.*?Do not refresh while a unit reboots', page, re.DOTALL)


def test_the_sidebar_shows_the_groups_of_guides(site: Path) -> None:
    page = (site / "how-to/deploy.html").read_text()
    groups = re.findall(r'<p class="caption"[^>]*><span class="caption-text">([^<]+)', page)
    assert groups == [
        "Learn",
        "Set a site up",
        "Run the hosts",
        "Run the fabric",
        "When something fails",
        "Look up and understand",
    ]
