# SPDX-License-Identifier: Apache-2.0
"""The databags are what Canonical's libraries read and wrote when they were run; see libraries.py."""

import json

import pytest

from cos import promtool
from cos.libraries import LIBRARIES
from cos.promtool import by_name, published
from cos.recorded import RECORDING, of_agent, of_endpoint

RECORDED = json.loads(RECORDING.read_text())
STALE = "the rules have changed: run tox -e cosl -- --record"


@pytest.mark.parametrize("side", ["requirer", "provider"])
def test_the_collectors_databag_is_what_the_library_reads_and_writes(side: str) -> None:
    assert of_agent(promtool.databag()) == RECORDED[f"cos_agent {side}"], STALE


def test_prometheus_databags_are_what_the_library_writes() -> None:
    assert of_endpoint(published("metrics-endpoint")) == RECORDED["prometheus_scrape provider"], STALE


def test_prometheus_reads_every_alert_and_the_units_address() -> None:
    read = RECORDED["prometheus_scrape consumer"]
    assert read["alerts"] == sorted(by_name(promtool.databag()["metrics_alert_rules"])), STALE
    assert read["targets"] == ["192.0.2.0:19560"]


def test_the_recording_is_of_the_libraries_that_are_fetched() -> None:
    assert RECORDED["libraries"] == LIBRARIES
