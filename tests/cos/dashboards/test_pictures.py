# SPDX-License-Identifier: Apache-2.0
"""The drawing of dashboards, and the documentation's pictures, which show the tests' hour of a site."""

import re
from html import unescape

import pytest

from cos import dashboards
from cos.dashboards import NAMES, hour, picture
from cos.server import Server


def texts(drawn: str) -> list[str]:
    return [unescape(each) for each in re.findall(r"<text[^>]*>([^<]*)</text>", drawn)]


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_has_each_panel_and_none_is_empty(name: str, recorded: Server) -> None:
    """`PYTHONPATH=lib:tests:charms/sriov-switchdev/src python -m cos.dashboards.hour` draws them again."""
    committed = (hour.DOCS / f"dashboard-{name}.svg").read_text()
    drawn = picture.draw(name, hour.HOST, recorded, hour.NOW)
    titles = [panel["title"] for panel in dashboards.read(name)["panels"]]
    assert [title for title in titles if title not in texts(drawn)] == []
    assert picture.NO_DATA not in texts(drawn)
    assert words(committed) == words(drawn)


def words(drawn: str) -> list[str]:
    """The texts without their numbers, whose last digit releases of Prometheus round differently."""
    return [re.sub(r"[\d.]+", "0", text) for text in texts(drawn)]


@pytest.mark.parametrize("name", NAMES)
def test_a_panel_without_data_says_so(name: str, recorded: Server) -> None:
    shown = texts(picture.draw(name, "node-9", recorded, hour.NOW + 10 * 86400))
    assert picture.NO_DATA in shown
