# SPDX-License-Identifier: Apache-2.0
"""The drawing of dashboards, and the documentation's pictures, which the rack's scenario observed drew."""

import re
from html import unescape
from pathlib import Path

import pytest

from cos import dashboards
from cos.dashboards import NAMES, hour, picture
from cos.server import Server

DOCS = Path(__file__).parents[3] / "docs/how-to"


def texts(drawn: str) -> list[str]:
    return [unescape(each) for each in re.findall(r"<text[^>]*>([^<]*)</text>", drawn)]


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_has_each_panel_and_none_is_empty(name: str, recorded: Server) -> None:
    committed = (DOCS / f"dashboard-{name}.svg").read_text()
    for drawn in (committed, picture.draw(name, hour.HOST, recorded, hour.NOW)):
        shown = texts(drawn)
        assert [
            panel["title"] for panel in dashboards.read(name)["panels"] if panel["title"] not in shown
        ] == []
        assert picture.NO_DATA not in shown


@pytest.mark.parametrize("name", NAMES)
def test_a_panel_without_data_says_so(name: str, recorded: Server) -> None:
    shown = texts(picture.draw(name, "node-9", recorded, hour.NOW + 10 * 86400))
    assert picture.NO_DATA in shown
