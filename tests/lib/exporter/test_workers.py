# SPDX-License-Identifier: Apache-2.0
"""The cost for scrapes of a source that hangs."""

import threading
from collections.abc import Iterator

import pytest
from exporter import workers
from exporter.workers import Sample, Source, Workers
from hostnic.system import System
from lab.modelled import FakeHost
from lab.observed.modelled import until


def test_only_the_scrapes_that_may_still_see_an_answer_wait_for_a_source_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A driver that hangs for a day else costs each scrape of that day its deadline."""
    released = threading.Event()

    def hangs(_: System) -> Iterator[Sample]:
        released.wait(60)
        yield Sample("firmware_answers", ("p0",), 1.0)

    source = Source("firmware p0", hangs, (Sample("firmware_answers", ("p0",), 0.0),))
    found = Workers(FakeHost, 0.2)

    def read() -> dict[str, float]:
        return {each.metric: each.value for each in found.read({source.name: source})}

    assert "firmware_answers" not in read(), "it may be slow"
    assert read()["firmware_answers"] == 0
    monkeypatch.setattr(found, "_deadline", 100.0)  # in which the driver answers
    monkeypatch.setattr(workers, "monotonic", lambda: 1e9)  # long afterwards
    assert read()["firmware_answers"] == 0, "it was waited for"
    monkeypatch.undo()
    released.set()
    assert until(lambda: read().get("firmware_answers") == 1, 20)
