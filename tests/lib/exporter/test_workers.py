# SPDX-License-Identifier: Apache-2.0
"""What a source that hangs costs the scrapes."""

import threading
import time
from collections.abc import Iterator

from exporter.workers import Sample, Source, Workers
from hostnic.system import System
from hostnic.testing import FakeHost
from lab.observed.modelled import until

DEADLINE = 1.0
SCRAPES = 5


def test_only_the_scrapes_that_may_still_see_an_answer_wait_for_a_source_that_hangs() -> None:
    """A driver that hangs for a day else costs each scrape of that day its deadline."""
    released = threading.Event()

    def hangs(_: System) -> Iterator[Sample]:
        released.wait(60)
        yield Sample("firmware_answers", ("p0",), 1.0)

    source = Source("firmware p0", hangs, (Sample("firmware_answers", ("p0",), 0.0),))
    workers = Workers(FakeHost, DEADLINE)

    def read() -> dict[str, float]:
        return {each.metric: each.value for each in workers.read({source.name: source})}

    assert "firmware_answers" not in read(), "it may be slow"
    assert read()["firmware_answers"] == 0
    began = time.monotonic()
    assert [read()["firmware_answers"] for _ in range(SCRAPES)] == [0] * SCRAPES
    assert time.monotonic() - began < DEADLINE * SCRAPES
    released.set()
    assert until(lambda: read().get("firmware_answers") == 1, 20)
