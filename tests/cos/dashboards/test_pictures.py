# SPDX-License-Identifier: Apache-2.0
"""The pictures of the dashboards in the documentation."""

import re
from html import unescape

import pytest

from cos import dashboards
from cos.dashboards import NAMES, hour, picture
from cos.dashboards.__main__ import DOCS
from cos.server import Server


def texts(drawn: str) -> list[str]:
    return [unescape(each) for each in re.findall(r"<text[^>]*>([^<]*)</text>", drawn)]


def words(drawn: str) -> list[str]:
    """All but the figures, which depend on how long the modelled hosts took."""
    return sorted({re.sub(r"[\d.]+", "", each) for each in texts(drawn)})


@pytest.mark.parametrize("name", NAMES)
def test_the_picture_has_each_panel_and_none_is_empty(name: str) -> None:
    shown = texts((DOCS / f"dashboard-{name}.svg").read_text())
    assert [panel["title"] for panel in dashboards.read(name)["panels"] if panel["title"] not in shown] == []
    assert picture.NO_DATA not in shown


@pytest.mark.parametrize("name", NAMES)
def test_the_picture_is_what_the_dashboard_shows_today(name: str, recorded: Server) -> None:
    drawn = picture.draw(name, hour.HOST, recorded, hour.NOW)
    committed = (DOCS / f"dashboard-{name}.svg").read_text()
    assert words(drawn) == words(committed), "python -m cos.dashboards draws it anew"


@pytest.mark.parametrize("name", NAMES)
def test_a_panel_without_data_says_so(name: str, recorded: Server) -> None:
    shown = texts(picture.draw(name, "node-9", recorded, hour.NOW + 10 * 86400))
    assert picture.NO_DATA in shown
